"""The scores of judges: ints (judges, candidates, questions), levels 0..M-1, -1 where a judge gave none."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_choice, check_count, check_number, shown

MOST_LEVELS = 1000
"""A judge has a matrix of levels by levels: larger scores are no levels."""


def checked_scores(
    scores: Any, n_levels: int | None = None
) -> tuple[Int[np.ndarray, "judges candidates questions"], int]:
    """The scores as int32 and the number of levels M: the largest score plus one, at least 2, unless given, and at most
    `MOST_LEVELS`."""
    try:
        values = np.asarray(scores, float)
    except (TypeError, ValueError, OverflowError):
        raise DataError("scores must be numbers of shape (judges, candidates, questions)") from None
    if values.ndim != 3 or 0 in values.shape:
        raise DataError(f"scores has shape {values.shape}; it needs (judges, candidates, questions), none empty")
    numbers = np.where(np.isnan(values), -1, values)
    if np.any(numbers != np.floor(numbers)) or numbers.min() < -1:
        raise DataError("scores must be whole levels 0, 1, ..., and -1 where a judge gave none")
    if numbers.max() < 0:
        raise DataError("scores holds no score at all")
    found = max(2, int(numbers.max()) + 1)
    if found > MOST_LEVELS:
        raise DataError(f"the largest score is {found - 1}; judges give at most {MOST_LEVELS:,} levels, 0, 1, ...")
    if n_levels is not None:
        check_count("n_levels", n_levels, 2, MOST_LEVELS)
    if n_levels is not None and n_levels < found:
        raise OptionError(f"n_levels={n_levels}, but the largest score is {found - 1}")
    return numbers.astype(np.int32), n_levels or found


def values_of(values: Any, n_levels: int) -> Float[np.ndarray, " levels"]:
    """The value of each level, 0..M-1 by default; `OptionError` unless they are M finite numbers."""
    if values is None:
        return np.arange(n_levels, dtype=float)
    check_number("values", values, ndim=1, length=n_levels)
    return np.asarray(values, float)


def level_counts(scores: Any, n_levels: int | None = None) -> Int[np.ndarray, "judges candidates levels"]:
    """How often each judge gave each candidate each level."""
    values, m = checked_scores(scores, n_levels)
    return np.stack([(values == level).sum(-1) for level in range(m)], axis=-1)


def split_own(
    scores: Any, own: Bool[np.ndarray, "judges candidates"], how: str = "leave_out"
) -> Int[np.ndarray, "judges_more candidates questions"]:
    """Scores with self-judging set apart: ``own[j, k]`` is True where candidate k is of judge j's own family.

    **how**: "leave_out" drops those scores; "own_matrix" moves them to an extra judge at the end, so that a judge of
    its own family has its own confusion matrix.
    """
    check_choice("how", how, ("leave_out", "own_matrix"))
    values, _ = checked_scores(scores)
    try:
        own = np.asarray(own, bool)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"own={shown(own)}; it must be True or False for each (judge, candidate)") from None
    if own.shape != values.shape[:2]:
        raise DataError(f"own has shape {own.shape}; it must be (judges, candidates) = {values.shape[:2]}")
    others = np.where(own[..., None], -1, values)
    if how == "leave_out":
        return others
    apart = np.where(own[..., None], values, -1)[own.any(1)]
    return np.concatenate([others, apart])
