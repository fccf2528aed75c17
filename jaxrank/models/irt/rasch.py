"""The joint Rasch fit: abilities and difficulties together, from the margins of the table and the numbers of trials."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.models.irt.parts import grounded
from jaxrank.models.irt.table import ItemTable
from jaxrank.models.priors import Empirical, Flat, Gaussian, Prior
from jaxrank.numerics.solve.arrow import solve_arrow
from jaxrank.numerics.solve.damped import Minimum, levenberg_marquardt, self_concordant_newton


def fit_rasch(
    table: ItemTable, prior: Prior, centred: bool, alive: Any = True, max_steps: int = 100, ground: Any = None
) -> Minimum:
    """Maximise the joint likelihood of k ~ Binomial(n, sigmoid(theta - b)) times a prior on theta.

    ``centred``: difficulties sum to 0 over the questions (each as often as it was drawn); False leaves their place to a
    proper prior. ``ground``: (L,) 1 for one model of each part of a table in parts (`Parts`), which a flat prior leaves
    free each for itself. Params of the result: (theta (L,), b (M,)).
    """
    centred = centred and ground is None
    hold = centred and not isinstance(prior, Flat)
    start = rasch_start(table)
    if isinstance(prior, Flat | Gaussian | Empirical):

        def step(x: tuple) -> tuple[tuple, Array]:
            _, gradient, curvature = _rasch_model(table, prior, x, 0.0, with_value=False)
            curvature = (grounded(curvature[0], curvature[0], ground), *curvature[1:])
            s = _rasch_step(table, gradient, curvature, jnp.zeros(()), centred, hold)
            return s, _largest_change(table, s)

        return self_concordant_newton(step, start, alive, max_steps)

    x, steps = start, jnp.asarray(0, jnp.int32)
    for smoothing in prior.smoothings:

        def objective(x: tuple, _: None, smoothing: float = smoothing) -> tuple[Array, tuple, None]:
            value, gradient, curvature = _rasch_model(table, prior, x, smoothing, with_value=True)
            return value, (gradient, curvature), None

        found = levenberg_marquardt(
            objective,
            lambda m, damping: _rasch_step(table, m[0], m[1], damping, centred, hold),
            x,
            alive=alive,
            max_steps=3 * max_steps,
        )
        x, steps = found.params, steps + found.steps
    return found._replace(steps=steps)


def rasch_start(table: ItemTable) -> tuple[Float[Array, " models"], Float[Array, " questions"]]:
    """Log-odds of the margins, widened by each other's spread (Cohen's PROX), difficulties centred."""
    theta = _log_odds(table, axis=1)
    b = -_log_odds(table, axis=0)
    weight = table.weight / jnp.maximum(jnp.sum(table.weight), 1)
    b = jnp.where(table.used, b - jnp.sum(weight * b), 0)
    spread_b = jnp.sum(weight * b**2) / 2.89
    spread_theta = jnp.var(theta) / 2.89
    both = jnp.maximum(1 - spread_b * spread_theta, 0.25)
    return theta * jnp.sqrt((1 + spread_b) / both), b * jnp.sqrt((1 + spread_theta) / both)


def _log_odds(table: ItemTable, axis: int) -> Array:
    right, wrong = jnp.sum(table.successes, axis=axis), jnp.sum(table.failures, axis=axis)
    return jnp.log((right + 0.5) / (wrong + 0.5))


def _rasch_model(
    table: ItemTable, prior: Prior, x: tuple, smoothing: float, with_value: bool
) -> tuple[Any, tuple, tuple]:
    theta, b = x
    eta = theta[:, None] - b[None, :]
    p = jax.nn.sigmoid(eta)
    excess = table.trials * p - table.successes
    weight = table.trials * p * (1 - p)
    gradient = jnp.sum(excess, axis=1) + prior.slope(theta, smoothing), -jnp.sum(excess, axis=0)
    columns = jnp.where(table.used, jnp.sum(weight, axis=0), 1)
    curvature = jnp.sum(weight, axis=1) + prior.bend(theta, smoothing), -weight, columns
    value = None
    if with_value:
        value = jnp.sum(table.trials * jax.nn.softplus(eta) - table.successes * eta) + prior.penalty(theta, smoothing)
    return value, gradient, curvature


def _rasch_step(
    table: ItemTable, gradient: tuple, curvature: tuple, damping: Array, centred: bool, hold: bool
) -> tuple:
    """The Newton step. A sum of difficulties that the likelihood leaves free is fixed at no cost; one that a prior on
    theta would move is held by a multiplier (a second right side)."""
    (g, h), (rows, cross, columns) = gradient, curvature
    w = table.weight[:, None]
    right = (-g[:, None], -h[:, None])
    if hold:
        right = tuple(
            jnp.concatenate([a, c], axis=1) for a, c in zip(right, (jnp.zeros_like(g)[:, None], w), strict=True)
        )
    x, y = solve_arrow(
        (rows * (1 + damping))[:, None, None],
        cross[:, None, :, None],
        (columns * (1 + damping))[:, None, None],
        right[0][:, None, :],
        right[1][:, None, :],
        tie=w if centred else None,
    )
    x, y = x[:, 0], y[:, 0]
    if not hold:
        return x[:, 0], y[:, 0]
    sums = jnp.sum(w * y, axis=0)
    ratio = jnp.where(sums[1] != 0, sums[0] / jnp.where(sums[1] != 0, sums[1], 1), 0)
    return x[:, 0] - ratio * x[:, 1], y[:, 0] - ratio * y[:, 1]


def _largest_change(table: ItemTable, s: tuple) -> Array:
    x, y = s
    low = jnp.min(jnp.where(table.used, y, jnp.inf))
    high = jnp.max(jnp.where(table.used, y, -jnp.inf))
    widest = jnp.maximum(jnp.max(x) - low, high - jnp.min(x))
    return jnp.where(jnp.any(table.used), widest, jnp.max(jnp.abs(x)))


def rasch_log_likelihood(table: ItemTable, theta: Array, b: Array) -> Float[Array, ""]:
    """sum k log p + (n - k) log(1 - p), without binomial coefficients."""
    eta = theta[:, None] - b[None, :]
    return jnp.sum(table.successes * eta - table.trials * jax.nn.softplus(eta))


def rasch_standard_errors(
    table: ItemTable, prior: Prior, theta: Array, b: Array, centred: bool
) -> tuple[Float[Array, " models"], Float[Array, " questions"]]:
    """Standard errors from the observed information, with the sum of difficulties fixed where ``centred``."""
    _, _, (rows, cross, columns) = _rasch_model(table, prior, (theta, b), prior.smoothings[-1], with_value=False)
    # The second derivative of the prior itself; at a kink that is infinite, and the model's error unknown.
    exact = prior.curvature(theta)
    held = jnp.isnan(exact)
    rows = jnp.where(held, rows, rows - prior.bend(theta, prior.smoothings[-1]) + exact)
    n, m = cross.shape
    unit = jnp.eye(n + m, dtype=theta.dtype)
    w = table.weight[:, None]
    right = jnp.concatenate([unit, jnp.concatenate([jnp.zeros((n, 1), theta.dtype), w])], axis=1)
    x, y = solve_arrow(
        rows[:, None, None],
        cross[:, None, :, None],
        columns[:, None, None],
        right[:n, None, :],
        right[n:, None, :],
        tie=w if centred else None,
    )
    inverse = jnp.concatenate([x[:, 0], y[:, 0]])
    variance, shift = jnp.diagonal(inverse[:, :-1]), inverse[:, -1]
    if centred:
        variance = variance - shift**2 / jnp.sum(table.weight * shift[n:])
    se = jnp.sqrt(variance)
    return jnp.where(held, jnp.nan, se[:n]), jnp.where(table.used, se[n:], jnp.nan)


def item_fit(table: ItemTable, p: Float[Array, "models questions"]) -> dict[str, Float[Array, " questions"]]:
    """Mean-square fit of each question: ``infit`` weighted by information, ``outfit`` plain; 1 is as the model says."""
    squared = (table.successes - table.trials * p) ** 2
    information = table.trials * p * (1 - p)
    seen = information > 0
    outfit = jnp.sum(jnp.where(seen, squared / jnp.where(seen, information, 1), 0), axis=0)
    count, total = jnp.sum(seen, axis=0), jnp.sum(information, axis=0)
    return {
        "infit": jnp.where(table.used, jnp.sum(squared, axis=0) / total, jnp.nan),
        "outfit": jnp.where(table.used, outfit / jnp.maximum(count, 1), jnp.nan),
    }
