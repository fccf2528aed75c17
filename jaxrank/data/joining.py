"""Two results as one: models and questions matched by name, scales and columns brought together."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.columns import DIRECTION, merged
from jaxrank.data.kind import joined_notes, union
from jaxrank.errors import DataError


def joined(first: Any, second: Any) -> dict[str, Any]:
    """The fields of both `Responses` as one. Trials of a cell that both have follow each other; categories become real
    scores where one part has these; `DataError` where the parts contradict each other on a question or a model."""
    models, i = union(first.models, second.models)
    questions, m = union(first.questions, second.questions)
    at = np.arange(len(first.models)), np.arange(len(first.questions))
    shape = (len(models), len(questions))
    places = ((first, at), (second, (i, m)))
    if first.tie_within != second.tie_within:
        raise DataError(f"tie_within is {first.tie_within:g} in one part and {second.tie_within:g} in the other")
    fields: dict[str, Any] = {
        "models": models,
        "questions": questions,
        "notes": joined_notes(first, second),
        "question_columns": merged(first.question_columns, second.question_columns, shape[1], (at[1], m), questions),
        "model_columns": merged(first.model_columns, second.model_columns, shape[0], (at[0], i), models),
        "tie_within": first.tie_within,
        "balance": first.balance and second.balance,
        "missing": first.missing if first.missing == second.missing else "observed",
    }
    directions = fields["question_columns"].get(DIRECTION, np.ones(1, bool))
    mixed = directions.any() and not directions.all()
    if first.counts_only or second.counts_only:
        if "real" in (first.kind, second.kind) or mixed:
            raise DataError("counts cannot be joined with real scores; give the scores of single trials")
        if not (first.counts_only and second.counts_only):
            said = "one part is counts only, so the order of the trials of the other was dropped"
            fields["notes"] = (*fields["notes"], said)
        levels = tuple(sorted({*first.levels, *second.levels}))
        counts = np.zeros((*shape, len(levels)), np.int64)
        for part, rows in places:
            counts[np.ix_(*rows, np.array([levels.index(v) for v in part.levels]))] += part.counts
        return fields | {"counts": counts, "levels": levels}
    if "real" in (first.kind, second.kind) or mixed:
        parts = [(part.oriented, rows) for part, rows in places]
        return fields | {"real": _side_by_side(parts, shape, np.nan), "levels": ()}
    levels = tuple(sorted({*first.levels, *second.levels}))
    parts = [(np.array([*(levels.index(v) for v in p.levels), -1], np.int16)[p.outcomes], rows) for p, rows in places]
    return fields | {"outcomes": _side_by_side(parts, shape, -1), "levels": levels}


def _side_by_side(parts: list[tuple[np.ndarray, Any]], shape: tuple[int, int], missing: float) -> np.ndarray:
    """Both tables (models, questions, trials) in one: further trials where a cell has both, else the same trials."""
    (one, _), (two, _) = parts
    is_missing = np.isnan if missing != missing else (lambda x: x == missing)
    both = np.zeros(shape, int)
    for table, rows in parts:
        both[np.ix_(*rows)] += (~is_missing(table)).any(axis=2)
    begin = one.shape[2] if (both == 2).any() else 0
    out = np.full((*shape, max(one.shape[2], begin + two.shape[2])), missing, one.dtype)
    for (table, rows), start in zip(parts, (0, begin), strict=True):
        there = (*np.ix_(*rows), slice(start, start + table.shape[2]))
        out[there] = np.where(is_missing(table), out[there], table)
    return out
