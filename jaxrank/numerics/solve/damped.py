"""Two Newton loops for models with their own linear algebra: a convex one without evaluations of the objective, and
a damped one (Levenberg-Marquardt) for objectives that are not convex or whose curvature is approximate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.numerics.solve.linear import solve_spd
from jaxrank.numerics.solve.slots import loop
from jaxrank.numerics.solve.solver import Objective, Solution, Solver, above_zero
from jaxrank.numerics.status import Status

_GROWTH, _SHRINKAGE, _FIRST_DAMPING = 6.0, 0.2, 1e-3
_NOISE = 8.0  # steps of pure rounding that may still lead to the optimum
FLAT = 4.0
"""A change of the value that says nothing, in units of its last digit."""


class Minimum(NamedTuple):
    """Where a loop stopped: parameters (any pytree), what the objective keeps beside them, `Status`, steps, value.

    **error**: how far a parameter may still be off where rounding stopped the loop and not its criterion; else 0.
    """

    params: Any
    memory: Any
    status: Int[Array, ""]
    steps: Int[Array, ""]
    value: Float[Array, ""]
    error: Float[Array, ""]


def self_concordant_newton(
    step: Callable[[Any], tuple[Any, Float[Array, ""]]], start: Any, alive: Any = True, max_steps: int = 100
) -> Minimum:
    """Newton's method for logistic likelihoods with quadratic penalties, which needs no value of the objective.

    ``step(x) -> (s, r)``: the Newton step at x, and the largest change r of any linear predictor along it. Such an
    objective f has |f'''| <= r f'' along s, and a step of length log(1 + r) / r decreases it (Bach 2010,
    "Self-concordant analysis for logistic regression"); near the optimum that length tends to 1. Stops when a step is
    at most sqrt(machine epsilon) of 1 + the largest parameter; that step is still taken.
    """
    alive = jnp.asarray(alive)
    tolerance = jnp.sqrt(jnp.finfo(jax.tree.leaves(start)[0].dtype).eps)

    def searching(state: tuple) -> Array:
        _, done, steps = state
        return ~done & (steps < max_steps)

    def iterate(state: tuple) -> tuple:
        x, _, steps = state
        s, r = step(x)
        length = jnp.where(r > tolerance, jnp.log1p(r) / jnp.where(r > 0, r, 1), 1)
        new = jax.tree.map(lambda a, b: a + length * b, x, s)
        # A step that is not finite stays not finite: it ends the loop, and the status tells.
        done = ~(_size(s) > tolerance * (1 + _size(x)))
        return new, done, steps + 1

    x, done, steps = jax.lax.while_loop(searching, iterate, (start, ~alive, jnp.asarray(0, jnp.int32)))
    good = done & jnp.isfinite(_size(x))
    status = jnp.where(good, Status.CONVERGED, Status.MAX_STEPS)
    status = jnp.where(alive, status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
    zero = jnp.zeros((), tolerance.dtype)
    return Minimum(x, None, status, steps, zero * jnp.nan, zero)


def levenberg_marquardt(
    objective: Callable[[Any, Any], tuple[Float[Array, ""], Any, Any]],
    step: Callable[[Any, Float[Array, ""]], Any],
    start: Any,
    memory: Any = None,
    alive: Any = True,
    max_steps: int = 300,
    damping: float = 0.0,
    value_error: float = 0.0,
    slope: Callable[[Any, Any], Float[Array, ""]] | None = None,
    settle: Callable[[Any], Any] = lambda x: x,
    overshoots: bool = False,
    measured: Callable[[Any], Any] | None = None,
    work_bytes: int = 0,
    lanes_last: bool = False,
) -> Minimum:
    """Minimise by steps of a damped quadratic model.

    ``objective(x, memory) -> (value, model, memory)``: the value, the gradient and curvature in any form, and what to
    keep for the next evaluation (such as where quadrature nodes lie). ``step(model, damping)``: the step, NaN where the
    curvature with this damping (times its diagonal, added) is not positive definite. A step that does not lower
    the value is taken back and the damping grows; after a good one it shrinks to nothing, which leaves Newton's method.

    ``value_error``: relative error of the value beyond rounding, such as that of a quadrature whose nodes move. A rise
    as small as that is not held against a step where ``slope(model, step)``, the derivative along the step, says that
    the value fell: at the end it is less steep than it fell at the start (the approximate Wolfe condition of Hager and
    Zhang 2005).
    ``settle(x)``: moves each new point along a curve on which the minimum is known, such as an invariance of the
    likelihood; straight steps follow a curved valley only slowly.
    ``overshoots``: the curvature may leave so much out that steps are too long by up to a factor of 2, which lowers the
    value less and less. The damping then grows after a step at whose end the value rises half as steeply as it fell at
    the start (which ``slope`` says).
    ``measured(x)``: the parameters that ``error`` is about, None for all. The valleys that rounding makes flat are then
    those of the others, and the sum of the steps along them is left out.
    ``work_bytes``, ``lanes_last``: see `jaxrank.numerics.solve.slots.loop`.

    Stops when the error that is left, estimated from the last step and its ratio to the one before, is at most a
    quarter of eps^(2/3) of 1 + the largest parameter and the step that would follow is no longer; or when rounding
    keeps undamped steps from shrinking that do not change the value any more: what is left is then of the size of these
    steps, or in a long flat valley of their sum, and ``error`` says so. (Damped ones are short in such a valley,
    however far its end.)
    """
    dtype = jax.tree.leaves(start)[0].dtype
    eps = jnp.finfo(dtype).eps
    tolerance = eps ** (2 / 3) / 4

    def searching(state: _State) -> Array:
        return ~state.done & (state.steps < max_steps)

    def iterate(state: _State) -> _State:
        trial = settle(jax.tree.map(jnp.add, state.x, state.step))
        value, model, kept = objective(trial, state.memory)
        size = _size(state.step)
        known = jnp.where(jnp.isfinite(state.value), jnp.abs(state.value), 0)
        lower = value <= state.value + 16 * eps * known
        too_long = jnp.array(False)
        if slope is not None:
            before, after = slope(state.model, state.step), slope(model, state.step)
            falls, too_long = before + after <= 0, overshoots & (after > -before / 2)
            lower = lower | (falls & (value <= state.value + value_error * known))
        good = lower & jnp.isfinite(value) & jnp.isfinite(size)
        pick = lambda new, old: jnp.where(good, new, old)
        scale = 1 + _size(trial)
        rate = jnp.clip(size / jnp.where(state.size > 0, state.size, 1), 0, 1 - 1e-3)
        left = size * rate / (1 - rate)
        small = left <= tolerance * scale
        slow = size >= state.size / 2
        flat = slow & (jnp.abs(state.value - value) <= FLAT * eps * jnp.abs(value))
        lingers = slow & (size <= 16 * tolerance * scale)
        stalled = lingers | flat
        own = size if measured is None else _size(measured(state.step))
        noise = _NOISE * jnp.maximum(own, state.own)
        error = noise if measured is not None else jnp.where(lingers, noise, jnp.maximum(noise, left))
        quieter = jnp.where(state.damping > 1e-5, state.damping * _SHRINKAGE, 0)
        louder = jnp.maximum(state.damping * _GROWTH, _FIRST_DAMPING)
        next_damping = jnp.where(state.steps > 0, quieter, state.damping)
        next_damping = jnp.where(good & ~too_long, next_damping, louder).astype(dtype)
        next_model = jax.tree.map(pick, model, state.model)
        next_step = step(next_model, next_damping)
        # In a curved valley long steps and short ones alternate, and damping shortens those that lead along it.
        stands = _size(next_step) <= jnp.maximum(size, tolerance * scale)
        ends = (small & stands & (state.damping <= 1e-2)) | (stalled & (state.damping == 0))
        done = good & ends & (state.steps > 1)
        return _State(
            x=jax.tree.map(pick, trial, state.x),
            step=next_step,
            memory=jax.tree.map(pick, kept, state.memory),
            model=next_model,
            value=pick(value, state.value),
            size=pick(jnp.where(state.steps > 0, size, jnp.inf), state.size),
            own=pick(jnp.where(state.steps > 0, own, jnp.inf), state.own),
            damping=next_damping,
            done=done | (next_damping > 1e12),
            error=jnp.where(small, 0, error).astype(dtype),
            steps=state.steps + 1,
        )

    def begin(given: tuple) -> _State:
        # The first pass evaluates the start: a step of length 0 from an infinite value.
        start, memory, alive = given
        blank = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(objective, start, memory)[1])
        infinite, zero = jnp.asarray(jnp.inf, dtype), jnp.zeros((), dtype)
        return _State(
            x=start,
            step=jax.tree.map(jnp.zeros_like, start),
            memory=memory,
            model=blank,
            value=infinite,
            size=infinite,
            own=infinite,
            damping=jnp.asarray(damping, dtype),
            done=~alive,
            error=zero,
            steps=jnp.asarray(0, jnp.int32),
        )

    def finish(state: _State) -> Minimum:
        good = state.done & jnp.isfinite(state.value) & (state.damping <= 1e12)
        status = jnp.where(good, Status.CONVERGED, Status.MAX_STEPS).astype(jnp.int32)
        return Minimum(state.x, state.memory, status, state.steps, state.value, jnp.where(good, state.error, 0))

    found = loop(begin, searching, iterate, finish, (start, memory, jnp.asarray(alive)), work_bytes, lanes_last)
    status = jnp.where(alive, found.status, Status.NO_FINITE_OPTIMUM).astype(jnp.int32)
    return found._replace(status=status)


class SelfConcordantNewton(Solver):
    """`self_concordant_newton` for logistic likelihoods: Newton's method without values of the objective.

    **max_steps**: steps before the status becomes ``MAX_STEPS``.  **reach**: a linear predictor of the data changes by
    at most this times the largest change of a parameter: 2 for differences of two.
    """

    max_steps: int = 100
    reach: float = 2.0

    def __check_init__(self) -> None:
        above_zero("reach", self.reach)

    def __call__(
        self,
        objective: Objective,
        start: Float[Array, " n"],
        alive: Any = True,
        solve: Callable[[Any, Any], Any] = solve_spd,
    ) -> Solution:
        def step(x: Array) -> tuple[Array, Array]:
            _, gradient, curvature = objective(x)
            change = -solve(curvature, gradient)
            return change, self.reach * _size(change)

        found = self_concordant_newton(step, start, alive, self.max_steps)
        return Solution(found.params, found.status, found.steps, found.error)


class LevenbergMarquardt(Solver):
    """`levenberg_marquardt` with the curvature as it is: Newton's method once the damping has shrunk to nothing.

    **max_steps**: evaluations before the status becomes ``MAX_STEPS``.
    """

    max_steps: int = 300

    def __call__(
        self,
        objective: Objective,
        start: Float[Array, " n"],
        alive: Any = True,
        solve: Callable[[Any, Any], Any] = solve_spd,
    ) -> Solution:
        def parts(x: Array, memory: None) -> tuple[Array, tuple[Array, Array], None]:
            value, gradient, curvature = objective(x)
            return value, (gradient, curvature), None

        def step(model: tuple[Array, Array], damping: Array) -> Array:
            gradient, curvature = model
            damped = curvature + jnp.diag(damping * jnp.diagonal(curvature))
            return -jnp.where(damping > 0, solve_spd(damped, gradient), solve(curvature, gradient))

        found = levenberg_marquardt(parts, step, start, alive=alive, max_steps=self.max_steps)
        return Solution(found.params, found.status, found.steps, found.error)


class _State(NamedTuple):
    x: Any
    step: Any
    memory: Any
    model: Any
    value: Array
    size: Array
    own: Array
    damping: Array
    done: Array
    steps: Array
    error: Array


def _size(tree: Any) -> Float[Array, ""]:
    return jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(tree)]))
