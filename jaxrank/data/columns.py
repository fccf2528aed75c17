"""What is known of questions and models beside their names: columns of a table, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jaxrank.data.names import name_list
from jaxrank.errors import DataError, one_line

Columns = Mapping[str, np.ndarray]
NO_COLUMNS: Columns = MappingProxyType({})
WEIGHT, GROUP, DIRECTION = "weight", "group", "higher_is_better"
_DEFAULTS: dict[str, Any] = {WEIGHT: 1.0, DIRECTION: True}


def names_and_columns(given: Any, size: int, noun: str) -> tuple[Any, dict[str, Any]]:
    """The names, and the other columns, of names alone or of a frame or mapping with a column called ``noun``."""
    if isinstance(given, Mapping):
        columns = {str(key): value for key, value in given.items()}
    elif hasattr(given, "columns") and hasattr(given, "__getitem__"):
        columns = {str(key): given[key] for key in given.columns}
    else:
        return given, {}
    columns = {key: as_column(value, size, f"column {key!r} of {noun}s") for key, value in columns.items()}
    names = columns.pop(noun, None)
    return None if names is None else names.tolist(), columns


def as_column(values: Any, size: int, what: str) -> np.ndarray:
    """A read-only column of ``size`` numbers, booleans or texts (object); `DataError` for another length."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"{what} must be a list of {size} values, not {one_line(values)}")
    entries = list(values)
    if len(entries) != size:
        raise DataError(f"{what} has {len(entries)} values; it needs {size}, one for each")
    array = np.array(entries) if entries else np.zeros(0)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        array = np.empty(size, object)
        array[:] = entries
    elif array.dtype.kind in "iuf":
        array = array.astype(np.float64)
    array.setflags(write=False)
    return array


def checked(columns: Mapping[str, Any], names: Sequence[str], noun: str) -> Columns:
    """The columns, those with a meaning held to it: weights of 0 or more, directions true or false, groups named."""
    size, out = len(names), {}
    for key, value in columns.items():
        if value is None:
            continue
        column = as_column(value, size, f"column {key!r} of {noun}s")
        if noun == "question" and key in _CHECKS:
            column = _CHECKS[key](column, names)
            column.setflags(write=False)
        out[key] = column
    return MappingProxyType(out)


def directions(lower_is_better: Any, names: Sequence[str]) -> np.ndarray | None:
    """bool (M,), True where higher is better, from one boolean, one for each question, or names of questions where
    lower is better; None where nothing was said."""
    if lower_is_better is None:
        return None
    if isinstance(lower_is_better, bool | np.bool_):
        return np.full(len(names), not lower_is_better)
    if isinstance(lower_is_better, str | bytes) or not isinstance(lower_is_better, Iterable):
        raise DataError(
            f"lower_is_better={one_line(lower_is_better)}; it must be True or False, one of these for each question, "
            "or a list of names of questions"
        )
    entries = list(lower_is_better)
    if all(isinstance(v, bool | np.bool_) for v in entries) and len(entries) == len(names):
        return ~np.array(entries, bool)
    unknown = [str(v) for v in entries if str(v) not in names]
    if unknown:
        raise DataError(
            f"lower_is_better names {name_list(unknown, range(len(unknown)))}, which the data do not have; the "
            f"questions are {name_list(names, range(len(names)))}"
        )
    return ~np.isin(np.array(names, object), [str(v) for v in entries])


def picked(columns: Columns, places: np.ndarray) -> dict[str, np.ndarray]:
    return {key: column[places] for key, column in columns.items()}


def merged(
    first: Columns, second: Columns, size: int, at: tuple[np.ndarray, np.ndarray], names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Columns of joined data: ``at`` are the places of the first and the second rows among all ``names``.

    `DataError` where both parts say something else of one row.
    """
    out = {}
    for key in dict.fromkeys([*first, *second]):
        whole = np.full(size, _DEFAULTS.get(key), object)
        said = np.zeros(size, bool)
        for part, rows in ((first, at[0]), (second, at[1])):
            if key not in part and key not in _DEFAULTS:
                continue
            new = part[key] if key in part else np.full(len(rows), _DEFAULTS[key], object)
            differs = [i for i, r in enumerate(rows) if said[r] and not _same(whole[r], new[i])]
            if differs:
                r = rows[differs[0]]
                raise DataError(
                    f"column {key!r} differs for {names[r]!r}: {whole[r]!r} in one part and {new[differs[0]]!r} in the "
                    "other; make them the same before joining"
                )
            whole[rows], said[rows] = new, True
        out[key] = as_column([np.nan if v is None and _numeric(key, first, second) else v for v in whole], size, key)
    return out


def _numeric(key: str, *parts: Columns) -> bool:
    return all(part[key].dtype.kind == "f" for part in parts if key in part)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b)  # NaN is as absent in one as in the other


def _weights(column: np.ndarray, names: Sequence[str]) -> np.ndarray:
    fine = [isinstance(v, float | bool | np.bool_) and 0 <= v < np.inf for v in column.tolist()]
    if not all(fine):
        bad = fine.index(False)
        raise DataError(f"weights must be finite numbers of 0 or more; that of {names[bad]!r} is {column[bad]!s}")
    if not np.any(column > 0):
        raise DataError("all weights are 0; at least one question must count")
    return column.astype(np.float64)


def _groups(column: np.ndarray, names: Sequence[str]) -> np.ndarray:
    empty = [i for i, v in enumerate(column) if v is None or v != v or str(v).strip() == ""]
    if empty:
        raise DataError(f"groups: {name_list(names, empty)} has no group; every question needs one")
    texts = np.empty(len(column), object)
    texts[:] = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in column]
    return texts


def _directions(column: np.ndarray, names: Sequence[str]) -> np.ndarray:
    if column.dtype.kind == "b" or (column.dtype.kind == "f" and np.all(np.isin(column, (0, 1)))):
        return column.astype(bool)
    raise DataError(f"{DIRECTION} must be true or false for each question, not {one_line(column.tolist())}")


_CHECKS = {WEIGHT: _weights, GROUP: _groups, DIRECTION: _directions}
