"""Formats of tools by name, in files of their shape written here: read, and refused in one line where they are cut."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.cli.arguments import read_data
from jaxrank.data.readers import read
from jaxrank.data.readers.shapes import SHAPES
from jaxrank.errors import DataError, JaxrankError


def _stat(name: str, mean: float, **more: str) -> dict:
    return {"name": {"name": name, "split": "test", **more}, "count": 1, "sum": mean, "mean": mean}


def _helm(score: float) -> list[dict]:
    stats = [_stat("num_references", 3.0), _stat("exact_match", score), _stat("exact_match", 0.0, perturbation="typos")]
    return [{"instance_id": f"id{k}", "train_trial_index": 0, "stats": stats} for k in (1, 2)]


def _preference(model: str, value: float | None) -> dict:
    return {"instruction": "say", "generator_1": "base", "generator_2": model, "preference": value}


def _pro(pred: str | None) -> list[dict]:
    return [{"question_id": 7, "answer": "B", "answer_index": 1, "pred": pred, "category": "law"}]


def _terminal(*resolved: bool | None) -> dict:
    rows = [{"trial_name": f"t.{k + 1}-of-2.run", "task_id": "t", "is_resolved": r} for k, r in enumerate(resolved)]
    return {"id": "run", "results": rows, "n_resolved": 1}


def _games(model: str, *scores: str) -> str:
    return json.dumps({"question_id": "q", "model": model, "judge": "j", "games": [{"score": s} for s in scores]})


def _grade(model: str, turn: int, score: float) -> str:
    return json.dumps({"question_id": 81, "model": model, "judge": ["j", "s"], "turn": turn, "score": score})


NAMES = "".join(f"# ALTERNATIVE NAME {k}: {name}\n" for k, name in enumerate(("ada", "bob", "cyd"), 1))
PREFLIB = f"{NAMES}# NUMBER VOTERS: 5\n3: 1,{{2,3}}\n2: 2\n"
FILES: dict[str, dict[str, str]] = {
    "helm": {
        f"runs/v1/bbq:subject=all,model=org_{m}/per_instance_stats.json": json.dumps(_helm(s), indent=1)
        for m, s in (("ada", 1.0), ("bob", 0.0))
    },
    "alpaca-eval": {
        f"results/{m}/judge/annotations.json": json.dumps([_preference(m, s)])
        for m, s in (("ada", 1.75), ("bob", 1.25))
    },
    "mmlu-pro": {
        f"eval_results/{m}/law_result.json": json.dumps(_pro(p), indent=1) for m, p in (("ada", "B"), ("bob", None))
    },
    "opencompass": {
        f"results/{m}/gsm8k.json": json.dumps(
            {"accuracy": 50.0, "details": {"0": {"pred": p, "answer": "4"}, "1": {"correct": True}}}, indent=1
        )
        for m, p in (("ada", "4"), ("bob", "5"))
    },
    "terminal-bench": {
        "2026-01-01_ada/results.json": json.dumps(_terminal(True, True), indent=1),
        "2026-01-02_bob/results.json": json.dumps(_terminal(True, None), indent=1),
    },
    "py-irt": {
        "r.jsonlines": "\n".join(
            json.dumps({"subject_id": m, "responses": {"q1": s, "q2": 1}}) for m, s in (("ada", 1), ("bob", 0))
        )
    },
    "arena-hard": {"ada.jsonl": _games("ada", "B>>A", "A>B"), "bob.jsonl": _games("bob", "A>B", "A=B")},
    "mt-bench": {"j_single.jsonl": "\n".join([_grade("ada", 1, 9), _grade("ada", 2, 8.5), _grade("bob", 1, 7)])},
    "preflib": {"election.toi": PREFLIB},
}
MEANS = {"opencompass": (1, 0.5), "terminal-bench": (1, 0.5), "py-irt": (1, 0.5), "alpaca-eval": (0.75, 0.25)}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_recognised_and_read(tmp_path, name):
    data = read(write(tmp_path, FILES[name]))
    assert {m.rpartition("_")[2] for m in data.models} >= {"ada", "bob"}
    if isinstance(data, jr.Responses):
        ada, bob = (next(i for i, m in enumerate(data.models) if m.endswith(end)) for end in ("ada", "bob"))
        means = np.nanmean(data.values, axis=(1, 2))
        assert means[ada] > means[bob]
        if name in MEANS:
            np.testing.assert_allclose(means[[ada, bob]], MEANS[name])
    read(tmp_path, name)


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_cut_are_refused_in_one_line(tmp_path, name):
    """At ten places, of which the last ones may leave a whole file of fewer lines."""
    first = next(iter(FILES[name]))
    text = FILES[name][first]
    said = []
    for k in range(10):
        cut = write(tmp_path / str(k), {first: text[: len(text) * k // 10]}) / first
        try:
            read(cut, name)
        except JaxrankError as error:
            said.append((str(cut), str(error)))
    assert len(said) >= 7
    assert not [message for _, message in said if "\n" in message]
    assert not [message for cut, message in said if cut not in message and "have the format" not in message]


def test_what_formats_do_with_failures_and_metrics(tmp_path):
    helm, pro, terminal = (write(tmp_path / n, FILES[n]) for n in ("helm", "mmlu-pro", "terminal-bench"))
    assert read(helm, metric="num_references").values.mean() == 3
    with pytest.raises(DataError, match="has no metric 'f1'; it has num_references, exact_match"):
        read(helm, metric="f1")
    assert any("1 questions have no prediction and are wrong" in note for note in read(pro).notes)
    assert any("1 trials ended before their tests" in note for note in read(terminal).notes)
    assert read(terminal, errors="missing").trials.tolist() == [[2], [1]]
    (tmp_path / "terminal-bench/2026-01-01_ada/run_metadata.json").write_text('{"agent_name": "x", "model_name": "m"}')
    assert read(terminal).models == ("x m", "bob")


def test_games_and_lists(tmp_path):
    games = read(write(tmp_path / "g", FILES["arena-hard"]))
    assert games.columns["grade"].tolist() == [-2, 1, 1, 0]
    ada = games.models.index("ada")
    assert games.wins[ada].sum() == 2
    lists = read(write(tmp_path / "p", FILES["preflib"]))
    assert lists.count.tolist() == [3, 2]
    assert lists.places.tolist() == [[1, 2, 2], [0, 1, 0]]
    write(tmp_path / "p", {"election.toi": PREFLIB.replace("2: 2", "1: 2")})
    with pytest.raises(DataError, match="says 5 voters, and its orders are those of 4"):
        read(tmp_path / "p")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.what)
def test_every_table_of_the_page_of_formats_is_read(tmp_path, shape):
    """As it stands, and with the option that the page names where that is whole."""
    path = tmp_path / "t.csv"
    path.write_text(shape.text)
    words = shlex.split(shape.options)
    given = {k.removeprefix("--").replace("-", "_"): v for k, v in zip(words[::2], words[1::2], strict=False)}
    if "score_column" in given:
        given["score_column"] = words[1::2]
    whole = len(words) % 2 == 0 and "," not in shape.options
    for options in ({}, given) if whole else ({},):
        if not options and ("battles of other" in shape.what or "metrics" in shape.what):
            continue
        data = read_data([str(path)], **options)
        assert data.form == ("comparisons" if "battle" in shape.reads else "responses")
        assert set(data.models) == {"ada", "bob"}
