"""Draws without replacement, exactly and for any size: the mathematics of Pass@k, Pass^k, G-Pass@k and mG-Pass@k.

X is the number of successes among k trials drawn without replacement from n trials with c successes. Every function is
elementwise over c and n (arrays of one shape, whole numbers in a float type) with a scalar k that may be traced. There
are no factorials: few draws are products of ratios, many draws use Stirling's series in a form whose large terms
cancel before they are computed, so n = 10^6 and k = 10^5 keep nearly full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

# Up to this k, one multiplication and one division a draw are cheaper than logarithms.
FEW_DRAWS = 16


def whole_ceiling(x: Any) -> Array:
    """ceil(x) where x is a product such as 0.28 * 25 whose rounding may put it just above the whole number it is."""
    x = jnp.asarray(x)
    return jnp.ceil(x * (1 - 4 * jnp.finfo(x.dtype).eps))


def any_success(c: Array, n: Array, k: Any) -> Array:
    """Pr(X >= 1) = 1 - C(n - c, k) / C(n, k), for 1 <= k <= n. Relative precision also where it is tiny."""
    k = jnp.asarray(k, n.dtype)
    few = lambda: _any_by_steps(c, n, k)
    many = lambda: -jnp.expm1(_log_none(c, n, k))
    return jax.lax.cond(k <= FEW_DRAWS, few, many)


def all_successes(c: Array, n: Array, k: Any) -> Array:
    """Pr(X = k) = C(c, k) / C(n, k), for 1 <= k <= n."""
    k = jnp.asarray(k, n.dtype)
    few = lambda: _all_by_steps(c, n, k)
    many = lambda: jnp.exp(_log_none(n - c, n, k))
    return jax.lax.cond(k <= FEW_DRAWS, few, many)


def at_least(c: Array, n: Array, k: Any, j: Any) -> Array:
    """Pr(X >= j), for 1 <= j and 1 <= k <= n."""
    k, j = jnp.asarray(k, n.dtype), jnp.asarray(j, n.dtype)
    few = lambda: _tail_by_terms(c, n, k, j, excess=False)

    def many() -> Array:
        above = j > c * (k / n)
        tail = _tail_from(c, n, k, jnp.where(above, j, j - 1), above, excess=False)
        return jnp.clip(jnp.where(above, tail, 1 - tail), 0, 1)

    return jax.lax.cond(k <= FEW_DRAWS, few, many)


def mean_excess(c: Array, n: Array, k: Any, h: Any) -> Array:
    """E[(X - h)_+], for 0 <= h and 1 <= k <= n."""
    k, h = jnp.asarray(k, n.dtype), jnp.asarray(h, n.dtype)
    few = lambda: _tail_by_terms(c, n, k, h + 1, excess=True)

    def many() -> Array:
        mean = c * (k / n)
        above = h + 1 > mean
        tail = _tail_from(c, n, k, jnp.where(above, h + 1, h - 1), above, excess=True)
        return jnp.maximum(jnp.where(above, tail, mean - h + tail), 0)

    return jax.lax.cond(k <= FEW_DRAWS, few, many)


def mean_of(credit: Callable[[Array], Array], c: Array, n: Array, k: Any) -> Array:
    """E[credit(X)] of a credit of 0 or more that is given for x = 0..k, elementwise, for 1 <= k <= n.

    Terms are ratios to the one at the mode, from the mode outwards until they no longer count, divided by their sum.
    """
    k = jnp.asarray(k, n.dtype)
    spare, most = n - c - k, jnp.minimum(c, k)
    mode = jnp.clip(jnp.floor((k + 1) * ((c + 1) / (n + 2))), jnp.maximum(-spare, 0), most)
    tiny = jnp.finfo(n.dtype).eps / 8

    def alive(state: tuple[Array, ...]) -> Array:
        distance, up, down, total, _ = state
        return (distance < k) & jnp.any((up + down) * k > tiny * total)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        distance, up, down, total, sums = state
        high, low = mode + distance, mode - distance
        up = up * jnp.maximum((c - high) * (k - high) / jnp.maximum((high + 1) * (spare + high + 1), 1), 0)
        down = down * jnp.maximum(low * (spare + low) / jnp.maximum((c - low + 1) * (k - low + 1), 1), 0)
        at = lambda x: credit(jnp.clip(x, 0, k)).astype(n.dtype)
        return distance + 1, up, down, total + up + down, sums + up * at(high + 1) + down * at(low - 1)

    one = jnp.ones_like(c)
    *_, total, sums = jax.lax.while_loop(
        alive, step, (jnp.zeros((), n.dtype), one, one, one, credit(mode).astype(n.dtype))
    )
    return sums / total


def log_pmf(x: Array, c: Array, n: Array, k: Any) -> Array:
    """log Pr(X = x) inside the support; -inf outside it. After Loader (2000), "Fast and accurate computation of
    binomial probabilities": three binomials at the same rate k/n, each as a saddle point and its Stirling errors."""
    k = jnp.asarray(k, n.dtype)
    inside = (x >= 0) & (x <= c) & (k - x >= 0) & (k - x <= n - c)
    x = jnp.where(inside, x, jnp.minimum(c, k))
    p, q = k / n, (n - k) / n
    whole = _log_binomial(k + 0 * n, n, p, q)
    value = _log_binomial(x, c, p, q) + _log_binomial(k - x, n - c, p, q) - whole
    return jnp.where(inside, value, -jnp.inf)


def log_gamma_mixed(a: Array, x: Array, y: Array) -> Array:
    """log[Gamma(a + x) Gamma(a + y) / (Gamma(a) Gamma(a + x + y))] for a >= 1, x, y >= 0; never above 0.

    Also log E[p^x] for p ~ Beta(a, y), and log C(n - c, k)/C(n, k) at a = n - c - k + 1, x = k, y = c. The terms that
    cancel are combined into logarithms of ratios, so the error is about one rounding of x y / (a + x + y).
    """
    total = a + x + y
    main = (
        (a - 0.5) * jnp.log1p((x / a) * (y / total)) + x * _log_ratio(a + x, y, total) + y * _log_ratio(a + y, x, total)
    )
    small = stirling_error(a + x) - stirling_error(a) + stirling_error(a + y) - stirling_error(total)
    return jnp.minimum(main + small, 0)


def stirling_error(x: Array) -> Array:
    """log Gamma(x) - [(x - 1/2) log x - x + log(2 pi)/2] for x >= 1: the Stirling series, or log Gamma below 8."""
    big = jnp.maximum(x, 8)
    r = 1 / big
    r2 = r * r
    series = r * (
        1 / 12 - r2 * (1 / 360 - r2 * (1 / 1260 - r2 * (1 / 1680 - r2 * (1 / 1188 - r2 * (691 / 360360 - r2 / 156)))))
    )
    small = jnp.clip(x, 1, 8)
    direct = jax.lax.lgamma(small) - ((small - 0.5) * jnp.log(small) - small + 0.9189385332046727)
    return jnp.where(x < 8, direct, series)


def _log_ratio(part: Array, rest: Array, total: Array) -> Array:
    """log(part / total) with total = part + rest, precise where part is nearly all of it and where it is little."""
    share = jnp.minimum(rest / total, 0.5)
    return jnp.where(2 * rest < total, jnp.log1p(-share), jnp.log(part / total))


def _log_none(c: Array, n: Array, k: Array) -> Array:
    """log C(n - c, k) / C(n, k); -inf where fewer than k trials fail."""
    spare = n - c - k
    value = log_gamma_mixed(jnp.maximum(spare, 0) + 1, jnp.broadcast_to(k, c.shape), c)
    return jnp.where(spare >= 0, value, -jnp.inf)


def _any_by_steps(c: Array, n: Array, k: Array) -> Array:
    def draw(i: Array, seen: Array) -> Array:  # seen: chance of a success among the first i draws
        return seen + (1 - seen) * jnp.minimum(c / (n - i.astype(n.dtype)), 1)

    return jax.lax.fori_loop(0, k.astype(jnp.int32), draw, jnp.zeros_like(c))


def _all_by_steps(c: Array, n: Array, k: Array) -> Array:
    def draw(i: Array, kept: Array) -> Array:
        i = i.astype(n.dtype)
        return kept * (jnp.maximum(c - i, 0) / (n - i))

    return jax.lax.fori_loop(0, k.astype(jnp.int32), draw, jnp.ones_like(c))


def _tail_by_terms(c: Array, n: Array, k: Array, j: Array, excess: bool) -> Array:
    """sum over x = j..k of Pr(X = x), times x - j + 1 for ``excess``; k^2 products in all, every term positive."""
    whole = k.astype(jnp.int32)

    def term(x: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        total, choose = state  # choose = C(k, x)
        at = x.astype(n.dtype)

        def draw(i: Array, product: Array) -> Array:
            i = i.astype(n.dtype)
            left = jnp.where(i < at, c - i, n - c - (i - at))
            return product * (jnp.maximum(left, 0) / (n - i))

        chance = choose * jax.lax.fori_loop(0, whole, draw, jnp.ones_like(c))
        weight = at - j + 1 if excess else 1
        return total + weight * chance, choose * at / (k - at + 1)

    # From x = k (one way to choose) down to x = j.
    down = lambda i, state: term(whole - i, state)
    steps = whole - j.astype(jnp.int32) + 1
    return jax.lax.fori_loop(0, jnp.maximum(steps, 0), down, (jnp.zeros_like(c), jnp.ones((), n.dtype)))[0]


def _tail_from(c: Array, n: Array, k: Array, x: Array, up: Array, excess: bool) -> Array:
    """Sum of Pr(X = .) from x away from the mean, upwards where ``up``; for ``excess`` times 1, 2, 3, ... from x on.

    The terms fall at a growing rate, so what is left is bounded by a geometric series and the loop ends when that
    bound is below the rounding of the sum in every cell: a few standard deviations of X, whatever k is.
    """
    tiny = jnp.finfo(n.dtype).eps / 8
    spare = n - c - k

    def ratio(x: Array) -> Array:
        higher = (c - x) * (k - x) / jnp.maximum((x + 1) * (spare + x + 1), 1)
        lower = x * (spare + x) / jnp.maximum((c - x + 1) * (k - x + 1), 1)
        return jnp.maximum(jnp.where(up, higher, lower), 0)

    def alive(state: tuple[Array, ...]) -> Array:
        x, term, total, distance = state
        r = ratio(x)
        left = term * r * (distance + 1 if excess else 1)
        return jnp.any((left > tiny * jnp.square(jnp.maximum(1 - r, 0)) * total) & (left > 0))

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, term, total, distance = state
        term = term * ratio(x)
        distance = distance + 1
        return x + jnp.where(up, 1, -1), term, total + term * (distance if excess else 1), distance

    first = jnp.exp(log_pmf(x, c, n, k))
    state = (x, first, first, jnp.ones((), n.dtype))
    return jax.lax.while_loop(alive, step, state)[2]


def _log_binomial(x: Array, m: Array, p: Array, q: Array) -> Array:
    y = m - x
    inner = (x > 0) & (y > 0)
    safe = lambda v: jnp.where(inner, v, 1)
    sx, sy, sm = safe(x), safe(y), safe(m)
    error = stirling_error(sm) - stirling_error(sx) - stirling_error(sy) - 0.5 * jnp.log(2 * jnp.pi * sx * (sy / sm))
    return jnp.where(inner, error, 0) - _deviance(x, m * p) - _deviance(y, m * q)


def _deviance(x: Array, mean: Array) -> Array:
    """x log(x / mean) + mean - x for x, mean >= 0."""
    v = (x - mean) / jnp.maximum(x + mean, 1e-30)
    near = jnp.abs(v) < 0.1
    w = jnp.where(near, v, 0)
    w2 = w * w
    odd = w2 * (
        1 / 3 + w2 * (1 / 5 + w2 * (1 / 7 + w2 * (1 / 9 + w2 * (1 / 11 + w2 * (1 / 13 + w2 * (1 / 15 + w2 / 17))))))
    )
    # With v = (x - mean)/(x + mean), log(x/mean) = 2 atanh(v), and 2 x v + mean - x = (x - mean) v.
    series = (x - mean) * w + 2 * x * w * odd
    safe_x, safe_mean = jnp.where(x > 0, x, 1), jnp.where(mean > 0, mean, 1)
    direct = jnp.where(x > 0, x * jnp.log(safe_x / safe_mean), 0) + mean - x
    return jnp.where(near, series, direct)
