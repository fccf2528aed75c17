"""Long tables as text: csv, tab or semicolon separated, plain or gzip."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from jaxrank.data.readers.columns import Coder, Column
from jaxrank.errors import DataError

BATCH = 512
"""Rows that are held as Python objects at a time: few enough to stay in the processor's cache (4 times faster)."""


def load(path: Path, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    """The columns that ``pick`` chooses from the header. Blank lines are skipped; a byte order mark is ignored.

    Raises `DataError` with the row for rows of another length, and for text that is not UTF-8.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            if not head.strip():
                raise DataError(f"{path.name} is empty: it has no header")
            delimiter = max(",\t;|", key=head.count)
            header = [c.strip() for c in next(csv.reader([head], delimiter=delimiter))]
            names = pick(header)
            if repeated := [c for c in names if header.count(c) > 1]:
                raise DataError(f"{path.name}: column {repeated[0]!r} appears twice in the header")
            return _columns(csv.reader(file, delimiter=delimiter), header, names, path.name)
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except (csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise DataError(f"{path.name} cannot be read as a table: {error}") from None


def _columns(reader, header: list[str], names: list[str], file_name: str) -> dict[str, Column]:
    width, at = len(header), [header.index(c) for c in names]
    coders = [Coder() for _ in names]
    n_rows = 0
    while batch := list(islice(reader, BATCH)):
        try:
            fields = list(zip(*batch, strict=True))
        except ValueError:
            fields = []
        if len(fields) != width:
            batch = [row for row in batch if row]
            for k, row in enumerate(batch):
                if len(row) != width:
                    raise DataError(
                        f"{file_name}: row {n_rows + k + 1} has {len(row)} fields, the header has {width} "
                        f"({', '.join(header)})"
                    )
            fields = list(zip(*batch, strict=True)) or [()] * width
        for coder, i in zip(coders, at, strict=True):
            coder.add(fields[i])
        n_rows += len(batch)
    return {name: coder.column() for name, coder in zip(names, coders, strict=True)}
