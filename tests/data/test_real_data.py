"""Published figures of public evaluation data, recomputed through `jaxrank.read` and `jaxrank.fit`."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from tests.oracles import shared


def test_swe_bench_resolved_shares():
    """The leaderboard's "resolved" of 38 of 40 systems; two are known to differ from the file they come with."""
    path = shared("data", "swebench_verified_bashonly_2026feb.npz")
    result = jr.fit(jr.read(path), "avg", dtype="float64")
    published = np.load(path)["published_resolved_pct"]
    assert result.scores.shape == (40,)
    assert np.sum(np.abs(100 * result.scores - published) < 0.05) == 38


def test_llmfao_bradley_terry_and_win_rates():
    """Shares of 59 models over 8,931 votes by another program, ties half a win each; and its counting of wins."""
    path = shared("data", "llmfao_battles.npz")
    battles, stored = jr.read(path), np.load(path)
    golden = dict(zip(stored["golden_algorithms"].tolist(), stored["golden_scores"], strict=True))
    assert list(battles.models) == stored["models"].tolist()
    share = np.exp(jr.fit(battles, "bradley_terry", ties="half", dtype="float64").scores)
    np.testing.assert_allclose(
        share / share.sum(), golden["bradley_terry"] / golden["bradley_terry"].sum(), rtol=0, atol=1e-11
    )
    points = battles.wins.sum(axis=1) + battles.ties.sum(axis=1) / 2
    np.testing.assert_allclose(points, golden["counting"], rtol=0, atol=1e-9)


def test_inspect_accuracies():
    path = shared("data", "inspect_popularity_2025.npz")
    result = jr.fit(jr.read(path), "avg", dtype="float64")
    np.testing.assert_allclose(result.scores, [0.60, 0.70, 0.66], atol=1e-12)


def test_misguided_attention_mean_scores():
    """Mean scores on the scale 0, 1/2, 1, as the benchmark prints them (three decimals)."""
    path = shared("data", "misguided_attention_long_2025.npz")
    stored = np.load(path)
    data = jr.Responses(stored["R3"], models=stored["models"].tolist())
    with pytest.warns(jr.JaxrankWarning, match="3 models have no result on some questions"):
        result = jr.fit(data, "avg", dtype="float64")
    means = dict(zip(data.models, result.scores / 2, strict=True))
    for model, published in (("o3-mini", 0.468), ("claude-3.7-thinking-4k", 0.561), ("deepseek-r1", 0.551)):
        assert round(means[model], 3) == published
