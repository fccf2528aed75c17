"""The axes of several abilities. A likelihood of slopes times abilities is the same under every rotation of both, so
that the axes are chosen afterwards: as principal axes, or where the pattern of slopes is simple."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.linear import solve_general

ROTATIONS = ("none", "varimax", "oblimin")
_SWEEPS = 40
_OBLIQUE_STEPS = 200


class Axes(NamedTuple):
    """**slopes** (M, D) on new axes; **turn** (D, D): abilities on the new axes are ``theta @ turn``; **correlation**
    (D, D) of the abilities there in the population, the identity where the axes are at right angles."""

    slopes: Array
    turn: Array
    correlation: Array


def turned_axes(slopes: Float[Array, "M D"], weight: Float[Array, " M"], rotation: str) -> Axes:
    """Slopes on principal axes, from the largest sum of squares on, or turned further by ``rotation``; every axis has
    the sign that makes its slopes sum to 0 or more. ``weight``: multiplicity of each question."""
    turn = _in_planes(slopes, weight, _principal_angle)
    size = jnp.sum(weight[:, None] * matmul(slopes, turn) ** 2, axis=0)
    turn = turn[:, jnp.argsort(-size)]
    correlation = jnp.eye(slopes.shape[1], dtype=slopes.dtype)
    if rotation == "varimax":
        turn = matmul(turn, _in_planes(matmul(slopes, turn), weight, _varimax_angle))
    found = matmul(slopes, turn)
    if rotation == "oblimin":
        oblique = _oblimin(found, weight)
        found = matmul(found, _inverse(oblique).T)
        turn, correlation = matmul(turn, oblique), matmul(oblique.T, oblique)
    sign = jnp.where(jnp.sum(weight[:, None] * found, axis=0) < 0, -1, 1).astype(slopes.dtype)
    return Axes(found * sign[None, :], turn * sign[None, :], correlation * sign[:, None] * sign[None, :])


def rotation_directions(
    slopes: Float[Array, "M D"], weight: Float[Array, " M"], n_before: int, n_after: int
) -> Float[Array, "M Q T"] | None:
    """Directions in which the questions' parameters move when two axes turn, one for each pair of axes: the likelihood
    is flat along them. Orthonormal where a question counts as often as its ``weight`` says.

    The slopes stand after ``n_before`` other parameters of a question and before ``n_after``. None for one axis; 0
    where the slopes are.
    """
    found: list[Array] = []
    n_axes = slopes.shape[1]
    product = lambda v, w: jnp.sum(weight[:, None] * v * w)
    for i in range(n_axes):
        for j in range(i + 1, n_axes):
            v = jnp.zeros_like(slopes).at[:, i].set(-slopes[:, j]).at[:, j].set(slopes[:, i])
            size = product(v, v)
            for w in found:
                v = v - product(v, w) * w
            left = product(v, v)
            keep = left > 1e-6 * size
            found.append(jnp.where(keep, v / jnp.sqrt(jnp.where(keep, left, 1)), 0))
    if not found:
        return None
    return jnp.pad(jnp.stack(found, axis=2), ((0, 0), (n_before, n_after), (0, 0)))


def _in_planes(slopes: Array, weight: Array, angle: Callable[[Array, Array, Array], Array]) -> Float[Array, "D D"]:
    """The product of rotations in the planes of two axes, each by the best angle there, over and over (Jacobi)."""
    n_axes = slopes.shape[1]

    def sweep(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, turn = state
        for i in range(n_axes):
            for j in range(i + 1, n_axes):
                phi = angle(a[:, i], a[:, j], weight)
                cos, sin = jnp.cos(phi), jnp.sin(phi)
                both = lambda x, i=i, j=j, c=cos, s=sin: (
                    x.at[:, i].set(c * x[:, i] + s * x[:, j]).at[:, j].set(c * x[:, j] - s * x[:, i])
                )
                a, turn = both(a), both(turn)
        return a, turn

    eye = jnp.eye(n_axes, dtype=slopes.dtype)
    return jax.lax.fori_loop(0, 1 if n_axes == 2 else _SWEEPS, sweep, (slopes, eye))[1]


def _principal_angle(x: Array, y: Array, weight: Array) -> Array:
    return jnp.arctan2(2 * jnp.sum(weight * x * y), jnp.sum(weight * (x**2 - y**2))) / 2


def _varimax_angle(x: Array, y: Array, weight: Array) -> Array:
    """The angle in a plane that makes the variance of the squared loadings largest (Kaiser 1958)."""
    u, v = x**2 - y**2, 2 * x * y
    total = jnp.sum(weight)
    mean_u, mean_v = jnp.sum(weight * u) / total, jnp.sum(weight * v) / total
    above = 2 * (jnp.sum(weight * u * v) - total * mean_u * mean_v)
    below = jnp.sum(weight * (u**2 - v**2)) - total * (mean_u**2 - mean_v**2)
    return jnp.arctan2(above, below) / 4


def _oblimin(slopes: Array, weight: Array) -> Float[Array, "D D"]:
    """Axes of length 1 at any angles, abilities on them being ``theta @ T``, that make the slopes' squares least alike
    (direct quartimin), by projected gradients (Jennrich 2002)."""
    n_axes = slopes.shape[1]
    others = 1 - jnp.eye(n_axes, dtype=slopes.dtype)
    weight = weight[:, None]

    def value(t: Array) -> tuple[Array, Array]:
        inverse = _inverse(t)
        a = matmul(slopes, inverse.T)
        crossed = matmul(a**2, others)
        gradient = -matmul(matmul(a.T, weight * a * crossed), inverse).T
        return jnp.sum(weight * a**2 * crossed) / 4, gradient - t * jnp.sum(t * gradient, axis=0)[None, :]

    def step(_: Array, state: tuple) -> tuple:
        t, f, gradient, length = state
        moved = t - length * gradient
        moved = moved / jnp.sqrt(jnp.sum(moved**2, axis=0))[None, :]
        new, slope = value(moved)
        good = new <= f - 0.25 * length * jnp.sum(gradient**2)
        pick = lambda a, b: jnp.where(good, a, b)
        return pick(moved, t), pick(new, f), pick(slope, gradient), jnp.where(good, 2 * length, length / 2)

    start = jnp.eye(n_axes, dtype=slopes.dtype)
    scale = jnp.sum(weight * slopes**2) ** 2 / jnp.maximum(jnp.sum(weight), 1)
    first = 1 / jnp.where(scale > 0, scale, 1)
    return jax.lax.fori_loop(0, _OBLIQUE_STEPS, step, (start, *value(start), first))[0]


def _inverse(t: Array) -> Array:
    return solve_general(t, jnp.eye(t.shape[0], dtype=t.dtype))
