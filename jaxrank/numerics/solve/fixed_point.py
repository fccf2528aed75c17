"""Fixed points x = F(x) of a contraction (MM, EM), with squared extrapolation and an honest stopping rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.solve.linear import solve_spd
from jaxrank.numerics.solve.solver import Objective, Solution, Solver
from jaxrank.numerics.status import Status


class FixedPoint(Solver):
    """SQUAREM (Varadhan & Roland 2008, scheme S3) around a map, guarded by the size of its residual.

    A cycle applies the map twice, extrapolates along the two residuals, and applies the map once more. Stops when the
    error that is left, estimated from the last step and the ratio of successive steps, is at most eps^(2/3) of
    1 + the largest parameter: a short step alone does not count, since linear convergence can be slow.

    **max_steps**: applications of the map before the status becomes ``MAX_STEPS``.
    """

    max_steps: int = 10_000

    def __call__(
        self,
        objective: Objective,
        start: Float[Array, " n"],
        alive: Any = True,
        solve: Callable[[Any, Any], Any] = solve_spd,
    ) -> Solution:
        """Minimise by the map x - g / s, s the row sums of the sizes of the curvature: diag(s) majorises it
        (Gershgorin). ``solve`` is not called."""

        def update(x: Array) -> Array:
            _, gradient, curvature = objective(x)
            size = jnp.sum(jnp.abs(curvature), axis=1)
            return x - jnp.where(size > 0, gradient / jnp.where(size > 0, size, 1), 0)

        return self.iterate(update, start, alive)

    def iterate(self, update: Callable[[Array], Array], start: Float[Array, " n"], alive: Any = True) -> Solution:
        """Iterate ``update`` from ``start``; where ``alive`` is False nothing is done (``NO_FINITE_OPTIMUM``)."""
        tolerance = jnp.finfo(start.dtype).eps ** (2 / 3)
        alive = jnp.asarray(alive)
        max_steps = jnp.asarray(self.max_steps, jnp.int32)

        def searching(state: _State) -> Array:
            return ~state.done & (state.steps < max_steps)

        def cycle(state: _State) -> _State:
            x0 = state.x
            x1 = update(x0)
            x2 = update(x1)
            r, v = x1 - x0, (x2 - x1) - (x1 - x0)
            r_size, v_size = jnp.sqrt(jnp.sum(r * r)), jnp.sqrt(jnp.sum(v * v))
            last = jnp.max(jnp.abs(x2 - x1))
            rate = jnp.clip(last / jnp.where(r_size > 0, jnp.max(jnp.abs(r)), 1), 0, 1 - 1e-6)
            left = jnp.where(r_size > 0, last * rate / (1 - rate), 0)
            done = (left <= tolerance * (1 + jnp.max(jnp.abs(x2)))) & jnp.isfinite(left)
            alpha = jnp.minimum(-r_size / jnp.where(v_size > 0, v_size, 1), -1)
            jump = x0 - 2 * alpha * r + alpha**2 * v
            x3 = update(jump)
            # A jump that leaves the region where the map contracts shows in its residual; then the plain step is kept.
            tame = jnp.all(jnp.isfinite(x3)) & (jnp.max(jnp.abs(x3 - jump)) <= jnp.max(jnp.abs(r)))
            x = jnp.where(done | ~tame, x2, x3)
            return _State(x, done, state.steps + 3)

        state = jax.lax.while_loop(searching, cycle, _State(start, ~alive, jnp.asarray(0, jnp.int32)))
        status = jnp.where(state.done, Status.CONVERGED, Status.MAX_STEPS)
        status = jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
        return Solution(state.x, status, state.steps, jnp.zeros((), start.dtype))


class _State(NamedTuple):
    x: Array
    done: Array
    steps: Array
