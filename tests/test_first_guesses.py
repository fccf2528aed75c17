"""What a newcomer types first, in Python and on the command line: each works, or is answered by what does the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from jaxrank.cli.app import make_app

pytestmark = pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
R = (np.random.default_rng(0).random((3, 8, 2)) < np.array([0.8, 0.6, 0.3])[:, None, None]).astype(int)
NAMES = ["ada", "bob", "cyd"]
LONG = [
    {"model": NAMES[i], "question": f"q{j}", "trial": k, "score": int(R[i, j, k])} for i, j, k in np.ndindex(R.shape)
]
FRAME = pd.DataFrame(LONG)
VOTES = pd.DataFrame(
    [{"model_a": a, "model_b": b, "winner": w} for a, b in ("xy", "yz", "xz") for w in ("model_a", "model_b", "tie")]
)
DATA = jr.Responses(R, models=NAMES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    FRAME.to_csv(tmp_path / "results.csv", index=False)
    FRAME.rename(columns={"model": "llm", "question": "problem_id", "score": "correct"}).to_csv(
        tmp_path / "own.csv", index=False
    )
    VOTES.to_csv(tmp_path / "votes.csv", index=False)
    tries = [("ada", q, t, answer, "4") for q in range(4) for t, answer in enumerate("445")]
    columns = ["model", "question", "trial", "answer", "truth"]
    pd.DataFrame(tries, columns=columns).to_csv(tmp_path / "completions.csv", index=False)
    judged = [(j, c, q, 1 + (q > 1)) for j in "JK" for c in "ab" for q in range(4)]
    pd.DataFrame(judged, columns=["judge", "candidate", "question", "score"]).to_csv(
        tmp_path / "judged.csv", index=False
    )
    (tmp_path / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "fit a path": (lambda: jr.fit("results.csv"), ""),
    "fit a frame": (lambda: jr.fit(FRAME), ""),
    "fit a dict": (lambda: jr.fit({"ada": [1, 0, 1], "bob": [0, 0, 1]}), ""),
    "fit votes": (lambda: jr.fit(VOTES), ""),
    "accuracy": (lambda: jr.fit(DATA, "accuracy"), ""),
    "mean": (lambda: jr.fit(DATA, "mean"), ""),
    "Pass@2": (lambda: jr.fit(DATA, "Pass@2"), "'pass_at_k' with k=2"),
    "irt": (lambda: jr.fit(DATA, "irt"), "'rasch_map'"),
    "a slip of a method": (lambda: jr.fit(DATA, "bradly_terry"), "'bradley_terry'"),
    "jr.rank": (lambda: jr.rank(DATA), "jaxrank.fit(data)"),
    "jr.elo": (lambda: jr.elo(VOTES), 'jaxrank.fit(data, "elo")'),
    "jr.pass_at_k": (lambda: jr.pass_at_k(R, 2), "jaxrank.evaluation.pass_at_k"),
    "jr.read_csv": (lambda: jr.read_csv("results.csv"), "jaxrank.read"),
    "a file that is not there": (lambda: jr.read("reslts.csv"), "reslts.csv"),
    "fit.ci": (lambda: jr.fit(DATA).ci(), ".interval(0.95)"),
    "fit.to_csv": (lambda: jr.fit(DATA).to_csv("x.csv"), ".save("),
    "a row by name": (lambda: jr.fit(DATA)["ada"].score, ""),
    "a name that is not there": (lambda: jr.fit(DATA)["Ada"], "'ada'"),
    "fit.predict": (lambda: jr.fit(VOTES).predict("x", "y"), "jaxrank.ratings(fit)"),
    "n=": (lambda: jr.bootstrap(DATA, n=100), "n_replicates"),
    "two models": (lambda: jr.compare(DATA, "ada", "bob"), ""),
    "covariates of another method": (lambda: jr.fit(VOTES, "borda", covariates="length"), "bradley_terry have it"),
    "select by name": (lambda: DATA.select(models=["bbo"]), "'bob'"),
    "fit.plot of a kind": (lambda: jr.fit(DATA).plot("bar"), "leaderboard"),
    "an option": (lambda: jr.fit(VOTES, "elo", k=32), "did you mean K?"),
    "a data set": (lambda: jr.datasets.load("misguided"), "misguided_attention"),
    "battles as tuples": (lambda: jr.fit([("x", "y", 1), ("y", "z", 0)]), "jaxrank.Comparisons(a, b, outcome)"),
    "B=": (lambda: jr.bootstrap(DATA, B=50), "n_replicates"),
    "confidence=": (lambda: jr.fit(DATA, confidence=0.9), "did you mean level"),
    "a p-value": (lambda: jr.compare(DATA, "ada", "bob").p_value, "did you mean .p?"),
    "majority vote": (lambda: jr.fit(DATA, "majority_vote"), "'maj_at_k'"),
    "jr.judge": (lambda: jr.judge("judged.csv"), "jaxrank.judges.infer"),
    "davidson": (lambda: jr.fit(VOTES, "davidson"), ""),
}
"""The guess, and what its answer must hold; nothing where it works."""

COMMANDS: dict[str, str] = {
    "results.csv": "",
    "rank results.csv": "",
    "fit own.csv": "",
    "fit votes.csv": "",
    "fit results.csv -m accuracy": "",
    "fit results.csv -m pass@2": "--set k=2",
    "fit results.csv -m irt": "'rasch_map'",
    "fit results.csv --model ada": "--model-column",
    "fit results.csv --k 2": "--set k=",
    "fit results.csv --ci 0.9": "--level",
    "fit results.csv --json": "-o FILE.json",
    "fit results.csv --top 5": "head",
    "fit results.csv -o ranking.xlsx": ".csv, .json or .parquet",
    "fit results.csv --metod avg": "--method",
    "fit reslts.csv": "'results.csv'",
    "demo --plot ranking.svg": "",
    "reslts.csv": "'results.csv'",
    "fit misguided": "'misguided_attention'",
    "bootstrap results.csv -n 100": "--replicates",
    "elo votes.csv": "jaxrank fit FILE -m elo",
    "plot results.csv": "--plot",
    "compare results.csv": "--old and --new",
    "diff results.csv --old ada --new bbo": "'bob'",
    "evaluate results.csv -m pass_at_k": "--set k=",
    "list bt": "",
    "diff results.csv ada bob": "--old ada --new bob",
    "diff results.csv --a ada --b bob": "--old MODEL",
    "compare results.csv --models ada,bob": "--old MODEL --new MODEL",
    "fit results.csv --n-replicates 100": "--replicates N is an option of answers, arise, bootstrap",
    "fit results.csv --replicates 100": "an option of answers, arise, bootstrap",
    "fit results.csv --ties half": "--set ties=half",
    "evaluate results.csv -m accuracy": "",
    "evaluate results.csv -m pass@2": "did you mean 'pass_at_k' with --set k=2?",
    "fit results.csv -o out.png": "--plot FILE draws",
    "fit results.csv -o out.html": "`jaxrank report FILE -o PAGE`",
    "leaderboard results.csv": "these data are repeated trials; use `jaxrank fit` for these",
    "tiers results.csv": "--plot tiers=tiers.svg",
    "pass@k results.csv": "jaxrank evaluate FILE -m pass_at_k --set k=4",
    "--list": "did you mean `jaxrank list`",
    "fit sheet.xlsx": "sheet.xlsx is a spreadsheet; save the sheet as csv",
    "list iterative": "families are",
    "answers completions.csv --majority": "did you mean --rule majority",
    "answers completions.csv -n 4": "did you mean --completions 4",
    "answers completions.csv --rule self_consistency": "did you mean 'majority'?",
    "answers completions.csv": "",
    "judges judged.csv --model-column candidate": "did you mean --candidate-column",
    "fit judged.csv": "`jaxrank judges FILE`",
    "fit votes.csv --elo": "did you mean --scale elo",
    "fit votes.csv --scale elo": "",
    "fit votes.csv --model-a model_a": "did you mean --a-column",
    "fit results.csv --output-format csv": "-o FILE.json, .csv or .parquet",
    "battles votes.csv": "did you mean `jaxrank fit FILE`",
    "predict votes.csv": "--plot superiority=pairs.svg",
    "significance results.csv": "diff FILE --old OLD --new NEW",
    "leaderboard votes.csv -o board.html": "a leaderboard is a folder",
    "diff votes.csv --old x --new y": "--plot superiority=pairs.svg",
    "fit votes.csv --period 30D -m elo": "leave --method out",
    "evaluate votes.csv": "rank them by jaxrank fit",
    "help": "",
    "help fit": "",
    "version": "",
}


def test_there_are_forty() -> None:
    assert len(PYTHON) >= 20 and len(COMMANDS) >= 20


@pytest.mark.parametrize("guess", PYTHON)
def test_python(guess: str, folder: Path) -> None:
    call, answer = PYTHON[guess]
    if not answer:
        call()
        return
    with pytest.raises((jr.JaxrankError, AttributeError, OSError)) as caught:
        call()
    assert answer in str(caught.value), str(caught.value)


@pytest.mark.parametrize("words", COMMANDS)
def test_command_line(words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with jax.enable_x64(True), pytest.raises(SystemExit) as end:
        make_app()(words.split(), prog_name="jaxrank")
    said = capsys.readouterr().err
    if not COMMANDS[words]:
        assert not end.value.code, said
        return
    assert end.value.code == 2
    assert COMMANDS[words] in said, said
    assert "Traceback" not in said
