"""Products of powers, P^a U^b, with their slopes, and the error that follows from those of P and U (delta rule)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

Cells = Float[Array, "*cells"]


def product(first: Cells, second: Cells, a: Any, b: Any) -> Cells:
    """first^a second^b; 0^0 is 1, and 0 to a negative power is infinite, so that the product is not finite."""
    return _power(first, a) * _power(second, b)


def slopes(first: Cells, second: Cells, a: Any, b: Any) -> tuple[Cells, Cells]:
    """Derivatives of `product` by both; 0 where the power of a zero base is 0."""
    return _slope(first, a) * _power(second, b), _power(first, a) * _slope(second, b)


def by_question(
    values: Sequence[Float[Array, "models questions"]], means: Sequence[Float[Array, " models"]], a: Any, b: Any
) -> Float[Array, "models questions"]:
    """`product` of two means over questions, with what every question adds to it to first order; their mean over
    questions is the product. Infinite slopes count as 0."""
    columns = [m[:, None] for m in means]
    steep = slopes(columns[0], columns[1], a, b)
    moved = sum(jnp.where(jnp.isfinite(s), s, 0) * (v - m) for s, v, m in zip(steep, values, columns, strict=True))
    return product(columns[0], columns[1], a, b) + moved


def delta_variance(
    first: Cells, second: Cells, a: Any, b: Any, variances: tuple[Cells, Cells], covariance: Cells
) -> Cells:
    """First-order variance of `product` from those of its factors."""
    by_first, by_second = slopes(first, second, a, b)
    spread = by_first**2 * variances[0] + by_second**2 * variances[1] + 2 * by_first * by_second * covariance
    return jnp.maximum(spread, 0)


def _power(x: Cells, power: Any) -> Cells:
    power = jnp.asarray(power, x.dtype)
    positive = x > 0
    at_zero = jnp.where(power == 0, 1.0, jnp.where(power > 0, 0.0, jnp.inf)).astype(x.dtype)
    return jnp.where(positive, jnp.where(positive, x, 1) ** power, at_zero)


def _slope(x: Cells, power: Any) -> Cells:
    power = jnp.asarray(power, x.dtype)
    return jnp.where(power == 0, 0, power * _power(x, power - 1))
