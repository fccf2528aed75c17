"""Long tables (one row a trial) to dense arrays, for scaling curves and judges."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.errors import DataError


def dense(
    frame: Any, axes: dict[str, str], values: dict[str, str], order: dict[str, tuple[Any, ...]] | None = None
) -> tuple[dict[str, np.ndarray], dict[str, tuple[Any, ...]]]:
    """Arrays with one axis for each of ``axes`` {name: column}, of each of ``values`` {name: column}; NaN where a row
    is absent. ``order`` {axis: labels} gives the order of an axis' labels, else they are sorted.

    Raises `DataError` for missing columns, values that are not numbers, and two rows for one cell.
    """
    columns = [str(c) for c in frame.columns]
    needed = [*axes.values(), *values.values()]
    absent = [c for c in needed if c not in columns]
    if absent:
        raise DataError(f"no column {', '.join(map(repr, absent))}; the columns are {', '.join(columns)}")
    if not len(frame):
        raise DataError("the table has no rows")
    index, labels = [], {}
    for name, column in axes.items():
        if order and name in order:
            place = {label: i for i, label in enumerate(order[name])}
            labels[name] = order[name]
            index.append(np.array([place[v] for v in frame[column]]))
            continue
        found, where = np.unique(np.asarray(frame[column]), return_inverse=True)
        labels[name] = tuple(found.tolist())
        index.append(where)
    shape = tuple(len(labels[name]) for name in axes)
    flat = np.asarray(np.ravel_multi_index(tuple(index), shape))
    if len(np.unique(flat)) < len(flat):
        twice = int(np.flatnonzero(np.bincount(flat) > 1)[0])
        cell = dict(zip(axes, np.unravel_index(twice, shape), strict=True))
        raise DataError(f"two rows for {', '.join(f'{a} {labels[a][int(i)]!r}' for a, i in cell.items())}")
    arrays = {}
    for name, column in values.items():
        try:
            numbers = np.asarray(frame[column], float)
        except (TypeError, ValueError):
            raise DataError(f"column {column!r} holds values that are not numbers") from None
        out = np.full(shape, np.nan)
        out.reshape(-1)[flat] = numbers
        arrays[name] = out
    return arrays, labels
