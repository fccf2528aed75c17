"""Parameters of all commands: one letter and one name mean one thing; what is typed wrong ends in one line."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import typer.main

import jaxrank as jr
from jaxrank.cli.app import make_app
from jaxrank.cli.arguments import READING
from jaxrank.cli.commands import diff
from jaxrank.errors import UnknownMethodError
from jaxrank.methods import catalogue

LETTERS = {"-m": "--method", "-o": "--output", "-s": "--set", "-B": "--replicates", "-h": "--help"}
NOT_HERE = (
    *(
        "--option",
        "--out",
        "--interval",
        "--draws",
        "--n-replicates",
        "--n-samples",
        "--metric",
        "--model",
        "--k",
        "--tau",
    ),
    *("--curves", "--ranks-out"),
)
"""What commands once called things that now have one name: interface, section 3."""


def parameters() -> dict[str, list[Any]]:
    group: Any = typer.main.get_command(make_app())
    return {name: list(command.params) for name, command in group.commands.items()}


PARAMETERS = parameters()
SECOND = {again: name for name, words in diff.ALSO.items() for again in words}
"""Second names of commands, which `test_a_second_name_is_the_same_command` tells to be the same."""
TRIED = sorted(set(PARAMETERS) - set(SECOND))
OPTIONS = [(command, p) for command, found in PARAMETERS.items() for p in found if p.param_type_name == "option"]


NOTHING_TO_DRAW = {
    "convert": "writes data",
    "list": "reads none",
    "merge": "runs a command again, with the --plot that was typed",
    "leaderboard": "its page has the plots",
    "report": "its page has the plots",
}


def test_what_can_be_drawn_is_drawn() -> None:
    """front-door C6: only reports drew; evaluate, rubrics and check still had no --plot."""
    drawing = {command for command, option in OPTIONS if "--plot" in option.opts}
    assert drawing == set(PARAMETERS) - set(NOTHING_TO_DRAW)


def test_one_letter_means_one_thing_in_all_commands() -> None:
    """interface, section 3: -o was --option, --output or --out by command, -m a method or a metric."""
    for command, option in OPTIONS:
        for letter in (name for name in option.opts if not name.startswith("--")):
            assert LETTERS[letter] in option.opts, (command, option.opts)
        for letter, word in LETTERS.items():
            assert word not in option.opts or letter in option.opts, (command, option.opts)


def test_one_name_means_one_thing_in_all_commands() -> None:
    """The same words say the same, and what is the same in two commands has one name: interface, section 3."""
    told: dict[str, list[tuple[str, str]]] = {}
    for command, option in OPTIONS:
        name = next(word for word in option.opts if word.startswith("--"))
        assert name not in NOT_HERE, command
        told.setdefault(name, []).append((command, kind_of(option)))
    for name, found in told.items():
        assert len({kind for _, kind in found}) == 1, f"{name} is {found}"
    having = {name: {command for command, _ in found} for name, found in told.items()}
    assert having["--output"] == set(PARAMETERS)
    assert having["--replicates"] == {"answers", "arise", "bootstrap", "converge", "report"}
    assert having["--method"] == set(PARAMETERS) - {
        "answers",
        "arise",
        "check",
        "convert",
        "judges",
        "list",
        "rubrics",
        "compare",
        "diff",
        "merge",
    }
    assert having["--level"] == having["--method"] - {"methods", "converge"} | {
        "answers",
        "arise",
        "compare",
        "diff",
        "judges",
        "rubrics",
    }


def test_every_option_explains_itself() -> None:
    assert not [(command, p.opts) for command, p in OPTIONS if not p.help]


def test_a_second_name_is_the_same_command() -> None:
    group: Any = typer.main.get_command(make_app())
    for again, name in SECOND.items():
        first, second = (group.commands[n] for n in (name, again))
        assert first.callback.__wrapped__.__code__ is second.callback.__wrapped__.__code__
        told = [[(p.opts, p.default, getattr(p, "help", "")) for p in command.params] for command in (first, second)]
        assert told[0] == told[1] and len(told[0]) > 20


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    """Run a command in an empty folder; anything but an exit, such as a traceback, is a failure of the test."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            make_app()(list(args), prog_name="jaxrank")
        told = capfd.readouterr()
        return int(end.value.code or 0), told.out, told.err

    with jax.enable_x64(True):
        yield call


def assert_one_line(code: int, out: str, err: str, words: Any) -> None:
    assert code == 2, (words, code, out, err)
    assert out == "", words
    errors = [line for line in err.splitlines() if line.startswith("jaxrank: error: ")]
    others = [line for line in err.splitlines() if not line.startswith("jaxrank: ")]
    assert len(errors) == 1 and not others, (words, err)
    assert "Traceback" not in err and "\x1b" not in err, words


BAD: dict[str, list[str]] = {
    "int": ["x", "1.5", "", "-1", "nan", "1e3", "99999999999999999999"],
    "float": ["x", "", "-1", "2", "nan", "inf", "1e400"],
    "path": ["", "no/such/folder/x.csv", "x.exe", ".", "x" * 300 + ".csv", "a\x00b.csv", "file.csv/x.csv"],
    "text": ["", "\x1b[31m", "no such thing", "=", "k", "k=", "=4", "a,,b", "🙂", "-1", "x" * 2000],
}
"""Bad values by the kind of a parameter. Some are good for some parameters: those runs may end well."""
FILES = {
    "absent": None,
    "empty": b"",
    "header": b"model,question,trial,score\n",
    "binary": bytes(range(128, 256)) * 20,
    "ragged": b"model,question,trial,score\na,q,0,1\nb,q\n",
    "control": b"mod\x1bel,question\n\x07,1\n",
    "quote": b'model,question,trial,score\n"a,q,0,1\n',
    "nulls": b"\x00" * 50,
}
QUICK = {
    "arise": ["--replicates", "3"],
    "bootstrap": ["--replicates", "3", "-m", "avg"],
    "converge": ["--replicates", "3", "-m", "bayes"],
    "methods": ["-m", "avg"],
    "judges": ["--prior", "perfect", "--samples", "4"],
    "answers": ["--answer-column", "score", "--correct-column", "correct", "--replicates", "3", "--paths", "2"],
    "posterior": ["-m", "bayes", "--samples", "3", "--chains", "1"],
    "report": ["--replicates", "3", "--methods", "avg"],
    "leaderboard": ["-o", "site"],
    "convert": ["-o", "out.parquet"],
    "diff": ["--old", "a", "--new", "b"],
}


READ_BY = "check"
"""The command with which all bad values of the options of reading are tried, which one function reads for all; with the
others one value of each."""
SLOW = ("methods", "converge", "evaluate", "judges", "leaderboard", "posterior", "report")


def kind_of(option: Any) -> str:
    """What a parameter takes; repeated ones as single ones."""
    described = getattr(option, "type_descriptor", None)  # typer 0.29; before, the type of click
    name = str(described.annotation if described else option.type).lower()
    return next((kind for kind in ("int", "float", "path", "bool") if kind in name), "text")


def cases() -> list[tuple[str, str, str]]:
    found = []
    for command, option in OPTIONS:
        word = option.opts[0]
        if option.is_flag or word in ("--help", "--hosts"):
            continue
        values = BAD[kind_of(option)]
        once = getattr(option, "rich_help_panel", None) == READING and command != READ_BY
        found += [(command, word, value) for value in (values[:1] if once else values)]
    return found


def data_file(folder: Path) -> str:
    """Trials that every command can read: those of arise, judges and rubrics stand beside the trials."""
    path = folder / "file.csv"
    rows = ["model,question,trial,score,level,correct,tokens,judge,candidate,is_correct,completion_bpt"]
    rng = np.random.default_rng(0)
    for m, q, t in itertools.product(("a", "b", "c"), range(2), range(4)):
        score = int(rng.random() < (0.8 - 0.3 * "abc".index(m)))
        rows.append(f"{m},q{q},{t},{score},{t % 2},{score},{100 + t},j{t},{m},{score},0.{t + 1}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path.name


def votes_file(folder: Path) -> str:
    """Battles, for the command that reads these alone."""
    path = folder / "votes.csv"
    rng = np.random.default_rng(0)
    pairs = [*itertools.permutations("abc", 2)] * 10
    rows = [f"{a},{b},{'tie' if rng.random() < 0.2 else rng.choice(['model_a', 'model_b'])}" for a, b in pairs]
    path.write_text("\n".join(["model_a,model_b,winner", *rows]) + "\n", encoding="utf-8")
    return path.name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.rank_promotion("allow")
@pytest.mark.parametrize("command", [pytest.param(c, marks=pytest.mark.slow if c in SLOW else ()) for c in TRIED])
def test_no_bad_argument_ends_in_a_traceback(run: Run, command: str, tmp_path: Path, record_property: Any) -> None:
    """interface 21 and section 4: every bad value of every option of every command; the number of runs is printed."""
    file = votes_file(tmp_path) if command == "leaderboard" else data_file(tmp_path)
    if command == "merge":
        assert run("bootstrap", file, *QUICK["bootstrap"], "--checkpoint", "study")[0] == 0
        file = "study"
    takes_file = any(p.param_type_name == "argument" for p in PARAMETERS[command]) and command != "list"
    code, _, err = run(command, *([file] if takes_file else []), *QUICK.get(command, []))
    assert code == 0, err  # so that what is refused below is refused for the bad value
    runs = refused = 0
    for _, word, value in (case for case in cases() if case[0] == command):
        quick = QUICK.get(command, [])
        at = quick.index(word) if word in quick else None
        rest = quick if at is None else quick[:at] + quick[at + 2 :]
        words = [command, *([file] if takes_file else []), *rest, word, value]
        code, out, err = run(*words)
        runs += 1
        assert "Traceback" not in err, words
        if code:
            refused += 1
            assert_one_line(code, out, err, words)
    record_property("runs", runs)
    print(f"{command}: {runs} runs, {refused} refused, 0 tracebacks")
    assert runs >= 7 or command in ("list", "demo", "check")


@pytest.mark.parametrize("content", FILES)
@pytest.mark.parametrize("command", sorted(set(TRIED) - {"list", "demo"}))
def test_no_bad_file_ends_in_a_traceback(run: Run, command: str, content: str) -> None:
    """interface 21: arise and judges ended in pandas' tracebacks and code 1 on empty or malformed files."""
    for suffix in ("csv", "csv.gz", "jsonl", "parquet", "npz"):
        raw = FILES[content]
        if raw is not None:
            Path(f"{content}.{suffix}").write_bytes(raw)
        words = [command, f"{content}.{suffix}"]
        assert_one_line(*run(*words), words)


def test_what_is_typed_wrong_is_answered_in_one_line(run: Run) -> None:
    """front-door B10: unknown options and missing arguments."""
    Path("r.csv").write_text("")
    for words, hint in (
        (["rank", "r.csv"], "r.csv"),
        (["r.csv"], "r.csv"),
        (["bootstap", "r.csv"], "jaxrank bootstrap"),
        (["nonsense"], "there are fit, diff, compare"),
        (["fit"], "--help"),
        (["fit", "r.csv", "--metod", "x"], "--method"),
        (["fit", "r.csv", "-m"], "--help"),
        (["--nonsense"], "--help"),
    ):
        code, out, err = run(*words)
        assert_one_line(code, out, err, words)
        assert hint in err, (words, err)


def test_an_unknown_method_is_answered_for_the_command_line(run: Run, tmp_path: Path) -> None:
    """front-door B8: no punctuation, no suggestion, and a Python call in a message of the command line."""
    file = data_file(tmp_path)
    for command in ("fit", "bootstrap", "converge", "methods", "report"):
        _, _, err = run(command, file, "-m", "bradly_terry")
        assert "did you mean 'bradley_terry'" in err, (command, err)
        assert "`jaxrank list` shows all" in err and "jaxrank.catalogue" not in err, (command, err)


def test_what_methods_are_called_in_speech_is_understood() -> None:
    """front-door B8: "bt", "accuracy", "pass@1", "pass^4", "irt" had no suggestion."""
    assert {name for meant in catalogue.SPOKEN.values() for name in meant} <= set(catalogue.catalogue())
    one = {"bt": "bradley_terry", "Accuracy": "avg", "mean": "avg", "pass@k": "pass_at_k", "Pass^k": "pass_hat_k"}
    one |= {"bradley-terry": "bradley_terry", "Bayes@N": "bayes", "davidson": "bradley_terry_davidson", "Elo": "elo"}
    assert {word: catalogue.entry(word).name for word in one} == one
    assert jr.fit([[1, 0], [0, 0]], "Accuracy").method == "avg"
    for word, meant in {"irt": "rasch_map", "pass@1": "pass_at_k", "pass^4": "pass_hat_k", "mml": "mml_rasch"}.items():
        with pytest.raises(UnknownMethodError, match=f"did you mean '{meant}'"):
            catalogue.entry(word)
    with pytest.raises(UnknownMethodError, match=r"'zzz'\. jaxrank\.catalogue"):
        catalogue.entry("zzz")


def test_a_file_alone_is_ranked(run: Run, tmp_path: Path) -> None:
    """front-door B10: `jaxrank FILE` and `jaxrank rank FILE` were answered by a hint."""
    file = data_file(tmp_path)
    asked = [run("fit", file), run(file), run("rank", file)]
    assert asked[0][0] == 0 and "rank" in asked[0][1]
    assert asked[1] == asked[0] and asked[2] == asked[0]


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        *[(c, "--output", "no/such/x.csv") for c in sorted(set(TRIED) - {"report", "leaderboard"})],
        *[(c, "--output", "x.txt") for c in TRIED if c != "leaderboard"],
        *[(c, "--save", "no/such/x.npz") for c in ("bootstrap", "converge", "posterior")],
        *[(c, "--save", "x.txt") for c in ("bootstrap", "methods", "converge", "posterior")],
        ("report", "--output", "no/such/x.html"),
        ("bootstrap", "--checkpoint", "file.csv"),
    ],
)
def test_files_are_looked_at_before_the_work(
    run: Run, command: str, option: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """interface 19: a wrong suffix or a folder that is not there was told after the study."""
    file = data_file(tmp_path)

    def work(*_: Any, **__: Any) -> None:
        pytest.fail("the work began before the file was looked at")

    for place in (
        "jaxrank.studies.replicates.bootstrap", "jaxrank.studies.convergence.convergence", "jaxrank.fit",
        "jaxrank.fit_all", "jaxrank.studies.posterior.posterior", "jaxrank.reports.study.study",
        "jaxrank.evaluation.bayes", "jaxrank.evaluation.judges.infer", "jaxrank.evaluation.scaling.evaluate_scaling",
    ):  # fmt: skip
        if option != "--checkpoint":
            monkeypatch.setattr(place, work)
    takes_file = command not in ("list", "demo")
    words = [command, *([file] if takes_file else []), option, name]
    code, out, err = run(*words)
    assert_one_line(code, out, err, words)
    assert name in err
    assert not os.path.exists("no")
