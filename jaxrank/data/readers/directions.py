"""Where lower scores are better, as a column of metrics or the columns beside the score tell question by question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxrank.data.readers.columns import Column, coded, lower_is_better, score_of
from jaxrank.data.readers.understand import Layout

METRIC = ("metric", "metric_name")


def companions(names: Sequence[str], layout: Layout) -> list[str]:
    """Columns beside the score that say which way it goes: the name of a metric, or the columns of losses from which a
    column called "result" is taken."""
    if (
        layout.kind != "trials"
        or layout.lower
        or layout.roles["score"].strip().lower() not in ("result", "value", "score")
    ):
        return []
    metric = [c for c in names if c.strip().lower() in METRIC]
    losses = [c for c in names if lower_is_better(c) and c not in layout.columns]
    return [c for c in (metric or losses) if c not in layout.columns]


def turned(parts: Sequence[tuple[Layout, dict[str, Column | np.ndarray]]], question: Column) -> list[str] | None:
    """The questions on which lower is better; None where there are none."""
    low, start = [], 0
    for layout, columns in parts:
        found = companions(list(columns), layout)
        score = _numbers(columns[layout.roles["score"]]) if found else np.zeros(0)
        rows = len(score)
        for name in found:
            if name.strip().lower() in METRIC:
                column = coded(columns[name])
                flags = np.array(
                    [*(lower_is_better(str(v)) and "neg" not in str(v).lower() for v in column.values), False]
                )
                hit = flags[column.codes]
            else:
                hit = (_numbers(columns[name]) == score) & ~np.isnan(score)
            codes = question.codes[start : start + rows]
            seen = ~np.isnan(score)
            of = np.bincount(codes[seen], hit[seen], len(question.values))
            all_of = np.bincount(codes[seen], minlength=len(question.values))
            low += [str(question.values[q]) for q in np.flatnonzero((of == all_of) & (all_of > 0))]
        start += rows
    return list(dict.fromkeys(low)) or None


def _numbers(column: Column | np.ndarray) -> np.ndarray:
    if isinstance(column, np.ndarray):
        return column
    table = np.full(len(column.values) + 1, np.nan)
    for code, value in enumerate(column.values):
        try:
            table[code] = score_of(value)
        except ValueError:
            table[code] = np.nan
    return table[column.codes]
