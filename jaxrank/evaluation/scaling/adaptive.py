"""More trials where a cell is noisy: the adaptive rule of ARISE around a user's evaluator, and under a fixed budget.

Source: arise2025, algorithm 2 and equation 17. Standard deviations are of the population: divided by the
number of trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_count, check_number, numbers, shown

Trials = MutableMapping[tuple[int, int], list[tuple[float, float]]]


def noise(correct: Any, tokens: Any) -> float:
    """sd(a)/(mean(a) + 1e-8) + sd(t)/(mean(t) + 1e-8) of the trials of one cell."""
    a, t = numbers("correct", correct), numbers("tokens", tokens)
    if a.ndim != 1 or a.shape != t.shape or not len(a):
        raise DataError(f"correct has shape {a.shape}, tokens {t.shape}; both are the trials of one cell, one or more")
    return float(a.std() / (a.mean() + 1e-8) + t.std() / (t.mean() + 1e-8))


def adaptive_sampling(
    evaluate: Callable[[int, int], tuple[float, float]],
    cells: Iterable[tuple[int, int]],
    trials: Trials | None = None,
    *,
    tau: float = 0.5,
    m_min: int = 3,
    m_max: int = 10,
) -> Trials:
    """Evaluate each cell ``m_min`` times, then once more while its `noise` is ``tau`` or more and there are fewer than
    ``m_max`` trials.

    **evaluate**: ``(sample, level) -> (correct in [0, 1], tokens)``; called once a trial, its exceptions pass through.
    **cells**: the (sample, level) pairs, in the order in which they are evaluated.
    **trials**: what was evaluated before, {(sample, level): [(correct, tokens), ...]}; it is added to in place, trial
    by trial, so an interrupted run goes on from where it stopped when it is given the same mapping again.
    """
    _check(tau, m_min, m_max)
    trials = {} if trials is None else trials
    if not callable(evaluate):
        raise OptionError(f"evaluate={shown(evaluate)}; it must be a function of (sample, level)")
    if not isinstance(trials, MutableMapping):
        raise DataError(f"trials={shown(trials)}; it must be a dict from (sample, level) to trials")
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
        raise DataError(f"cells={shown(cells)}; it must be a list of pairs (sample, level)")
    for cell in map(check_cell, cells):
        done = trials.setdefault(cell, [])
        if not isinstance(done, list) or (done and numbers(f"trials[{cell}]", done).shape != (len(done), 2)):
            raise DataError(f"trials[{cell}]={shown(done)}; it must be a list of pairs (correct, tokens)")
        while len(done) < m_min or (len(done) < m_max and noise(*zip(*done, strict=True)) >= tau):
            pair = numbers(f"evaluate{cell}", evaluate(*cell))
            if pair.shape != (2,):
                raise DataError(f"evaluate{cell} gave {shown(pair)}; it must give a pair (correct, tokens)")
            correct, tokens = pair.tolist()
            if not 0 <= correct <= 1 or not tokens > 0:
                raise DataError(f"evaluate{cell} gave ({correct:g}, {tokens:g}); correct is in [0, 1], tokens above 0")
            done.append((correct, tokens))
    return trials


def replay(
    correct: Float[np.ndarray, "samples levels trials"],
    tokens: Float[np.ndarray, "samples levels trials"],
    *,
    tau: float = 0.5,
    m_min: int = 3,
    m_max: int = 10,
) -> Int[np.ndarray, "samples levels"]:
    """How many of the recorded trials of each cell the adaptive rule would have used, taking them in order."""
    _check(tau, m_min, m_max)
    y, t = numbers("correct", correct), numbers("tokens", tokens)
    if y.ndim != 3 or y.shape != t.shape or y.shape[2] < m_max:
        raise DataError(f"correct {y.shape} and tokens {t.shape} must be (samples, levels, trials), trials >= {m_max}")
    used = np.full(y.shape[:2], m_min)
    for n in range(m_min, m_max):
        a, tok = y[..., :n], t[..., :n]
        cv = a.std(-1) / (a.mean(-1) + 1e-8) + tok.std(-1) / (tok.mean(-1) + 1e-8)
        used += (used == n) & (cv >= tau)
    return used


def allocate(cv: Any, budget: int, m_min: int = 3) -> Int[np.ndarray, "samples levels"]:
    """Trials of each cell under a fixed budget: m_min + floor((B - cells m_min) cv / sum cv), leftovers by largest
    remainder (ties to the earlier cell). The sum is exactly ``budget``.

    **cv**: (samples, levels), `noise` of each cell in a pilot, 0 or more; all zero shares the budget evenly.
    Raises `OptionError` where the budget is too small for ``m_min`` trials a cell.
    """
    cv = numbers("cv", cv)
    check_count("m_min", m_min, 0)
    check_count("budget", budget, 0)
    if cv.ndim != 2 or cv.size == 0:
        raise DataError(f"cv has shape {cv.shape}; it must be (samples, levels), none empty")
    if not np.all(np.isfinite(cv)) or np.any(cv < 0):
        raise DataError("cv must be finite numbers of 0 or more")
    spare = int(budget) - cv.size * m_min
    if spare < 0:
        raise OptionError(f"budget={budget} is too small: {cv.size} cells of {m_min} trials need {cv.size * m_min}")
    share = cv / cv.sum() if cv.sum() > 0 else np.full(cv.shape, 1 / cv.size)
    exact = spare * share
    given = np.floor(exact).astype(int)
    rest = np.argsort((given - exact).ravel(), kind="stable")[: spare - given.sum()]
    given.reshape(-1)[rest] += 1
    return m_min + given


def _check(tau: float, m_min: int, m_max: int) -> None:
    check_number("tau", tau, above=0)
    check_count("m_min", m_min)
    check_count("m_max", m_max)
    if m_min > m_max:
        raise OptionError(f"m_min={m_min} and m_max={m_max} must be 1 <= m_min <= m_max")


def check_cell(cell: Any) -> tuple[int, int]:
    if not isinstance(cell, tuple | list) or len(cell) != 2 or not all(isinstance(i, int | np.integer) for i in cell):
        raise DataError(f"cells holds {shown(cell)}; each cell must be a pair of whole numbers (sample, level)")
    return cell[0], cell[1]
