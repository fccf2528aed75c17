"""Published figures of public evaluation data, recomputed through `jaxrank.fit`."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from tests.oracles import golden


def test_llmfao_bradley_terry_and_win_rates():
    """Shares of 59 models over 8,931 votes by another program, ties half a win each; and its counting of wins."""
    stored = golden("llmfao")
    n = len(stored["models"])
    wins, ties = np.zeros((n, n)), np.zeros((n, n))
    for i, j, won, lost, drawn in stored["pairs_i_j_wins_i_wins_j_ties"]:
        wins[i, j], wins[j, i] = won, lost
        ties[i, j] = ties[j, i] = drawn
    battles = jr.Comparisons.from_matrix(wins, ties, models=stored["models"])
    share = np.exp(jr.fit(battles, "bradley_terry", ties="half", dtype="float64").scores)
    published = np.array(stored["bradley_terry"])
    np.testing.assert_allclose(share / share.sum(), published / published.sum(), rtol=0, atol=1e-11)
    points = battles.wins.sum(axis=1) + battles.ties.sum(axis=1) / 2
    np.testing.assert_allclose(points, stored["counting"], rtol=0, atol=1e-9)


def test_inspect_accuracies():
    result = jr.fit(jr.datasets.load("inspect_popularity"), "avg", dtype="float64")
    np.testing.assert_allclose(result.scores, [0.60, 0.70, 0.66], atol=1e-12)


def test_misguided_attention_means_of_outcomes_given_as_grades():
    """Mean scores on the scale 0, 1/2, 1, as the benchmark prints them (three decimals)."""
    bundled = jr.datasets.load("misguided_attention", graded=True)
    data = jr.Responses(bundled.outcomes, models=bundled.models)
    with pytest.warns(jr.JaxrankWarning, match="3 models have no result on some questions"):
        result = jr.fit(data, "avg", dtype="float64")
    means = dict(zip(data.models, result.scores / 2, strict=True))
    for model, published in (("o3-mini", 0.468), ("claude-3.7-thinking-4k", 0.561), ("deepseek-r1", 0.551)):
        assert round(means[model], 3) == published
