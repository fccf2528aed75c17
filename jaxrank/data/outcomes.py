"""Arrays and nested lists of scores, as they are given: whole categories where they are, else real numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jaxrank.errors import DataError, OptionError, one_line

MAX_CATEGORY = 255
MAX_CELLS = 2**31
"""Largest R that is read; beyond it the working copies would need over 40 GB."""
KINDS = ("binary", "graded", "real")


class Scores(NamedTuple):
    """**outcomes**: int16 (L, M, N), -1 where missing, and **levels**, the value of each category; or **real**: float64
    (L, M, N), NaN where missing. What is not there is None. **notes**: what was assumed."""

    outcomes: np.ndarray | None
    levels: tuple[float, ...]
    real: np.ndarray | None
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        table = self.outcomes if self.real is None else self.real
        return () if table is None else table.shape


def as_scores(R: Any, levels: Any = None, mask: Any = None, kind: str | None = None) -> Scores:
    """Categories where ``levels`` name them or the scores are whole numbers 0..C, else real numbers; ``kind`` decides
    where given. `DataError` for anything else."""
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise OptionError(f"kind={kind!r}; it must be one of {', '.join(map(repr, KINDS))}, or None")
    if kind == "real" and levels is not None:
        raise OptionError('levels name categories, which kind="real" does not have; leave one of them out')
    values, missing = _cells(R, mask)
    if levels is not None:
        return _of_kind(Scores(*_by_levels(values, missing, levels), None), kind)
    whole = (values == np.floor(values)) & (values >= -1) & (values <= MAX_CATEGORY)
    if kind != "real" and np.all(whole | missing):
        missing |= values == -1
        outcomes = np.where(missing, -1, values).astype(np.int16)
        top = max(1, int(outcomes.max()))
        return _of_kind(Scores(outcomes, tuple(float(c) for c in range(top + 1)), None), kind)
    if kind in ("binary", "graded"):
        grid = np.unique(values[~missing])
        if len(grid) > (2 if kind == "binary" else MAX_CATEGORY + 1):
            at = tuple(np.argwhere(~whole & ~missing)[0].tolist())
            raise DataError(
                f'kind="{kind}": R has {len(grid)} distinct scores, R[{", ".join(map(str, at))}] = {values[at]:g} '
                'among them; pass the levels, or kind="real"'
            )
        return Scores(*_by_levels(values, missing, grid), None)
    low = int(((values == -1) & ~missing).sum())
    said = (f"{low} cells of -1 are scores, as the data are real numbers; where they mean missing write NaN",)
    return Scores(None, (), np.where(missing, np.nan, values), said if low else ())


def _of_kind(scores: Scores, kind: str | None) -> Scores:
    if kind == "binary" and len(scores.levels) > 2:
        raise DataError(
            f'kind="binary": R has the {len(scores.levels)} categories {one_line(scores.levels)}; turn R into 0 and 1, '
            "for example R >= threshold"
        )
    return scores


def _cells(R: Any, mask: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores (L, M, N) with -1 in missing cells, and which are missing."""
    values, missing = _as_float_and_missing(R)
    if values.ndim == 2:
        values, missing = values[:, :, None], missing[:, :, None]
    if values.ndim != 3:
        raise DataError(
            f"R has {values.ndim} axes, shape {values.shape}; it needs (models, questions) "
            "or (models, questions, trials)"
        )
    for axis, size in zip(("models", "questions", "trials"), values.shape, strict=True):
        if size == 0:
            raise DataError(f"R has no {axis}: the {axis} axis is empty (shape {values.shape})")
    if mask is not None:
        try:
            mask = np.asarray(mask)
        except ValueError:
            raise DataError("mask is ragged; it needs the shape of R") from None
        if mask.dtype.kind not in "biuf":
            raise DataError(f"mask holds values of type {mask.dtype}; it needs booleans, True where a cell is missing")
        mask = mask.astype(bool)
        if mask.ndim == 2:
            mask = mask[:, :, None]
        try:
            missing = missing | np.broadcast_to(mask, values.shape)
        except ValueError:
            raise DataError(f"mask has shape {mask.shape}, R has {values.shape}; they must agree") from None
    infinite = np.argwhere(np.isinf(values) & ~missing)
    if len(infinite):
        raise DataError(f"R is infinite at {tuple(infinite[0].tolist())}; scores are finite numbers")
    return values, missing


def as_counts(successes: Any, trials: Any) -> tuple[np.ndarray, np.ndarray]:
    """int64 (L, M) both; `DataError` for what are no counts of successes of trials."""
    try:
        k, n = np.asarray(successes), np.asarray(trials)
    except ValueError:
        raise DataError("successes and trials need one number for every model and question") from None
    if k.ndim != 2:
        raise DataError(f"successes has shape {k.shape}; it needs two axes (models, questions)")
    try:
        n = np.broadcast_to(n, k.shape)
    except ValueError:
        raise DataError(f"trials has shape {n.shape}, successes {k.shape}; they must agree") from None
    for name, x in (("successes", k), ("trials", n)):
        if x.dtype.kind not in "iufb" or not np.all(np.isfinite(x)) or np.any(x != np.floor(x)) or np.any(x < 0):
            raise DataError(f"{name} must be whole numbers of 0 or more")
    bad = np.argwhere(k > n)
    if len(bad):
        i, m = bad[0]
        raise DataError(f"successes exceed trials at (model {i}, question {m}): {k[i, m]} of {n[i, m]}")
    return k.astype(np.int64), n.astype(np.int64)


def _as_float_and_missing(R: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(R, np.ma.MaskedArray):
        values, missing = _as_float_and_missing(np.ma.getdata(R))
        return values, missing | np.ma.getmaskarray(R)
    try:
        array = np.asarray(R)
    except ValueError:
        array = _pad_ragged(R)
    if array.dtype.kind == "O":
        try:
            array = np.array([np.nan if v is None else v for v in array.ravel().tolist()], dtype=np.float64).reshape(
                array.shape
            )
        except (TypeError, ValueError, OverflowError):
            array = _pad_ragged(R)
    if array.size > MAX_CELLS:
        raise DataError(
            f"R has {array.size} cells, shape {array.shape}; at most {MAX_CELLS} are read. "
            "Pass successes and trials to Responses.from_counts instead"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"R holds values of type {array.dtype}; scores are numbers, booleans, or NaN. With names they are columns "
            "of a table, as jaxrank.from_frame reads it; battles are jaxrank.Comparisons(a, b, outcome)"
        )
    values = array.astype(np.float64)
    missing = np.isnan(values)
    return np.where(missing, -1.0, values), missing


def _pad_ragged(R: Any) -> np.ndarray:
    """Nested lists with unequal numbers of trials -> float (L, M, N) with NaN after the last trial of a cell."""
    try:
        cells = [[[np.nan if v is None else float(v) for v in np.ravel(cell).tolist()] for cell in row] for row in R]
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "R cannot be read as numbers; it needs shape (models, questions) or (models, questions, trials)"
        ) from None
    widths = {len(row) for row in cells}
    if len(widths) > 1:
        raise DataError(
            f"the models of R have different numbers of questions: {sorted(widths)}; pad with missing cells"
        )
    n_trials = max((len(cell) for row in cells for cell in row), default=0)
    out = np.full((len(cells), widths.pop() if widths else 0, n_trials), np.nan)
    for i, row in enumerate(cells):
        for m, cell in enumerate(row):
            out[i, m, : len(cell)] = cell
    return out


def _by_levels(values: np.ndarray, missing: np.ndarray, levels: Any) -> tuple[np.ndarray, tuple[float, ...]]:
    try:
        grid = np.asarray(levels, float)
    except (TypeError, ValueError, OverflowError):
        grid = np.zeros(0)
    if grid.ndim != 1 or len(grid) < 2 or np.any(np.diff(grid) <= 0) or not np.all(np.isfinite(grid)):
        raise DataError(f"levels must be two or more finite numbers in ascending order, not {one_line(levels)}")
    index = np.clip(np.searchsorted(grid, values), 0, len(grid) - 1)
    bad = np.argwhere((grid[index] != values) & ~missing)
    if len(bad):
        at = tuple(bad[0].tolist())
        raise DataError(
            f"R[{', '.join(map(str, at))}] = {values[at]:g} is not one of the levels {tuple(grid.tolist())}; missing "
            "cells are NaN or masked"
        )
    return np.where(missing, -1, index).astype(np.int16), tuple(grid.tolist())
