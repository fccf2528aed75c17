"""``separation="extend"`` of item response models: parts with an optimum of their own, in their order."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.errors import JaxrankError
from jaxrank.methods.catalogue import make
from jaxrank.numerics.status import Status

FINITE = np.array(
    [
        [[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0]],
        [[0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0]],
        [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]],
    ]
)
METHODS = ["rasch", "rasch_2pl", "dynamic_irt_growth"]


def extended(R: np.ndarray, method: str = "rasch") -> jr.Result:
    return jr.fit(R, method, separation="extend", dtype="float64", on_failure="return")


@pytest.mark.parametrize("method", [pytest.param(m, marks=pytest.mark.slow if m != "rasch" else ()) for m in METHODS])
def test_extreme_questions_and_perfect_models_leave_the_others_as_they_are(method: str) -> None:
    """One question that nobody solved took the ranking from everybody."""
    plain = jr.fit(FINITE, method, dtype="float64")
    unsolved = np.concatenate([FINITE, np.zeros((3, 1, 4), int)], axis=1)
    with pytest.raises(JaxrankError, match='separation="extend"'):
        jr.fit(unsolved, method)
    fit = extended(unsolved, method)
    assert fit.status == Status.CONVERGED  # all differences of models are known
    np.testing.assert_allclose(fit.scores, plain.scores, atol=1e-7)
    assert fit.params["difficulty"][3] == np.inf
    np.testing.assert_allclose(extended(FINITE, method).scores, plain.scores, atol=1e-7)

    more = np.concatenate([np.ones((2, 4, 4), int), unsolved, np.zeros((1, 4, 4), int)])
    fit = extended(more, method)
    assert fit.status == Status.NO_FINITE_OPTIMUM
    assert fit.ranks.tolist() == [1, 1, 3, 4, 5, 6]
    np.testing.assert_allclose(np.diff(fit.scores[2:5]), np.diff(plain.scores), atol=1e-7)
    assert fit.params["part"].tolist() == [0, 1, 2, 2, 2, 5]
    assert jr.fit(more, method, separation="nan").ranks.tolist() == [0] * 6


@pytest.mark.parametrize("method", METHODS)
def test_two_parts_are_fitted_each_for_itself(method: str) -> None:
    """A better half that passes the questions of the other, which fails all of theirs."""
    rng = np.random.default_rng(2)
    blocks = (rng.random((2, 4, 6, 3)) < np.array([0.7, 0.6, 0.5, 0.4])[None, :, None, None]).astype(int)
    R = np.ones((8, 12, 3), int)
    R[:4, :6], R[4:, 6:], R[4:, :6] = blocks[0], blocks[1], 0
    fit = extended(R, method)
    assert fit.status == Status.NO_FINITE_OPTIMUM and fit.scores[:4].min() > fit.scores[4:].max()
    if method != "rasch_2pl":  # its scale is one for all parts
        for rows, block in ((slice(0, 4), blocks[0]), (slice(4, 8), blocks[1])):
            alone = jr.fit(block, method, dtype="float64").scores
            np.testing.assert_allclose(fit.scores[rows] - fit.scores[rows].mean(), alone - alone.mean(), atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_single_trials_are_ranked_by_their_totals(dtype: str) -> None:
    """Of complete tables joint Rasch abilities have the order of the totals; with one trial few tables are not
    separated (none of 80 on the benchmarks of arXiv 2603.10960)."""
    rng = np.random.default_rng(0)
    R = (rng.random((60, 6, 8)) < rng.random((60, 6, 1))).astype(float)
    ranker = make("rasch", separation="extend")
    with jax.enable_x64(dtype == "float64"):
        table = jnp.stack([1 - R, R], axis=-1)
        fits = jax.jit(jax.vmap(lambda c: ranker(Counts(c, jnp.ones(8), jnp.arange(2.0)))))(table)
        ranks = np.asarray(jr.rank_scores(fits.scores, resolution=fits.resolution))
    kinds = {Status(int(s)) for s in fits.status}
    assert kinds == {Status.NO_FINITE_OPTIMUM, Status.CONVERGED}
    np.testing.assert_array_equal(ranks, np.asarray(jr.rank_scores(R.sum(2))))


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_an_order_that_missing_cells_leave_open_is_not_unique() -> None:
    """Both solved all of what they saw, and saw different questions; a third failed them all."""
    R = np.array([[1, 1, -1, -1], [-1, -1, 1, 1], [0, 0, 0, 0]])[:, :, None]
    fit = extended(R)
    assert fit.status == Status.NOT_UNIQUE and fit.ranks[2] == 3
    apart = np.array([[1, 0, -1, -1], [0, 1, -1, -1], [-1, -1, 1, 0], [-1, -1, 0, 1]])[:, :, None]
    assert extended(apart).status == Status.DISCONNECTED and np.isnan(extended(apart).scores).all()


def test_standard_errors_where_all_are_in_one_part() -> None:
    unsolved = np.concatenate([FINITE, np.zeros((3, 1, 4), int)], axis=1)
    plain = jr.fit(FINITE, "rasch", dtype="float64", details=True)
    fit = jr.fit(unsolved, "rasch", separation="extend", dtype="float64", details=True)
    np.testing.assert_allclose(fit.params["ability_se"], plain.params["ability_se"], atol=1e-7)
    np.testing.assert_allclose(fit.params["difficulty_se"][:3], plain.params["difficulty_se"], atol=1e-7)
    more = np.concatenate([unsolved, np.ones((1, 4, 4), int)])
    assert np.isnan(jr.fit(more, "rasch", separation="extend", details=True).params["ability_se"]).all()
