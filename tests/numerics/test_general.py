"""Systems without symmetry: the elimination that accelerators use against LAPACK."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrank.numerics.solve import equilibrium, linear


def systems() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 7, 7))
    a[0, 0, 0] = a[1, :2, 0] = 0  # without pivots no answer
    a[2] = np.eye(7)[rng.permutation(7)]
    return a, rng.normal(size=(6, 7, 2))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elimination_with_pivots_is_that_of_lapack(dtype: str) -> None:
    """Its residual is LAPACK's: a few roundings of the entries times the solution."""
    a, b = systems()
    with jax.enable_x64(dtype == "float64"):
        found = np.asarray(jax.vmap(linear._pivoted)(jnp.asarray(a, dtype), jnp.asarray(b, dtype)))
    assert found.dtype == dtype
    library = np.linalg.solve(a.astype(dtype), b.astype(dtype))
    off = [np.abs(a.astype(dtype).astype(float) @ x - b.astype(dtype)).max() for x in (found, library)]
    assert off[0] < 4 * off[1] + 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=0, atol=1e5 * float(np.finfo(dtype).eps))
    assert not np.isfinite(np.asarray(linear._pivoted(jnp.ones((7, 7)), jnp.ones((7, 2))))).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equilibria_are_the_same_by_either(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To rounding in float64; in float32 within the errors of the payoffs that both state."""
    rng = np.random.default_rng(1)
    games = np.sign(rng.normal(size=(16, 5, 5))) * rng.integers(1, 9, (16, 5, 5))
    games = (games - np.swapaxes(games, 1, 2)) / 2
    solved = []
    with jax.enable_x64(dtype == "float64"):
        for cpu in (True, False):
            monkeypatch.setattr(linear, "on_cpu", lambda cpu=cpu: cpu)
            solved.append(jax.vmap(lambda a: equilibrium.max_entropy_equilibrium(a))(jnp.asarray(games, dtype)))
    both = [np.asarray(x.reached) for x in solved]
    np.testing.assert_array_equal(both[0], both[1])
    assert both[0].all() if dtype == "float64" else both[0].sum() > 12
    payoffs = [np.einsum("gij,gj->gi", games, np.asarray(x.mixture, float)) for x in solved]
    if dtype == "float64":
        np.testing.assert_allclose(solved[0].mixture, solved[1].mixture, rtol=0, atol=1e-9)
    stated = sum(np.asarray(x.error, float) for x in solved) * np.abs(games).max(axis=(1, 2))
    assert np.all((np.abs(payoffs[0] - payoffs[1]).max(axis=1) <= stated + 1e-6)[both[0]])
