"""Systems without symmetry: the elimination that accelerators use against LAPACK."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrank.numerics.solve import equilibrium, linear


def test_elimination_with_pivots_is_that_of_lapack() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 7, 7))
    a[0, 0, 0] = a[1, :2, 0] = 0  # without pivots no answer
    a[2] = np.eye(7)[rng.permutation(7)]
    b = rng.normal(size=(6, 7, 2))
    with jax.enable_x64(True):
        found = np.asarray(jax.vmap(linear._pivoted)(jnp.asarray(a), jnp.asarray(b)))
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=0, atol=1e-11)
    assert not np.isfinite(np.asarray(linear._pivoted(jnp.ones((7, 7)), jnp.ones((7, 2))))).all()


def test_equilibria_are_the_same_by_either(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    games = np.sign(rng.normal(size=(4, 5, 5))) * rng.integers(1, 9, (4, 5, 5))
    games = (games - np.swapaxes(games, 1, 2)) / 2
    solved = []
    with jax.enable_x64(True):
        for cpu in (True, False):
            monkeypatch.setattr(linear, "on_cpu", lambda cpu=cpu: cpu)
            found = jax.vmap(lambda a: equilibrium.max_entropy_equilibrium(a))(games)
            assert np.all(np.asarray(found.reached))
            solved.append(np.asarray(found.mixture))
    np.testing.assert_allclose(*solved, rtol=0, atol=1e-9)
