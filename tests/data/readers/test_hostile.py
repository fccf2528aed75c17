"""Files that lie, burst, or are something else: one sentence with the whole path, and nothing read wrongly."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import jaxrank as jr
from jaxrank.data.readers import delimited, files, npz, read, zipped
from jaxrank.errors import DataError, JaxrankError, OptionError
from tests.data.readers import fuzz
from tests.data.readers.written import inspect_log, write_zip

ROWS = "a,q0,1\na,q1,0\nb,q0,0\nb,q1,1\n"
TABLE = "model,question,score\n" + ROWS
DEEP = "[" * 100_000


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path: Path, *parts: str, **options) -> None:
    with pytest.raises(DataError) as error:
        read(path, **options)
    text = str(error.value)
    assert str(path) in text
    assert "\n" not in text
    assert len(text) < 600
    for part in parts:
        assert part in text


# Text


@pytest.mark.parametrize("size", [200_000, 1_000_000])
def test_long_fields(tmp_path, size):
    """interface 17: responses beside the scores may be long; the csv module stops at 131,072 characters."""
    text = f'model,question,response,score\na,q,{"x" * size},1\nb,q,"{"y " * size}\n{"z" * size}",0\n'
    r = read(write(tmp_path / "r.csv", text))
    assert r.models == ("a", "b")
    np.testing.assert_array_equal(r.outcomes.ravel(), [1, 0])


def test_a_row_beyond_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 1000)
    table = write(tmp_path / "r.csv", f"model,question,response,score\na,q,{'x' * 5000},1\nb,q,y,0\n")
    with delimited.Stream(table) as stream:
        columns = delimited._Table(stream, 1000).read([0, 3])
    assert columns[0].values == ["a", "b"]
    assert columns[1].codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('model,question,score,note\na,q,1,"open\nb,q,0,x\n', 1),
        ('model,question,score,note\na,q,1,x\nb,q,0,"open\nc,q,1,"x"\n', 2),
        ('model,question,score,note\na,q,1,"two\nlines"\nb,q,0,"open\nc,q,0,"y\n', 2),
    ],
)
def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path, text, row):
    refused(write(tmp_path / "r.csv", text), f"row {row}", "quoted field is not closed")


def test_a_first_line_without_an_end(tmp_path, monkeypatch):
    """Bytes that are no table are not searched for the end of a line again and again."""
    refused(write(tmp_path / "r.csv", b"x" * 1_000_000), "the header cannot be read")
    monkeypatch.setattr(delimited, "BLOCK", 100_000)
    refused(tmp_path / "r.csv", "a first line of more than 100000 bytes")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_ends_of_lines_and_delimiters(tmp_path, end, delimiter):
    text = "\ufeff" + (TABLE + "\n").replace(",", delimiter).replace("\n", end)
    r = read(write(tmp_path / "r.csv", text))
    np.testing.assert_array_equal(r.outcomes[:, :, 0], [[1, 0], [0, 1]])


def test_what_the_csv_module_writes_is_read_back(tmp_path):
    """Random fields of quotes, delimiters, line ends and blanks: the same values in the same places."""
    rng = random.Random(0)
    pieces = ["a", "b", '"', '""', ",", ";", "\t", "|", "\n", "\r\n", " ", "é", "'", "\\", "NA", ""]
    for _ in range(150):
        header = [f"c{k}" for k in range(rng.randint(2, 5))]
        field = lambda: "".join(rng.choice(pieces) for _ in range(rng.randint(0, 6)))
        rows = [[field() for _ in header] for _ in range(rng.randint(0, 12))]
        text = io.StringIO(newline="")
        quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        end = rng.choice(["\n", "\r\n"])
        writer = csv.writer(text, delimiter=rng.choice(",;\t|"), lineterminator=end, quoting=quoting)
        writer.writerows([header, *rows])
        columns = delimited.load(write(tmp_path / "r.csv", text.getvalue()), list)
        found = [[columns[c].values[columns[c].codes[k]] for c in header] for k in range(len(columns["c0"].codes))]
        assert found == rows


def test_quoted_headers_blank_starts_and_line_ends_in_fields(tmp_path):
    text = '\n\n"model","the ""question""\nasked",score\n"a, b","what?\nnow",1\n\n"c","what?\nnow",0\n'
    r = read(write(tmp_path / "r.csv", text), question='the "question"\nasked')
    assert r.models == ("a, b", "c")
    assert r.questions == ("what?\nnow",)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (TABLE.encode("utf-16"), "UTF-16"),
        (TABLE.replace("a", "é").encode("latin-1"), "row 1, column 'model' is not UTF-8 text"),
        (TABLE.replace("model", "modèle").encode("latin-1"), "is not UTF-8 text"),
        (TABLE.replace("a", "a\0").encode(), "NUL"),
        (TABLE.replace("model", "mo\0del").encode(), "NUL"),
        (b"PK\3\4" + bytes(100), "workbook"),
        (b"PAR1" + bytes(100), "parquet"),
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
    ],
)
def test_text_that_is_none(tmp_path, raw, says):
    refused(write(tmp_path / "r.csv", raw), says)


def test_bytes_of_another_encoding_in_a_column_that_is_not_read(tmp_path):
    raw = "model,question,score,note\na,q,1,café\nb,q,0,\n".encode("latin-1")
    assert read(write(tmp_path / "r.csv", raw)).models == ("a", "b")


# JSON


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.ndjson"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DEEP, "nested too deeply"),
        ('{"model": ' + DEEP, "nested too deeply"),
        ('{"model": "a", "question": "q", "score": ' + "1" * 5000 + "}", "a number that cannot be read"),
        ('{"model": "a", "question": "q", "score": ' + "1" * 400 + "}", "not a score"),
        ('{"model": "\\ud800", "question": "q", "score": 1}', "no text"),
        ('{"model": "a\\u0000", "question": "q", "score": 1}', "no text"),
        ("", "is empty"),
        ("nul", "not JSON at line 1"),
        ('{"model": "a", "question": "q", "score": 1, "score": 0}', "the key 'score' twice, with the values 1 and 0"),
        ('{"model": "a", "question": {"id": 1, "id": 2}, "score": 1}', "the key 'id' twice"),
    ],
)
def test_hostile_json(tmp_path, name, text, says):
    """interface 21: RecursionError, OverflowError and ValueError of Python's json."""
    refused(write(tmp_path / name, text), says)


def test_a_key_twice_with_one_value_is_one_key(tmp_path):
    for name in ("r.json", "r.jsonl"):
        path = write(tmp_path / name, '{"model": "a", "question": "q", "score": 1, "score": 1}\n')
        assert read(path).outcomes.tolist() == [[[1]]]


def test_hostile_members_of_an_inspect_log(tmp_path):
    log, _ = inspect_log("a", [["C"]], "1")
    path = tmp_path / "1.eval"
    for raw, says in (
        (DEEP, "nested too deeply"),
        ("1" * 5000, "a number that"),
        ("[", "cut off"),
        ('"x"', "not a list"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(log))
            archive.writestr("summaries.json", raw)
        refused(path, "summaries.json", says)


# Archives


def test_packed_files_have_a_limit(tmp_path, monkeypatch):
    """interface 26: a small file that unpacks to a large one is refused before it is in memory."""
    monkeypatch.setattr(files, "MAX_UNPACKED", 10_000)
    lines = json.dumps({"model": "a", "question": "q", "score": 1, "note": "x" * 20_000})
    for name, text in (("r.json.gz", f"[{lines}]"), ("r.jsonl.gz", lines), ("r.csv.gz", TABLE + ROWS * 1000)):
        refused(write(tmp_path / name, gzip.compress(text.encode())), "unpacks to more than 10000 bytes", "unpack it")
    with pa.output_stream(str(tmp_path / "r.csv.zst"), compression="zstd") as out:
        out.write((TABLE + ROWS * 1000).encode())
    refused(tmp_path / "r.csv.zst", "unpacks to more than 10000 bytes")
    assert read(write(tmp_path / "small.csv.gz", gzip.compress(TABLE.encode()))).shape == (2, 2, 1)
    # Files that are not packed have no limit: they are as large as they look.
    assert read(write(tmp_path / "r.csv", TABLE.replace("a", "a" * 9000))).shape == (2, 2, 1)


@pytest.mark.parametrize("method", [8, 93])
def test_members_of_logs_have_a_limit_and_a_check_sum(tmp_path, monkeypatch, method):
    log, samples = inspect_log("a", [["C"] * 50], "1")
    path = write_zip(tmp_path / "1.eval", {"header.json": log, "summaries.json": samples}, method)
    assert read(path).shape == (1, 1, 50)
    raw = path.read_bytes()
    size = len(json.dumps(samples)).to_bytes(4, "little")
    assert raw.count(size) == 2
    refused(write(path, raw.replace(size, (7).to_bytes(4, "little"))), "summaries.json cannot be unpacked")
    write(path, raw)
    monkeypatch.setattr(zipped, "MAX_UNPACKED", 1000)
    refused(path, f"summaries.json unpacks to {len(json.dumps(samples))} bytes; at most 1000 are read")


def test_an_array_that_is_not_asked_for_is_not_unpacked(tmp_path):
    """interface 26: 0.6 MB with one unused array of zeros took 0.6 GB."""
    path = tmp_path / "r.npz"
    np.savez_compressed(path, R=np.eye(3), other=np.zeros(30_000_000, np.uint8))
    tracemalloc.start()
    try:
        assert read(path).shape == (3, 3, 1)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_arrays_have_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    np.savez_compressed(path, R=np.ones((3, 4, 100)))
    monkeypatch.setattr(npz, "MAX_UNPACKED", 1000)
    refused(path, "array 'R' unpacks to", "at most 1000 are read")


def npy(shape: str, payload: bytes = b"", dtype: str = "<f8") -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + payload


@pytest.mark.parametrize("shape", ["(1000, 1000, 1250000)", "(3, 4)", "(-3, -4)", "(3,", "'x'"])
def test_headers_that_claim_more_than_there_is(tmp_path, shape):
    """interface 21: a header that claims 10 TB is no MemoryError."""
    raw = npy(shape, bytes(64))
    refused(write(tmp_path / "r.npy", raw), "not a readable NumPy archive")
    with zipfile.ZipFile(tmp_path / "r.npz", "w") as archive:
        archive.writestr("R.npy", raw)
    refused(tmp_path / "r.npz", "array 'R' cannot be read")


def test_unreadable_arrays_matter_where_they_are_asked_for(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, R=np.eye(3), meta=np.array([{}], object))
    assert read(path).shape == (3, 3, 1)
    with pytest.raises(JaxrankError, match="array 'meta' cannot be read: it holds Python objects"):
        read(path, array="meta")


@pytest.mark.parametrize("name", ["r.csv.gz", "r.jsonl.gz", "r.json.gz", "r.csv.zst", "r.jsonl.zst"])
def test_packed_files_that_are_damaged(tmp_path, name):
    """interface 21: zlib.error, and check sums that do not agree; a file that is not packed is read as it is."""
    lines = [{"model": m, "question": f"q{k}", "score": k % 2} for m in "ab" for k in range(200)]
    text = {".csv": TABLE + ROWS * 100, ".jsonl": "\n".join(map(json.dumps, lines)), ".json": json.dumps(lines)}
    plain = text[Path(Path(name).stem).suffix].encode()
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(plain)
    raw = gzip.compress(plain) if name.endswith(".gz") else sink.getvalue().to_pybytes()
    path = tmp_path / name
    assert len(read(write(path, raw)).models) == 2
    for cut in (5, len(raw) // 2, len(raw) - 1):
        refused(write(path, raw[:cut]), "cannot be read")
    if name.endswith(".gz"):
        for k in (12, len(raw) // 2, len(raw) - 6):
            refused(write(path, raw[:k] + bytes([raw[k] ^ 8]) + raw[k + 1 :]))
    assert len(read(write(path, plain)).models) == 2


# Parquet


def test_names_of_parquet_files_that_are_kept_as_bytes(tmp_path):
    table = {"model": [b"a", b"b"], "question": [b"q", b"q"], "score": [1, 0]}
    path = tmp_path / "r.parquet"
    parquet.write_table(pa.table(table), path)
    assert read(path).models == ("a", "b")
    parquet.write_table(pa.table(table | {"model": [b"\xff", b"b"]}), path)
    with pytest.raises(DataError, match="not UTF-8"):
        read(path)


def test_parquet_of_few_bytes_and_many_rows(tmp_path, monkeypatch):
    """interface 26: a column of one value repeated, which packs to nothing."""
    n = 200_000
    table = pa.table({"model": ["a"] * n, "question": ["q"] * n, "score": [1] * n})
    parquet.write_table(table, tmp_path / "r.parquet")
    assert read(tmp_path / "r.parquet").shape == (1, 1, n)
    monkeypatch.setattr(files, "MAX_UNPACKED", 1_000_000)
    refused(tmp_path / "r.parquet", "unpack to 200,000 rows", "write it as csv")
    random = pa.table({"model": ["a"] * n, "question": ["q"] * n, "score": np.random.default_rng(0).integers(0, 2, n)})
    parquet.write_table(random, tmp_path / "random.parquet")
    assert read(tmp_path / "random.parquet").shape == (1, 1, n)


def test_parquet_with_a_column_twice(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"])] * 2 + [pa.array([1])] * 2, ["model", "model", "question", "score"])
    parquet.write_table(table, tmp_path / "r.parquet")
    refused(tmp_path / "r.parquet", "column 'model' appears twice")


# Places


@pytest.mark.parametrize("name", ["r.csv", "r.json", "r.jsonl", "r.npz", "r.npy", "r.parquet", "r.eval", "r.csv.gz"])
def test_files_that_may_not_be_read_or_are_empty(tmp_path, monkeypatch, name):
    refused(write(tmp_path / name, b""))

    def deny(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", deny)
    refused(tmp_path / name, "Permission denied")


def test_places_that_are_no_files(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "nowhere.csv").symlink_to(tmp_path / "absent.csv")
    refused(tmp_path / "folder.csv", "holds no files")
    refused(tmp_path / "nowhere.csv", "there is no file")
    with pytest.raises(OptionError, match="not the name of a file"):
        read("a\0b.csv")
    with pytest.raises(OptionError, match="not the name of a file"):
        read(b"a.csv")


def test_one_file_by_several_paths_is_read_once(tmp_path, monkeypatch):
    """interface 11: by another spelling, by links, in a folder with links; copies are other files."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "r.csv", TABLE)
    once = read("r.csv")
    (tmp_path / "links").mkdir()
    for k in range(2):
        (tmp_path / "links" / f"{k}.csv").symlink_to(tmp_path / "r.csv")
    for paths in (["r.csv", tmp_path / "r.csv"], ["r.csv", "./links/../r.csv"], "links", ["r.csv", "links/0.csv"]):
        again = read(paths)
        np.testing.assert_array_equal(again.outcomes, once.outcomes)
        assert any("1 paths lead to files that were read already" in note for note in again.notes)
    write(tmp_path / "copy.csv", TABLE)
    assert read(["r.csv", "copy.csv"]).shape == (2, 2, 2)


def test_messages_name_the_whole_path(tmp_path):
    """Files of one name in many folders: the message says which."""
    for k in range(3):
        (tmp_path / str(k)).mkdir()
        write(tmp_path / str(k) / "results.csv", TABLE.replace("1", "?") if k == 1 else TABLE)
    with pytest.raises(DataError) as error:
        read(tmp_path)
    assert f"{tmp_path}{os.sep}1{os.sep}results.csv: row 1, column 'score': '?'" in str(error.value)


# Values


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ["NA", "null", "nan", "None", "N/A", "-", "true", "1e5", "007", "-1"])
def test_names_stay_as_they_are_written(tmp_path, kind, name):
    """interface 13: the words for missing scores are names like others where names are read."""
    rows = [{"model": m, "question": q, "score": 1} for m in (name, "x") for q in (name, "y")]
    path = tmp_path / f"r.{kind}"
    if kind == "csv":
        write(path, "\n".join(["model,question,score", *(f"{r['model']},{r['question']},1" for r in rows)]))
    elif kind == "jsonl":
        write(path, "\n".join(map(json.dumps, rows)))
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    r = read(path)
    assert r.models == (name, "x")
    assert r.questions == (name, "y")
    assert r.complete


def test_names_that_differ_in_blanks_or_as_numbers(tmp_path):
    text = "model,question,score\na,1,1\na ,2,0\nb,1.0,1\nb,2,0\n"
    r = read(write(tmp_path / "r.csv", text))
    assert r.models == ("a", "b")
    assert r.questions == ("1", "2", "1.0")
    assert "models 'a' and 'a ' differ in outer blanks and were read as one" in r.notes
    assert "questions '1' and '1.0' are one number and two names: they are kept apart" in r.notes
    battles = read(write(tmp_path / "b.csv", "model_a,model_b,winner\na,b,a\na ,b,b\n"))
    assert any("outer blanks" in note for note in battles.notes)


def test_trials_that_are_one_number_are_one(tmp_path):
    """A column of trials with a gap comes out of a data frame as 1.0, 2.0."""
    write(tmp_path / "a.csv", "model,question,trial,score\na,q,1,1\na,q,2,0\n")
    write(tmp_path / "b.csv", "model,question,trial,score\nb,q,2.0,1\nb,q,1.0,0\n")
    np.testing.assert_array_equal(read(tmp_path).outcomes[:, 0], [[1, 0], [0, 1]])


def test_minus_one_is_a_score_where_scores_are_declared(tmp_path):
    """interface 6: a reward of -1 is a failure below the threshold, and a level where the levels say so."""
    path = write(tmp_path / "r.csv", "model,question,score\na,q,-1\na,r,-1\nb,q,1\nb,r,-1\n")
    r = read(path, threshold=0)
    np.testing.assert_array_equal(r.outcomes[:, :, 0], [[0, 0], [1, 0]])
    assert any("3 rows of -1 are scores, below the threshold" in note for note in r.notes)
    refused(path, "-1 is not one of the levels (0, 1)", levels=(0, 1))
    missing = write(tmp_path / "m.csv", "model,question,score\na,q,-1\na,r,1\nb,q,1\nb,r,0\n")
    assert "1 of 4 rows have no score and are missing cells" in read(missing).notes


def test_duplicates_across_files_name_both_rows(tmp_path):
    for k in range(2):
        write(tmp_path / f"{k}.csv", "model,question,trial,score\na,q,0,1\nb,q,0,0\n")
    (note,) = [n for n in read(tmp_path).notes if "duplicates" in n]
    assert f"{tmp_path / '1.csv'}: row 1 repeats {tmp_path / '0.csv'}: row 1" in note


def test_a_count_of_trials_is_said_to_be_unread(tmp_path):
    text = "model,question,score,count\na,q,1,90\nb,q,0,10\n"
    said = "column 'count' is not read: each row is one trial"
    assert said in read(write(tmp_path / "r.csv", text)).notes
    assert said in jr.from_frame({"model": ["a"], "question": ["q"], "score": [1], "count": [3]}).notes


def test_notes_in_plain_text_beside_results_are_left_out(tmp_path):
    """interface, section 2: a .txt file in a folder of results stopped the reading."""
    write(tmp_path / "r.csv", TABLE)
    write(tmp_path / "README.txt", "What this is.\n")
    r = read(tmp_path)
    assert r.shape == (2, 2, 1)
    assert any("README.txt" in note for note in r.notes)
    (tmp_path / "r.csv").rename(tmp_path / "README.txt")
    assert read(tmp_path).shape == (2, 2, 1)


def test_a_file_can_be_ranked_by_its_name(tmp_path):
    """front-door B6 and B7: a path is read; a frame whose columns have other names is told where to name them."""
    path = write(tmp_path / "r.csv", TABLE)
    np.testing.assert_array_equal(jr.fit(path, "avg").scores, jr.fit(str(path), "avg").scores)
    with pytest.raises(DataError, match="there is no file"):
        jr.fit("nowhere.csv")
    with pytest.raises(DataError, match=r"no model column.*jr\.from_frame\(frame, model="):
        jr.fit({"m": ["a", "b"], "question": ["q", "q"], "score": [1, 0]})
    named = jr.from_frame({"llm": ["a", "b"], "problem_id": ["q", "q"], "passed": [True, False]})
    assert named.models == ("a", "b")


# At random


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_files_changed_at_random_are_read_or_refused_in_one_line(tmp_path):
    """interface 21, section 5: below the formats; ``tests.data.readers.fuzz`` runs longer by hand."""
    seen = {"read": 0, "refused": 0}
    for k, path in enumerate(fuzz.files(tmp_path, 400)):
        options = fuzz.OPTIONS[k % len(fuzz.OPTIONS)]
        kind, text = fuzz.outcome(path, **options)
        assert kind != "traceback", f"{path.name} {options}: {text}"
        seen[kind] += 1
    assert min(seen.values()) > 40


def test_files_that_are_cut_are_refused(tmp_path):
    """A table or jsonl that is cut between two rows is whole; everything else is refused, in one line."""
    n_files = refused = 0
    for source in fuzz.plant(tmp_path / "whole"):
        if fuzz.outcome(source)[0] != "read":
            continue
        whole = source.read_bytes()
        path = tmp_path / source.name
        n_files += 1
        for k in range(10):
            kind, text = fuzz.outcome(write(path, whole[: len(whole) * k // 10]))
            assert kind != "traceback", text
            refused += kind == "refused"
            assert kind == "refused" or source.suffix in (".csv", ".tsv", ".jsonl"), f"{path.name} cut at {k}/10"
        path.unlink()
    assert refused > 8 * n_files
