"""Tables of files for subcommands that read other columns than a model, a question and a score."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.errors import DataError


def read_frame(
    path: Path,
    names: Mapping[str, str],
    ordered: Mapping[str, str],
    numbers: Mapping[str, str],
    optional: Collection[str] = (),
) -> Any:
    """The named columns of a csv, jsonl or parquet file, plain or packed, as a pandas frame.

    Each argument is {role: column}; the flag ``--role-column`` names another. **names** stay the text that they are
    ("NA" too); **ordered** columns are numbers where all their values are, so that 1024 comes after 256; **numbers**
    are numbers, or words such as true and correct, and NaN where they are missing; **optional** columns are such where
    the file has them.
    Raises `DataError` with the row for empty names and for values that are not numbers.
    """
    import pandas as pd

    from jaxrank.data.readers import read_columns
    from jaxrank.data.readers.assemble import check_names, name_of, row_number
    from jaxrank.data.readers.columns import listed

    roles = {**names, **ordered, **numbers}
    if len(set(roles.values())) < len(roles):
        raise DataError(f"one column cannot play two roles: {', '.join(roles)} = {', '.join(roles.values())}")

    def pick(available: Any) -> list[str]:
        absent = [role for role, column in roles.items() if column not in available]
        if absent:
            flags = ", ".join(f"--{role}-column ..." for role in absent)
            raise DataError(
                f"{path}: no column {', '.join(repr(roles[role]) for role in absent)}; the columns are "
                f"{listed(available)}. Name it with {flags}"
            )
        found.update((name, name) for name in optional if name in available and name not in roles.values())
        return [*roles.values(), *found]

    found: dict[str, str] = {}
    columns = read_columns(path, pick)
    frame = {}
    for role, name in {**roles, **found}.items():
        column = columns[name]
        if not len(column.codes):
            raise DataError(f"{path}: there are no rows")
        if role in numbers or role in found:
            frame[name] = _numbers(path, name, column)[column.codes]
            continue
        check_names(column, name, f"{path}: ", row_number)
        labels = [name_of(v) for v in column.values]
        frame[name] = np.array(_ordered(labels) if role in ordered else labels, object)[column.codes]
    return pd.DataFrame(frame)


def _ordered(labels: list[str]) -> list[Any]:
    try:
        found = [float(label) for label in labels]
    except ValueError:
        return list(labels)
    return found if all(map(math.isfinite, found)) else list(labels)


def _numbers(path: Path, name: str, column: Any) -> np.ndarray:
    """The number behind each code of a column, and NaN for nulls, whose code is -1."""
    from jaxrank.data.readers.columns import decoded, score_of, shown

    at = lambda c: f"{path}: row {column.first_row(c) + 1}, column {name!r}: {shown(column.values[c])}"
    return decoded(column, score_of, lambda c: f"{at(c)} is not a number")
