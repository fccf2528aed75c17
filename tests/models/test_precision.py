"""What float32 says holds: scores lie within the stated resolution of those in float64, or the status says more."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.evaluation import judges
from jaxrank.numerics.status import Status

PAIRED = (
    "bradley_terry", "bradley_terry_map", "bradley_terry_davidson", "bradley_terry_davidson_map", "rao_kupper",
    "rao_kupper_map", "plackett_luce", "bradley_terry_luce", "bradley_terry_luce_map", "davidson_luce",
    "hodge_rank_log_odds_total",
)  # fmt: skip
EXACT = PAIRED[:9]
COUNTED = (
    "avg", "bayes", "rasch", "rasch_map", "rasch_cml", "rasch_2pl",
    *(pytest.param(m, marks=pytest.mark.slow) for m in ("rasch_3pl", "rasch_mml", "mml_2pl", "mml_3pl")),
)  # fmt: skip


def unequal(n: float) -> jr.Comparisons:
    """Two models that met each other n times, and one that met one of them four times."""
    wins = np.array([[0, n, 0], [n, 0, 2], [0, 1, 0]])
    ties = np.array([[0, n / 2, 0], [n / 2, 0, 1], [0, 1, 0]])
    return jr.Comparisons.from_matrix(wins, ties)


def honest(single: jr.Result, double: jr.Result) -> None:
    assert double.status == Status.CONVERGED
    error = np.max(np.abs(single.scores - double.scores))
    assert single.status != Status.CONVERGED or error <= single.fit.resolution


def both(data, method: str) -> list[jr.Result]:
    return [jr.fit(data, method, dtype=dtype, on_failure="return") for dtype in ("float32", "float64")]


@pytest.mark.parametrize("method", PAIRED)
def test_battles_by_the_million(method):
    """numerics 19: errors of 0.05 to 0.17 at a stated resolution of 3e-5."""
    for n in (1e6, 1e7, 1e8):
        single, double = both(unequal(n), method)
        honest(single, double)
        if method in EXACT:  # gradients that are flows and elimination by sums lose nothing
            np.testing.assert_allclose(single.scores, double.scores, atol=2e-6)
            np.testing.assert_allclose(single.standard_errors, double.standard_errors, rtol=1e-4)


@pytest.mark.parametrize("method", COUNTED)
def test_trials_by_the_million(method):
    """numerics 24: the 3PL model claimed scores that were off by 0.5."""
    chance = 1 / (1 + np.exp(np.linspace(-1, 1, 5)[None, :] - np.linspace(1.5, -1.5, 4)[:, None]))
    for n in (10**4, 10**6, 10**7):
        successes = np.random.default_rng(n).binomial(n, chance)
        honest(*both(jr.Responses.from_counts(successes, np.full(chance.shape, n)), method))


@pytest.mark.parametrize(("k", "n"), [(160_000, 200_000), (50_000_001, 10**8)])
def test_whole_numbers_are_compared_as_such(k, n):
    """numerics 20: means that differ by one trial in so many tied."""
    data = jr.Responses.from_counts([[k], [k - 1]], [[n], [n]])
    assert jr.fit(data, "avg").ranks.tolist() == [1, 2]
    assert jr.fit(data, "bayes").ranks.tolist() == [1, 2]


@pytest.mark.slow
def test_judges_with_a_million_scores_each():
    """numerics 22: R-hat of 193 in float32, which was all there was."""
    shares = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])
    counts = np.round(1e6 * np.stack([shares, 0.9 * shares + 0.1 / 3, 0.8 * shares + 0.2 / 3])).astype(int)
    found = judges.infer(counts=counts, prior="strong", n_samples=300, n_warmup=300, n_chains=2)
    assert np.nanmax(found.r_hat) < 1.2
