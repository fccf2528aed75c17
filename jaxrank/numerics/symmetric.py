"""Elementary symmetric polynomials of positive numbers, with first and second log-derivatives, for all orders at once.

``e_t(x)`` sums the products of x over all subsets of size t; its first two log-derivatives are the probabilities that
one item, and that two items, belong to a subset drawn in proportion to its product. The usual recursion adds one item
at a time and keeps no derivatives. Here e_t is read off the generating function prod_i (1 + x_i z) by a discrete
Fourier transform on the circle |z| = r at whose radius the independent draws with odds x_i r have mean size t [hong2013
for the transform of a Poisson-binomial distribution]. With more than L nodes the sum is exact, whatever the radius; at
this radius every term is at most 1, the result is of the order of 1/sqrt(L), and no digit is lost to cancellation. With
n nodes the chances of sizes n, 2 n, ... away from t are added to it, and terms far from the real axis are small where
many items are undecided: the nodes that a rounded number cannot do without are 33 in float64 and 19 in float32 on the
upper half circle, however many the items. The work for an order is O(L), one array expression, and the second
derivatives are one matrix product.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxrank.numerics.precision import matmul

_BISECTIONS = 14


class Symmetric(NamedTuple):
    """log e_t and what its derivatives are made of, for T orders, K nodes of the circle and L items.

    **log_e** (T,).  **inclusion** (T, L): probability that an item is in a subset of size t.
    **real, imag** (T, K, L): factors g with joint inclusion of i and j (i other than j) = sum_k Re(weight_k g_ki g_kj).
    **weight_real, weight_imag** (T, K).
    """

    log_e: Float[Array, " orders"]
    inclusion: Float[Array, "orders items"]
    real: Float[Array, "orders nodes items"]
    imag: Float[Array, "orders nodes items"]
    weight_real: Float[Array, "orders nodes"]
    weight_imag: Float[Array, "orders nodes"]


def log_symmetric(
    log_x: Float[Array, "orders items"], sizes: Float[Array, " orders"], present: Bool[Array, " items"]
) -> Symmetric:
    """The symmetric polynomial of order ``sizes[t]`` in exp(log_x[t]), over the ``present`` items, for every t.

    An order above the number of present items gives finite values without meaning (its polynomial is zero): the caller
    leaves it out. Differentiable in ``log_x``.
    """
    n_items = log_x.shape[-1]
    n_present = jnp.maximum(jnp.sum(present), 1).astype(log_x.dtype)
    sizes = jnp.asarray(sizes, log_x.dtype)
    shift = _log_radius(jax.lax.stop_gradient(log_x), jnp.clip(sizes, 0.5, n_present - 0.5), present, n_present)
    logits = log_x + shift[:, None]
    q = jnp.where(present[None, :], jax.nn.sigmoid(logits), 0)[:, None, :]

    circle = _circle(n_items, jax.lax.stop_gradient(jnp.sum(q * (1 - q), axis=-1)))
    cosine, sine, share, angle = (jnp.asarray(v, log_x.dtype) for v in circle)
    cosine, sine = cosine[..., None], sine[..., None]
    modulus2 = 1 - 2 * q * (1 - q) * (1 - cosine)
    log_modulus = jnp.sum(jnp.log(modulus2), axis=-1) / 2
    turn = jnp.sum(jnp.arctan2(q * sine, 1 - q + q * cosine), axis=-1) - sizes[:, None] * angle
    amplitude = share * jnp.exp(log_modulus)
    possible = sizes <= n_present
    probability = jnp.where(possible, jnp.sum(amplitude * jnp.cos(turn), axis=-1), 1)
    total = jnp.sum(jnp.where(present[None, :], jax.nn.softplus(logits), 0), axis=-1)
    log_e = jnp.log(probability) + total - sizes * shift

    weight_real = amplitude * jnp.cos(turn) / probability[:, None]
    weight_imag = amplitude * jnp.sin(turn) / probability[:, None]
    real = q * ((1 - q) * cosine + q) / modulus2
    imag = q * (1 - q) * sine / modulus2
    inclusion = jnp.sum(weight_real[..., None] * real - weight_imag[..., None] * imag, axis=1)
    return Symmetric(log_e, inclusion, real, imag, weight_real, weight_imag)


def joint_inclusion(s: Symmetric, factor: Float[Array, " orders"]) -> Float[Array, "items items"]:
    """``sum_t factor[t] * Pr(i and j are in a subset of size t)``; the diagonal holds the inclusion of i."""
    n_items = s.real.shape[-1]
    a, b = (factor[:, None] * w for w in (s.weight_real, s.weight_imag))
    a, b = a[..., None], b[..., None]
    left = jnp.concatenate([a * s.real - b * s.imag, -a * s.imag - b * s.real])
    right = jnp.concatenate([s.real, s.imag])
    flat = (-1, n_items)
    both = matmul(left.reshape(flat).T, right.reshape(flat))
    single = jnp.sum(factor[:, None] * s.inclusion, axis=0)
    eye = jnp.eye(n_items, dtype=bool)
    return jnp.where(eye, jnp.diag(single), (both + both.T) / 2)


def n_nodes(n_items: int, dtype: Any) -> int:
    """Number of nodes K of the upper half circle."""
    return min(_all_nodes(n_items) // 2 + 1, _most_nodes(jnp.dtype(dtype).name))


def _circle(n_items: int, variance: Float[Array, "orders 1"]) -> tuple[Any, ...]:
    """Cosine, sine, weight and angle of the nodes in the upper half circle, each (1, K) or (orders, K).

    The number of nodes on the whole circle is odd, so that no node is -1 and no modulus is zero.
    """
    most = n_nodes(n_items, variance.dtype)
    k = np.arange(most)[None, :]
    twice = np.where(k == 0, 1, 2)
    n: Any = _all_nodes(n_items)
    if most == n // 2 + 1:
        angle = 2 * np.pi * k / n
        return np.cos(angle), np.sin(angle), twice / n, angle
    log_eps = float(-np.log(jnp.finfo(variance.dtype).eps))
    n = 2 * jnp.ceil(_enough(variance, log_eps, jnp) / 2) + 1
    angle = 2 * np.pi * k / n
    return jnp.cos(angle), jnp.sin(angle), jnp.where(k <= n / 2, twice / n, 0), angle


def _all_nodes(n_items: int) -> int:
    """The least odd number above n_items: the sum is exact."""
    return n_items + 1 + n_items % 2


def _enough(variance: Any, log_eps: float, xp: Any) -> Any:
    """Nodes of the whole circle for which the chance of a size as far as that from the mean vanishes in rounding, by
    Bernstein's inequality for a sum of independent draws of this variance."""
    far = log_eps + 9
    return far / 3 + xp.sqrt(far**2 / 9 + 2 * far * variance)


@functools.cache
def _most_nodes(dtype: str) -> int:
    """Largest number of nodes on the upper half circle, over all variances, whose terms do not vanish in rounding.

    The term at angle a is at most exp(-variance (1 - cos a)): the factor of an item with chance q has squared modulus
    1 - 2 q (1 - q) (1 - cos a).
    """
    log_eps = float(-np.log(jnp.finfo(dtype).eps))
    variance = np.geomspace(0.01, 1e8, 5000)
    widest = np.arccos(np.maximum(1 - (log_eps + 4) / variance, -1))
    return math.ceil(np.max(widest / (2 * np.pi) * (_enough(variance, log_eps, np) + 3))) + 1


def _log_radius(log_x: Array, target: Array, present: Array, n_present: Array) -> Array:
    """The shift at which the chances sigmoid(log_x + shift) sum to ``target``, by bisection; it need not be exact."""
    present = present[None, :]
    centre = jnp.log(target) - jnp.log(n_present - target)
    low = centre - jnp.max(jnp.where(present, log_x, -jnp.inf), axis=-1, initial=-1e3)
    high = centre - jnp.min(jnp.where(present, log_x, jnp.inf), axis=-1, initial=1e3)

    def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        chance = jnp.where(present, jax.nn.sigmoid(log_x + middle[:, None]), 0)
        below = jnp.sum(chance, axis=-1) < target
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, (low, high))
    return (low + high) / 2
