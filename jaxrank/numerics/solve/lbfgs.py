"""L-BFGS through optax: the solver for objectives without closed-form curvature, and a second opinion for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from jaxrank.numerics.solve.newton import Solution
from jaxrank.numerics.status import Status


class LBFGS(eqx.Module):
    """Limited-memory BFGS with optax's zoom line search.

    Stops when the largest gradient entry is at most eps^(2/3) of the largest gradient entry at the start plus that of
    ``scale`` (a typical count in the data), so that the criterion does not change with the size of the data.

    **max_steps**: iterations before the status becomes ``MAX_STEPS``.  **memory**: pairs kept.
    """

    max_steps: int = 500
    memory: int = 10

    def __call__(
        self, value: Callable[[Array], Array], start: Float[Array, " n"], alive: Any = True, scale: Any = 0.0
    ) -> Solution:
        """Minimise ``value(x)`` from ``start``; where ``alive`` is False nothing is done (``NO_FINITE_OPTIMUM``)."""
        solver = optax.lbfgs(memory_size=self.memory)
        value_and_grad = optax.value_and_grad_from_state(value)
        alive = jnp.asarray(alive)
        first = jnp.max(jnp.abs(jax.grad(value)(start)))
        bound = jnp.finfo(start.dtype).eps ** (2 / 3) * (first + jnp.asarray(scale, start.dtype))

        def searching(carry: tuple) -> Array:
            _, _, done, steps = carry
            return ~done & (steps < self.max_steps)

        def iterate(carry: tuple) -> tuple:
            x, state, _, steps = carry
            v, g = value_and_grad(x, state=state)
            updates, state = solver.update(g, state, x, value=v, grad=g, value_fn=value)
            x = optax.apply_updates(x, updates)
            slope = optax.tree_utils.tree_get(state, "grad")
            return x, state, jnp.max(jnp.abs(slope)) <= bound, steps + 1

        carry = (start, solver.init(start), ~alive | (first <= 0), jnp.asarray(0, jnp.int32))
        x, _, done, steps = jax.lax.while_loop(searching, iterate, carry)
        status = jnp.where(done, Status.CONVERGED, Status.MAX_STEPS)
        return Solution(x, jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32), steps)
