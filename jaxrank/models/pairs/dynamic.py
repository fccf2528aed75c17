"""Bradley-Terry strengths that move: a random walk from period to period, smoothed."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.statistics import Pairs
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood
from jaxrank.numerics.status import Status

_MOST_STEPS = 100


class Smoothed(NamedTuple):
    """Strengths of T periods. **theta**, **sd** (T, L): mode and standard deviation given all battles.  **log_lik**: of
    the battles at the mode.  **log_marginal**: of the battles, strengths integrated out by Laplace's method.
    **status**, **steps**: of Newton's method."""

    theta: Float[Array, "periods models"]
    sd: Float[Array, "periods models"]
    log_lik: Float[Array, ""]
    log_marginal: Float[Array, ""]
    status: Array
    steps: Array


@jax.jit
def smooth(
    wins: Float[Array, "periods models models"],
    drift: Any,
    start_var: Any,
    begin: Float[Array, "periods models"] | None = None,
) -> Smoothed:
    """The posterior mode of theta_t with theta_1 ~ N(0, start_var), theta_t - theta_(t-1) ~ N(0, drift), independent
    over models, and Bradley-Terry battles in each period, by Newton's method on the block tridiagonal system; ``drift``
    and ``start_var`` above 0.

    ``begin``: where Newton's method starts, 0 by default.

    A model without battles in a period keeps its mean and widens. The start fixes the level: nothing is centred.
    """
    n_periods, n_models, _ = wins.shape
    dtype = wins.dtype
    rate = 1 / jnp.asarray(drift, dtype)
    first = jnp.zeros(n_periods, dtype).at[0].set(1 / jnp.asarray(start_var, dtype))
    links = jnp.full(n_periods, 2 * rate).at[0].add(-rate).at[-1].add(-rate)  # walks that a period is part of
    likelihood = BradleyTerryLikelihood()
    zero = jnp.zeros((n_models, n_models), dtype)
    of_period = jax.vmap(lambda theta, w: likelihood.parts(theta, Pairs(w, zero)))

    def penalty(theta: Array) -> Array:
        return jnp.sum(first[:, None] * theta**2) / 2 + rate * jnp.sum(jnp.diff(theta, axis=0) ** 2) / 2

    def parts(theta: Array) -> tuple[Array, Array, Array]:
        value, gradient, curvature = of_period(theta, wins)
        step = jnp.diff(theta, axis=0)
        pull = first[:, None] * theta + rate * (jnp.pad(step, ((1, 0), (0, 0))) - jnp.pad(step, ((0, 1), (0, 0))))
        blocks = curvature + (first + links)[:, None, None] * jnp.eye(n_models, dtype=dtype)[None]
        return jnp.sum(value), gradient + pull, blocks

    def iterate(state: tuple[Array, ...]) -> tuple[Array, ...]:
        theta, value, _, steps = state
        _, gradient, blocks = parts(theta)
        move = -_solve(blocks, gradient, rate)[0]

        def total(share: Array) -> Array:
            return jnp.sum(of_period(theta + share * move, wins)[0]) + penalty(theta + share * move)

        slack = 64 * jnp.finfo(dtype).eps * (1 + jnp.abs(value))
        share = jax.lax.while_loop(
            lambda s: (total(s) > value + slack) & (s > 1e-8), lambda s: s / 2, jnp.ones((), dtype)
        )
        size = jnp.max(jnp.abs(move)) / (1 + jnp.max(jnp.abs(theta)))
        return theta + share * move, total(share), size, steps + 1

    tolerance = jnp.sqrt(jnp.finfo(dtype).eps)
    going = lambda s: (s[2] > tolerance) & (s[3] < _MOST_STEPS)
    begin = jnp.zeros((n_periods, n_models), dtype) if begin is None else begin
    value = jnp.sum(of_period(begin, wins)[0]) + penalty(begin)
    state = (begin, value, jnp.asarray(jnp.inf, dtype), jnp.asarray(0, jnp.int32))
    theta, _, size, steps = jax.lax.while_loop(going, iterate, state)
    log_lik, gradient, blocks = parts(theta)
    _, variances, log_det = _solve(blocks, gradient, rate)
    scales = n_models * (jnp.log(jnp.asarray(start_var, dtype)) - (n_periods - 1) * jnp.log(rate))
    marginal = -log_lik - penalty(theta) - (scales + log_det) / 2
    status = jnp.where(size <= tolerance, Status.CONVERGED, Status.MAX_STEPS).astype(jnp.int32)
    return Smoothed(theta, jnp.sqrt(variances), -log_lik, marginal, status, steps)


def _solve(blocks: Array, right: Array, rate: Array) -> tuple[Array, Array, Array]:
    """x (T, L) with A x = right, the diagonal (T, L) of the inverse of A, and its log determinant: A has ``blocks`` on
    the diagonal (T, L, L) and -rate times the unit matrix beside it. Forward elimination of blocks, and back."""
    n = blocks.shape[1]
    one = jnp.eye(n, dtype=blocks.dtype)

    def forward(before: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], Any]:
        inverse, x = before
        pivot, b = now[0] - rate**2 * inverse, now[1] + rate * inverse @ x
        factor = jnp.linalg.cholesky(pivot)
        found = jax.scipy.linalg.cho_solve((factor, True), one)
        return (found, b), (found, b, 2 * jnp.sum(jnp.log(jnp.diagonal(factor))))

    zero = jnp.zeros_like(one), jnp.zeros_like(right[0])
    _, (inverses, sums, dets) = jax.lax.scan(forward, zero, (blocks, right))

    def back(after: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        (x, covariance), (inverse, b) = after, now
        x = inverse @ (b + rate * x)
        covariance = inverse + rate**2 * inverse @ covariance @ inverse
        return (x, covariance), (x, jnp.diagonal(covariance))

    start = jnp.zeros_like(right[0]), jnp.zeros_like(one)
    _, (found, variances) = jax.lax.scan(back, start, (inverses, sums), reverse=True)
    return found, variances, jnp.sum(dets)
