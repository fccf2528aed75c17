"""More models than a lane holds: replicates are worked on one after the other, by conjugate gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Pairs
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood
from jaxrank.numerics import lanes
from jaxrank.numerics.solve.linear import SMALL
from jaxrank.numerics.status import Status

N_MODELS = SMALL + 6


def battles(rng: np.random.Generator, reach: int) -> np.ndarray:
    """Wins (L, L) of models of falling strength against those at most ``reach`` places away."""
    i, j = np.ogrid[:N_MODELS, :N_MODELS]
    met = (abs(i - j) <= reach) & (i != j)
    return np.where(met, rng.poisson(3 / (1 + np.exp((i - j) / 20)), (N_MODELS, N_MODELS)), 0.0)


def pairs(wins: np.ndarray, ties: np.ndarray) -> Pairs:
    return Pairs(jnp.asarray(wins), jnp.asarray(ties))


@pytest.mark.parametrize("method", ["bradley_terry", "bradley_terry_davidson_map"])
def test_replicates_are_the_fits_of_their_statistics(method: str) -> None:
    """Of many models that all met and of a chain of neighbours; those without an optimum keep their status."""
    rng = np.random.default_rng(0)
    ranker: Any = jr.entries()[method].ranker()
    with jax.enable_x64(True):
        wins = np.stack([battles(rng, reach) for reach in (N_MODELS, N_MODELS, 3)])
        wins[1, 0, :] = 0  # the first model never wins
        ties = np.stack([np.minimum(w, w.T) // 2 for w in wins])
        whole = pairs(wins[0] + wins[2], ties[0])
        near = ranker.near(whole, ranker(whole))
        assert near.solver.near is not None
        batch = jax.jit(jax.vmap(near))(pairs(wins, ties))
        for b in range(3):
            alone = ranker(pairs(wins[b], ties[b]))
            assert int(batch.status[b]) == int(alone.status)
            assert np.array_equal(np.isnan(batch.scores[b]), np.isnan(alone.scores))
            assert np.nanmax(np.abs(batch.scores[b] - alone.scores), initial=0) <= float(alone.resolution)
        expected = Status.CONVERGED if method.endswith("map") else Status.NO_FINITE_OPTIMUM
        assert batch.status.tolist() == [Status.CONVERGED, expected, Status.CONVERGED]


def test_large_members_of_a_batch_are_worked_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to `LARGE` entries all lanes in one call, beyond it one at a time on a CPU; shared arguments stay shared."""
    seen: list[int] = []

    def kernel(common: jax.Array, x: jax.Array) -> jax.Array:
        seen.append(x.ndim)
        return common[0] * x

    both = lanes.lanes(kernel, n_common=1, alone=kernel)
    over = lambda size: jax.vmap(both, (None, 0))(np.full(1, 3.0), np.ones((2, size)))
    monkeypatch.setattr(lanes, "LARGE", 4)
    assert over(4).tolist() == np.full((2, 4), 3.0).tolist()
    assert over(5).tolist() == np.full((2, 5), 3.0).tolist()
    assert both(np.full(1, 3.0), np.ones(5)).tolist() == [3.0] * 5
    assert 2 in seen and seen[-1] == 1


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("spread", [1.0, 20.0, 1e3])
def test_single_arrays_and_lanes_agree(spread: float, x64: bool) -> None:
    """Value, gradient and curvature without lanes, where models that lie close share their exponentials, are those of
    lanes to a few units of rounding, and the pulls of a pair cancel to the last bit, whichever way is taken."""
    with jax.enable_x64(x64):
        dtype = np.float64 if x64 else np.float32
        rng = np.random.default_rng(2)
        theta = rng.normal(size=24)
        theta = np.array([*theta / np.ptp(theta) * spread, 0.3, 0.3], dtype)
        wins = rng.poisson(3, (26, 26)).astype(dtype)
        np.fill_diagonal(wins, 0)
        likelihood = BradleyTerryLikelihood()
        parts = jax.jit(lambda x, w: likelihood.parts(x, Pairs(w, jnp.zeros_like(w))))
        alone = [np.asarray(x, float) for x in parts(theta, wins)]
        laned = [np.asarray(x, float)[..., 0] for x in parts(theta[:, None], wins[..., None])]
        scale = np.finfo(dtype).eps * spread * wins.sum()
        for one, other in zip(alone, laned, strict=True):
            assert np.isfinite(one).all() and np.all(np.abs(one - other) <= scale)
        pair = np.zeros_like(wins)
        pair[0, 1], pair[1, 0] = 3e6, 1e6 + 1
        pull = np.asarray(parts(theta, pair)[1])
        assert pull[0] == -pull[1] != 0 and np.all(pull[2:] == 0)
