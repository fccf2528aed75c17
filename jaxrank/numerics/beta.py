"""Quantiles of Beta distributions at normal levels, as polynomials.

The log-odds x of a Beta(a, b) variable whose level is that of a normal deviate z is nearly a straight line in z and
smooth: a polynomial of degree 31 in z describes it on [-6, 6], and many deviates become quantiles without a table.

The density of x is proportional to exp(-D), D = a log(p0 / p) + b log(q0 / q), p0 = a / (a + b), with its mode at
log(a / b). A first guess of the quantiles comes from the tail approximation z = r + log(v / r) / r, r^2 / 2 = D, v the
slope of D over the root of its curvature at the mode (Barndorff-Nielsen, 1986). Then the levels of these very points
are found by quadrature of exp(-D) between them, and the points are moved by the two terms of a Taylor series. Nothing
is subtracted from a large number, so that rounded numbers of 32 bits do for thousands of trials.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

FARTHEST = 6.0
"""Levels of normal deviates beyond it are not told apart: one deviate in 5e8."""

_NODES = 32
_GUESSES, _PASSES = 4, 2
_FLAT = 0.1  # standard deviations around the mode where r + log(v / r) / r is taken by its limit
_STEEP = 60.0  # exponent beyond which exp is by its asymptote, in float32 also

_ANGLES = np.pi * (np.arange(_NODES)[::-1] + 0.5) / _NODES
_Z = FARTHEST * np.cos(_ANGLES)
_TO_COEFFICIENTS = np.cos(np.outer(_ANGLES, np.arange(_NODES))) * np.where(np.arange(_NODES) > 0, 2, 1) / _NODES
_INNER = np.polynomial.legendre.leggauss(5)
_TAIL = np.polynomial.laguerre.laggauss(8)


def quantile_polynomial(a: Float[Array, " B"], b: Float[Array, " B"]) -> Float[Array, "B degrees"]:
    """Chebyshev coefficients of the log-odds of Beta(a, b) as a function of z / `FARTHEST`, for `log_odds`.

    In standard deviations of the log-odds the error is below 4e-8 where a and b are at least 1, below 2e-6 from 0.5 on
    and 2e-3 from 0.1 on (3e-5 where one of them is large); in float32 at least 1e-5 for thousands of trials, and 4e-5
    for 1e5. Smaller a or b give numbers, and rough ones.
    """
    a, b = a[:, None], b[:, None]
    shape = _Shape(a, b)
    z = jnp.asarray(_Z, a.dtype)[None, :]
    x = _guess(shape, z)
    # Under counts far below 1 points near the mode go astray, on the side of the longer tail: they are put in order.
    x = jnp.where(a < b, jax.lax.cummin(x, axis=1, reverse=True), jax.lax.cummax(x, axis=1))
    x = jax.lax.fori_loop(0, _PASSES, lambda _, x: _corrected(shape, z, x), x)
    # not by matmul, whose rounding of a row may depend on how many rows there are
    coefficients = jnp.sum(x[:, :, None] * jnp.asarray(_TO_COEFFICIENTS, a.dtype)[None, :, :], axis=1)
    return coefficients.at[:, 0].add(jnp.log(a[:, 0]) - jnp.log(b[:, 0]))


def log_odds(coefficients: Float[Array, " degrees"], z: Float[Array, " n"]) -> Float[Array, " n"]:
    """Log-odds at the levels of the normal deviates z.

    Clenshaw's recurrence in 2 t^2 - 1, for the even and the odd half of the polynomial side by side: half as many steps
    wait for one another.
    """
    t = jnp.clip(z / FARTHEST, -1, 1)
    twice = 4 * t * t - 2
    even = even_after = odd = odd_after = jnp.zeros_like(t)
    for k in range(_NODES - 2, 0, -2):
        even, even_after = twice * even + (coefficients[k] - even_after), even
        odd, odd_after = twice * odd + (coefficients[k + 1] - odd_after), odd
    even = twice / 2 * even + (coefficients[0] - even_after)
    return even + t * ((twice - 1) * odd + (coefficients[1] - odd_after))


class _Shape:
    """The log-density of the log-odds, with the mode at 0."""

    def __init__(self, a: Array, b: Array) -> None:
        self.a, self.b = a, b
        self.p, self.q = a / (a + b), b / (a + b)
        self.curvature = a * self.q

    def drop(self, x: Array) -> Array:
        """D, from log-density at the mode to that at x."""

        def log_ratio(share: Array, t: Array) -> Array:
            """log(1 - share + share exp(t))."""
            return jnp.log1p(share * jnp.expm1(jnp.minimum(t, _STEEP))) + jnp.maximum(t - _STEEP, 0)

        return self.a * log_ratio(self.q, -x) + self.b * log_ratio(self.p, x)

    def slope(self, x: Array) -> Array:
        """dD/dx."""
        x = jnp.minimum(x, _STEEP)
        return self.curvature * jnp.expm1(x) / (self.q + self.p * jnp.exp(x))


def _guess(shape: _Shape, z: Array) -> Array:
    own = jnp.where(z < 0, shape.a, shape.b)
    root = jnp.sqrt(shape.curvature)
    width = jnp.abs(z) / root
    # D is a parabola that becomes a straight line, or, where the other count is much larger, an exponential.
    bend = z**2 / (4 * own)
    straight = bend + jnp.sqrt(bend**2 + width**2)
    steep = jnp.log1p(width + width**2 / 2)
    miss = lambda x: jnp.abs(jnp.sqrt(2 * shape.drop(jnp.sign(z) * x)) - jnp.abs(z))
    x = jnp.sign(z) * jnp.where(miss(straight) < miss(steep), straight, steep)

    def step(_: Array, x: Array) -> Array:
        flat = jnp.abs(x) * root < _FLAT
        away = jnp.where(flat, 1 / root, x)
        r, slope = jnp.sign(away) * jnp.sqrt(2 * shape.drop(away)), shape.slope(away)
        level = jnp.where(flat, x * root + (shape.q - shape.p) / (3 * root), r + jnp.log(slope / (root * r)) / r)
        return x - (level - z) / jnp.where(flat, root, slope / r)

    return jax.lax.fori_loop(0, _GUESSES, step, x)


def _corrected(shape: _Shape, z: Array, x: Array) -> Array:
    """Points x, in order, moved to the levels z."""
    nodes = lambda rule: (jnp.asarray(v, x.dtype)[None, :, None] for v in rule)
    drop = lambda x: shape.drop(x.reshape(len(x), -1)).reshape(x.shape)
    t, weight = nodes(_INNER)
    middle, half = (x[:, None, 1:] + x[:, None, :-1]) / 2, (x[:, None, 1:] - x[:, None, :-1]) / 2
    between = jnp.sum(half * weight * jnp.exp(-drop(middle + t * half)), axis=1)
    t, weight = nodes(_TAIL)
    ends = x[:, :: _NODES - 1]
    slope = shape.slope(ends)[:, None, :]
    beyond = jnp.sum(weight * jnp.exp(t - drop(ends[:, None, :] + t / slope)) / jnp.abs(slope), axis=1)

    below = jax.lax.cumsum(jnp.concatenate([beyond[:, :1], between], axis=1), axis=1)
    above = jax.lax.cumsum(jnp.concatenate([between, beyond[:, 1:]], axis=1), axis=1, reverse=True)
    total = below + above
    tiny = jnp.finfo(x.dtype).tiny
    level = jax.scipy.special.ndtri(jnp.maximum(jnp.minimum(below, above) / total, tiny))
    level = jnp.where(below < above, level, -level)
    first = jnp.exp(shape.drop(x) - level**2 / 2) * total / (2 * np.pi) ** 0.5  # dx/dz
    second = first * (shape.slope(x) * first - level)
    return x + (z - level) * (first + (z - level) / 2 * second)
