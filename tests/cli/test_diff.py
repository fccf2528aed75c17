"""``jaxrank diff``: verdict, gate, JSON, JUnit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.cli.app import make_app
from jaxrank.cli.arguments import _data_or_runs

Run = Callable[..., tuple[int, str, str]]
KEYS = {
    *("new", "old", "verdict", "difference", "lower", "upper", "p", "test", "new_score", "old_score", "se", "df"),
    *("questions", "clusters", "level", "unit", "cluster", "margin", "minimum_detectable", "questions_needed"),
    *("trials_needed", "left_out", "sentence", "planning", "notes", "flips", "lines", "gate", "versions"),
}


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    for name, rate in (("old", 0.4), ("new", 0.7), ("again", 0.4)):
        right = rng.random(80) < rate
        lines = [f"m,q{q},{int(x)},{'ab'[q % 2]}" for q, x in enumerate(right)]
        Path(f"{name}.csv").write_text("\n".join(["model,question,score,group", *lines]), encoding="utf-8")

    def call(*args: str) -> tuple[int, str, str]:
        with jax.enable_x64(True), pytest.raises(SystemExit) as end:
            make_app()(list(args), prog_name="jaxrank")
        told = capfd.readouterr()
        return int(end.value.code or 0), told.out, told.err

    return call


def test_the_gate_and_its_codes(run: Run) -> None:
    for words, code in (
        (("old.csv", "new.csv"), 0),
        (("old.csv", "new.csv", "--fail-if", "worse"), 0),
        (("new.csv", "old.csv", "--fail-if", "worse"), 3),
        (("old.csv", "again.csv", "--fail-if", "not-better"), 3),
        (("old.csv", "again.csv", "--fail-if", "not-equivalent", "--margin", "0.4"), 0),
        (("old.csv", "again.csv", "--fail-if", "not-equivalent", "--margin", "0.01"), 3),
        (("old.csv", "absent.csv"), 2),
        (("old.csv",), 2),
        (("old.csv", "new.csv", "--fail-if", "not-equivalent"), 2),
        (("old.csv", "new.csv", "--fail-if", "sad"), 2),
        (("old.csv", "new.csv", "--cluster", "nothing"), 2),
    ):
        found, _, err = run("diff", *words)
        assert found == code, (words, err)
        assert "Traceback" not in err
    assert run("compare", "old.csv", "new.csv")[1] == run("diff", "old.csv", "new.csv")[1]  # two names


def test_what_it_found_is_drawn(run: Run) -> None:
    assert run("diff", "old.csv", "new.csv", "--plot", "dots.svg", "--plot", "forest=pair.svg")[0] == 0
    assert run("diff", "old.csv", "new.csv", "--by", "group", "--plot", "groups.svg")[0] == 0
    for name in ("dots.svg", "pair.svg", "groups.svg"):
        assert Path(name).read_text().startswith("<?xml")
    code, _, err = run("diff", "old.csv", "new.csv", "--by", "group", "--plot", "questions=x.svg")
    assert code == 2 and "the plots are forest" in err and not Path("x.svg").exists()


def test_json_has_stable_keys_and_says_what_the_text_says(run: Run) -> None:
    code, out, _ = run("diff", "old.csv", "new.csv", "--format", "json", "--by", "group", "--fail-if", "not-better")
    found = json.loads(out)
    assert set(found) == KEYS and found["verdict"] == "better" and len(found["lines"]) == 2
    assert found["gate"]["closed"] == bool(code) and found["lower"] > 0 and len(found["flips"]) == 10
    assert found["sentence"] in run("diff", "old.csv", "new.csv")[1]
    same = json.loads(run("diff", "old.csv", "old.csv", "--format", "json")[1])
    assert same["verdict"] == "undecided" and same["se"] is None and same["questions_needed"] is None


def test_junit_has_a_case_a_line(run: Run) -> None:
    code, _, _ = run("diff", "new.csv", "old.csv", "--by", "group", "--fail-if", "worse", "--junit", "out.xml")
    suite = ElementTree.parse("out.xml").getroot()
    cases = suite.findall("testcase")
    assert code == 3 and [c.get("name") for c in cases] == ["a", "b"] and suite.get("tests") == "2"
    assert int(suite.get("failures", "")) == sum(c.find("failure") is not None for c in cases) > 0


def test_one_file_of_several_models(run: Run) -> None:
    _, out, _ = run("diff", "inspect_popularity", "--old", "gpt-3.5-turbo", "--new", "gpt-4")
    code, _, err = run("diff", "inspect_popularity")
    assert code == 2 and "--old and --new" in err
    assert out or err


def test_a_report_takes_two_files_of_one_model_for_two_runs(run: Run) -> None:
    """Also where both have the same numbers of trials, which as one table would contradict each other."""
    for name in ("old", "new"):
        lines = Path(f"{name}.csv").read_text(encoding="utf-8").splitlines()
        rows = [f"{line},{'trial' if k == 0 else 0}" for k, line in enumerate(lines)]
        Path(f"{name}_trial.csv").write_text("\n".join(rows), encoding="utf-8")
    for end in ("", "_trial"):
        told = _data_or_runs([f"old{end}.csv", f"new{end}.csv"])
        assert told.models == ("old", "new") and jr.compare(told, "new", "old").verdict == "better"
    Path("other.csv").write_text("model,question,score,group\nx,q0,1,a\n", encoding="utf-8")
    assert _data_or_runs(["old.csv", "other.csv"]).models == ("m", "x")


@pytest.mark.slow
def test_the_job_file_runs_step_by_step(tmp_path: Path) -> None:
    """Every step of docs/ci/compare.yml that is a command, in its order, in a repository with a run on main; only the
    installation is left out."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "ci" / "compare.yml").read_text(encoding="utf-8")
    steps = re.findall(r"^ +run: (.+)$", text, flags=re.MULTILINE)
    assert [s.split()[0] for s in steps] == ["pip", "git", "jaxrank", "jaxrank"]
    rng = np.random.default_rng(0)

    def write(rate: float) -> None:
        lines = [f"m,q{q},{int(x)}" for q, x in enumerate(rng.random(150) < rate)]
        (tmp_path / "results").mkdir(exist_ok=True)
        (tmp_path / "results" / "run.csv").write_text("\n".join(["model,question,score", *lines]), encoding="utf-8")

    def shell(command: str) -> int:
        command = command.replace("jaxrank ", f"{sys.executable} -m jaxrank ", 1)
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        return subprocess.run(command, shell=True, cwd=tmp_path, env=env, capture_output=True).returncode

    write(0.7)
    who = "git -c user.name=a -c user.email=a@b"
    for command in (
        "git init -q -b main",
        "git add .",
        f"{who} commit -qm run",
        "git update-ref refs/remotes/origin/main HEAD",
    ):
        assert shell(command) == 0
    write(0.4)
    assert [shell(step) for step in steps[1:]] == [0, 3, 0]
    assert json.loads((tmp_path / "verdict.json").read_text())["verdict"] == "worse"
    assert 'failures="1"' in (tmp_path / "verdict.xml").read_text() and (tmp_path / "verdict.csv").exists()
