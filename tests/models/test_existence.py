"""No method claims an optimum where a linear program finds none, and none is refused where there is one."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.models.setwise.existence import has_finite_optimum
from jaxrank.numerics.status import Status
from tests.existence import METHODS, cases, statuses

REFUSED = (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_status_agrees_with_a_linear_program(method, dtype):
    """numerics 4, 5: 17 of 40 lists and 9 of 82 replicates claimed an optimum that does not exist."""
    data, exists, idle = cases(method, 150, seed=7)
    with jax.enable_x64(dtype == "float64"):
        found = statuses(method, data)
    exists, idle = np.array(exists), np.array(idle)
    assert 10 < exists[~idle].sum() < 140  # both kinds are there
    claimed = found == Status.CONVERGED
    assert not np.any(claimed & ~exists & ~idle), np.flatnonzero(claimed & ~exists & ~idle)
    refused = np.isin(found, REFUSED) & exists & ~idle
    assert not np.any(refused), np.flatnonzero(refused)
    if method == "davidson_luce":  # tie parameters that run off were searched for to the step limit
        assert not np.any(found == Status.MAX_STEPS)


@pytest.mark.parametrize("method", ["davidson_luce", "plackett_luce_rankings_tied"])
def test_the_host_test_of_single_fits_agrees_with_enumeration(method):
    """numerics 4: a single fit decides what a batch leaves open."""
    (outcomes, weights), exists, idle = cases(method, 200, seed=8)
    whole = method != "davidson_luce"
    for o, w, yes, no in zip(outcomes, weights, exists, idle, strict=True):
        assert no or has_finite_optimum(o, w, o.shape[1], whole) == yes


def test_lists_without_ties_are_decided_by_connectivity():
    """numerics 4: claimed a = 12.0 with a standard error of 2,896."""
    fit = jr.fit(jr.Rankings([["a", "b", "c"], ["a", "c", "b"]]), "plackett_luce", on_failure="return")
    assert fit.status == Status.NO_FINITE_OPTIMUM
    assert np.isnan(fit.scores).all()
    assert "log_likelihood" in fit.params  # the likelihood of lists without ties


@pytest.mark.parametrize(
    ("right", "trials"),
    [
        ([[0, 3, 0], [1, 0, 0], [0, 1, 0], [3, 2, 2]], [[1, 4, 0], [3, 1, 0], [0, 1, 4], [4, 2, 4]]),
        ([[4, 3, 1], [2, 2, 0], [2, 2, 0], [1, 0, 0]], [[4, 4, 3], [3, 4, 3], [2, 2, 2], [1, 0, 4]]),
    ],
)
def test_an_ability_far_out_has_not_run_off(right, trials):
    """Of 10,000 tables rasch_2pl refused two whose optimum is finite: an ability with little information left is a sign
    of none only where guessing lets it sink (numerics 4)."""
    with pytest.warns(jr.JaxrankWarning, match="no result on some questions"):
        fit = jr.fit(jr.Responses.from_counts(right, trials), "rasch_2pl", dtype="float64", n_starts=1)
    assert fit.status == Status.CONVERGED
    assert np.isfinite(fit.scores).all()


@pytest.mark.parametrize(
    ("right", "trials"),
    [
        ([[3, 3, 4], [1, 1, 2], [0, 0, 1], [0, 0, 1]], [[3, 4, 4], [2, 1, 3], [1, 4, 3], [1, 3, 4]]),
        ([[1, 2, 2], [1, 3, 4], [0, 1, 0], [4, 1, 3]], [[1, 3, 2], [1, 3, 4], [1, 3, 1], [4, 1, 3]]),
    ],
)
def test_steps_that_overshoot_are_shortened(right, trials):
    """Small tables, of which rasch_cml left 78 of 10,000 at its step limit: each step was too long by nearly half."""
    fit = jr.fit(jr.Responses.from_counts(right, trials), "rasch_cml", dtype="float64")
    assert fit.status == Status.CONVERGED
    close = jr.fit(jr.Responses.from_counts(right, trials), "rasch_cml", dtype="float64", max_steps=1000)
    np.testing.assert_array_equal(fit.scores, close.scores)
