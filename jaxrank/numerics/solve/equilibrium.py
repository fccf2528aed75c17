"""The maximum-entropy equilibrium of a symmetric zero-sum game."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.linear import solve_general

_TOO_FAR = 0.1  # an error of a payoff, of the largest, with which an equilibrium is no answer


class Equilibrium(NamedTuple):
    """**mixture** (n,), sum 1. **gap**: the most that any pure strategy gains against it, on the scale of the largest
    payoff. **reached**: whether the gap is rounding only and the error small. **steps**: Newton steps. **error**: how
    far the payoffs against the mixture may be off, on the same scale; 0 where not reached."""

    mixture: Float[Array, " n"]
    gap: Float[Array, ""]
    reached: Bool[Array, ""]
    steps: Int[Array, ""]
    error: Float[Array, ""]


def max_entropy_equilibrium(payoff: Float[Array, "n n"], max_steps: int = 400) -> Equilibrium:
    """The equilibrium of largest entropy of a game with antisymmetric ``payoff``: unique, so that labels do not
    matter.

    Where some strategies draw among themselves and beat all others, every mixture of them is an equilibrium and no
    other: the answer is their uniform mixture and nothing is iterated. Otherwise two stages:

    1. Follow the logit equilibria x ~ exp(A x / temperature) from the uniform mixture at a high temperature to a low
    one by Newton steps. Their limit is the maximum-entropy equilibrium, with an error of the order of the temperature.
    2. Fix which strategies are played and which others are exactly as good, and solve the optimality conditions of the
       largest entropy under A x = 0 there, by a proximal Newton iteration to rounding.
    """
    n = payoff.shape[0]
    dtype, eps = payoff.dtype, jnp.finfo(payoff.dtype).eps
    scale = jnp.max(jnp.abs(payoff))
    a = payoff / jnp.where(scale > 0, scale, 1)

    unbeaten = jnp.all(a >= 0, axis=1)
    settled = jnp.any(unbeaten) & jnp.all((a > 0) | ~unbeaten[:, None] | unbeaten[None, :])
    uniform = unbeaten.astype(dtype) / jnp.maximum(jnp.sum(unbeaten), 1).astype(dtype)

    log_x, cold, first = _cool(a, ~settled, max_steps)
    x, second = _settle(a, log_x, cold, ~settled, max_steps)
    x = jnp.where(settled, uniform, x)
    gains = matmul(a, x)
    gap = jnp.max(gains)
    error = _error(a, x, log_x, gains, cold, ~settled)
    reached = (gap <= 64 * n**0.5 * eps) & (error < _TOO_FAR)
    return Equilibrium(x, gap, reached, first + second, jnp.where(reached, error, 0))


def _cool(a: Array, alive: Array, max_steps: int) -> tuple[Array, Array, Array]:
    """Logarithms of the logit equilibrium at a low temperature, that temperature, and the steps."""
    n, dtype = a.shape[0], a.dtype
    last = 1e-10 if dtype == jnp.float64 else 3e-5
    close = 1e-3  # how far the logarithms may be from the path when the temperature falls

    def going(state: tuple[Array, ...]) -> Array:
        _, _, steps, done = state
        return alive & ~done & (steps < max_steps)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        z, temperature, steps, _ = state
        x = jnp.exp(z)
        residual = temperature * z - matmul(a, x)
        matrix = temperature * jnp.eye(n, dtype=dtype) - a * x[None, :]
        solved = solve_general(matrix, jnp.stack([-residual, jnp.ones(n, dtype)], axis=1))
        p, q = solved[:, 0], solved[:, 1]
        move = p - q * (jnp.sum(x * p) / jnp.sum(x * q))
        # Strategies that are hardly played may fall as far as they like.
        counted = jnp.where((x > 1e-6) | (move > 0), jnp.abs(move), 0)
        largest = jnp.max(counted)
        z = z + move * jnp.minimum(1, 1 / jnp.where(largest > 0, largest, 1))
        z = z - jax.nn.logsumexp(z)
        near = largest < close
        done = near & (temperature <= last)
        return z, jnp.where(near & ~done, jnp.maximum(temperature / 3, last), temperature), steps + 1, done

    start = jnp.full(n, -jnp.log(jnp.asarray(n, dtype)))
    state = (start, jnp.asarray(1.0, dtype), jnp.asarray(0, jnp.int32), jnp.asarray(False))
    z, temperature, steps, _ = jax.lax.while_loop(going, step, state)
    return z, temperature, steps


def _settle(a: Array, log_x: Array, cold: Array, alive: Array, max_steps: int) -> tuple[Array, Array]:
    """The largest entropy under A x = 0 on the strategies that are played or exactly as good; and the steps."""
    n, dtype = a.shape[0], a.dtype
    eps = jnp.finfo(dtype).eps
    x = jnp.exp(log_x)
    played = x > jnp.sqrt(cold)
    idle = ~played & (x > 0.01 * cold)  # not played, but held to a payoff of exactly 0 by a price x / temperature
    rest = ~played & ~idle
    temperature = 1e-4 if dtype == jnp.float64 else 1e-2
    still = (1e3 if dtype == jnp.float64 else 64) * eps
    inside = jnp.where(played[:, None] & played[None, :], a, 0)
    prices = jnp.where(played[:, None] & idle[None, :], a, 0)
    bounds = jnp.where(idle[:, None] & played[None, :], a, 0)
    pad = jnp.zeros(1, dtype)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        z, w, dual, level, steps, _ = state
        x = jnp.where(played, jnp.exp(z), 0)
        pull = matmul(inside, x)
        top = jnp.where(played, temperature * z - dual - pull - matmul(prices, w) + level, 0)
        residual = top + matmul(bounds, x)
        # Unknowns: log x of the played, prices of the idle, the common level; the rest stays.
        block = -inside * x[None, :] - prices + bounds * x[None, :]
        block = block + jnp.diag(jnp.where(played, temperature, jnp.where(idle, 64 * eps, 1)).astype(dtype))
        border = played.astype(dtype)
        matrix = jnp.block([[block, border[:, None]], [x[None, :], pad[:, None]]])
        right = jnp.concatenate([-residual, 1 - jnp.sum(x)[None]])
        move = solve_general(matrix, right[:, None])[:, 0]
        # Beyond e^2 a Newton step in logarithms says little.
        z = z + jnp.where(played, jnp.clip(move[:n], -2, 2), 0)
        w = w + jnp.where(idle, move[:n], 0)
        x = jnp.where(played, jnp.exp(z), 0)
        pull = matmul(inside, x)
        off = jnp.max(jnp.abs(pull + matmul(bounds, x))) + jnp.abs(jnp.sum(x) - 1)
        done = (off <= 8 * eps) & (jnp.max(jnp.abs(jnp.where(played, move[:n], 0))) <= still)
        return z, w, dual + pull, level + move[n], steps + 1, done

    def going(state: tuple[Array, ...]) -> Array:
        return alive & ~state[5] & (state[4] < jnp.minimum(max_steps, 60))

    # The dual starts at 0: whatever lies outside the range of ``inside`` would stay in it for good.
    start = (
        log_x,
        jnp.where(idle, x / cold * temperature, 0),
        jnp.zeros(n, dtype),
        jnp.asarray(0.0, dtype),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(False),
    )
    z, _, _, _, steps, _ = jax.lax.while_loop(going, step, start)
    x = jnp.where(rest | idle, 0, jnp.exp(z))
    return x / jnp.sum(x), steps


def _error(a: Array, x: Array, log_x: Array, gains: Array, temperature: Array, alive: Array) -> Array:
    """How far the payoffs ``gains`` against the mixture ``x`` may be off; 0 where not alive. ``log_x``: the
    logarithms of the logit equilibrium at the low ``temperature``."""
    n, dtype = a.shape[0], a.dtype
    eps = jnp.finfo(dtype).eps

    def work_out(state: tuple[Array, Array]) -> tuple[Array, Array]:
        # A loop of one pass costs nothing where no lane of a batch needs it, if the work cannot be moved out of it:
        # so that it cannot, the 0 that is carried is added.
        warm = jnp.exp(log_x + state[0])
        mixture = x + state[0]
        # The mixture is an equilibrium of a game whose payoffs differ by so much, and payoffs are rounded themselves.
        backward = jnp.max(jnp.where((gains > 0) | (mixture > temperature), jnp.abs(gains), 0)) + 4 * eps
        # How far the payoffs against a logit equilibrium move for that: it plays every strategy a little, so that a
        # change of who is played counts.
        weight = jnp.where(mixture > temperature, mixture, jnp.minimum(warm, temperature))
        by_x = a * weight[None, :]
        eye = jnp.eye(n, dtype=dtype)
        inverse = solve_general((temperature + state[0]) * eye - by_x, eye)
        q = jnp.sum(inverse, axis=1)
        fixed = matmul(weight, inverse) / jnp.sum(weight * q)
        moves = matmul(by_x, inverse - q[:, None] * fixed[None, :])
        condition = jnp.max(jnp.sum(jnp.abs(moves), axis=1))
        # A strategy that was left out may be one that is hardly played.
        left_out = jnp.any((mixture == 0) & (warm > temperature))
        moved = jnp.max(jnp.abs(gains - matmul(a, warm)))
        return backward * condition + jnp.where(left_out, moved, 0), jnp.asarray(False)

    return jax.lax.while_loop(lambda state: state[1], work_out, (jnp.zeros((), dtype), alive))[0]
