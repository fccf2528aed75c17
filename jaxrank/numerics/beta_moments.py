"""Posterior mean and variance of Pass@k and its relatives when the success rate of a question is p ~ Beta(a, b).

Every metric is a mean E[u_X] over X ~ Binomial(k, p), so its posterior mean is the mean of u over a beta-binomial of k
trials, and its second moment a mean over a beta-binomial of 2 k trials: split 2 k trials with s successes at random
into two halves; the coefficient of s is the mean of u_X u_(s - X). All terms are positive, and everything is a ratio of
neighbouring terms, so nothing overflows for k up to 10^4 and beyond.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.numerics.hypergeometric import log_gamma_mixed

Cells = Float[Array, "*cells"]


def any_moments(a: Cells, b: Cells, k: Any) -> tuple[Cells, Cells]:
    """Mean and variance of 1 - (1 - p)^k for p ~ Beta(a, b), a, b >= 1."""
    mean, variance = all_moments(b, a, k, complement=True)
    return mean, variance


def all_moments(a: Cells, b: Cells, k: Any, complement: bool = False) -> tuple[Cells, Cells]:
    """Mean and variance of p^k for p ~ Beta(a, b), a, b >= 1; of 1 - p^k with ``complement``."""
    k = jnp.broadcast_to(jnp.asarray(k, a.dtype), a.shape)
    once, twice = log_gamma_mixed(a, k, b), log_gamma_mixed(a, 2 * k, b)
    variance = -jnp.exp(twice) * jnp.expm1(jnp.minimum(2 * once - twice, 0))
    return -jnp.expm1(once) if complement else jnp.exp(once), variance


class Polynomial(eqx.Module):
    """sum_x u_x C(k, x) p^x (1 - p)^(k - x): the weights u and those of its square, and of its distance from max u."""

    k: Any
    once: Float[np.ndarray, "2 sizes"]
    twice: Float[np.ndarray, "2 double_sizes"]

    @classmethod
    def of(cls, weights: np.ndarray) -> Polynomial:
        """From u (k + 1,), 0 or more. Padded to a power of two, so that nearby k share their compiled code."""
        both = (weights, float(np.max(weights)) - weights)
        pad = 2 ** int(len(weights) - 1).bit_length() + 1 - len(weights)
        once, twice = np.stack(both), np.stack([pair_weights(tuple(u)) for u in both])
        return cls(
            np.asarray(len(weights) - 1.0), np.pad(once, ((0, 0), (0, pad))), np.pad(twice, ((0, 0), (0, 2 * pad)))
        )


def weighted_moments(a: Cells, b: Cells, polynomial: Polynomial) -> tuple[Cells, Cells]:
    """Mean and variance of a `Polynomial` of p ~ Beta(a, b), a, b >= 1.

    The variance is taken from the second moment of the metric or of its distance from the largest weight, whichever
    is the smaller number, so that it does not drown in rounding where the metric is almost certain.
    """
    k, once, twice = (jnp.asarray(v, a.dtype) for v in (polynomial.k, polynomial.once, polynomial.twice))
    mean, short = beta_binomial_means(a, b, k, once)
    square, short2 = beta_binomial_means(a, b, 2 * k, twice)
    variance = jnp.where(mean <= short, square - mean**2, short2 - short**2)
    return mean, jnp.maximum(variance, 0)


def beta_binomial_means(
    a: Cells, b: Cells, size: Float[Array, ""], weights: Float[Array, "sets sizes"]
) -> Float[Array, "sets *cells"]:
    """E[weights[:, S]] for S ~ Beta-binomial(size; a, b), a, b >= 1; weights beyond ``size`` are not read.

    Terms are ratios to the one at the mode, from the mode outwards until they no longer count, divided by their sum.
    """
    mode = jnp.floor(size * (a - 1) / jnp.maximum(a + b - 2, 1e-3))
    tiny = jnp.finfo(a.dtype).eps / 8

    def at(s: Cells) -> Float[Array, "sets *cells"]:
        return weights[:, jnp.clip(s, 0, size).astype(jnp.int32)]

    def alive(state: tuple[Array, ...]) -> Array:
        distance, up, down, total, _ = state
        # Beyond the mode the terms fall; what is left is below (terms left) x (the last term).
        return (distance < size) & jnp.any((up + down) * size > tiny * total)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        distance, up, down, total, sums = state
        high, low = mode + distance, mode - distance
        up = up * jnp.maximum((size - high) * (a + high) / ((high + 1) * jnp.maximum(b + size - high - 1, 1e-3)), 0)
        down = down * jnp.where(
            low > 0, low * (b + size - low) / ((size - low + 1) * jnp.maximum(a + low - 1, 1e-3)), 0
        )
        sums = sums + up[None] * at(high + 1) + down[None] * at(low - 1)
        return distance + 1, up, down, total + up + down, sums

    one = jnp.ones_like(a)
    start = (jnp.zeros((), a.dtype), one, one, one, at(mode))
    *_, total, sums = jax.lax.while_loop(alive, step, start)
    return sums / total[None]


def cross_moment(a: Cells, b: Cells, k: Any, crossed: Any) -> Cells:
    """E[f g] of two polynomials of k tries, p ~ Beta(a, b), a, b >= 1. **crossed**: their `cross_weights`, (2 k + 1,)
    or longer."""
    size = jnp.asarray(2 * k, a.dtype)
    return beta_binomial_means(a, b, size, jnp.asarray(crossed, a.dtype)[None])[0]


@functools.lru_cache(maxsize=64)
def pair_weights(weights: tuple[float, ...]) -> np.ndarray:
    """(2 k + 1,): mean of u_X u_(s - X) for X ~ Hypergeometric(2 k, s, k), for every s; ``weights`` are u_0..u_k."""
    return cross_weights(np.asarray(weights, float), np.asarray(weights, float))


def cross_weights(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(2 k + 1,): mean of u_X v_(s - X) for X ~ Hypergeometric(2 k, s, k), for every s; u, v (k + 1,)."""
    k = len(u) - 1
    s = np.arange(2 * k + 1)

    def both(x: np.ndarray) -> np.ndarray:  # X and s - X have the same distribution
        y = np.minimum(s - x, k)
        return (u[x] * v[y] + u[y] * v[x]) / 2

    x = s // 2  # the mode
    term = np.where(s % 2 == 0, 1.0, 2.0)
    total, sums = term.copy(), term * both(x)
    term = np.full(s.shape, 2.0)
    while True:
        # From x to x - 1.
        ratio = x * np.maximum(k - s + x, 0) / ((s - x + 1) * (k - x + 1))
        term = term * ratio
        x = np.maximum(x - 1, 0)
        if not np.any(term * (k + 1) > 1e-17 * total):
            return sums / total
        total += term
        sums += term * both(x)
