"""What else is known of battles and ordered lists: columns of one value a row, or a value for each model of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxrank.errors import DataError

Columns = Mapping[str, np.ndarray]


def row_columns(columns: Any, size: int, noun: str, n_models: int | None = None) -> dict[str, np.ndarray]:
    """Columns of one value a row (size,): float64 where all values are numbers or absent, else objects with None where
    absent. With ``n_models`` also numbers for each model of a row, float64 (size, n_models).

    `DataError` names a column of another shape. ``noun``: what a row is.
    """
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) and name for name in columns):
        raise DataError(f"columns must map names to lists of one value a {noun}")
    return {name: _column(name, given, size, noun, n_models) for name, given in columns.items()}


def _column(name: str, given: Any, size: int, noun: str, n_models: int | None) -> np.ndarray:
    try:
        values = np.asarray(given)
    except ValueError:
        values = np.zeros(0)
    if n_models is not None and values.shape == (size, n_models):
        if values.dtype.kind not in "biuf":
            raise DataError(
                f"column {name!r} of the models of each {noun} holds texts; it needs numbers, NaN if absent"
            )
        return values.astype(np.float64)
    if values.shape != (size,) or isinstance(given, str | bytes):
        or_each = "" if n_models is None else f", or a table of {size} x {n_models} for each model of a {noun}"
        raise DataError(
            f"column {name!r} needs one value for each of {size} {noun}s{or_each}; it has shape {values.shape}"
        )
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    out = values.astype(object)
    if (none := np.array(out != out, bool)).any():
        out[none] = None
    return out


def absent(size: int, like: Sequence[np.ndarray]) -> np.ndarray:
    """A column of ``size`` rows without a value, of the kind of those that there are."""
    numbers = all(column.dtype.kind == "f" for column in like)
    return np.full(size, np.nan) if numbers else np.full(size, None, object)


def joined_columns(
    parts: Sequence[Columns], sizes: Sequence[int], places: Sequence[np.ndarray], n_models: int
) -> dict[str, np.ndarray]:
    """The columns of parts that follow each other, absent where a part has none. ``places``: of each part, which of
    all ``n_models`` its models are. `DataError` where a column is of rows in one part and of models in another."""
    out = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        like = [part[name] for part in parts if name in part]
        if len({column.ndim for column in like}) > 1:
            raise DataError(f"column {name!r} has a value for each order in one part and for each model in the other")
        rows = []
        for part, size, place in zip(parts, sizes, places, strict=True):
            if like[0].ndim == 1:
                rows.append(part[name] if name in part else absent(size, like))
                continue
            table = np.full((size, n_models), np.nan)
            if name in part:
                table[:, place] = part[name]
            rows.append(table)
        out[name] = np.concatenate(rows)
    return out
