"""Bradley-Terry strengths that move: a random walk from period to period, smoothed."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.statistics import Pairs
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood
from jaxrank.numerics.precision import matmul
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


class _Mode(NamedTuple):
    """What `smooth` finds but for deviations. **inverses** (T, L, L): of the pivots of the block elimination."""

    theta: Array
    log_lik: Array
    log_marginal: Array
    status: Array
    steps: Array
    inverses: Array


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
    found = mode_of(wins, drift, start_var, jnp.zeros(wins.shape[:2], wins.dtype) if begin is None else begin)
    sd = jnp.sqrt(_variances(found.inverses, drift))
    return Smoothed(found.theta, sd, found.log_lik, found.log_marginal, found.status, found.steps)


@jax.jit
def mode_of(wins: Array, drift: Any, start_var: Any, begin: Array) -> _Mode:
    """`smooth` without deviations. After each of Newton's steps the same factor serves for further ones (chord steps,
    whose cost is that of a gradient) while each is less than half the one before."""
    n_periods, n_models, _ = wins.shape
    dtype = wins.dtype
    rate = 1 / jnp.asarray(drift, dtype)
    first = jnp.zeros(n_periods, dtype).at[0].set(1 / jnp.asarray(start_var, dtype))
    links = jnp.full(n_periods, 2 * rate).at[0].add(-rate).at[-1].add(-rate)  # walks that a period is part of
    likelihood = BradleyTerryLikelihood()
    zero = jnp.zeros((n_models, n_models), dtype)
    of_period = jax.vmap(lambda theta, w: likelihood.parts(theta, Pairs(w, zero)))

    def total(theta: Array) -> Array:
        walk = rate * jnp.sum(jnp.diff(theta, axis=0) ** 2) / 2
        return jnp.sum(of_period(theta, wins)[0]) + jnp.sum(first[:, None] * theta**2) / 2 + walk

    def parts(theta: Array) -> tuple[Array, Array, Array]:
        value, gradient, curvature = of_period(theta, wins)
        step = jnp.diff(theta, axis=0)
        pull = first[:, None] * theta + rate * (jnp.pad(step, ((1, 0), (0, 0))) - jnp.pad(step, ((0, 1), (0, 0))))
        blocks = curvature + (first + links)[:, None, None] * jnp.eye(n_models, dtype=dtype)[None]
        return jnp.sum(value), gradient + pull, blocks

    slack = lambda value: 64 * jnp.finfo(dtype).eps * (1 + jnp.abs(value))
    size_of = lambda move, theta: jnp.max(jnp.abs(move)) / (1 + jnp.max(jnp.abs(theta)))

    def newton(state: tuple[Array, ...]) -> tuple[Array, ...]:
        theta, value, _, steps = state
        _, gradient, blocks = parts(theta)
        inverses, _ = _factor(blocks, rate)
        move = -_solve(inverses, gradient, rate)
        share = jax.lax.while_loop(
            lambda s: (total(theta + s * move) > value + slack(value)) & (s > 1e-8),
            lambda s: s / 2,
            jnp.ones((), dtype),
        )
        theta, size = theta + share * move, size_of(move, theta)

        def chord(state: tuple[Array, ...]) -> tuple[Array, ...]:
            theta, size, _ = state
            move = -_solve(inverses, parts(theta)[1], rate)
            smaller = size_of(move, theta)
            halved = 2 * smaller < size
            return jnp.where(halved, theta + move, theta), jnp.where(halved, smaller, size), halved

        start = theta, size, share == 1
        theta, size, _ = jax.lax.while_loop(lambda s: s[2] & (s[1] > smallest), chord, start)
        return theta, total(theta), size, steps + 1

    tolerance, smallest = jnp.finfo(dtype).eps ** 0.5, jnp.finfo(dtype).eps ** 0.75
    going = lambda s: (s[2] > tolerance) & (s[3] < _MOST_STEPS)
    state = (begin, total(begin), jnp.asarray(jnp.inf, dtype), jnp.asarray(0, jnp.int32))
    theta, value, size, steps = jax.lax.while_loop(going, newton, state)
    minus_log_lik, _, blocks = parts(theta)
    inverses, log_det = _factor(blocks, rate)
    scales = n_models * (jnp.log(jnp.asarray(start_var, dtype)) - (n_periods - 1) * jnp.log(rate))
    marginal = -value - (scales + log_det) / 2
    status = jnp.where(size <= tolerance, Status.CONVERGED, Status.MAX_STEPS).astype(jnp.int32)
    return _Mode(theta, -minus_log_lik, marginal, status, steps, inverses)


def _factor(blocks: Array, rate: Array) -> tuple[Array, Array]:
    """Of A with ``blocks`` on the diagonal (T, L, L) and -rate times the unit matrix beside it, the inverses (T, L, L)
    of the pivots of an elimination of blocks, and the log determinant."""
    one = jnp.eye(blocks.shape[1], dtype=blocks.dtype)

    def forward(inverse: Array, block: Array) -> tuple[Array, tuple[Array, Array]]:
        factor = jnp.linalg.cholesky(block - rate**2 * inverse)
        found = jax.scipy.linalg.cho_solve((factor, True), one)
        return found, (found, 2 * jnp.sum(jnp.log(jnp.diagonal(factor))))

    _, (inverses, dets) = jax.lax.scan(forward, jnp.zeros_like(one), blocks)
    return inverses, jnp.sum(dets)


def _solve(inverses: Array, right: Array, rate: Array) -> Array:
    """x (T, L) with A x = right: elimination forwards and back."""

    def forward(before: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        inverse, x = before
        found = now[1] + rate * matmul(inverse, x)
        return (now[0], found), found

    def back(x: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        x = matmul(now[0], now[1] + rate * x)
        return x, x

    nothing = jnp.zeros_like(right[0])
    _, sums = jax.lax.scan(forward, (jnp.zeros_like(inverses[0]), nothing), (inverses, right))
    return jax.lax.scan(back, nothing, (inverses, sums), reverse=True)[1]


@jax.jit
def _variances(inverses: Array, drift: Any) -> Array:
    """The diagonal (T, L) of the inverse of A."""
    rate = 1 / jnp.asarray(drift, inverses.dtype)

    def back(after: Array, inverse: Array) -> tuple[Array, Array]:
        covariance = inverse + rate**2 * matmul(matmul(inverse, after), inverse)
        return covariance, jnp.diagonal(covariance)

    return jax.lax.scan(back, jnp.zeros_like(inverses[0]), inverses, reverse=True)[1]
