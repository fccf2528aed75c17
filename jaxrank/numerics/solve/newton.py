"""Newton's method with closed-form curvature for smooth minimisation: one loop, failure as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.solve.linear import solve_spd
from jaxrank.numerics.solve.near import CONTRACTION, Near, largest, product, search_by_gradients
from jaxrank.numerics.solve.solver import Objective, Solution, Solver, above_zero
from jaxrank.numerics.status import Status

_NEAR = 4.0  # a chord step this many tolerances long leaves a Newton step within tolerance
_MOST_CHORDS = 12


class Newton(Solver):
    """Newton steps, shortened to a trust radius and quartered when the objective rises.

    Stops when a full Newton step, in the largest coordinate, is at most sqrt(machine epsilon) of 1 + the largest
    parameter; that step is still taken, and since convergence is quadratic the error left is of the order of epsilon.
    The criterion does not change when the objective is multiplied by a constant.

    **max_steps**: evaluations of the objective before the status becomes ``MAX_STEPS``.
    **radius**: longest first step, above 0.
    **near**: the optimum of similar data, where the search then begins: with chord steps, which take the curvature
    there for their own and cost an evaluation of the gradient (where they do not contract, with the usual start).
    Newton's steps follow, and their criterion decides. Where it ``ends`` the search, see `search_by_gradients`.
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
        start: Float[Array, "n *lanes"] | Callable[[], Array],
        alive: Any = True,
        solve: Callable[[Any, Any], Any] = solve_spd,
        slope: Callable[[Array], Array] | None = None,
    ) -> Solution:
        """Minimise ``objective(x) -> (value, gradient, curvature)`` from ``start``, an array or a function that makes
        it, which is not called where the search ends without it.

        ``solve(curvature, gradient)`` gives the Newton step, ``slope(x)`` the gradient alone. Where ``alive`` is False
        nothing is done: such lanes cost no iterations; the status is then ``NO_FINITE_OPTIMUM``. Parameters may have
        lanes in their last axis (see `jaxrank.numerics.lanes`), each an optimisation of its own; then so have value,
        gradient and step.
        """
        slope = slope or (lambda x: objective(x)[1])
        begin: Callable[[], Any] = start if callable(start) else lambda: start
        shape = jax.eval_shape(begin)
        alive = jnp.broadcast_to(jnp.asarray(alive), shape.shape[1:])
        if self.near is None or not self.near.ends or shape.ndim > 1:
            first, n_begun = self._approach(slope, begin(), alive)
            return self._search(objective, first, alive, solve, n_begun)
        near = Near(jnp.asarray(self.near.params, shape.dtype), self.near.inverse, True)
        found = search_by_gradients(slope, near, alive)

        def ended() -> Solution:
            status = jnp.where(alive, Status.CONVERGED, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
            return Solution(found.params, status, found.steps, jnp.where(found.ended, found.error, 0))

        # In a branch of its own: the compiler takes what all steps of a loop have in common out of it, and would make
        # it for those too that take none.
        left = alive & ~found.ended
        return jax.lax.cond(left, lambda: self._search(objective, begin(), left, solve, found.steps), ended)

    def _search(
        self, objective: Objective, start: Array, alive: Array, solve: Callable[[Any, Any], Any], n_begun: Array
    ) -> Solution:
        """Newton's steps from ``start``, after ``n_begun`` evaluations."""
        dtype = start.dtype
        eps = jnp.finfo(dtype).eps
        tolerance = jnp.sqrt(eps)
        max_steps = jnp.asarray(self.max_steps, jnp.int32)

        def working(state: _State) -> Array:
            return ~state.done & (state.steps < max_steps)

        def iterate(state: _State) -> _State:
            active = working(state)
            trial = state.base + state.step
            value, gradient, curvature = objective(trial)
            full = -solve(curvature, gradient)
            length = largest(full)
            noise = 16 * eps * jnp.abs(state.value)
            bound = state.value + jnp.where(jnp.isfinite(noise), noise, 0)
            better = (value <= bound) & jnp.isfinite(value) & jnp.isfinite(length)
            ratio = jnp.minimum(1, state.radius / jnp.where(length > 0, length, 1))
            small = length <= tolerance * (1 + largest(trial))
            new = _State(
                base=jnp.where(better[None], trial, state.base),
                step=jnp.where(better[None], full * ratio[None], state.step / 4),
                value=jnp.where(better, value, state.value),
                radius=jnp.where(better, 2 * state.radius, largest(state.step) / 4),
                done=better & small,
                steps=state.steps + 1,
            )
            return jax.tree.map(
                lambda a, b: jnp.where(active[None] if a.ndim > active.ndim else active, a, b), new, state
            )

        state = _State(
            base=start,
            step=jnp.zeros_like(start),
            value=jnp.full(alive.shape, jnp.inf, dtype),
            radius=jnp.full(alive.shape, self.radius, dtype),
            done=~alive,
            steps=n_begun,
        )
        state = jax.lax.while_loop(lambda s: jnp.any(working(s)), iterate, state)
        params = jnp.where((state.done & alive)[None], state.base + state.step, state.base)
        status = jnp.where(state.done, Status.CONVERGED, Status.MAX_STEPS)
        status = jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
        return Solution(params, status, state.steps, jnp.zeros(alive.shape, dtype))

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
            return alive & ~state.close & (state.ratio < CONTRACTION) & (state.steps < _MOST_CHORDS)

        def step(state: _Chords) -> _Chords:
            active = moving(state)
            change = -product(inverse, slope(state.x))
            size = largest(change)
            new = _Chords(
                x=state.x + change,
                size=size,
                ratio=jnp.where(jnp.isfinite(size), size / state.size, jnp.inf),
                close=size <= tolerance * (1 + largest(state.x)),
                steps=state.steps + 1,
            )
            return jax.tree.map(
                lambda a, b: jnp.where(active[None] if a.ndim > active.ndim else active, a, b), new, state
            )

        infinite = jnp.full(alive.shape, jnp.inf, start.dtype)
        state = _Chords(near, infinite, jnp.zeros_like(infinite), jnp.zeros(alive.shape, bool), none)
        state = jax.lax.while_loop(lambda s: jnp.any(moving(s)), step, state)
        contracted = state.close | (state.steps == _MOST_CHORDS) & (state.ratio < CONTRACTION)
        return jnp.where(contracted[None], state.x, start), state.steps


class _Chords(NamedTuple):
    x: Array
    size: Array
    ratio: Array
    close: Array
    steps: Array


class _State(NamedTuple):
    base: Array
    step: Array
    value: Array
    radius: Array
    done: Array
    steps: Array
