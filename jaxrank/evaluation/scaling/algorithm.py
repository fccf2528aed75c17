"""ARISE with adaptive sampling as one call: from an evaluator to the score. Source: arise2025, algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.scaling.adaptive import Trials, adaptive_sampling, allocate, check_cell, noise
from jaxrank.evaluation.scaling.bootstrap import evaluate_scaling
from jaxrank.evaluation.scaling.result import ScalingResult
from jaxrank.models.options import check_count, numbers, shown

MOST_CELLS = 10**8


@dataclass(frozen=True, eq=False)
class ScalingRun:
    """A model's trials and its score. **trials**: {(sample, level): [(correct, tokens), ...]}. **n_trials** (I, J + 1):
    of every cell. **converged** (I, J + 1): whether the noise of the cell is below ``tau``. **calls**: of the
    evaluator, those of earlier runs in ``trials`` not counted. **result**: `ScalingResult` of one model."""

    trials: Trials = field(repr=False)
    n_trials: np.ndarray
    converged: np.ndarray
    calls: int
    result: ScalingResult


def run(
    evaluate: Callable[[int, int], tuple[float, float]],
    n_samples: int,
    n_levels: int,
    trials: Trials | None = None,
    *,
    tau: float = 0.5,
    m_min: int = 3,
    m_max: int | None = None,
    budget: int | None = None,
    model: str = "model",
    **options: Any,
) -> ScalingRun:
    """Evaluate every sample at every level by the adaptive rule, or under a budget, and score the model.

    **evaluate**, **trials**, **tau**, **m_min**, **m_max**: as in `adaptive_sampling`, on samples 0..n_samples - 1 and
    levels 0..n_levels - 1 in the order of effort; ``m_max`` is 10 where there is no budget.
    **budget**: trials in all. A pilot of ``m_min`` a cell, then the rest in proportion to the noise of the cells
    (`allocate`, equation 17), of a cell no more than ``m_max`` where that is given: what is left then is not spent.
    **options**: of `evaluate_scaling`. Exceptions of ``evaluate`` pass through; what was evaluated is in ``trials``.
    """
    check_count("n_samples", n_samples)
    check_count("n_levels", n_levels, 2)
    cells = list(np.ndindex(n_samples, n_levels))
    trials = {} if trials is None else trials
    if isinstance(trials, Mapping) and not set(trials) <= set(cells):
        strange = next(iter(set(trials) - set(cells)))
        raise DataError(f"trials has the cell {shown(strange)}; samples are below {n_samples}, levels below {n_levels}")
    if budget is None:
        most = 10 if m_max is None else m_max
        before = _count(trials)
        adaptive_sampling(evaluate, cells, trials, tau=tau, m_min=m_min, m_max=most)
    else:
        check_count("budget", budget)
        if budget < len(cells) * m_min:
            raise OptionError(
                f"budget={budget} is too small: {len(cells)} cells of {m_min} trials need {len(cells) * m_min}"
            )
        before = _count(trials)
        adaptive_sampling(evaluate, cells, trials, tau=tau, m_min=m_min, m_max=m_min)
        pilot = np.array([noise(*zip(*trials[cell][:m_min], strict=True)) for cell in cells])
        plan = allocate(pilot.reshape(n_samples, n_levels), budget, m_min)
        for cell, n in zip(cells, plan.ravel().tolist(), strict=True):
            most = n if m_max is None else min(n, m_max)
            adaptive_sampling(evaluate, [cell], trials, m_min=most, m_max=most)
    correct, tokens = from_trials(trials)
    cv = np.array([noise(*zip(*trials[cell], strict=True)) for cell in cells]).reshape(n_samples, n_levels)
    return ScalingRun(
        trials,
        (~np.isnan(correct)).sum(-1),
        cv < tau,
        _count(trials) - before,
        evaluate_scaling(correct[None], tokens[None], models=[model], **options),
    )


def from_trials(trials: Mapping[tuple[int, int], Sequence[tuple[float, float]]]) -> tuple[np.ndarray, np.ndarray]:
    """Correctness and tokens (samples, levels, trials), NaN beyond a cell's own trials, from {(sample, level):
    [(correct, tokens), ...]} as `adaptive_sampling` gives it."""
    if not isinstance(trials, Mapping):
        raise DataError(f"trials={shown(trials)}; it must be a dict from (sample, level) to trials")
    found = {}
    for cell, done in trials.items():
        pairs = numbers(f"trials[{shown(cell)}]", done)
        if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise DataError(f"trials[{shown(cell)}]={shown(done)}; it must be a list of pairs (correct, tokens)")
        found[check_cell(cell)] = pairs.reshape(-1, 2)
    if not found or min(min(cell) for cell in found) < 0:
        raise DataError(f"trials={shown(trials)}; it needs cells (sample, level), numbered from 0")
    shape = np.array(list(found)).max(0) + 1
    if shape.prod() > MOST_CELLS:
        raise DataError(f"trials goes up to sample {shape[0] - 1} and level {shape[1] - 1}; number both from 0")
    correct, tokens = np.full((2, *shape.tolist(), max(map(len, found.values()))), np.nan)
    for (i, j), pairs in found.items():
        correct[i, j, : len(pairs)], tokens[i, j, : len(pairs)] = pairs.T
    return correct, tokens


def _count(trials: Any) -> int:
    return sum(len(done) for done in trials.values()) if isinstance(trials, Mapping) else 0
