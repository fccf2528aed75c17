"""Rasch models whose abilities change over the trials: a straight line each, or a random walk."""

from __future__ import annotations

from collections.abc import Sequence as Names
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts, Sequence
from jaxrank.models.fit import Fit, precise, solver_resolution
from jaxrank.models.irt.parts import Parts, extended_status, grounded, parts_of
from jaxrank.models.irt.rasch import rasch_start
from jaxrank.models.irt.table import ItemTable, explain_separation, item_table, joint_existence, reported_difficulty
from jaxrank.models.irt.walk import fit_walk
from jaxrank.models.options import SEPARATION, choice, count, number
from jaxrank.models.ranker import Entry, Explains, Ranker
from jaxrank.numerics.precision import einsum, matmul
from jaxrank.numerics.solve.arrow import solve_arrow
from jaxrank.numerics.solve.damped import Minimum, self_concordant_newton
from jaxrank.numerics.solve.linear import SMALL
from jaxrank.numerics.status import Status

SCORES = ("initial", "final", "mean", "gain")


class GrowthIRT(Ranker, Explains):
    """Rasch abilities that grow or fall along a straight line over the trials.

    **Model** Pr(R_lmn = 1) = sigmoid(theta0_l + theta1_l t_n - b_m), t_n = n / (N - 1) in [0, 1] over the trials n = 0
    .. N-1 up to the last with a result (0 where N = 1) [verhelst1993; hariri2026ranking, algorithm 8].
    **Reads** the sequence of trials of binary outcomes.
    **Scores** a level of theta in log-odds, difficulties summing to 0.
    **Fields** ``score``: "initial" theta0 (default, as published), "final" theta0 + theta1, "mean" theta0 + theta1 / 2,
    or "gain" theta1.  ``slope_penalty``: weight of sum theta1^2 in the objective, > 0, default 0.01 as published.
    ``separation``: "raise" (default), "nan" or "extend" as in `rasch`; with "extend" the parts are ordered by what all
    trials say, and slopes are those inside the parts.  ``max_steps``: default 100.
    **Params** ``initial``, ``slope`` (L,), ``difficulty`` (M,), ``separated`` (L,).
    **Status** as `rasch`: the slopes are penalised, so a finite optimum exists under the same condition. ``MAX_STEPS``.
    **Departs** in nothing; the published code scores the final level unless told otherwise.
    """

    statistic: ClassVar[type] = Sequence
    kinds: ClassVar[tuple[str, ...]] = ("responses",)  # a battle has no question, and its opponent matters
    binary: ClassVar[bool] = True
    score: str = choice("initial", SCORES)
    slope_penalty: Any = number(0.01, above=0)
    separation: str = choice("raise", SEPARATION)
    max_steps: int = count(100)

    def __call__(self, stat: Sequence, *, key: None = None) -> Fit:
        dtype = jnp.zeros(()).dtype
        time = jnp.arange(stat.outcomes.shape[0], dtype=dtype) / _duration(stat, dtype)
        design = jnp.stack([jnp.ones_like(time), time], axis=1)
        penalty = jnp.diag(jnp.array([0.0, 2.0], dtype)) * jnp.asarray(self.slope_penalty, dtype)
        table = _pooled(stat, keep_extreme=True)
        status, separated = joint_existence(table)
        parts = parts_of(table) if self.separation == "extend" else None
        alive = status == Status.CONVERGED if parts is None else status != Status.DISCONNECTED
        found = _fit(stat, table, design, penalty, False, alive, self.max_steps, parts)
        path, b = found.params
        solved = precise(found.status, found.error)
        if parts is None:
            lost = status != Status.CONVERGED
            status, b = jnp.where(lost, status, solved).astype(jnp.int32), reported_difficulty(table, b)
        else:
            status, lost = extended_status(status, solved, parts)
            first, b = parts.joined(path[:, 0], b)
            path = path.at[:, 0].set(first)
        blank = lambda v: jnp.where(lost, jnp.nan, v)
        start, slope = blank(path[:, 0]), blank(path[:, 1])
        levels = {"initial": start, "final": start + slope, "mean": start + slope / 2, "gain": slope}
        params = {
            "initial": start,
            "slope": slope,
            "difficulty": blank(b),
            "separated": separated,
            **({} if parts is None else {"part": parts.part}),
        }
        resolution = solver_resolution(jnp.concatenate([start, slope]), found.error)
        return Fit(levels[self.score], status, found.steps, resolution, params)

    def explain(self, stat: Sequence, fit: Fit, models: Names, questions: Names) -> str:
        remedy = 'use dynamic_irt_state_space, rasch_map, or separation="extend"'
        return explain_separation(_counts(stat), fit, models, questions, remedy)


class StateSpaceIRT(Ranker):
    """Rasch abilities that walk at random from trial to trial.

    **Model** Pr(R_lmn = 1) = sigmoid(theta_ln - b_m); the path of each model costs ``smoothness`` sum_n (theta_ln -
    theta_l,n-1)^2 / dt + ``anchor`` theta_l0^2 in the objective, dt = 1 / (N - 1): a random walk with variance dt / (2
    smoothness) a trial [verhelst1993].
    **Reads** the sequence of trials of binary outcomes.
    **Scores** a level of theta in log-odds, difficulties summing to 0.
    **Fields** ``score``: "final" (default), "initial", "mean" over the trials, or "gain" (final less initial).
    ``smoothness``: > 0, default 1.  ``anchor``: > 0, default 0.001.  ``max_steps``: default 100.
    **Params** ``path`` (L, N), ``difficulty`` (M,).
    **Status** ``MAX_STEPS``. The anchor keeps every ability finite; questions that all trials passed or all failed are
    left out.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Sequence
    kinds: ClassVar[tuple[str, ...]] = ("responses",)  # a battle has no question, and its opponent matters
    binary: ClassVar[bool] = True
    score: str = choice("final", SCORES)
    smoothness: Any = number(1.0, above=0)
    anchor: Any = number(0.001, above=0)
    max_steps: int = count(100)

    def __call__(self, stat: Sequence, *, key: None = None) -> Fit:
        n_trials, n_questions, n_models = stat.outcomes.shape
        dtype = jnp.zeros(()).dtype
        # After the last result the path stays where it is.
        link = 2 * _duration(stat, dtype) * jnp.asarray(self.smoothness, dtype)
        anchor = 2 * jnp.asarray(self.anchor, dtype)
        table = _pooled(stat, keep_extreme=False)
        if n_trials * n_models > max(n_questions, SMALL):
            theta, b = rasch_start(table)
            known = _known(stat, table.used[None, None, :]).transpose(1, 0, 2).reshape(n_trials, -1)
            start = jnp.broadcast_to(theta[None, :], (n_trials, n_models)), b
            found = fit_walk(known, table, start, link, anchor, self.max_steps)
            path, b = found.params[0].T, found.params[1]
        else:  # few levels: one dense system of them
            eye = jnp.eye(n_trials, dtype=dtype)
            steps = eye[1:] - eye[:-1]
            penalty = (link * matmul(steps.T, steps)).at[0, 0].add(anchor)
            found = _fit(stat, table, eye, penalty, True, True, self.max_steps)
            path, b = found.params
        levels = {
            "initial": path[:, 0],
            "final": path[:, -1],
            "mean": jnp.mean(path, axis=1, where=(jnp.arange(n_trials) <= _last(stat))[None, :]),
            "gain": path[:, -1] - path[:, 0],
        }
        params = {"path": path, "difficulty": reported_difficulty(table, b)}
        status = precise(found.status, found.error)
        return Fit(levels[self.score], status, found.steps, solver_resolution(path.reshape(-1), found.error), params)


def _last(stat: Sequence) -> Array:
    """The last trial with a result: of the first n trials of a study, n - 1, whatever the trials that follow."""
    tried = jnp.any(stat.outcomes >= 0, axis=(1, 2))
    return jnp.max(jnp.where(tried, jnp.arange(tried.shape[0]), 0))


def _duration(stat: Sequence, dtype: Any) -> Array:
    """Steps from the first trial to the last with a result, 1 where there is but one trial."""
    return jnp.maximum(_last(stat), 1).astype(dtype)


def _pooled(stat: Sequence, keep_extreme: bool) -> ItemTable:
    """Totals over the trials, as the Rasch model reads them."""
    return item_table(_counts(stat), keep_extreme)


def _counts(stat: Sequence) -> Counts:
    dtype = jnp.zeros(()).dtype
    count = lambda hit: jnp.sum(hit, axis=0).T.astype(dtype)
    right, wrong = count(stat.outcomes == 1), count(stat.outcomes == 0)
    return Counts(jnp.stack([wrong, right], axis=-1), jnp.ones(right.shape[1], dtype), jnp.arange(2, dtype=dtype))


def _known(stat: Sequence, read: Any) -> Array:
    """Results (L, N, M): 1, 0, or -1 where there is none or it is not read. One byte each, unpacked at every step: a
    batch of lanes would hold two numbers for each through all steps."""
    outcomes = jnp.transpose(stat.outcomes, (2, 0, 1))
    return jnp.where(read & ((outcomes == 0) | (outcomes == 1)), outcomes, -1).astype(jnp.int8)


def _fit(
    stat: Sequence,
    table: ItemTable,
    design: Float[Array, "trials width"],
    penalty: Float[Array, "width width"],
    hold: bool,
    alive: Any,
    max_steps: int,
    parts: Parts | None = None,
) -> Minimum:
    """Abilities design @ x_l with a quadratic penalty on every x_l. Params: (x (L, width), difficulties (M,)).

    ``parts``: only results inside these are read, and one model of each is held.
    ``hold``: the penalty depends on the place of the abilities, so the sum of difficulties is held at 0 by a
    multiplier.
    """
    dtype = design.dtype
    read = table.used[None, None, :]
    if parts is not None:
        table = parts.table
        read = read & (table.trials > 0)[:, None, :]
    known = _known(stat, read)
    theta, b = rasch_start(table)
    # Both designs give a constant ability when every trial's level is the same.
    width = design.shape[1]
    x = theta[:, None] * jnp.ones((1, width), dtype) if hold else theta[:, None] * jnp.eye(1, width, dtype=dtype)
    w = table.weight[:, None]

    product, sums = matmul, einsum

    def step(state: tuple) -> tuple[tuple, Array]:
        x, b = state
        p = jax.nn.sigmoid(product(x, design.T)[:, :, None] - b[None, None, :])
        excess = jnp.where(known >= 0, p - (known == 1), 0)
        weight = jnp.where(known >= 0, p * (1 - p), 0)
        gradient = product(jnp.sum(excess, axis=2), design) + product(x, penalty)
        rows = sums("ln,np,nr->lpr", jnp.sum(weight, axis=2), design, design) + penalty[None, :, :]
        cross = -sums("lnm,np->lpm", weight, design)[:, :, :, None]
        columns = jnp.where(table.used, jnp.sum(weight, axis=(0, 1)), 1)[:, None, None]
        top, bottom = -gradient[:, :, None], jnp.sum(excess, axis=(0, 1))[:, None]
        if hold:
            top, bottom = jnp.concatenate([top, 0 * top], axis=2), jnp.concatenate([bottom, w], axis=1)
        if parts is not None:
            first = rows[:, 0, 0]
            rows = rows.at[:, 0, 0].set(grounded(first, first, parts.ground))
        s, t = solve_arrow(rows, cross, columns, top, bottom[:, None, :], tie=w if parts is None else None)
        s, t = (s[:, :, 0], t[:, 0, 0]) if not hold else _held(s, t[:, 0], w)
        change = product(s, design.T)[:, :, None] - t[None, None, :]
        return (s, t), jnp.max(jnp.abs(change) * table.used[None, None, :])

    return self_concordant_newton(step, (x, b), alive, max_steps)


def _held(s: Array, t: Array, w: Array) -> tuple[Array, Array]:
    sums = jnp.sum(w * t, axis=0)
    ratio = jnp.where(sums[1] != 0, sums[0] / jnp.where(sums[1] != 0, sums[1], 1), 0)
    return s[:, :, 0] - ratio * s[:, :, 1], t[:, 0] - ratio * t[:, 1]


_READS_ORDER = {
    "trial_order": "the order of the trials is what a dynamic model is about",
}

ENTRIES = (
    Entry("dynamic_irt_growth", GrowthIRT, source="verhelst1993", published=True, exempt=_READS_ORDER),
    Entry("dynamic_irt_state_space", StateSpaceIRT, source="verhelst1993", exempt=_READS_ORDER),
)
