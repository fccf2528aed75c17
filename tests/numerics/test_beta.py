"""Quantiles of Beta distributions as polynomials, against SciPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from jaxrank.numerics.beta import FARTHEST, log_odds, quantile_polynomial

Z = np.linspace(-FARTHEST, FARTHEST, 241)


def quantiles(a, b, dtype):
    with jax.enable_x64(dtype == "float64"):
        found = jax.jit(lambda a, b, z: jax.vmap(log_odds, in_axes=(0, None))(quantile_polynomial(a, b), z))
        x = found(*(jnp.asarray(v, dtype) for v in (a, b, Z)))
        assert x.dtype == dtype
        return np.asarray(x, np.float64)


def errors(x, a, b):
    """How far x are from the quantiles at the levels Z, in standard deviations of the log-odds: (B,) maxima."""
    a, b = a[:, None], b[:, None]
    below, above = special.betainc(a, b, special.expit(x)), special.betainc(b, a, special.expit(-x))
    level = np.where(below < above, special.ndtri(below), -special.ndtri(above))
    sd = np.sqrt(special.polygamma(1, a) + special.polygamma(1, b))
    return np.max(np.abs(level - Z) * np.gradient(x, Z, axis=1) / sd, axis=1)


COUNTS = np.array([0.5, 1, 2, 4.5, 31, 400, 2401, 1e5])


@pytest.mark.parametrize(
    ("dtype", "from_half", "from_one", "many"), [("float64", 2e-6, 4e-8, 4e-8), ("float32", 1e-5, 1e-5, 4e-5)]
)
def test_quantiles_are_those_of_scipy(dtype, from_half, from_one, many):
    a, b = (v.ravel() for v in np.meshgrid(COUNTS, COUNTS))
    found = errors(quantiles(a, b, dtype), a, b)
    fewest, most = np.minimum(a, b), np.maximum(a, b)
    assert found[most < 5000].max() < from_half
    assert found[(fewest >= 1) & (most < 5000)].max() < from_one
    assert found[(fewest >= 1) & (most > 5000)].max() < many


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_priors_of_a_tenth(dtype):
    a, b = np.array([0.1, 0.1, 31, 0.1]), np.array([0.1, 31, 0.1, 3000])
    x = quantiles(a, b, dtype)
    assert np.all(np.diff(x, axis=1) > 0)
    assert np.all(errors(x, a, b) < [2e-3, 5e-5, 5e-5, 5e-5])


def test_smaller_priors_give_numbers():
    a, b = (v.ravel() for v in np.meshgrid([1e-3, 1e-2, 5, 300, 1e4], [1e-3, 1e-2, 5, 300, 1e4]))
    for dtype in ("float64", "float32"):
        assert np.all(np.isfinite(quantiles(a, b, dtype)))


def test_successes_and_failures_change_places():
    a, b = np.array([1.0, 0.5, 40]), np.array([7.0, 31, 41])
    np.testing.assert_allclose(quantiles(a, b, "float64"), -quantiles(b, a, "float64")[:, ::-1], rtol=0, atol=1e-12)
