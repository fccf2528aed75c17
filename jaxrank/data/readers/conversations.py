"""What arena logs tell of the two answers beside the vote (``conv_metadata``): their tokens and marks, as columns."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrank.data.readers.columns import Column

NAME = "conv_metadata"
_OF_SIDES = {
    "length": "sum_assistant_{}_tokens",
    "headers": "header_count_{}",
    "lists": "list_count_{}",
    "bold": "bold_count_{}",
}
_OF_BOTH = {"turns": "turns", "user_tokens": "sum_user_tokens"}


def conversation(column: Column) -> dict[str, np.ndarray]:
    """``length_a``, ``length_b`` (tokens), ``headers_a`` and so on, ``turns`` and ``user_tokens``, float64 (rows,) each
    and NaN where the log says nothing; those of which it says nothing at all are left out. Counts by kind are added."""
    found = [_mapping(value) for value in column.values]
    keys = {f"{name}_{side}": key.format(side) for name, key in _OF_SIDES.items() for side in "ab"} | _OF_BOTH
    tables = {name: np.array([*(_total(one.get(key)) for one in found), np.nan]) for name, key in keys.items()}
    return {name: table[column.codes] for name, table in tables.items() if not np.isnan(table).all()}


def _mapping(value: Any) -> Mapping[str, Any]:
    """An object, also one that a table holds as text; an empty one for anything else."""
    for read in (json.loads, ast.literal_eval):
        if isinstance(value, str):
            try:
                value = read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value if isinstance(value, Mapping) else {}


def _total(value: Any) -> float:
    if isinstance(value, Mapping):
        return float(np.sum([_total(v) for v in value.values()]))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
