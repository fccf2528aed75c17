"""Judges and candidates that fit judged distributions best: g_jk = pi_k theta_j within the assumptions on judges.

Parameters are logits, so that simplices need no constraint; ordered rows are made as the published prior makes them,
each from the one before by moves upwards, which reaches every stochastically ordered matrix. The margin between the
mean scores of two true levels is a penalty, kept with a little to spare.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.numerics.precision import einsum, precision

_SPARE, _PENALTY = 1e-3, 1e3


class Fitted(NamedTuple):
    """**theta** (J, M, M), **pi** (K, M), **x**: the logits, **rise**: least rise of a judge's mean score by level."""

    theta: np.ndarray
    pi: np.ndarray
    x: np.ndarray
    rise: float


class Mixture(NamedTuple):
    """Sizes and assumptions; hashable, so that compiled functions are kept."""

    sizes: tuple[int, int, int]
    values: tuple[float, ...]
    monotone: bool
    margin: float

    def parts(self, x: Any) -> tuple[Any, Any]:
        """theta (J, M, M) and pi (K, M) of the logits."""
        j, k, m = self.sizes
        pi = jax.nn.softmax(x[: k * m].reshape(k, m), axis=-1)
        rest = x[k * m :].reshape(j, -1)
        if not self.monotone:
            return jax.nn.softmax(rest.reshape(j, m, m), axis=-1), pi
        row = jax.nn.softmax(rest[:, :m], axis=-1)
        logits = rest[:, m:].reshape(j, m - 1, m, m)
        up = jax.nn.softmax(jnp.where(jnp.triu(jnp.ones((m, m), bool))[None, None], logits, -jnp.inf), axis=-1)
        rows = [row]
        for t in range(m - 1):
            rows.append(einsum("js,jst->jt", rows[-1], up[:, t]))
        return jnp.stack(rows, axis=1), pi

    def judged(self, x: Any) -> tuple[Any, Any]:
        """Distributions (J, K, M), and how far each rise falls short of the margin (J, M - 1)."""
        theta, pi = self.parts(x)
        means = einsum("jtm,m->jt", theta, jnp.asarray(self.values))
        short = jnp.maximum(self.margin + _SPARE - jnp.diff(means, axis=1), 0)
        return einsum("km,jmn->jkn", pi, theta), short

    def start(self, g: np.ndarray, rng: np.random.Generator, s: int) -> np.ndarray:
        """Logits of good judges, and candidates where the judges put them; noisier with ``s``."""
        j, k, m = self.sizes
        pi = np.log(g.mean(0) + 0.02) + 0.3 * s * rng.standard_normal((k, m))
        if not self.monotone:
            theta = 3 * np.eye(m)[None] + (0.1 + 0.5 * s) * rng.standard_normal((j, m, m))
            return np.r_[pi.ravel(), theta.ravel()]
        first = np.where(np.arange(m) == 0, 2.0, 0) + (0.1 + 0.5 * s) * rng.standard_normal((j, m))
        step = 2 * (np.eye(m, k=1) + np.eye(m) * (np.arange(m) == m - 1))
        moves = step + (0.1 + 0.5 * s) * rng.standard_normal((j, m - 1, m, m))
        return np.r_[pi.ravel(), np.c_[first, moves.reshape(j, -1)].ravel()]


@lru_cache(maxsize=32)
def functions(mixture: Mixture) -> tuple[Any, Any, Any]:
    """Compiled: the loss of logits against counts with its gradient, residuals from distributions, their Jacobian."""

    def loss(x: Any, y: Any) -> Any:
        judged, short = mixture.judged(x)
        return -jnp.sum(y * jnp.log(jnp.maximum(judged, 1e-300))) + _PENALTY * jnp.sum(y) * jnp.sum(short**2)

    def residuals(x: Any, g: Any) -> Any:
        judged, short = mixture.judged(x)
        return jnp.concatenate([(judged - g).ravel(), short.ravel()])

    return jax.jit(jax.value_and_grad(loss)), jax.jit(residuals), jax.jit(jax.jacrev(residuals))


def fit(mixture: Mixture, y: np.ndarray, n_starts: int, rng: np.random.Generator) -> Fitted:
    """Largest multinomial likelihood of the counts or shares ``y`` (J, K, M), from several starts; where the fit can be
    exact it is polished until it is."""
    from scipy.optimize import minimize

    g = y / y.sum(-1, keepdims=True)
    with precision("float64"):
        loss, residuals, jacobian = functions(mixture)
        scaled = y / y.sum()
        best = None
        for s in range(n_starts):
            x0 = mixture.start(g, rng, s)
            found = minimize(
                _numpy(loss, scaled), x0, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-14}
            )
            if best is None or found.fun < best.fun - 1e-12:
                best = found
        assert best is not None
        x = best.x
        x = _polished(x, lambda x: np.asarray(residuals(x, g)), lambda x: np.asarray(jacobian(x, g)))
        theta, pi = (np.asarray(part) for part in mixture.parts(jnp.asarray(x)))
    return Fitted(theta, pi, x, float(np.diff(theta @ np.array(mixture.values), axis=1).min()))


def _polished(x: np.ndarray, residuals: Any, jacobian: Any) -> np.ndarray:
    """Zero of the residuals near x by damped Gauss-Newton steps of least length; x itself where there is none."""
    found, r, damping = x, residuals(x), 1e-6
    for _ in range(300):
        if np.abs(r).max() < 1e-13:
            break
        j = jacobian(found)
        square = j @ j.T
        square[np.diag_indices(len(r))] += damping * np.trace(square) / len(r)
        trial = found - j.T @ np.linalg.solve(square, r)
        new = residuals(trial)
        better = bool(new @ new < r @ r)
        damping = damping / 5 if better else damping * 4
        if damping > 1e8:
            break
        if better:
            found, r = trial, new
    return found if np.abs(r).max() < 1e-7 else x


def _numpy(function: Any, *rest: Any) -> Any:
    def work(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(x, *rest)
        return float(value), np.asarray(gradient)

    return work
