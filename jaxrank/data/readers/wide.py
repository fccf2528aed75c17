"""Wide tables: a column for each model, for each question, or for each metric."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from jaxrank.data.readers.columns import Column, Peek, coded, number_of, remarked, score_of, shown, size_of
from jaxrank.errors import DataError

_MEASURES = re.compile(
    r"(^|[ _])(latency|tokens?|cost|costs|price|duration|seconds|runtime|minutes|time|length|difficulty|index|rows?|n|"
    r"num|number|year|size|samples)($|[ _])"
)
"""Words in the names of columns that measure something else than how well a model did."""
_SUMMARY = ("average", "avg", "mean", "overall", "total", "global average", "macro average", "sum", "median")
"""Columns and rows that sum up the others."""
_NUMBERED = re.compile(r"^(q|item|question|task|problem|prompt|instance|test|sample)s?[ _\-]?\d+$", re.IGNORECASE)


def values_of(peek: Peek, taken: Sequence[str | None]) -> tuple[list[str], list[str]]:
    """The columns that may be models or questions, and those of numbers that are left: totals and other measures."""
    rest = [c for c in dict.fromkeys(peek.names) if c not in taken and _scores(peek, c)]
    out = [c for c in rest if c.strip().lower() in _SUMMARY or _MEASURES.search(c.strip().lower())]
    return [c for c in rest if c not in out], out


def _scores(peek: Peek, name: str) -> bool:
    values = [v for v in peek.head.get(name, []) if not _absent(v)]
    return bool(values) and all(_readable(v) for v in values)


def _absent(value: object) -> bool:
    try:
        return score_of(value) != score_of(value)
    except ValueError:
        return False


def _readable(value: object) -> bool:
    for read in (score_of, remarked):
        try:
            read(value)
            return True
        except ValueError:
            continue
    return False


def numbered(names: Sequence[object]) -> bool:
    """Whether these are names of questions by their form: q1, q2, task_3."""
    return len(names) > 1 and all(_NUMBERED.match(str(name).strip()) for name in names)


def melt(
    label: Column, values: Sequence[str], columns: dict[str, Column | np.ndarray], notes: list[str], where: str
) -> tuple[Column, Column, np.ndarray]:
    """Row labels, column labels and scores of a wide table, one entry a cell, row by row.

    Rows that sum up the others are left out, and so is what follows a number in a cell: notes say so.
    """
    keep = np.ones(len(label.codes), bool)
    for code, value in enumerate(label.values):
        if str(value).strip().lower() in _SUMMARY:
            keep &= label.codes != code
            notes.append(f"row {shown(value)} sums up the others and was left out")
    cells = [_numbers(name, columns[name], notes, where) for name in values]
    rows = int(keep.sum())
    scores = np.stack([c[keep] for c in cells], axis=1).ravel()
    used, codes = np.unique(label.codes[keep], return_inverse=True)
    names = [None if c < 0 else label.values[c] for c in used]
    down = Column(np.where(used[codes] < 0, -1, codes).repeat(len(values)), names)
    across = Column(np.tile(np.arange(len(values)), rows), list(values))
    return down, across, scores


def _numbers(name: str, column: Column | np.ndarray, notes: list[str], where: str) -> np.ndarray:
    if isinstance(column, np.ndarray):
        return column
    table = np.full(len(column.values) + 1, np.nan)
    remarks = []
    for code, value in enumerate(column.values):
        try:
            table[code] = score_of(value)
        except ValueError:
            try:
                table[code] = remarked(value)
                remarks.append(value)
            except ValueError:
                raise DataError(
                    f"{where}row {column.first_row(code) + 1}, column {name!r}: {shown(value)} is not a score "
                    f"({int((column.codes == code).sum())} such rows)"
                ) from None
    if remarks:
        notes.append(f"column {name!r}: the number before the remark was read, as in {shown(remarks[0])}")
    return table[column.codes]


def weights_of(name: str, column: Column | np.ndarray, where: str) -> np.ndarray:
    """A column of weights: numbers of 0 or more."""
    column = coded(column)
    table = np.full(len(column.values) + 1, np.nan)
    for code, value in enumerate(column.values):
        try:
            table[code] = number_of(value)
        except ValueError:
            table[code] = np.nan
    found = table[column.codes]
    if (bad := ~(np.isfinite(found) & (found >= 0))).any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{where}row {row + 1}, column {name!r} is not a weight of 0 or more ({int(bad.sum())} such rows)"
        )
    return found


def rows_of(columns: dict[str, Column | np.ndarray]) -> int:
    """Number of rows of a table."""
    return size_of(next(iter(columns.values())))
