"""Long tables, arrays and battle logs from files and data frames."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

import jaxrank as jr
from jaxrank import Responses
from jaxrank.data.readers import from_frame, is_frame, read
from jaxrank.errors import DataError, OptionError

A, B = "org/a", "org/b"
ROWS = [(A, "q0", 0, 1), (A, "q0", 1, 0), (A, "q1", 0, 1), (B, "q0", 0, 0), (B, "q1", 1, 1)]
HEADER = "model,question,trial,score"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def as_csv(path: Path, rows=ROWS, header: str = HEADER) -> Path:
    return write(path, "\n".join([header, *(",".join(map(str, r)) for r in rows)]) + "\n")


def columns(rows=ROWS) -> dict[str, list]:
    return dict(zip(HEADER.split(","), map(list, zip(*rows, strict=True)), strict=True))


EXPECTED = [[[1, 0], [1, -1]], [[0, -1], [-1, 1]]]


def check(r: Responses) -> None:
    assert r.models == ("org/a", "org/b")
    assert r.questions == ("q0", "q1")
    np.testing.assert_array_equal(r.outcomes, EXPECTED)


def test_csv(tmp_path):
    r = read(as_csv(tmp_path / "r.csv"))
    check(r)
    assert r.notes[0] == "read 5 rows of r.csv (csv): columns model, question, score, trial"


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_other_delimiters_gzip_and_byte_order_mark(tmp_path, delimiter):
    text = as_csv(tmp_path / "r.csv").read_text().replace(",", delimiter)
    check(read(write(tmp_path / "r.tsv", "\ufeff" + text)))
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    check(read(tmp_path / "r.csv.gz"))


def test_quotes_blank_lines_and_line_ends(tmp_path):
    text = f"{HEADER}\r\n" + '"a, ""b""",q0,0,1\r\n\r\nc,q0,0,0\r\n'
    (tmp_path / "r.csv").write_bytes(text.encode())
    assert read(tmp_path / "r.csv").models == ('a, "b"', "c")


def test_jsonl_json_list_and_parquet(tmp_path):
    names = HEADER.split(",")
    objects = [dict(zip(names, row, strict=True)) for row in ROWS]
    check(read(write(tmp_path / "r.jsonl", "\n".join(map(json.dumps, objects)))))
    check(read(write(tmp_path / "r.json", json.dumps(objects))))
    parquet.write_table(pa.table(columns()), tmp_path / "r.parquet")
    check(read(tmp_path / "r.parquet"))


def test_frames_of_every_library():
    check(from_frame(columns()))
    check(from_frame({k: np.array(v) for k, v in columns().items()}))
    check(from_frame(pa.table(columns())))
    check(from_frame(pa.table({k: pa.array(v).dictionary_encode() for k, v in columns().items()})))
    for library in (pd, polars):
        frame = library.DataFrame(columns())
        assert is_frame(frame)
        check(from_frame(frame))
    check(from_frame(pd.DataFrame(columns()).astype({"model": "category", "score": "float32", "trial": "Int64"})))
    check(from_frame(pd.DataFrame(columns()).iloc[::-1][::-1].assign(other=[object()] * 5)))


def test_gaps_in_frames_do_not_change_names():
    frame = pd.DataFrame(
        {"model": ["a", "a", "b", "b"], "id": [7.0, 8.0, 7.0, 8.0], "correct": [True, None, False, True]}
    )
    r = from_frame(frame)
    assert r.questions == ("7", "8")
    np.testing.assert_array_equal(r.outcomes[:, :, 0], [[1, -1], [0, 1]])
    assert "1 of 4 rows have no score and are missing cells" in r.notes


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["true", "False", "TRUE"], [1, 0, 1]),
        (["correct", "incorrect", "NA"], [1, 0, -1]),
        (["C", "I", "C"], [1, 0, 1]),
        (["pass", "fail", ""], [1, 0, -1]),
        (["1.0", "0", "-1"], [1, 0, -1]),
        (["2", "0", "1"], [2, 0, 1]),
    ],
)
def test_words_for_scores(tmp_path, words, expected):
    rows = [("a", "q", t, w) for t, w in enumerate(words)]
    r = read(as_csv(tmp_path / "r.csv", rows))
    np.testing.assert_array_equal(r.outcomes[0, 0], expected)


def test_scores_are_real_unless_levels_or_a_threshold_say_otherwise(tmp_path):
    path = as_csv(tmp_path / "r.csv", [("a", "q", 0, 0.5), ("a", "q", 1, 1), ("b", "q", 0, 0)])
    real = read(path)
    assert real.kind == "real"
    np.testing.assert_array_equal(real.values[:, 0], [[0.5, 1], [0, np.nan]])
    graded = read(path, levels=(0, 0.5, 1))
    np.testing.assert_array_equal(graded.outcomes[:, 0], [[1, 2], [0, -1]])
    assert graded.levels == (0.0, 0.5, 1.0)
    np.testing.assert_array_equal(read(path, threshold=0.5).outcomes[:, 0], [[1, 1], [0, -1]])
    with pytest.raises(DataError, match="not one of the levels"):
        read(path, levels=(0, 1))
    with pytest.raises(OptionError, match="not both"):
        read(path, levels=(0, 1), threshold=0.5)
    with pytest.raises(OptionError, match="finite"):
        read(path, levels="high")


def test_without_trials_the_order_of_appearance_counts(tmp_path):
    path = as_csv(
        tmp_path / "r.csv", [("a", "q", 1), ("b", "q", 0), ("a", "q", 0), ("a", "q", 1)], "model,question,score"
    )
    r = read(path)
    np.testing.assert_array_equal(r.outcomes[:, 0], [[1, 0, 1], [0, -1, -1]])
    assert any("order of appearance" in note for note in r.notes)


def test_trial_labels_sort_as_numbers_and_align_models(tmp_path):
    rows = [("a", "q", "10", 1), ("a", "q", "9", 0), ("b", "q", "9", 1), ("b", "q", "10", 0)]
    np.testing.assert_array_equal(read(as_csv(tmp_path / "r.csv", rows)).outcomes[:, 0], [[0, 1], [1, 0]])


def test_run_identifiers_order_trials_without_aligning_them(tmp_path):
    rows = [(m, q, f"{m}-{q}-{k}", k % 2) for m in "ab" for q in ("q0", "q1") for k in range(3)]
    r = read(as_csv(tmp_path / "r.csv", rows))
    np.testing.assert_array_equal(r.outcomes, np.tile([0, 1, 0], (2, 2, 1)))
    assert any("not aligned" in note for note in r.notes)


def test_identical_duplicates_are_counted_and_dropped(tmp_path):
    r = read(as_csv(tmp_path / "r.csv", [*ROWS, ROWS[0], ROWS[0]]))
    check(r)
    said = "2 rows were identical duplicates and were dropped: row 6 repeats row 1, row 7 repeats row 1"
    assert said in r.notes


def test_conflicting_duplicates_are_an_error(tmp_path):
    message = (
        r"r.csv: row 6 contradicts row 2: both are model, question, trial = 'org/a', 'q0', '1', with scores 1 and 0 "
        r"\(1 such rows\); rows of different runs need different values of 'trial'"
    )
    with pytest.raises(DataError, match=message):
        read(as_csv(tmp_path / "r.csv", [*ROWS, ("org/a", "q0", 1, 1)]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.csv is empty"),
        (HEADER + "\n", "r.csv: there are no rows"),
        ("model,question\na,q\n", "no score column; the columns are model (a), question (q)"),
        ("question,score\nq,1\n", "no model column; the columns are question (q), score (1)"),
        (HEADER + "\na,q,0,maybe\n", "row 1, column 'score': 'maybe' is not a score"),
        (HEADER + "\na,q,0,1\na,q,1,inf\n", "row 2, column 'score': inf is not a score"),
        (HEADER + "\na,q,0,1\n,q,0,1\n", "row 2, column 'model': empty"),
        (HEADER + "\na,q,0,1\na,,0,1\n", "row 2, column 'question': empty"),
        (HEADER + "\na,q,0,1\na,q,,1\n", "row 2, column 'trial': empty"),
        (HEADER + "\na,q,0,1\na,q,0\n", "row 2 has 3 fields, the header has 4"),
        ("model,model,question,score\na,a,q,1\n", "'model' appears twice"),
        (HEADER + "\na,q,0,\n", "no observed trial for 'a'"),
        ("model_a,model_b\na,b\n", "no winner column"),
        ("model_a,model_b,winner\na,b,c\n", "row 1, column 'winner': 'c' is not an outcome"),
        ("model_a,model_b,winner\na,a,tie\n", "'a' is compared with itself"),
        ("model_a,model_b,winner\na,b,\n", "no battle is left"),
    ],
)
def test_errors_name_row_and_column(tmp_path, text, message):
    with pytest.raises(DataError) as error:
        read(write(tmp_path / "r.csv", text))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.jsonl is empty"),
        ('{"model": "a", "question": "q", "score": 1}\n{"model": "a", "que', "line 2"),
        ("[1, 2]", "row 1 is int, not an object"),
        ("null", "row 1 is NoneType, not an object"),
        ('{"model": "a", "question": "q", "score": [1, 0]}', "'[1, 0]' is not a score"),
        ('{"model": "a", "question": "q"}', "no score column"),
    ],
)
def test_errors_of_json(tmp_path, text, message):
    with pytest.raises(DataError) as error:
        read(write(tmp_path / "r.jsonl", text))
    assert message in str(error.value)


def test_columns_by_name(tmp_path):
    path = as_csv(tmp_path / "r.csv", header="m,q,t,s")
    check(read(path, model="m", question="q", trial="t", score="s"))
    with pytest.raises(DataError, match="no column 'x' for model; the columns are m, q, t, s"):
        read(path, model="x", question="q", trial="t", score="s")
    with pytest.raises(DataError, match="two roles"):
        read(path, model="m", question="m", trial="t", score="s")
    with pytest.raises(OptionError, match="name of a column"):
        read(path, model=3)


def test_an_explicit_default_name_is_the_default(tmp_path):
    path = as_csv(tmp_path / "r.csv", header="model_name,task_id,epoch,correct")
    check(read(path, model="model", question="question", trial="trial", score="score"))


def test_many_files_are_one_table(tmp_path):
    as_csv(tmp_path / "run1.csv", ROWS[:3])
    as_csv(tmp_path / "run2.csv", ROWS[3:])
    check(read(str(tmp_path / "run*.csv")))
    check(read([tmp_path / "run1.csv", tmp_path / "run2.csv"]))
    as_csv(tmp_path / "run3.csv", [("org/a", "q0", 0, "?")])
    with pytest.raises(DataError, match=r"run3.csv: row 1, column 'score'"):
        read(str(tmp_path / "run*.csv"))


def test_paths_that_lead_nowhere(tmp_path):
    for path in (tmp_path / "absent.csv", str(tmp_path / "*.csv"), []):
        with pytest.raises(DataError):
            read(path)
    with pytest.raises(OptionError, match="path"):
        read(3)
    with pytest.raises(OptionError, match="format='xml'"):
        read(as_csv(tmp_path / "r.csv"), "xml")


def test_a_tensor_too_large_is_refused_before_allocation(tmp_path):
    # 3,000 models, 3,000 questions and 300 trials from 3,000 rows would be 2.7e9 cells.
    rows = [(k, k, k % 300, 1) for k in range(3000)]
    with pytest.raises(DataError, match="more than 2147483648 cells"):
        read(as_csv(tmp_path / "r.csv", rows))


def test_inspect_frames_use_id_and_the_one_scorer():
    frame = {
        "sample_id": ["u1", "u2"],
        "model": ["a", "b"],
        "id": ["q", "q"],
        "epoch": [1, 1],
        "score_match": ["C", "I"],
    }
    r = from_frame(frame)
    assert r.questions == ("q",)
    np.testing.assert_array_equal(r.outcomes[:, 0, 0], [1, 0])


def test_npz(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, R=EXPECTED, models=["org/a", "org/b"], questions=["q0", "q1"])
    check(read(path))
    np.savez(path, k=[[1, 2], [0, 3]], n=[[3, 3], [3, 3]])
    counted = read(path)
    assert counted.outcomes is None
    np.testing.assert_array_equal(counted.counts[..., 1], [[1, 2], [0, 3]])
    np.savez(path, X=[[0, 1], [1, 2]], Y=[[3, 1, 2, 1], [0, 4, 0, 0]], models=["a", "b", "c"])
    np.testing.assert_array_equal(read(path).ties, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(read(path, bothbad="drop").ties, [[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    np.savez(path, left=[0, 1, 2], right=[1, 2, 0], winner=[0, 2, -1])
    c = read(path)
    assert c.count.sum() == 2
    assert "1 rows have no winner and were dropped" in c.notes
    np.savez(path, other=np.zeros(3))
    with pytest.raises(DataError, match=r"the arrays are other \(3,\)"):
        read(path)
    np.save(tmp_path / "r.npy", np.array(EXPECTED))
    np.testing.assert_array_equal(read(tmp_path / "r.npy").outcomes, EXPECTED)
    np.save(tmp_path / "o.npy", np.array([{}, None], object), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        read(tmp_path / "o.npy")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="not a readable NumPy archive"):
        read(path)


def test_npz_with_an_array_for_each_model(tmp_path):
    """As rliable keeps scores: runs down, games across; an algorithm may have fewer runs than others."""
    rng, path = np.random.default_rng(0), tmp_path / "scores.npz"
    scores = {"DQN": rng.random((5, 4)), "C51": rng.random((3, 4)), "IQN": rng.random((5, 4))}
    np.savez(path, **scores)
    found = read(path)
    assert found.models == ("DQN", "C51", "IQN")
    assert found.shape == (3, 4, 5)
    np.testing.assert_array_equal(found.trials[:, 0], [5, 3, 5])
    np.testing.assert_allclose(jr.fit(found, "iqm").scores, [_interquartile(x) for x in scores.values()], rtol=1e-6)
    np.savez(path, DQN=rng.random((5, 4)), C51=rng.random((5, 3)))
    with pytest.raises(DataError, match="no array"):
        read(path)


def _interquartile(x: np.ndarray) -> float:
    return float(np.sort(x.reshape(-1))[x.size // 4 : x.size - x.size // 4].mean())


def test_graded_npz(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, R=[[0.2, np.nan], [0.9, -1]])
    real = read(path)
    assert real.kind == "real" and real.values[1, 1, 0] == -1 and any("-1 are scores" in n for n in real.notes)
    graded = read(path, threshold=0.5)
    np.testing.assert_array_equal(graded.outcomes[:, :, 0], [[0, -1], [1, 0]])
    assert any("1 cells of -1 are scores" in note for note in graded.notes)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "limit"), [("csv", 3.0), ("parquet", 1.0), ("jsonl", 6.0)])
def test_one_million_rows(tmp_path, kind, limit):
    """Seconds of processor time, so that other work on the machine does not count; the values survive."""
    R = np.random.default_rng(0).integers(0, 2, (50, 500, 40))
    i, m, t = np.indices(R.shape).reshape(3, -1)
    names = ("model", "question", "trial", "score")
    table = [[f"org/model-{k}" for k in i], [f"question-{k}" for k in m], t.tolist(), R.ravel().tolist()]
    path = tmp_path / f"r.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(dict(zip(names, table, strict=True))), path)
    elif kind == "csv":
        as_csv(path, zip(*table, strict=True))
    else:
        rows = (dict(zip(names, row, strict=True)) for row in zip(*table, strict=True))
        write(path, "\n".join(map(json.dumps, rows)))
    start = time.process_time()
    r = read(path)
    assert time.process_time() - start < limit
    np.testing.assert_array_equal(r.outcomes, R)
