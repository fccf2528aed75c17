"""Newton's method with closed-form curvature for smooth minimisation: one loop, failure as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.precision import HIGHEST
from jaxrank.numerics.solve.linear import solve_spd
from jaxrank.numerics.solve.solver import Objective, Solution, Solver, above_zero
from jaxrank.numerics.status import Status

_NEAR = 4.0  # a chord step this many tolerances long leaves a Newton step within tolerance
_CONTRACTION = 0.5  # a longer step than this part of the one before: too far away for chords
_MOST_CHORDS = 12
_MOST_EVALUATIONS = 16


class Near(eqx.Module):
    """The optimum of similar data. **params** (n,), and the **inverse** (n, n) of the curvature there; None where the
    gradient alone costs as much as both. **ends**: the curvature costs so much more than the gradient that a search
    which begins here ends without it, see `_quasi_newton`."""

    params: Float[Array, " n"]
    inverse: Float[Array, "n n"] | None
    ends: bool = eqx.field(static=True, default=False)


class Newton(Solver):
    """Newton steps, shortened to a trust radius and quartered when the objective rises.

    Stops when a full Newton step, in the largest coordinate, is at most sqrt(machine epsilon) of 1 + the largest
    parameter; that step is still taken, and since convergence is quadratic the error left is of the order of epsilon.
    The criterion does not change when the objective is multiplied by a constant.

    **max_steps**: evaluations of the objective before the status becomes ``MAX_STEPS``.
    **radius**: longest first step, above 0.
    **near**: the optimum of similar data, where the search then begins: with chord steps, which take the curvature
    there for their own and cost an evaluation of the gradient (where they do not contract, with the usual start).
    Newton's steps follow, and their criterion decides. Where it ``ends`` the search, see `_quasi_newton`.
    """

    laned: ClassVar[bool] = True

    max_steps: int = 100
    radius: float = 4.0
    near: Near | None = None

    def __check_init__(self) -> None:
        above_zero("radius", self.radius)

    def __call__(
        self,
        objective: Objective,
        start: Float[Array, "n *lanes"],
        alive: Any = True,
        solve: Callable[[Any, Any], Any] = solve_spd,
        slope: Callable[[Array], Array] | None = None,
    ) -> Solution:
        """Minimise ``objective(x) -> (value, gradient, curvature)`` from ``start``.

        ``solve(curvature, gradient)`` gives the Newton step, ``slope(x)`` the gradient for chord steps. Where ``alive``
        is False nothing is done: such lanes cost no iterations; the status is then ``NO_FINITE_OPTIMUM``. Parameters
        may have lanes in their last axis (see `jaxrank.numerics.lanes`), each an optimisation of its own; then so have
        value, gradient and step.
        """
        dtype = start.dtype
        eps = jnp.finfo(dtype).eps
        tolerance = jnp.sqrt(eps)
        alive = jnp.broadcast_to(jnp.asarray(alive), start.shape[1:])
        max_steps = jnp.asarray(self.max_steps, jnp.int32)

        def working(state: _State) -> Array:
            return ~state.done & (state.steps < max_steps)

        def iterate(state: _State) -> _State:
            active = working(state)
            trial = state.base + state.step
            value, gradient, curvature = objective(trial)
            full = -solve(curvature, gradient)
            length = _largest(full)
            noise = 16 * eps * jnp.abs(state.value)
            bound = state.value + jnp.where(jnp.isfinite(noise), noise, 0)
            better = (value <= bound) & jnp.isfinite(value) & jnp.isfinite(length)
            ratio = jnp.minimum(1, state.radius / jnp.where(length > 0, length, 1))
            small = length <= tolerance * (1 + _largest(trial))
            new = _State(
                base=jnp.where(better[None], trial, state.base),
                step=jnp.where(better[None], full * ratio[None], state.step / 4),
                value=jnp.where(better, value, state.value),
                radius=jnp.where(better, 2 * state.radius, _largest(state.step) / 4),
                done=better & small,
                steps=state.steps + 1,
            )
            return jax.tree.map(
                lambda a, b: jnp.where(active[None] if a.ndim > active.ndim else active, a, b), new, state
            )

        slope = slope or (lambda x: objective(x)[1])
        error, settled = jnp.zeros(alive.shape, dtype), jnp.zeros_like(alive)
        if start.ndim == 1 and self.near is not None and self.near.ends:
            start, settled, error, n_begun = _quasi_newton(slope, self.near, start, alive)
        else:
            start, n_begun = self._approach(slope, start, alive)
        state = _State(
            base=start,
            step=jnp.zeros_like(start),
            value=jnp.full(alive.shape, jnp.inf, dtype),
            radius=jnp.full(alive.shape, self.radius, dtype),
            done=~alive | settled,
            steps=n_begun,
        )
        search = lambda state: jax.lax.while_loop(lambda s: jnp.any(working(s)), iterate, state)
        if start.ndim == 1 and self.near is not None:
            # Else the compiler takes what all steps have in common out of the loop, for lanes too that take none.
            state = jax.lax.cond(jnp.any(working(state)), search, lambda state: state, state)
        else:
            state = search(state)
        params = jnp.where((state.done & alive)[None], state.base + state.step, state.base)
        status = jnp.where(state.done, Status.CONVERGED, Status.MAX_STEPS)
        status = jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
        return Solution(params, status, state.steps, error)

    def _approach(self, slope: Callable[[Array], Array], start: Array, alive: Array) -> tuple[Array, Array]:
        """Where Newton's steps begin, and the evaluations of the gradient (*lanes) spent to get there."""
        none = jnp.zeros(alive.shape, jnp.int32)
        if self.near is None:
            return start, none
        near = jnp.asarray(self.near.params, start.dtype)
        if near.ndim < start.ndim:
            near = jnp.broadcast_to(near[:, None], start.shape)
        if self.near.inverse is None:
            return near, none
        inverse = jnp.asarray(self.near.inverse, start.dtype)
        tolerance = _NEAR * jnp.sqrt(jnp.finfo(start.dtype).eps)

        def moving(state: _Chords) -> Array:
            return alive & ~state.close & (state.ratio < _CONTRACTION) & (state.steps < _MOST_CHORDS)

        def step(state: _Chords) -> _Chords:
            active = moving(state)
            change = -_product(inverse, slope(state.x))
            size = _largest(change)
            new = _Chords(
                x=state.x + change,
                size=size,
                ratio=jnp.where(jnp.isfinite(size), size / state.size, jnp.inf),
                close=size <= tolerance * (1 + _largest(state.x)),
                steps=state.steps + 1,
            )
            return jax.tree.map(
                lambda a, b: jnp.where(active[None] if a.ndim > active.ndim else active, a, b), new, state
            )

        infinite = jnp.full(alive.shape, jnp.inf, start.dtype)
        state = _Chords(near, infinite, jnp.zeros_like(infinite), jnp.zeros(alive.shape, bool), none)
        state = jax.lax.while_loop(lambda s: jnp.any(moving(s)), step, state)
        contracted = state.close | (state.steps == _MOST_CHORDS) & (state.ratio < _CONTRACTION)
        return jnp.where(contracted[None], state.x, start), state.steps


def _quasi_newton(
    slope: Callable[[Array], Array], near: Near, start: Float[Array, " n"], alive: Array
) -> tuple[Array, Array, Array, Array]:
    """Gradients alone, from an optimum nearby: steps by the inverse of the curvature there, brought up to date by every
    change of the gradient (Broyden, Fletcher, Goldfarb and Shanno 1970).

    Ends when the error that is left, estimated from the last step and its ratio to the one before, is at most a quarter
    of eps^(2/3) of 1 + the largest parameter. Where steps do not shrink by half, each of them, the optimum is not near,
    and Newton's method begins at ``start``. Returns where it stopped, whether it ended there, the error left and the
    evaluations.
    """
    dtype = start.dtype
    tolerance = jnp.finfo(dtype).eps ** (2 / 3) / 4

    def moving(state: _Quasi) -> Array:
        return alive & ~state.ended & (state.ratio < _CONTRACTION) & (state.steps < _MOST_EVALUATIONS)

    def step(state: _Quasi) -> _Quasi:
        x = state.x + state.step
        gradient = slope(x)
        seen = _product(inverse, gradient)
        changes = state.changes.added(state.steps - 1, state.step, gradient - state.gradient, seen - state.seen)
        move = -changes.product(gradient, seen)
        size = _largest(move)
        ratio = jnp.where(jnp.isfinite(size), size / state.size, jnp.inf)
        left = size * ratio / (1 - jnp.minimum(ratio, _CONTRACTION))
        ended = (left <= tolerance * (1 + _largest(x))) & (ratio < _CONTRACTION) & (state.steps > 0)
        return _Quasi(x, move, gradient, seen, changes, size, ratio, left, ended, state.steps + 1)

    params, inverse = jnp.asarray(near.params, dtype), jnp.asarray(near.inverse, dtype)
    zero, infinite = jnp.zeros((), dtype), jnp.asarray(jnp.inf, dtype)
    none = jnp.zeros_like(params)
    begin = _Quasi(
        x=params,
        step=none,
        gradient=none,
        seen=none,
        changes=_Changes.none(params),
        size=infinite,
        ratio=zero,
        left=infinite,
        ended=jnp.zeros_like(alive),
        steps=jnp.asarray(0, jnp.int32),
    )
    state = jax.lax.while_loop(moving, step, begin)
    return jnp.where(state.ended, state.x + state.step, start), state.ended, state.left * state.ended, state.steps


class _Changes(NamedTuple):
    """What the steps of a search have shown of the curvature: H, the inverse curvature of `_quasi_newton`, as H0 and
    what the steps s and changes y of the gradient add to it (Byrd, Nocedal and Schnabel 1994, (2.6)), so that no step
    touches an n x n matrix but to multiply H0.

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
        along = _product(rows, change)
        bend = jnp.where(good, bend, 1)
        column = jnp.where(jnp.arange(m) == k, 1, -_product(self.unfolded, along[:m])) / bend
        across = along[m:].at[k].add(along[k])
        middle = self.middle.at[k].set(across).at[:, k].set(across)
        return _Changes(rows, self.unfolded.at[:, k].set(column), middle)

    def product(self, gradient: Array, seen: Array) -> Array:
        """H times the ``gradient``, of which H0 times it is ``seen``."""
        m = self.middle.shape[0]
        along = _product(self.rows, gradient)
        less = _product(self.unfolded, along[:m])
        more = _product(self.unfolded.T, _product(self.middle, less) - along[m:])
        return seen + _product(self.rows.T, jnp.concatenate([more, -less]))


def _product(matrix: Array, x: Array) -> Array:
    """matrix @ x, where both or x alone may have lanes in the last axis."""
    if matrix.ndim > x.ndim:
        return jnp.sum(matrix * x[None], axis=1)
    return jnp.matmul(matrix, x, precision=HIGHEST)


def _largest(x: Array) -> Array:
    return jnp.max(jnp.abs(x), axis=0)


class _Chords(NamedTuple):
    x: Array
    size: Array
    ratio: Array
    close: Array
    steps: Array


class _Quasi(NamedTuple):
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


class _State(NamedTuple):
    base: Array
    step: Array
    value: Array
    radius: Array
    done: Array
    steps: Array
