"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.readers import files
from jaxrank.data.readers.columns import Column, Peek, code_arrow, numbers_arrow
from jaxrank.errors import DataError

HEAD = 50
"""Rows that are looked at to understand a table."""
_MOST_PACKED = 1000
"""Times that a large parquet file may unpack to its size; tables of random scores stay below 200."""


def peek(path: Path) -> Peek:
    """The names of the columns of a parquet file, and their first values."""
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        flat = [name for name in dict.fromkeys(names) if names.count(name) == 1 and _flat(file.schema_arrow, name)]
        first = next(file.iter_batches(batch_size=HEAD, columns=flat), None)
        return Peek(names, {} if first is None else {n: first.column(n).to_pylist() for n in flat})


def load(
    path: Path, pick: Callable[[Sequence[str]], list[str]], numbers: Container[str] = ()
) -> dict[str, Column | np.ndarray]:
    """The columns that ``pick`` chooses from a parquet file; numbers in ``numbers`` as float64."""
    with open_parquet(path) as file:
        names = pick(file.schema_arrow.names)
        if repeated := [c for c in names if file.schema_arrow.names.count(c) > 1]:
            raise DataError(f"{path}: column {repeated[0]!r} appears twice")
        _check_rows(path, file.metadata.num_rows, len(names))
        table = file.read(columns=names)
        read = lambda name: numbers_arrow if name in numbers else code_arrow
        return {name: read(name)(table.column(name)) for name in names}


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


def _flat(schema: Any, name: str) -> bool:
    import pyarrow as pa

    return not pa.types.is_nested(schema.field(name).type)
