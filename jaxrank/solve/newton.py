"""Newton's method with closed-form curvature for smooth minimisation: one loop, failure as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.fit import Status
from jaxrank.solve.linear import solve_spd

Objective = Callable[[Float[Array, " n"]], tuple[Float[Array, ""], Float[Array, " n"], Any]]


class Solution(NamedTuple):
    """Where a solver stopped. **params** (n,), **status** a `Status`, **steps** objective evaluations."""

    params: Float[Array, " n"]
    status: Int[Array, ""]
    steps: Int[Array, ""]


class Newton(eqx.Module):
    """Newton steps, shortened to a trust radius and quartered when the objective rises.

    Stops when a full Newton step, in the largest coordinate, is at most sqrt(machine epsilon) of 1 + the largest
    parameter; that step is still taken, and since convergence is quadratic the error left is of the order of epsilon.
    The criterion does not change when the objective is multiplied by a constant.

    **max_steps**: evaluations of the objective before the status becomes ``MAX_STEPS``.
    """

    max_steps: int = 100
    radius: float = 4.0

    def __call__(
        self,
        objective: Objective,
        start: Float[Array, " n"],
        alive: Any = True,
        solve: Callable[[Any, Float[Array, " n"]], Float[Array, " n"]] = solve_spd,
    ) -> Solution:
        """Minimise ``objective(x) -> (value, gradient, curvature)`` from ``start``.

        ``solve(curvature, gradient)`` gives the Newton step. Where ``alive`` is False nothing is done: under ``vmap`` such
        lanes cost no iterations; the status is then ``NO_FINITE_OPTIMUM``.
        """
        dtype = start.dtype
        eps = jnp.finfo(dtype).eps
        tolerance = jnp.sqrt(eps)
        alive = jnp.asarray(alive)
        max_steps = jnp.asarray(self.max_steps, jnp.int32)

        def searching(state: _State) -> Array:
            return ~state.done & (state.steps < max_steps)

        def iterate(state: _State) -> _State:
            trial = state.base + state.step
            value, gradient, curvature = objective(trial)
            noise = 16 * eps * jnp.abs(state.value)
            better = (value <= state.value + jnp.where(jnp.isfinite(noise), noise, 0)) & jnp.isfinite(value)
            full = -solve(curvature, gradient)
            length = jnp.max(jnp.abs(full))
            better = better & jnp.isfinite(length)
            ratio = jnp.minimum(1, state.radius / jnp.where(length > 0, length, 1))
            small = length <= tolerance * (1 + jnp.max(jnp.abs(trial)))
            done = better & small
            return _State(
                base=jnp.where(better, trial, state.base),
                step=jnp.where(better, full * ratio, state.step / 4),
                value=jnp.where(better, value, state.value),
                radius=jnp.where(better, 2 * state.radius, jnp.max(jnp.abs(state.step)) / 4),
                done=done,
                steps=state.steps + 1,
            )

        state = _State(
            base=start,
            step=jnp.zeros_like(start),
            value=jnp.asarray(jnp.inf, dtype),
            radius=jnp.asarray(self.radius, dtype),
            done=~alive,
            steps=jnp.asarray(0, jnp.int32),
        )
        state = jax.lax.while_loop(searching, iterate, state)
        params = jnp.where(state.done & alive, state.base + state.step, state.base)
        status = jnp.where(state.done, Status.CONVERGED, Status.MAX_STEPS)
        return Solution(params, jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32), state.steps)


class _State(NamedTuple):
    base: Array
    step: Array
    value: Array
    radius: Array
    done: Array
    steps: Array
