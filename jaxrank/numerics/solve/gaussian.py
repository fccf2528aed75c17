"""Moments of truncated normal variables that keep their precision in the far tails.

Everything rests on one function of x >= 0, ``hazard_excess(x) = phi(x) / Phi(-x) - x``: the inverse Mills ratio less
its asymptote. It falls smoothly from 0.798 to 1/x, so neither overflow nor cancellation can occur.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Chebyshev coefficients of hazard_excess(x) * (x + 1) in (x - 3) / (x + 3), from the definition in 40 digits.
_CHEBYSHEV = (
    1.0116881425692274,
    0.080571546484464336,
    -0.11651764346673667,
    0.022041140531654499,
    3.9643116052399648e-3,
    -1.6682182809594083e-3,
    -2.0699932937505386e-4,
    1.2142571760057515e-4,
    1.5843586614821917e-5,
    -8.7345935273600926e-6,
    -1.5125060398171474e-6,
    5.9310375693611187e-7,
    1.5109523355819388e-7,
    -3.4737954263364027e-8,
    -1.4273554444305931e-8,
    1.3577287689069395e-9,
    1.2009774559939093e-9,
    2.6661601320017674e-11,
    -8.4378535942310679e-11,
    -1.2184495144500237e-11,
    4.3091901620735608e-12,
    1.4245000744252543e-12,
    -7.3619737322937382e-14,
    -1.0198901752795176e-13,
    -1.2973360948940606e-14,
    3.4705029189521709e-15,
    1.4692443078957535e-15,
    1.7932489760951055e-16,
    -3.6895438754214454e-17,
    -2.9032797793555455e-17,
    -8.0156769118734196e-18,
)
_SINGLE = 16  # terms that float32 can see
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def hazard_excess(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """phi(x) / Phi(-x) - x for x >= 0, to a few ulp: 0.798 at 0, about 1/x in the tail."""
    terms = _CHEBYSHEV if x.dtype == jnp.float64 else _CHEBYSHEV[:_SINGLE]
    y = 2 * (x - 3) / (x + 3)
    last = previous = jnp.zeros_like(x)
    for c in terms[:0:-1]:  # Clenshaw
        last, previous = c + y * last - previous, last
    return (terms[0] + y / 2 * last - previous) / (x + 1)


def mills(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Phi(-x) / phi(x) for x >= 0."""
    return 1 / (x + hazard_excess(x))


def density(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The standard normal density."""
    return jnp.exp(-x * x / 2) * (2 * np.pi) ** -0.5


def win_moments(t: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Corrections of a Gaussian that was found to exceed a threshold t standard deviations below its mean.

    v = phi(t) / Phi(t), the rise of the mean in standard deviations; w = v (v + t) in (0, 1), the loss of variance
    [herbrich2006]. The smaller Phi(t), the larger v, without limit.
    """
    x = jnp.abs(t)
    excess = hazard_excess(x)
    upset = t < 0
    # Above zero Phi(t) = 1 - Phi(-t) with Phi(-t) at most one half; below, phi / Phi is the hazard itself.
    phi = density(x)
    v = jnp.where(upset, x + excess, phi / (1 - phi / (x + excess)))
    w = v * jnp.where(upset, excess, v + x)
    return v, jnp.minimum(w, 1)


def draw_moments(
    t: Float[Array, "..."], margin: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Corrections of a Gaussian with mean t and unit variance that was found within ``margin`` of zero.

    v = E[y], w = 1 - Var[y] for y = x - t given |x| <= margin; v = -t and w = 1 in the limit of margin 0.
    """
    side = jnp.where(t < 0, -1.0, 1.0).astype(t.dtype)
    x = jnp.abs(t)
    high, low = margin - x, -margin - x  # y lies in [low, high], and high is the end with the larger density
    steep = 2 * margin * x
    leading = (-1, *(1,) * t.ndim)
    nodes = jnp.asarray(_NODES, t.dtype).reshape(leading)
    weights = jnp.asarray(_WEIGHTS, t.dtype).reshape(leading)

    # Narrow or flat: quadrature of the density over the interval, which has no cancellation.
    middle = (1 + nodes) * margin[None]  # distance from the upper end, 0 .. 2 margin
    log_density = middle * high[None] - middle**2 / 2
    mass = weights * jnp.exp(log_density - jnp.max(log_density, axis=0)[None])
    total = jnp.sum(mass, axis=0)
    depth = jnp.sum(mass * middle, axis=0) / total
    spread = jnp.sum(mass * (middle - depth[None]) ** 2, axis=0) / total

    # Wide or steep: closed forms. Far from zero both ends lie in one tail and share the factor phi(high); what the far
    # end adds is of the order of ``ratio``, so that the leading terms are those of a single threshold.
    ratio = jnp.exp(-steep)
    excess = hazard_excess(jnp.abs(high))
    hazard = jnp.abs(high) + excess
    m_low = mills(-low)
    share = 1 - ratio * m_low * hazard
    shift = ratio * (1 - m_low * hazard) / share
    v_tail = -(1 - shift) * hazard
    w_tail = (1 - shift) * hazard * (excess - shift * hazard) + 2 * ratio * margin * hazard / share
    # Around zero the mass is nearly one.
    phi = density(high)
    mass_inside = 1 - phi / hazard - density(low) * m_low
    v_inside = (density(low) - phi) / mass_inside
    w_inside = v_inside**2 + (high * phi - low * density(low)) / mass_inside

    flat = (steep < 18) & (margin < 3)
    v = jnp.where(flat, high - depth, jnp.where(high > 0, v_inside, v_tail))
    w = jnp.where(flat, 1 - spread, jnp.where(high > 0, w_inside, w_tail))
    return side * v, jnp.clip(w, 0, 1)
