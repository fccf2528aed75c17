"""Logs of every tool through the command line, and ``jaxrank check``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from jaxrank.cli.app import make_app
from jaxrank.cli.frames import read_frame
from jaxrank.studies.diagnosis import diagnose
from tests.data.readers import fuzz
from tests.data.readers.written import write_all

Run = Callable[..., tuple[int, str, str]]
PATTERN = r"rescore=The answer is (-?\d+)"

# Folder below the written logs, pattern in it, further arguments, and the mean of the stronger and weaker model.
LOGS = {
    "lm_eval": ("lm_eval/list", "*/samples_*.jsonl", [], (10 / 12, 3 / 12)),
    "lm_eval rescored": ("lm_eval/filters", "*/samples_*.jsonl", ["--read", PATTERN], (10 / 12, 3 / 12)),
    "inspect eval": ("inspect/eval", "*.eval", ["--read", "scorer=match"], (14 / 16, 2 / 16)),
    "inspect deflate": ("inspect/deflate", "*.eval", [], (14 / 16, 2 / 16)),
    "inspect json": ("inspect/json", "*.json", [], (14 / 16, 2 / 16)),
    "evalplus": ("evalplus", "*_eval_results.json", [], (10 / 12, 3 / 12)),
    "evalplus base": ("evalplus", "*_eval_results.json", ["--read", "tests=base"], (11 / 12, 7 / 12)),
    "bigcodebench": ("bigcodebench", "*.json", [], (14 / 16, 2 / 16)),
    "livecodebench": ("livecodebench/output", "*/*.json", [], (14 / 16, 2 / 16)),
    "swebench": ("swebench/experiments", "evaluation/*/*/results/*.json", [], (14 / 16, 2 / 16)),
    "swebench reports": ("swebench/reports", "*.json", ["--read", "errors=zero"], (19 / 24, 2 / 24)),
    "tau_bench": ("tau_bench", "*.json", [], (14 / 16, 2 / 16)),
    "tau2_bench": ("tau2_bench", "*.json", ["--read", "errors=zero"], (13 / 16, 2 / 16)),
    "every_eval_ever": ("every_eval_ever", "*.jsonl", [], (14 / 16, 2 / 16)),
    "openai_evals": ("openai_evals", "*.jsonl", [], (7 / 8, 2 / 8)),
    "long csv": ("long", "*.csv", [], (14 / 16, 2 / 16)),
    "long jsonl": ("long", "*.jsonl", [], (14 / 16, 2 / 16)),
    "long parquet": ("long", "*.parquet", [], (14 / 16, 2 / 16)),
    "lighteval": ("lighteval", "details/org/*/*/*.parquet", [], (14 / 16, 2 / 16)),
}
AS_FOLDER = [name for name in LOGS if not name.startswith("long")]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in float64; returns exit code, stdout and stderr."""

    def call(*args: str | Path) -> tuple[int, str, str]:
        code = 0
        with jax.enable_x64(True):
            try:
                make_app()([str(a) for a in args], prog_name="jaxrank")
            except SystemExit as end:
                code = 0 if end.code is None else int(end.code)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("name", "way"), [*((name, "pattern") for name in LOGS), *((name, "folder") for name in AS_FOLDER)]
)
def test_logs_are_ranked_by_the_command_line(run: Run, logs: Path, tmp_path: Path, name: str, way: str) -> None:
    folder, pattern, options, means = LOGS[name]
    root = logs / folder
    out = tmp_path / "table.json"
    path = str(root / pattern) if way == "pattern" else root
    code, text, _ = run("fit", path, "--method", "avg", *options, "--output", out)
    assert code == 0
    assert "strong" in text
    rows = {str(row["model"]).rpartition("/")[2].split("_")[0]: row for row in json.loads(out.read_text())["rows"]}
    assert rows["strong"]["rank"] == 1
    assert rows["weak"]["rank"] == len(rows)
    np.testing.assert_allclose([rows[m]["score"] for m in ("strong", "weak")], means, atol=1e-12)


@pytest.mark.parametrize("name", ["clean_battle_20260301.json", "arena140k.jsonl", "pairs.json"])
def test_battles_are_ranked_by_the_command_line(run: Run, logs: Path, name: str) -> None:
    path = logs / "arena" / name
    code, _, err = run("fit", path, "--method", "bradley_terry_map", "--read", "ties=half", "--read", "bothbad=drop")
    assert code == 0
    assert "half a win" in err
    assert '1 "both bad" battles were dropped' in err


def test_battles_with_columns_of_other_names(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("home,guest,who,times\nx,y,x,9\ny,x,y,2\n")
    out = tmp_path / "t.json"
    flags = [
        "--a-column",
        "home",
        "--b-column",
        "guest",
        "--winner-column",
        "who",
        "--count-column",
        "times",
    ]
    code, _, err = run("fit", path, "-m", "bradley_terry", *flags, "--output", out)
    assert code == 0
    assert "11 in 2 rows" in err
    scores = {row["model"]: row["score"] for row in json.loads(out.read_text())["rows"]}
    assert scores["x"] - scores["y"] == pytest.approx(np.log(9 / 2), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "args", "says"),
    [
        ("llms,question,score\na,q,1\n", [], "Name it with --model-column ..."),
        ("home,guest,who\nx,y,x\n", ["--winner-column", "who"], "--a-column ... and --b-column ..."),
        ("model,answer,time\na,q,0.5\n", [], "no question column and no score column"),
        ("model_a,model_b,winner\na,b,b\nb,a,b\n", [], '--read winner_as="name"'),
        ("who,ada,bob\nq,1,0\n", [], "for a wide table, with a column for each model, say --wide models"),
    ],
)
def test_remedies_are_spelled_as_flags(run: Run, tmp_path: Path, text: str, args: list[str], says: str) -> None:
    """front-door B6 and B14: the command line names its own flags, not Python's arguments."""
    path = tmp_path / "r.csv"
    path.write_text(text)
    code, _, err = run("fit", path, *args)
    assert code == 2
    assert says in err
    assert "model=..." not in err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--read", "colour=red"], "there is no such option"),
        (["--read", "errors=ignore"], "errors='ignore'"),
        (["--read", "scorer"], "NAME=VALUE"),
        (["--file-format", "inspect"], "does not have the format 'inspect'"),
    ],
)
def test_reading_options_that_do_not_fit_end_in_one_line(run: Run, tmp_path: Path, args: list[str], says: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text("model,question,score\na,q,1\nb,q,0\n")
    code, _, err = run("fit", path, *args)
    assert code == 2
    assert says in err
    assert len(err.strip().splitlines()) == 1


def test_check_reports_problems(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("model,question,score\na,q,1\na,r,1\nb,q,0\nb,r,1\nc,q,1\nc,r,0\n")
    out = tmp_path / "found.json"
    code, text, _ = run("check", path, "--output", out)
    assert code == 0
    assert "separation" in text
    assert "'a' never lost" in text
    assert (
        "bradley_terry"
        in next(r for r in json.loads(out.read_text())["rows"] if r["finding"] == "separation")["methods"]
    )
    assert run("check", path, "--strict")[0] == 1


def test_check_of_bundled_and_of_clean_data(run: Run, tmp_path: Path) -> None:
    code, text, _ = run("check", "misguided_attention", "--strict")
    assert code == 0
    assert "coverage" in text
    rng = np.random.default_rng(0)
    R = rng.integers(0, 2, (3, 6, 1))
    rows = [f"m{i},q{m},{R[i, m, 0]}" for i in range(3) for m in range(6)]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["model,question,score", *rows]))
    lines = [line for line in run("check", path)[1].splitlines() if not line.startswith("  ")]
    found = diagnose(R).findings
    assert [line.split()[0] for line in lines[2:]] == [f.severity for f in found]


def test_check_says_how_the_file_was_read_and_convert_keeps_it(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "r.csv", tmp_path / "r.parquet"
    path.write_text("method,dataset,weight,metric_error\na,x,2,0.1\na,y,1,0.5\nb,x,2,0.2\nb,y,1,0.25\n")
    code, text, err = run("check", path)
    assert code == 0
    for said in (
        "models: 2: a, b",
        "questions: 2: x, y",
        "1 trial",
        "weights: 1 to 2",
        "lower is better for all questions",
    ):
        assert said in text
    assert "lower is better for 'metric_error'" in err
    assert "succeeded" not in text
    assert "categories" not in text
    assert "--higher-is-better says otherwise" in err
    assert run("convert", path, "-o", out)[0] == 0
    assert run("check", out)[1] == text
    assert "columns: voter" in run("check", *_battles(tmp_path))[1]


def _battles(folder: Path) -> list[Path]:
    path = folder / "b.csv"
    path.write_text("home,away,fthg,ftag,voter\nx,y,2,1,u\ny,x,0,0,v\n")
    return [path]


def test_check_of_a_cut_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"model": "a", "question": "q", "score": 1}\n{"model": "a", "quest')
    code, _, err = run("check", path)
    assert code == 2
    assert "line 2" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_files_changed_at_random_end_in_a_table_or_in_one_line(run: Run, tmp_path: Path) -> None:
    """interface 21: exit codes 0 and 2 only, and one line of error."""
    codes = []
    for path in fuzz.files(tmp_path, 24, seed=1):
        code, out, err = run("check", path)
        assert code in (0, 2), f"{path.name}: {code} {err}"
        errors = [line for line in err.splitlines() if "error: " in line]
        assert len(errors) == (code == 2), f"{path.name}: {err}"
        assert bool(out) == (code == 0)
        codes.append(code)
    assert set(codes) == {0, 2}


@pytest.mark.parametrize("command", ["arise", "judges"])
@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("r.csv", "", "is empty"),
        ("r.csv", "judge\n", "--candidate-column ..."),
        ("r.csv", 'a,"b\n1,2\n', "r.csv"),
        ("r.jsonl", '{"judge": 1', "not JSON at line 1"),
        ("r.parquet", "PAR1", "not a readable parquet file"),
        ("r.xml", "<a/>", "not a csv, jsonl or parquet file"),
        ("nowhere/r.csv", None, "there is no file"),
    ],
)
def test_tables_of_arise_and_judges_are_read_by_the_same_readers(
    run: Run, tmp_path: Path, command: str, name: str, text: str | None, says: str
) -> None:
    """interface 21: empty and malformed files were pandas tracebacks."""
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    code, _, err = run(command, path)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert says.replace("candidate", "model" if command == "arise" else "candidate") in err


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet"])
def test_tables_of_arise_and_judges_keep_every_name(tmp_path: Path, ending: str) -> None:
    """interface 13: models called "NA", "null" and "None" were dropped without a word, 007 became 7."""
    names = ["NA", "null", "None", "nan", "007"]
    table = pa.table(
        {"model": names, "level": ["1024", "256", "64", "256", "64"], "correct": ["1", "true", "0", "", "NA"]}
    )
    path = tmp_path / f"r.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path)
    elif ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    else:
        with pa.output_stream(str(path), compression="detect") as out:
            out.write(
                "\n".join(
                    ",".join(row) for row in [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
                ).encode()
            )
    frame = read_frame(path, {"model": "model"}, {"level": "level"}, {"correct": "correct"})
    assert frame["model"].tolist() == names
    assert frame["level"].tolist() == [1024, 256, 64, 256, 64]
    np.testing.assert_array_equal(frame["correct"], [1, 1, 0, np.nan, np.nan])


def test_judges_without_a_score(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("judge,candidate,question,score\nj,a,q,\nj,b,q,NA\n")
    code, _, err = run("judges", path)
    assert code == 2
    assert "column 'score' holds no score" in err
