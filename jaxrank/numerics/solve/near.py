"""Searches from the optimum of similar data: gradients alone, with what is known of the curvature there (BFGS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.precision import matmul

CONTRACTION = 0.5  # a longer step than this part of the one before: the optimum is not near
_MOST_EVALUATIONS = 16


class Near(eqx.Module):
    """The optimum of similar data. **params** (n,), and the **inverse** (n, n) of the curvature there; None where the
    gradient alone costs as much as both. **ends**: the curvature costs so much more than the gradient that a search
    which begins here ends without it, see `search_by_gradients`."""

    params: Float[Array, " n"]
    inverse: Float[Array, "n n"] | None
    ends: bool = eqx.field(static=True, default=False)


class Found(NamedTuple):
    """Where a search by gradients stopped: **params** (n,), whether it **ended** there, the **error** that is left,
    evaluations of the gradient."""

    params: Array
    ended: Array
    error: Array
    steps: Array


def search_by_gradients(slope: Callable[[Array], Array], near: Near, alive: Array) -> Found:
    """Steps by the inverse of the curvature nearby, brought up to date by every change of the gradient (Broyden,
    Fletcher, Goldfarb and Shanno 1970).

    Ends when the error that is left, estimated from the last step and its ratio to the one before, is at most a quarter
    of eps^(2/3) of 1 + the largest parameter. Where steps do not shrink by half, each of them, the optimum is not near.
    """
    params = jnp.asarray(near.params)
    dtype = params.dtype
    inverse = jnp.asarray(near.inverse, dtype)
    tolerance = jnp.finfo(dtype).eps ** (2 / 3) / 4

    def moving(state: _State) -> Array:
        return alive & ~state.ended & (state.ratio < CONTRACTION) & (state.steps < _MOST_EVALUATIONS)

    def step(state: _State) -> _State:
        x = state.x + state.step
        gradient = slope(x)
        seen = product(inverse, gradient)
        changes = state.changes.added(state.steps - 1, state.step, gradient - state.gradient, seen - state.seen)
        move = -changes.times(gradient, seen)
        size = largest(move)
        ratio = jnp.where(jnp.isfinite(size), size / state.size, jnp.inf)
        left = size * ratio / (1 - jnp.minimum(ratio, CONTRACTION))
        ended = (left <= tolerance * (1 + largest(x))) & (ratio < CONTRACTION) & (state.steps > 0)
        return _State(x, move, gradient, seen, changes, size, ratio, left, ended, state.steps + 1)

    none, infinite = jnp.zeros_like(params), jnp.asarray(jnp.inf, dtype)
    begin = _State(
        x=params,
        step=none,
        gradient=none,
        seen=none,
        changes=_Changes.none(params),
        size=infinite,
        ratio=jnp.zeros((), dtype),
        left=infinite,
        ended=jnp.zeros((), bool),
        steps=jnp.asarray(0, jnp.int32),
    )
    state = jax.lax.while_loop(moving, step, begin)
    return Found(state.x + state.step, state.ended, state.left, state.steps)


class _Changes(NamedTuple):
    """What the steps of a search have shown of the inverse curvature H: H0, that nearby, and what the steps s and the
    changes y of the gradient add to it (Byrd, Nocedal and Schnabel 1994, (2.6)), so that no step touches an n x n
    matrix but to multiply H0.

    **rows** (2m, n): s of every step, then H0 y; 0 for those to come.  **unfolded** (m, m): the inverse of the upper
    triangle of s_i' y_j.  **middle** (m, m): y_i' H0 y_j, and s_i' y_i added to its diagonal.
    """

    rows: Array
    unfolded: Array
    middle: Array

    @staticmethod
    def none(params: Array) -> _Changes:
        m = _MOST_EVALUATIONS
        return _Changes(jnp.zeros((2 * m, params.shape[0]), params.dtype), *(jnp.zeros((m, m), params.dtype),) * 2)

    def added(self, k: Array, step: Array, change: Array, seen: Array) -> _Changes:
        """With step number ``k``, the change of the gradient and H0 times it; as it was where k is below 0 and where
        the curvature along the step is not positive."""
        m = self.middle.shape[0]
        bend = jnp.sum(step * change)
        good = (k >= 0) & (bend > 0) & jnp.isfinite(jnp.sum(change * seen))
        k = jnp.maximum(k, 0)
        step, change, seen = (jnp.where(good, a, 0) for a in (step, change, seen))
        rows = self.rows.at[k].set(step).at[m + k].set(seen)
        along = product(rows, change)
        bend = jnp.where(good, bend, 1)
        column = jnp.where(jnp.arange(m) == k, 1, -product(self.unfolded, along[:m])) / bend
        across = along[m:].at[k].add(along[k])
        middle = self.middle.at[k].set(across).at[:, k].set(across)
        return _Changes(rows, self.unfolded.at[:, k].set(column), middle)

    def times(self, gradient: Array, seen: Array) -> Array:
        """H times the ``gradient``, of which H0 times it is ``seen``."""
        m = self.middle.shape[0]
        along = product(self.rows, gradient)
        less = product(self.unfolded, along[:m])
        more = product(self.unfolded.T, product(self.middle, less) - along[m:])
        return seen + product(self.rows.T, jnp.concatenate([more, -less]))


def product(matrix: Array, x: Array) -> Array:
    """matrix @ x, where both or x alone may have lanes in the last axis."""
    if matrix.ndim > x.ndim:
        return jnp.sum(matrix * x[None], axis=1)
    return matmul(matrix, x)


def largest(x: Array) -> Array:
    return jnp.max(jnp.abs(x), axis=0)


class _State(NamedTuple):
    x: Array
    step: Array
    gradient: Array
    seen: Array
    changes: _Changes
    size: Array
    ratio: Array
    left: Array
    ended: Array
    steps: Array
