"""Rasch abilities that walk from trial to trial: Newton steps whose memory is that of one trial.

The curvature couples a model's ability at one trial with those at the trials beside it, and with the difficulties. The
abilities are eliminated trial by trial, forwards, which leaves one system of the difficulties; then they follow
backwards. What a trial adds to that system is added as it comes: of models x trials x questions nothing is kept but the
results themselves, a byte each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.models.irt.table import ItemTable
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.damped import Minimum, self_concordant_newton
from jaxrank.numerics.solve.linear import solve_spd


class _Reduced(NamedTuple):
    """What the trials so far have left: of the last of them its ``pivot`` (L,), ``cross`` (L, M) and ``right`` (L,);
    of the difficulties the ``matrix`` (M, M) and ``below`` (M,) to be taken off their curvature ``own`` (M,) and right
    side ``excess`` (M,)."""

    pivot: Array
    cross: Array
    right: Array
    matrix: Array
    below: Array
    own: Array
    excess: Array


def fit_walk(
    known: Int[Array, "trials cells"],
    table: ItemTable,
    start: tuple[Float[Array, "trials models"], Float[Array, " questions"]],
    link: Float[Array, ""],
    anchor: Float[Array, ""],
    max_steps: int,
) -> Minimum:
    """The largest likelihood less ``link`` / 2 for every squared change of an ability from one trial to the next and
    ``anchor`` / 2 for the square of the first. Params: abilities (N, L) and difficulties (M,), whose weighted sum stays
    what it is at the start.

    **known**: 1, 0, or -1 where there is no result; models x questions in one axis, since a TPU fills up the last two
    axes to 32 x 128.
    """
    (n_trials, n_models), (n_questions,) = start[0].shape, start[1].shape
    dtype = start[0].dtype
    before = jnp.where(jnp.arange(n_trials) > 0, link, 0).astype(dtype)
    after = jnp.where(jnp.arange(n_trials) < n_trials - 1, link, 0).astype(dtype)
    stiffness = (before + after).at[0].add(anchor)
    of_models, of_questions = jnp.zeros(n_models, dtype), jnp.zeros(n_questions, dtype)
    w = table.weight

    def moments(x: Array, b: Array, known: Array) -> tuple[Array, Array]:
        known = known.reshape(n_models, n_questions)
        p = jax.nn.sigmoid(x[:, None] - b[None, :])
        return jnp.where(known >= 0, p - (known == 1), 0), jnp.where(known >= 0, p * (1 - p), 0)

    def step(state: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        x, b = state
        tension = link * (x[1:] - x[:-1])
        slope = jnp.zeros_like(x).at[1:].add(tension).at[:-1].add(-tension).at[0].add(anchor * x[0])

        def forwards(so_far: _Reduced, trial: Any) -> tuple[_Reduced, tuple[Array, Array]]:
            x, known, slope, before, stiffness = trial
            excess, weight = moments(x, b, known)
            share = before / so_far.pivot
            pivot = jnp.sum(weight, axis=1) + stiffness - before * share
            cross = share[:, None] * so_far.cross - weight
            right = share * so_far.right - jnp.sum(excess, axis=1) - slope
            scaled = (cross / pivot[:, None]).T
            reduced = _Reduced(
                pivot,
                cross,
                right,
                so_far.matrix + matmul(scaled, cross),
                so_far.below + matmul(scaled, right),
                so_far.own + jnp.sum(weight, axis=0),
                so_far.excess + jnp.sum(excess, axis=0),
            )
            return reduced, (pivot, right)

        none = _Reduced(
            jnp.ones_like(of_models),
            jnp.zeros((n_models, n_questions), dtype),
            of_models,
            jnp.zeros((n_questions, n_questions), dtype),
            of_questions,
            of_questions,
            of_questions,
        )
        left, (pivots, rights) = jax.lax.scan(forwards, none, (x, known, slope, before, stiffness))
        y = held_difficulties(left, table)

        # The weights again, which is cheaper than to keep them.
        def of_difficulties(last: tuple[Array, Array], trial: Any) -> tuple[tuple[Array, Array], Array]:
            x, known, before, pivot = trial
            _, weight = moments(x, b, known)
            right = before / last[1] * last[0] - jnp.sum(weight * y[None, :], axis=1)
            return (right, pivot), right

        _, taken = jax.lax.scan(of_difficulties, (of_models, jnp.ones_like(of_models)), (x, known, before, pivots))

        def backwards(later: Array, trial: Any) -> tuple[Array, Array]:
            right, pivot, after = trial
            found = (right + after * later) / pivot
            return found, found

        _, s = jax.lax.scan(backwards, of_models, (rights - taken, pivots, after), reverse=True)
        low = jnp.min(jnp.where(table.used, y, jnp.inf))
        high = jnp.max(jnp.where(table.used, y, -jnp.inf))
        change = jnp.maximum(jnp.max(s) - low, high - jnp.min(s))
        return (s, y), jnp.where(jnp.any(table.used), change, 0)

    def held_difficulties(left: _Reduced, table: ItemTable) -> Array:
        """The step of the difficulties whose weighted sum is 0, by a multiplier. The curvature may be almost singular
        along a shift of all levels: the weights are added to it on its own scale, which changes nothing there."""
        own = jnp.where(table.used, left.own, 1)
        total = jnp.sum(jnp.abs(w))
        strength = jnp.sum(jnp.where(w != 0, own, 0)) / jnp.where(total > 0, total, 1) ** 2
        matrix = jnp.diag(own) - left.matrix + strength * w[:, None] * w[None, :]
        y = solve_spd(matrix, jnp.stack([left.excess - left.below, w], axis=1))
        sums = jnp.sum(w[:, None] * y, axis=0)
        return y[:, 0] - jnp.where(sums[1] != 0, sums[0] / jnp.where(sums[1] != 0, sums[1], 1), 0) * y[:, 1]

    return self_concordant_newton(step, start, True, max_steps)
