"""Data frames in long form (pandas, polars, pyarrow, mappings of columns) and parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import files
from jaxrank.data.readers.columns import Column, code, code_arrow, listed
from jaxrank.data.readers.tables import Options
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

_MOST_PACKED = 1000
"""Times that a large parquet file may unpack to its size; tables of random scores stay below 200."""


class Frame(Protocol):
    """A data frame of any library."""

    @property
    def columns(self) -> Any: ...


def is_frame(data: Any) -> bool:
    """True for what `from_frame` reads: data frames of any library, arrow tables, mappings of columns."""
    return (
        hasattr(data, "__arrow_c_stream__")
        or isinstance(data, Mapping)
        or (hasattr(data, "columns") and hasattr(data, "__getitem__"))
    )


def from_frame(
    frame: Frame | Mapping[str, Any],
    *,
    model: str | None = None,
    question: str | None = None,
    trial: str | None = None,
    score: str | None = None,
    model_a: str | None = None,
    model_b: str | None = None,
    winner: str | None = None,
    count: str | None = None,
    winner_as: str | None = None,
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
) -> Responses | Comparisons:
    """A data frame in long form, one row a trial (or a battle), read as `read` reads a file, with its options."""
    if not is_frame(frame):
        raise DataError(f"a data frame is needed, or a mapping of columns, not a {type(frame).__name__}")
    options = Options(
        *(model, question, trial, score, model_a, model_b, winner, count, winner_as),
        *(levels, threshold, ties, bothbad),
    )
    columns = (
        _arrow_columns(frame, options.pick)
        if hasattr(frame, "__arrow_c_stream__")
        else _plain_columns(frame, options.pick)
    )
    rows = len(next(iter(columns.values())).codes)
    names = map(str, frame if isinstance(frame, Mapping) else getattr(frame, "columns", []))
    notes = [f"read {rows} rows of a data frame: columns {listed(columns)}", *options.unread(names, list(columns))]
    return options.build(columns, notes=notes)


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
    with open_parquet(path) as file:
        names = pick(file.schema_arrow.names)
        if repeated := [c for c in names if file.schema_arrow.names.count(c) > 1]:
            raise DataError(f"{path}: column {repeated[0]!r} appears twice")
        _check_rows(path, file.metadata.num_rows, len(names))
        table = file.read(columns=names)
        return {name: code_arrow(table.column(name)) for name in names}


def _check_rows(path: Path, rows: int, columns: int) -> None:
    """A column of one value repeated, or a header that lies, makes many rows of few bytes."""
    size, unpacked = path.stat().st_size, 8 * rows * columns
    if unpacked > max(files.MAX_UNPACKED, _MOST_PACKED * size):
        raise DataError(
            f"{path} says that its {size:,} bytes unpack to {rows:,} rows; of a file that is packed more than "
            f"{_MOST_PACKED:,} times at most {files.MAX_UNPACKED:,} bytes are read; write it as csv"
        )


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """A parquet file for reading; what is wrong with it is a `DataError` that names it."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with path.open("rb") as raw, parquet.ParquetFile(raw) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise DataError(f"{path} is not a readable parquet file: {why}") from None
