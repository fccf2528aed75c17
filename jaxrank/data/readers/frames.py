"""Data frames in long form (pandas, polars, pyarrow, mappings of columns) and parquet files."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers.columns import Column, code, code_arrow
from jaxrank.data.readers.tables import Options
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


def is_frame(data: Any) -> bool:
    """True for what `from_frame` reads: data frames of any library, arrow tables, mappings of columns."""
    return (
        hasattr(data, "__arrow_c_stream__")
        or isinstance(data, Mapping)
        or (hasattr(data, "columns") and hasattr(data, "__getitem__"))
    )


def from_frame(
    frame: Any,
    *,
    model: str | None = None,
    question: str | None = None,
    trial: str | None = None,
    score: str | None = None,
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
) -> Responses | Comparisons:
    """A data frame in long form, one row a trial (or a battle), read as `read` reads a file, with its options."""
    options = Options(model, question, trial, score, levels, threshold, ties, bothbad)
    columns = _arrow_columns(frame, options.pick) if _arrow_ready(frame) else _plain_columns(frame, options.pick)
    rows = len(next(iter(columns.values())).codes)
    return options.build(columns, notes=[f"read {rows} rows of a data frame: {_roles(columns)}"])


def _roles(columns: Mapping[str, Column]) -> str:
    return "columns " + ", ".join(columns)


def _arrow_ready(frame: Any) -> bool:
    if not hasattr(frame, "__arrow_c_stream__"):
        return False
    try:
        importlib.import_module("pyarrow")
    except ImportError:
        return False
    return True


def _arrow_columns(frame: Any, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    import pyarrow as pa

    names = pick([str(c) for c in getattr(frame, "columns", [])]) if not isinstance(frame, pa.Table) else None
    if names is None:
        names = pick(frame.column_names)
        table = frame.select(names)
    else:
        # Only the columns in use are converted: others may hold objects that arrow does not know.
        try:
            table = pa.table(frame[names])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return _plain_columns(frame, lambda _: names)
    return {name: code_arrow(table.column(name)) for name in names}


def _plain_columns(frame: Any, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    columns = {}
    for name in pick(names):
        values = frame[name]
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise DataError(f"column {name!r} is {type(values).__name__}, not a list of values")
        values = np.asarray(values, object) if not isinstance(values, list) else values
        columns[name] = code(values if isinstance(values, list) else values.ravel().tolist())
    lengths = {name: len(c.codes) for name, c in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError("columns have different lengths: " + ", ".join(f"{k} {v}" for k, v in lengths.items()))
    return columns


def load_parquet(path: Path, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    """The columns that ``pick`` chooses from a parquet file."""
    pa, parquet = need_pyarrow(path.name)
    try:
        with parquet.ParquetFile(path) as file:
            names = pick(file.schema_arrow.names)
            table = file.read(columns=names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is not a readable parquet file: {str(error).splitlines()[0]}") from None
    return {name: code_arrow(table.column(name)) for name in names}


def need_pyarrow(what: str) -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet, imported now; `DataError` with the way to install them."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(f"{what} needs pyarrow: pip install pyarrow") from None
