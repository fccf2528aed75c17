"""L-BFGS through optax: a second opinion from values and gradients alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.solve.linear import solve_spd
from jaxrank.numerics.solve.solver import Objective, Solution, Solver, at_least_one
from jaxrank.numerics.status import Status


class LBFGS(Solver):
    """Limited-memory BFGS with optax's zoom line search.

    Stops when the largest gradient entry is at most eps^(2/3) / 4 of the largest curvature at the start, or when a step
    changes nothing any more. The Newton step that is left there is the error that the solution states; where it is more
    than the fourth root of eps, of 1 + the largest parameter, the status is ``MAX_STEPS``.

    **max_steps**: iterations before the status becomes ``MAX_STEPS``.  **memory**: pairs kept.
    """

    max_steps: int = 500
    memory: int = 10

    def __check_init__(self) -> None:
        at_least_one("memory", self.memory)

    def __call__(
        self,
        objective: Objective,
        start: Float[Array, " n"],
        alive: Any = True,
        solve: Callable[[Any, Any], Any] = solve_spd,
    ) -> Solution:
        """Minimise from ``start``; ``solve`` is called once, for the error that is left."""
        import optax  # a tenth of a second that no other solver needs

        @jax.custom_jvp
        def value(x: Array) -> Array:
            return objective(x)[0]

        @value.defjvp
        def change(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
            found, gradient, _ = objective(primals[0])
            return found, jnp.sum(gradient * tangents[0])

        solver = optax.lbfgs(memory_size=self.memory)
        value_and_grad = optax.value_and_grad_from_state(value)
        alive = jnp.asarray(alive)
        eps = jnp.finfo(start.dtype).eps
        _, first, curvature = objective(start)
        bound = eps ** (2 / 3) / 4 * jnp.max(jnp.abs(jnp.diagonal(curvature)))

        def searching(carry: tuple) -> Array:
            _, _, done, steps = carry
            return ~done & (steps < self.max_steps)

        def iterate(carry: tuple) -> tuple:
            x, state, _, steps = carry
            v, g = value_and_grad(x, state=state)
            updates, state = solver.update(g, state, x, value=v, grad=g, value_fn=value)
            new = optax.apply_updates(x, updates)
            slope = optax.tree_utils.tree_get(state, "grad")
            done = (jnp.max(jnp.abs(slope)) <= bound) | jnp.all(new == x)
            return new, state, done, steps + 1

        at_once = jnp.max(jnp.abs(first)) <= bound
        carry = (start, solver.init(start), ~alive | at_once, jnp.asarray(0, jnp.int32))
        x, _, done, steps = jax.lax.while_loop(searching, iterate, carry)
        _, gradient, curvature = objective(x)
        error = jnp.max(jnp.abs(solve(curvature, gradient)))
        good = done & (error <= eps**0.25 * (1 + jnp.max(jnp.abs(x))))
        status = jnp.where(good, Status.CONVERGED, Status.MAX_STEPS)
        status = jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
        return Solution(x, status, steps, jnp.where(alive & good, error, 0))
