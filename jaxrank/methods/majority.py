"""Majority judgment: compare models by the medians of their grades."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.data.ballots import grades
from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit
from jaxrank.models.preferences import votes_fit
from jaxrank.models.ranker import Entry, Ranker

_COUNTING = 128  # up to this many questions comparing all pairs of grades beats sorting them
_TOGETHER = 8  # questions between two barriers: else the compiler for a TPU may hold the comparisons of all at once


class MajorityJudgment(Ranker):
    """Majority judgment: the lower median of a model's grades; ties by removing one median at a time.

    **Model** every question grades every model by the mean value of its trials; a model's value is the sequence of
    lower medians met while one median grade after another is removed, compared lexicographically [balinski2011].
    **Reads** counts.
    **Scores** minus the number of models with a greater value; 0 at the top.
    **Fields** none.
    **Status** undefined where a model has no observed question.
    **Params** ``median``: (L,) the lower median grade, on the scale of the levels (a share of successes of 0 and 1).
    **Departs** where models have different numbers of observed questions, of which the source knows nothing: grades
    are read at equal distances from the middle, as shares of a model's questions. Removing medians reads the sorted
    grades from the middle outwards, at each distance below before above; so with equal numbers of questions, and any
    whole multiplicities, this is the source's rule, and it extends to fractional weights.
    """

    statistic: ClassVar[type] = Counts
    gaps: ClassVar[str] = "grades are those of the questions that each model has, which may differ in difficulty"

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        grade, slack, unit = grades(stat)
        grade = jax.lax.cond(slack > 0, _snapped, lambda grade, _: grade, grade, slack)
        weight = stat.observed
        mass = jnp.sum(weight, axis=-1, keepdims=True)
        weight = weight / jnp.where(mass > 0, mass, 1)
        place = by_counting if grade.shape[-1] <= _COUNTING else by_sorting
        better, median = _compare(*place(grade, weight))
        median = stat.levels[0] + unit * median
        return votes_fit((-better).astype(grade.dtype), mass[:, 0] > 0, median=median)


def _snapped(grade: Float[Array, "models questions"], slack: Float[Array, ""]) -> Float[Array, "models questions"]:
    """Grades with those that are equal within rounding made equal: the lowest of each run of neighbours."""
    flat = grade.reshape(-1)
    order = jnp.argsort(flat)
    rising = flat[order]
    new = jnp.concatenate([jnp.ones(1, bool), jnp.diff(rising) > slack])
    head = jax.lax.cummax(jnp.where(new, rising, -jnp.inf))
    return jnp.zeros_like(flat).at[order].set(head).reshape(grade.shape)


def by_counting(grade: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Grades (L, M), and the model's mass below and up to each grade; an interval at infinity where unobserved."""
    below = upto = jnp.zeros_like(grade)
    for m in range(grade.shape[-1]):  # unrolled: one fused elementwise pass
        other, w = grade[:, m : m + 1], weight[:, m : m + 1]
        below = below + jnp.where(other < grade, w, 0)
        upto = upto + jnp.where(other <= grade, w, 0)
        if m % _TOGETHER == _TOGETHER - 1:
            grade, weight, below, upto = jax.lax.optimization_barrier((grade, weight, below, upto))
    return grade, jnp.where(weight > 0, below, jnp.inf), jnp.where(weight > 0, upto, -jnp.inf)


def by_sorting(grade: Array, weight: Array) -> tuple[Array, Array, Array]:
    """The same in the order of the grades: from cumulative sums, whose ends are shared by equal grades."""
    grade, weight = jax.lax.sort((grade, weight), dimension=-1, num_keys=1)
    upto = jnp.cumsum(weight, axis=-1)
    new = grade[:, 1:] > grade[:, :-1]
    edge = jnp.ones_like(grade[:, :1], bool)
    first, last = jnp.concatenate([edge, new], axis=-1), jnp.concatenate([new, edge], axis=-1)
    below = jax.lax.cummax(jnp.where(first, upto - weight, -jnp.inf), axis=1)
    upto = jax.lax.cummin(jnp.where(last, upto, jnp.inf), axis=1, reverse=True)
    return grade, jnp.where(weight > 0, below, jnp.inf), jnp.where(weight > 0, upto, -jnp.inf)


def _compare(
    grade: Float[Array, "models questions"],
    below: Float[Array, "models questions"],
    upto: Float[Array, "models questions"],
) -> tuple[Int[Array, " models"], Float[Array, " models"]]:
    """Number of models with a greater majority value, and the lower medians.

    Walks outwards from the middle. At distance t the grade below covers 1/2 - t from the left, the grade above covers
    1/2 + t from the right; models with equal grades so far are told apart by the lower, then the upper grade. The next
    distance is the nearest at which a grade of a model that still ties changes.
    """
    slack = 32 * jnp.finfo(grade.dtype).eps  # masses are sums of shares: equal up to rounding

    def read(t: Array) -> tuple[Array, Array, Array]:
        left, right = below < 0.5 - t - slack, upto > 0.5 + t + slack
        low = jnp.max(jnp.where(left, grade, -jnp.inf), axis=-1)
        high = jnp.min(jnp.where(right, grade, jnp.inf), axis=-1)
        to_left = 0.5 - jnp.max(jnp.where(left, below, -jnp.inf), axis=-1)
        to_right = jnp.min(jnp.where(right, upto, jnp.inf), axis=-1) - 0.5
        return low, high, jnp.minimum(to_left, to_right)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        better, t, _ = state
        low, high, until = read(t)
        same = better[:, None] == better[None, :]
        above = (low[None, :] > low[:, None]) | ((low[None, :] == low[:, None]) & (high[None, :] > high[:, None]))
        better = better + jnp.sum(same & above, axis=-1, dtype=better.dtype)
        tied = jnp.sum(better[:, None] == better[None, :], axis=-1) > 1
        next_t = jnp.min(jnp.where(tied, until, jnp.inf))
        return better, next_t, jnp.any(tied) & (next_t < 0.5 - 2 * slack)

    def unfinished(state: tuple[Array, Array, Array]) -> Any:
        return state[2]

    zero = jnp.zeros((), grade.dtype)
    start = (jnp.zeros(grade.shape[0], jnp.int32), zero, jnp.array(True))
    better, _, _ = jax.lax.while_loop(unfinished, step, start)
    return better, jnp.max(jnp.where(below < 0.5 - slack, grade, -jnp.inf), axis=-1)


ENTRIES = (Entry("majority_judgment", MajorityJudgment, source="balinski2011", published=True),)
