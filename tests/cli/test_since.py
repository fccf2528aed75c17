"""``jaxrank fit OLD NEW --since``: the ranking of all, and what the last file changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from tests.cli.calling import call

MODELS = ("ada", "bob", "cyd", "dee")


def votes(n: int, models: tuple[str, ...], seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, len(models), n)
    b = (a + rng.integers(1, len(models), n)) % len(models)
    length = rng.normal(size=n)
    first = rng.random(n) < 1 / (1 + np.exp(-0.5 * (b - a) - 0.4 * length))
    names = np.array(models, object)
    winner = np.where(rng.random(n) < 0.15, "tie", np.where(first, "model_a", "model_b"))
    return pd.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner, "length": length})


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Old votes of four models, and new ones in which a fifth, called aaa, joins."""
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    votes(400, MODELS, 0).to_parquet(old, index=False)
    votes(60, (*MODELS, "aaa"), 1).to_parquet(new, index=False)
    return old, new


@pytest.mark.parametrize("options", [[], ["-m", "bradley_terry_map", "--covariate", "length"]])
def test_the_table_is_that_of_all_votes_with_what_changed(files, options, tmp_path, capsys):
    old, new = files
    assert call("fit", old, new, "--since", *options, "-o", tmp_path / "out.csv") == 0
    told = capsys.readouterr()
    assert "since the old files 60 battles came to 400; not ranked before: 'aaa'" in told.err.replace("\n", " ")
    table = pd.read_csv(tmp_path / "out.csv").set_index("model")

    more: dict[str, Any] = {"covariates": ["length"]} if options else {}
    method = "bradley_terry_map" if options else "bradley_terry_davidson_wide"
    before = jr.fit(jr.read(old), method, dtype="float64", **more)
    whole = jr.fit(jr.read([old, new]), method, dtype="float64", **more)
    assert table.index.tolist() == [whole.models[i] for i in whole.order]
    scores = dict(zip(whole.models, whole.scores, strict=True))
    was = dict(zip(before.models, before.scores, strict=True))
    np.testing.assert_allclose(table["score"], [scores[m] for m in table.index], atol=1e-8)
    ranks = dict(zip(before.models, before.ranks, strict=True))
    found = table["rank_before"].to_dict()
    assert np.isnan(found.pop("aaa")) and found == ranks

    moved = np.array([scores[m] - was[m] for m in MODELS])
    change = table["change"].to_dict()
    np.testing.assert_allclose([change[m] for m in MODELS], moved - moved.mean(), atol=1e-8)
    assert np.abs(moved).max() > 1e-3 and np.isnan(change["aaa"])
    came = pd.read_parquet(new)
    fought = pd.concat([came["model_a"], came["model_b"]]).value_counts()
    assert table["new_battles"].to_dict() == fought.to_dict()


def test_changes_in_points_are_those_of_an_anchored_leaderboard(files, tmp_path, capsys):
    old, new = files
    out, anchor = tmp_path / "out.csv", ("cyd", 1100.0)
    assert call("fit", old, new, "--since", "--scale", "elo", "--anchor", "cyd=1100", "-o", out) == 0
    table = pd.read_csv(out).set_index("model")
    fits = (jr.fit(jr.read(data), dtype="float64") for data in (old, [old, new]))
    before, after = (jr.ratings(fit, anchor=anchor).to_frame().set_index("model")["rating"] for fit in fits)
    change, rating = table["change"].to_dict(), table["rating"].to_dict()
    np.testing.assert_allclose([change[m] for m in MODELS], [after[m] - before[m] for m in MODELS], atol=1e-5)
    assert change["cyd"] == 0 and rating["cyd"] == pytest.approx(1100)
    assert call("fit", old, new, "--since", "--scale", "elo", "--anchor", "aaa") == 2
    assert "'aaa' had no score before" in capsys.readouterr().err


def test_ranks_before_follow_the_rule_of_ties_and_counts_are_votes(tmp_path, capsys):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    rows = [("x", "z"), ("z", "x"), ("y", "z"), ("z", "y"), ("x", "y"), ("y", "x")]
    old.write_text("\n".join(["model_a,model_b,winner,count", *(f"{a},{b},{a},3" for a, b in rows)]))
    new.write_text("model_a,model_b,winner,count\nx,y,x,5\nx,z,z,1\n")
    out = tmp_path / "out.csv"
    asked = ("fit", old, new, "--since", "-m", "bradley_terry_map", "-o", out)
    for rule, expected in (("competition", 1), ("average", 2)):
        assert call(*asked, "--ranks", rule) == 0
        table = pd.read_csv(out).set_index("model")
        assert set(table["rank_before"]) == {expected}
        assert table["new_battles"].to_dict() == {"x": 6, "y": 5, "z": 1}
    assert "6 battles came to 18" in capsys.readouterr().err


def test_what_does_not_go_with_since_is_refused_before_the_work(files, capsys, monkeypatch):
    old, new = files
    monkeypatch.setattr(jr, "fit", lambda *_, **__: pytest.fail("the work began"), raising=False)
    for words, says in (
        ((old,), "give those before it too"),
        ((old, new, "-m", "elo"), "elo is none"),
        ((old, new, "--period", "30D"), "--since and --period exclude each other"),
        ((old, new, "--by", "category"), "--since and --by exclude each other"),
    ):
        assert call("fit", *words, "--since") == 2
        said = capsys.readouterr().err
        assert says in " ".join(said.split())
