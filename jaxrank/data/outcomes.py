"""Arrays and nested lists of outcomes, as they are given, turned into whole categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.errors import DataError, one_line

MAX_CATEGORY = 255
MAX_CELLS = 2**31
"""Largest R that is read; beyond it the working copies would need over 40 GB."""


def as_outcomes(R: Any, levels: Any, mask: Any) -> tuple[np.ndarray, tuple[float, ...]]:
    """int16 (L, M, N) indices of categories, -1 where missing, and the value of each; `DataError` for anything else."""
    values, missing = _as_float_and_missing(R)
    if levels is None:
        missing |= values == -1
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
        raise DataError(f"R is infinite at {tuple(infinite[0].tolist())}; outcomes are whole numbers 0..C")
    if levels is not None:
        return _by_levels(values, missing, levels)
    bad = np.argwhere(((values != np.floor(values)) | (values < 0) | (values > MAX_CATEGORY)) & ~missing)
    if len(bad):
        at = tuple(bad[0].tolist())
        raise DataError(
            f"R[{', '.join(map(str, at))}] = {values[at]:g} is not an outcome: outcomes are whole numbers 0..C "
            f"(C at most {MAX_CATEGORY}), missing cells are -1, NaN or masked; {len(bad)} such cells. "
            "For graded scores pass levels=(0, 0.5, 1)"
        )
    outcomes = np.where(missing, -1, values).astype(np.int16)
    top = max(1, int(outcomes.max()))
    return outcomes, tuple(float(c) for c in range(top + 1))


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
        raise DataError(f"R holds values of type {array.dtype}; outcomes are whole numbers 0..C, booleans, or NaN")
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
