"""Ranks with ties and rank correlations, against scipy on random tied input."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import jaxrank as jr
from jaxrank.numerics.ranks import _bounded, rank_scores, ranks_by_sorting, tau_with

SCIPY_RANKS = {"competition": "min", "competition_max": "max", "dense": "dense", "average": "average"}


def tied_scores(n: int = 9):
    return st.lists(st.integers(-3, 3), min_size=2, max_size=n)


@given(tied_scores())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_ranks_match_scipy(values):
    padded = np.array(values + [-9 - k for k in range(9 - len(values))], float)  # one shape, one compilation
    for ours, theirs in SCIPY_RANKS.items():
        got = np.asarray(jr.rank_scores(padded, ours))[: len(values)]
        np.testing.assert_array_equal(got, stats.rankdata(-padded, theirs)[: len(values)])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=8, max_size=8))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_correlations_match_scipy(pairs):
    x, y = np.array(pairs, float).T
    with jax.enable_x64(True):
        np.testing.assert_allclose(jr.kendall_tau(x, y), stats.kendalltau(x, y).statistic, atol=1e-12)
        if np.ptp(x) and np.ptp(y):
            np.testing.assert_allclose(jr.spearman(x, y), stats.spearmanr(x, y).statistic, atol=1e-12)
        else:
            assert np.isnan(jr.spearman(x, y))
        # Entries equal in both lists share their places by index in scipy; compare where the order is determined.
        if len(set(pairs)) == len(pairs):
            np.testing.assert_allclose(jr.weighted_tau(x, y), stats.weightedtau(x, y).statistic, atol=1e-12)


def test_case_G10_and_G11():
    with jax.enable_x64(True):
        assert float(jr.kendall_tau([1, 2, 3, 4], [2, 4, 1, 3])) == 0.0
        np.testing.assert_allclose(jr.kendall_tau([1, 2, 2, 4], [1, 3, 2, 4]), 5 / np.sqrt(30), atol=1e-12)


@pytest.mark.parametrize("correlation", [jr.kendall_tau, jr.spearman, jr.weighted_tau])
def test_equal_rankings_agree_exactly_under_jit_too(correlation):
    """Compiled for float32, tau of equal rankings of 20 models was 0.99999994: no study counted them as the same."""
    agreement = jax.jit(correlation)
    for n in (3, 20, 37):
        x = np.random.default_rng(n).permutation(n).astype(np.float32)
        tied = np.floor(x / 2)
        for a in (x, tied)[: 1 if correlation is jr.weighted_tau else 2]:
            assert float(agreement(a, a)) == 1.0
        assert float(agreement(x, -x)) == -1.0


def test_correlations_of_equal_sums_are_one_whatever_the_sums():
    n = np.arange(1, 3000, dtype=np.float32)
    np.testing.assert_array_equal(jax.jit(_bounded)(n, n, n), 1)
    np.testing.assert_array_equal(jax.jit(_bounded)(-n, n, n), -1)


def test_tau_with_of_equal_rankings_is_one():
    scores = np.random.default_rng(1).permutation(20)[None].astype(np.float32)
    same = jax.jit(lambda s: tau_with(s, jnp.zeros(1), rank_scores(s)[0]))
    assert float(same(scores)[0]) == 1.0 and float(same(np.floor(scores / 2))[0]) == 1.0


def test_equal_rankings_agree_exactly_and_constant_ones_not_at_all():
    for dtype in ("float32", "float64"):
        with jax.enable_x64(dtype == "float64"):
            x = np.random.default_rng(0).permutation(20).astype(dtype)
            assert float(jr.kendall_tau(x, x)) == 1.0 and float(jr.kendall_tau(x, -x)) == -1.0
            assert np.isnan(jr.kendall_tau(x, np.zeros(20)))


def test_batches_are_maps():
    x = np.random.default_rng(0).integers(0, 4, (3, 5, 7)).astype(float)
    ranks = np.asarray(jr.rank_scores(x))
    tau = np.asarray(jr.kendall_tau(x, x[:1]))
    for i, j in itertools.product(range(3), range(5)):
        np.testing.assert_array_equal(ranks[i, j], jr.rank_scores(x[i, j]))
        np.testing.assert_allclose(tau[i, j], jr.kendall_tau(x[i, j], x[0, j]), equal_nan=True)


def test_resolution_chains_sorted_neighbours():
    scores = [3.0, 2.95, 2.9, 2.0, 1.0]
    assert jr.rank_scores(scores, resolution=0.06).tolist() == [1, 1, 1, 4, 5]
    assert jr.rank_scores(scores, resolution=0.01).tolist() == [1, 2, 3, 4, 5]


def test_infinite_and_missing_scores():
    assert jr.rank_scores([np.inf, 1.0, -np.inf, np.nan, -np.inf]).tolist() == [1, 2, 3, 0, 3]
    assert jr.rank_scores([np.nan, 2.0, 1.0], "average").tolist() == [0, 1, 2]


def test_unknown_rule_is_refused():
    with pytest.raises(jr.errors.OptionError, match="dense"):
        jr.rank_scores([1.0, 2.0], "ordinal")


def test_top_k_overlap():
    assert float(jr.top_k_overlap([4, 3, 2, 1], [4, 1, 3, 2], 2)) == 0.5
    assert float(jr.top_k_overlap([4, 3, 2, 1], [4, 3, 2, 1], 3)) == 1.0


def test_case_H10_ranks_and_order():
    result = jr.fit([[0, 0], [1, 1], [1, 0]], "avg")
    assert result.ranks.tolist() == [3, 1, 2]
    assert result.order.tolist() == [1, 2, 0]


@pytest.mark.parametrize("n_models", [2, 9, 40, 41])
def test_tau_row_by_row_is_tau_of_all_pairs(n_models):
    """The same numbers without a table of pairs: few models, many, an even and an odd number of them."""
    rng = np.random.default_rng(n_models)
    scores = rng.integers(0, n_models, (6, n_models)).astype(np.float32)
    scores[4] = 1.0
    scores[5, 0] = np.nan
    rows = rng.integers(1, n_models, (6, n_models)).astype(np.float32)
    for reference in (rows[0], rows):
        got = tau_with(scores, np.zeros(6, np.float32), reference)
        wanted = jr.kendall_tau(scores, np.broadcast_to(-reference, scores.shape))
        np.testing.assert_allclose(got, wanted, atol=1e-6)
    near = scores + 0.4 * rng.random((6, n_models)).astype(np.float32)
    coarse = tau_with(near, np.full(6, 0.45, np.float32), rows)
    np.testing.assert_allclose(coarse, got, atol=1e-6)


def test_sorting_gives_the_same_ranks_as_comparing_all_pairs():
    """Ties that hang together by their neighbours, equal scores, infinities and NaN among them."""
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        scores = np.round(rng.normal(size=(40, 30)), 1).astype(dtype)
        scores[rng.random(scores.shape) < 0.1] = np.nan
        scores[:, 0], scores[:, 1] = np.inf, -np.inf
        scores[3] = np.nan
        resolution = rng.choice([0, 0.05, 0.1, 0.2, 1], 40).astype(dtype)
        with jax.enable_x64(dtype == np.float64):
            expected = np.asarray(rank_scores(scores, resolution=resolution))
        np.testing.assert_array_equal(ranks_by_sorting(scores, resolution), expected)
