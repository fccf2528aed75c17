"""The command line, in this process and, where the process itself matters, in another."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import jaxrank as jr
from jaxrank.cli.app import make_app
from jaxrank.cli.arguments import parse_options
from jaxrank.cli.commands.list import ORDER
from jaxrank.errors import OptionError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with jax.enable_x64(True):  # what ``main`` sets for its process
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line; returns exit code, stdout and stderr."""

    def call(*args: str | Path) -> tuple[int, str, str]:
        code = 0
        try:
            make_app()([str(a) for a in args], prog_name="jaxrank")
        except SystemExit as end:
            code = 0 if end.code is None else int(end.code)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three models, four questions, two trials; right answers 8, 5 and 1 of 8."""
    R = np.array([[[1, 1]] * 4, [[1, 1], [1, 0], [1, 1], [0, 0]], [[0, 1], [0, 0], [0, 0], [0, 0]]])
    return write_csv(tmp_path / "results.csv", R, ["best", "middle", "worst"])


def write_csv(path: Path, R: np.ndarray, models: list[str], header: str = "model,question,trial,score") -> Path:
    rows = [header]
    for (i, m, n), value in np.ndenumerate(R):
        rows.append(f"{models[i]},q{m},{n},{value}")
    path.write_text("\n".join(rows) + "\n")
    return path


def table(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_version_and_help(run: Run) -> None:
    assert run("--version")[:2] == (0, f"jaxrank {jr.__version__}\n")
    code, out, _ = run("--help")
    assert code == 0
    assert all(name in out for name in ("list", "fit", "methods", "diff", "demo"))


def test_every_subcommand_explains_itself(run: Run) -> None:
    for command in make_app().registered_commands:
        code, out, _ = run(str(command.name), "--help")
        assert code == 0
        assert command.callback is not None
        assert str(command.callback.__doc__).split()[0] in out


def test_list_shows_every_identifier(run: Run) -> None:
    code, out, _ = run("list", "--all")
    assert code == 0
    rows = table(out)
    assert rows[0] == ["family", "method", "options", "summary"]
    assert {row[1] for row in rows[1:]} == set(jr.catalogue())


def test_list_has_a_line_for_every_family_in_the_order_of_the_chooser(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("list", "-o", tmp_path / "all.csv")
    assert code == 0
    families = {entry.family for entry in jr.entries().values()}
    lines = [re.split(r"\s{2,}", line) for line in out.splitlines()[1:]]
    assert [line[0] for line in lines] == list(ORDER)
    assert set(ORDER) == families
    named = [re.fullmatch(r"(\w+)(?: \(\+(\d+)\))?", name) for line in lines for name in line[1].split(", ")]
    assert sum(1 + int(found[2] or 0) for found in named if found) == len(jr.catalogue())
    assert set(pd.read_csv(tmp_path / "all.csv")["method"]) == set(jr.catalogue())


def test_options_that_are_objects_are_typed_as_the_list_shows_them(run: Run, results: Path) -> None:
    """Typing what the list showed for a quadrature ended in a traceback."""
    _, out, _ = run("list", "rasch_mml")
    assert "  --set quadrature=fixed:n=21\n" in out
    for text in ("quadrature=fixed:n=21", "quadrature=adaptive:11"):
        code, out, err = run("fit", results, "-m", "rasch_mml", "--set", text)
        assert code == 0 and table(out), err
    code, _, err = run("fit", results, "-m", "bradley_terry", "-s", "solver=lbfgs", "-s", "prior=gaussian:0:2")
    assert code == 0, err
    code, _, err = run("fit", results, "-m", "rasch_mml", "--set", "quadrature=GaussHermite(21)")
    assert code == 2 and "adaptive, fixed" in err.splitlines()[-1] and "Traceback" not in err


def test_list_of_a_family_and_of_a_method(run: Run) -> None:
    code, out, _ = run("list", "pointwise")
    assert code == 0
    assert {row[0] for row in table(out)[1:]} == {"pointwise"}
    code, out, _ = run("list", "avg")
    assert code == 0
    assert "**Model**" in out
    assert "--set pooled=False" in out
    code, out, err = run("list", "pointwse")
    assert (code, out) == (2, "")
    assert "did you mean 'pointwise'" in err


def test_fit_ranks_a_csv(run: Run, results: Path) -> None:
    code, out, err = run("fit", results, "--method", "avg")
    assert code == 0
    rows = table(out)
    assert rows[0] == ["rank", "model", "score", "se", "lower", "upper"]
    assert [row[:3] for row in rows[1:]] == [
        ["1", "best", "1.00"],
        ["2", "middle", "0.62"],
        ["3", "worst", "0.12"],
    ]
    assert "24 rows" in err


def test_a_model_with_few_of_the_questions_stands_below_those_that_are_ranked(
    run: Run, results: Path, tmp_path: Path
) -> None:
    """N44, front-door A7: 1 right of 1, of 4 questions, is no first place."""
    with results.open("a") as more:
        more.write("newcomer,q0,0,1\nnewcomer,q0,1,1\n")
    code, out, err = run("fit", results)
    assert code == 0
    assert [row[:2] for row in table(out)[1:]] == [["1", "best"], ["2", "middle"], ["3", "worst"], ["-", "newcomer"]]
    assert "too few of the 4 questions to rank: 'newcomer' (1)" in err and "--include-partial" in err
    code, out, err = run("fit", results, "--include-partial")
    assert [row[:2] for row in table(out)[1:3]] == [["1", "best"], ["1", "newcomer"]] and "too few" not in err
    code, out, err = run("bootstrap", results, "--replicates", "100")
    assert code == 0 and "newcomer" not in out and "'newcomer' (1); left out" in err
    code, _, err = run("bootstrap", results, "--replicates", "100", "--include-partial", "-o", tmp_path / "all.csv")
    assert code == 0 and "newcomer" in (tmp_path / "all.csv").read_text() and "too few" not in err
    one_each = write_csv(tmp_path / "each.csv", np.ones((1, 1, 1), int), ["a"])
    with one_each.open("a") as more:
        more.write("b,q1,0,1\nc,q2,0,0\n")
    assert "too few" not in run("fit", one_each)[2]  # nobody has half of the questions: all are ranked


def test_fit_agrees_with_the_library_on_bundled_data(run: Run, tmp_path: Path) -> None:
    out_file = tmp_path / "table.json"
    code, _, _ = run("fit", "lrm_token_economy", "--level", "0.9", "--output", out_file)
    assert code == 0
    result = jr.fit(jr.datasets.load("lrm_token_economy"), dtype="float64")
    low, high = result.interval(0.9)
    records = {record["model"]: record for record in json.loads(out_file.read_text())["rows"]}
    for i, model in enumerate(result.models):
        row = records[model]
        assert (row["score"], row["lower"], row["upper"]) == (result.scores[i], low[i], high[i])
        assert row["rank"] == result.ranks[i]


def test_fit_of_a_file_equals_the_bundled_data(run: Run, tmp_path: Path) -> None:
    data, path = jr.datasets.load("misguided_attention"), tmp_path / "data.npz"
    np.savez(path, R=data.outcomes, models=data.models, questions=data.questions)
    by_file = run("fit", path)
    by_name = run("fit", "misguided_attention")
    assert by_file[0] == by_name[0] == 0
    assert by_file[1] == by_name[1]


def test_fit_reads_battles(run: Run, tmp_path: Path) -> None:
    lines = ["model_a,model_b,winner"]
    lines += ["x,y,model_a"] * 3 + ["x,y,model_b"] + ["y,z,model_a"] * 2 + ["y,z,model_b"]
    path = tmp_path / "battles.csv"
    path.write_text("\n".join(lines) + "\n")
    code, _, _ = run("fit", path, "-m", "bradley_terry", "-o", tmp_path / "out.csv")
    assert code == 0
    scores = pd.read_csv(tmp_path / "out.csv").set_index("model")["score"]
    assert scores["x"] - scores["y"] == pytest.approx(np.log(3), abs=2e-4)
    assert scores["y"] - scores["z"] == pytest.approx(np.log(2), abs=2e-4)


def test_a_command_without_a_method_takes_the_default_of_the_data(run: Run, results: Path, tmp_path: Path) -> None:
    """interface 18, front-door A3 and B2: battles failed by default, and posteriors of trials were Bradley-Terry's."""
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,winner\n" + "x,y,model_a\ny,z,model_b\nz,x,tie\n" * 3)
    seen: dict[tuple[str, str], str] = {}
    for command in (["fit"], ["bootstrap", "--replicates", "5"], ["posterior", "--samples", "20"]):
        for name, file in (("trials", results), ("battles", path)):
            if command[0] == "posterior" and name == "battles":
                continue  # compiles for seconds
            out = tmp_path / "table.json"
            code, _, err = run(command[0], file, *command[1:], "-o", out)
            assert code == 0, err
            seen[command[0], name] = json.loads(out.read_text())["record"].get("method", "")
    code, _, err = run("evaluate", path)
    assert code == 2 and "these data are battles" in err and "rank them by jaxrank fit" in err
    assert seen["fit", "trials"] == seen["bootstrap", "trials"] == "avg" and seen["posterior", "trials"] == "rasch"
    assert seen["fit", "battles"] == seen["bootstrap", "battles"] == "bradley_terry_davidson_wide"


def test_fit_passes_options_to_the_method(run: Run, results: Path) -> None:
    """Pass@2 of 1 right in 2 trials is 1: model "middle" gets (1 + 1 + 1 + 0) / 4."""
    code, out, _ = run("fit", results, "-m", "pass_at_k", "--set", "k=2")
    assert code == 0
    assert {row[1]: row[2] for row in table(out)[1:]} == {"best": "1.00", "middle": "0.75", "worst": "0.25"}


def test_fit_ranks_ties_by_the_rule_asked_for(run: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "ties.csv", np.array([[1, 1], [1, 0], [0, 1], [0, 0]])[:, :, None], list("abcd"))
    for rule, ranks in {"competition": "1224", "competition_max": "1334", "dense": "1223"}.items():
        assert "".join(row[0] for row in table(run("fit", path, "--ranks", rule)[1])[1:]) == ranks
    assert [row[0] for row in table(run("fit", path, "--ranks", "average")[1])[1:]] == [
        "1.0000",
        "2.5000",
        "2.5000",
        "4.0000",
    ]
    code, out, err = run("fit", path, "--ranks", "best")
    assert (code, out) == (2, "")
    assert "competition_max" in err


def test_fit_reads_other_column_names(run: Run, tmp_path: Path, results: Path) -> None:
    plain = run("fit", results)[1]
    odd = tmp_path / "odd.csv"
    odd.write_text(results.read_text().replace("model,question,trial,score", "who,what,again,mark"))
    columns = [
        "--model-column",
        "who",
        "--question-column",
        "what",
        "--trial-column",
        "again",
        "--score-column",
        "mark",
    ]
    assert run("fit", odd, *columns)[:2] == (0, plain)


def test_fit_reads_graded_scores(run: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "graded.csv", np.array([[[1.0], [0.5]], [[0.5], [0.0]]]), ["a", "b"])
    code, out, _ = run("fit", path, "--levels", "0,0.5,1", "-m", "avg")
    assert code == 0
    assert [row[1] for row in table(out)[1:]] == ["a", "b"]
    code, out, _ = run("fit", path, "--threshold", "1", "-m", "avg")
    assert code == 0
    assert {row[1]: row[2] for row in table(out)[1:]} == {"a": "0.50", "b": "0.00"}


@pytest.mark.filterwarnings("ignore:R0 is shared by all models")
def test_fit_with_a_prior_file(run: Run, tmp_path: Path, results: Path) -> None:
    """Greedy outcomes shared by all models, (M, D), whatever the order of the questions in the file."""
    prior = tmp_path / "greedy.csv"
    prior.write_text("model,question,trial,score\n" + "".join(f"greedy,q{m},0,{m % 2}\n" for m in (3, 1, 0, 2)))
    out_file = tmp_path / "with_prior.csv"
    code, _, _ = run("fit", results, "--prior-file", prior, "--output", out_file)
    assert code == 0
    R0 = np.array([[0], [1], [0], [1]])
    expected = jr.fit(jr.read(results), R0=R0, dtype="float64")
    with out_file.open(newline="") as file:
        written = {row["model"]: float(row["score"]) for row in csv.DictReader(file)}
    assert written == dict(zip(expected.models, expected.scores.tolist(), strict=True))
    assert not np.array_equal(expected.scores, jr.fit(jr.read(results), dtype="float64").scores)


def test_prior_file_by_model_and_its_errors(run: Run, tmp_path: Path, results: Path) -> None:
    R0 = np.array([[[0]] * 4, [[1]] * 4, [[1]] * 4])
    prior = write_csv(tmp_path / "earlier.csv", R0[::-1], ["worst", "middle", "best"])
    out_file = tmp_path / "with_prior.json"
    assert run("fit", results, "--prior-file", prior, "--output", out_file)[0] == 0
    expected = jr.fit(jr.read(results), R0=R0, dtype="float64")
    written = {row["model"]: row["score"] for row in json.loads(out_file.read_text())["rows"]}
    assert written == dict(zip(expected.models, expected.scores.tolist(), strict=True))
    short = write_csv(tmp_path / "short.csv", R0[:, :3], ["best", "middle", "worst"])
    code, out, err = run("fit", results, "--prior-file", short)
    assert (code, out) == (2, "")
    assert "'q3'" in err


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_out_writes_what_is_shown(run: Run, tmp_path: Path, results: Path, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    code, out, _ = run("fit", results, "--output", path)
    assert code == 0
    if suffix == "csv":
        with path.open(newline="") as file:
            records = list(csv.DictReader(file))
    else:
        records = json.loads(path.read_text())["rows"] if suffix == "json" else pq.read_table(path).to_pylist()
    assert [r["model"] for r in records] == ["best", "middle", "worst"]
    assert list(records[0]) == table(out)[0]
    assert [f"{float(r['score']):.2f}" for r in records] == [row[2] for row in table(out)[1:]]


def test_compare_measures_agreement(run: Run, tmp_path: Path) -> None:
    ranks_file = tmp_path / "ranks.csv"
    chosen = ["-m", "avg", "-m", "borda", "-m", "bradley_terry_map"]
    code, out, _ = run("methods", "inspect_popularity", *chosen, "--save", ranks_file)
    assert code == 0
    methods, consensus = (table(part) for part in out.split("\n\n"))
    assert methods[0] == ["method", "tau_b", "group", "same_order"]
    agreement = jr.agreement(
        jr.datasets.load("inspect_popularity"), ["avg", "borda", "bradley_terry_map", "bayes"], dtype="float64"
    )
    assert {row[0]: row[1] for row in methods[1:]} == {k: f"{v:.4f}" for k, v in agreement.tau_with_gold.items()}
    assert {int(row[2]) for row in methods[1:]} == set(range(1, len(agreement.groups) + 1))
    assert [row[1] for row in consensus[1:]] == [agreement.models[i] for i in np.argsort(agreement.consensus)]
    with ranks_file.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["model", "consensus", *agreement.methods]
    assert len(rows) == 3


def test_compare_says_what_it_leaves_out(run: Run, results: Path) -> None:
    """Model "best" never loses, so plain Bradley-Terry has no finite optimum; bayes_greedy lacks its prior outcomes."""
    code, out, err = run("methods", results, "-m", "avg", "-m", "bradley_terry", "-m", "bayes_greedy")
    assert code == 0
    assert {row[0] for row in table(out.split("\n\n")[0])[1:]} == {"avg", "bayes"}
    assert "bradley_terry left out: no finite optimum" in err
    assert "bayes_greedy not run" in err


def test_demo_ranks_the_58_models(run: Run) -> None:
    code, out, err = run("demo")
    assert code == 0
    rows = table(out)[1:]
    assert len(rows) == 58
    for row in rows:
        score, _, low, high = map(float, row[-4:])
        assert low < score < high
    assert "CC0-1.0" in err


BAD_INPUT = {
    "missing file": ("absent.csv", b"", "absent.csv"),
    "empty file": ("empty.csv", b"", "empty.csv"),
    "header only": ("header.csv", b"model,question,trial,score\n", "header.csv"),
    "no score column": ("column.csv", b"model,question,trial\na,q,0\nb,q,0\n", "score"),
    "not text": ("binary.csv", bytes(range(128, 256)) * 20, "binary.csv"),
    "not parquet": ("broken.parquet", b"PAR1 nothing", "broken.parquet"),
    "not npz": ("broken.npz", b"PK nothing", "broken.npz"),
    "unknown score": ("score.csv", b"model,question,trial,score\na,q,0,1\nb,q,0,perhaps\n", "perhaps"),
    "one model": ("one.csv", b"model,question,trial,score\na,q,0,1\n", "two models"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_ends_in_one_line_and_code_2(run: Run, tmp_path: Path, case: str) -> None:
    name, content, word = BAD_INPUT[case]
    path = tmp_path / name
    if case != "missing file":
        path.write_bytes(content)
    code, out, err = run("fit", path)
    assert (code, out) == (2, "")
    errors = [line for line in err.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert word in errors[0]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["-m", "bradley_tery"], "did you mean"),
        (["-m", "pass_at_k", "-s", "k=9"], "k"),
        (["-m", "pass_at_k", "-s", "n=2"], "--replicates"),
        (["-m", "pass_at_k", "-s", "k"], "NAME=VALUE"),
        (["-s", "k=1", "-s", "k=2"], "twice"),
        (["--level", "1.5"], "1.5"),
        (["--levels", "0;1"], "separated by commas"),
        (["--output", "table.xlsx"], ".parquet"),
        (["--output", "no/such/folder/table.csv"], "no/such/folder"),
        (["-m", "bradley_terry"], "no finite optimum"),
    ],
)
def test_bad_arguments_end_in_one_line_and_code_2(run: Run, results: Path, args: list[str], word: str) -> None:
    code, out, err = run("fit", results, *args)
    assert (code, out) == (2, "")
    assert word in err.splitlines()[-1]
    assert "Traceback" not in err


def test_parse_options() -> None:
    pairs = ["k=4", "tau=0.5", "w=(0, 1, 2)", "ties=half", "tie-rule=skip", "pooled=true", "prior=None"]
    expected = {"k": 4, "tau": 0.5, "w": (0, 1, 2), "ties": "half", "tie_rule": "skip", "pooled": True, "prior": None}
    assert parse_options(pairs) == expected
    with pytest.raises(OptionError, match="NAME=VALUE"):
        parse_options(["=3"])


def environment(**changes: str) -> dict[str, str]:
    own = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")  # of this suite
    without = (*own, "JAX_PLATFORMS", "JAX_ENABLE_X64", "XDG_CACHE_HOME")
    return {k: v for k, v in os.environ.items() if k not in without} | changes


def test_process_runs_in_float64_and_keeps_compiled_code(tmp_path: Path, results: Path) -> None:
    """In the user's cache directory, or where JAX's own variable says."""
    command = [sys.executable, "-m", "jaxrank", "fit", str(results), "--output", str(tmp_path / "out.json")]
    cache = tmp_path / "cache"
    done = subprocess.run(
        command, env=environment(XDG_CACHE_HOME=str(cache)), capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == 4  # piped: a header and three models, no drawing
    assert any((cache / "jaxrank" / "jax").iterdir())
    scores = [row["score"] for row in json.loads((tmp_path / "out.json").read_text())["rows"]]
    assert scores == jr.fit(jr.read(results), dtype="float64").scores.tolist()

    own, second = tmp_path / "own", tmp_path / "second"
    variables = {"XDG_CACHE_HOME": str(second), "JAX_COMPILATION_CACHE_DIR": str(own)}
    subprocess.run(command, env=environment(**variables), capture_output=True, check=True)
    assert any(own.iterdir())
    assert not second.exists()


def test_pooled_tasks_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """front-door C7: 150 and 80 questions of two tasks were pooled without a word."""
    rows = [(m, q, "sums" if q < 3 else "words", (q + (m == "b")) % 2) for m in "ab" for q in range(8)]
    for name, kept in (("unequal", rows), ("equal", [row for row in rows if row[1] < 6])):
        frame = pd.DataFrame(kept, columns=["model", "question", "task", "score"])
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        with jax.enable_x64(True), pytest.raises(SystemExit):
            make_app()(["fit", str(tmp_path / f"{name}.csv"), "--group-column", "task"], prog_name="jaxrank")
        told = "every question counts once, whatever the size of its task (sums 3, words 5)" in capsys.readouterr().err
        assert told == (name == "unequal")
