"""Long tables as text: comma, tab, semicolon or bar separated, plain or packed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.readers.columns import Column, Peek, code_arrow, listed
from jaxrank.data.readers.files import Stream, foreign, reading
from jaxrank.errors import DataError

BLOCK = 1 << 22
"""Bytes that are parsed at a time."""
LONGEST = 1 << 30
"""Bytes of the longest row that is read; rows beyond `BLOCK` take a second look at the file."""
DELIMITERS = ",\t;|"
INDEX = "index"
"""What the first column is called where its header is empty, as data frames write their index."""
_SAMPLE = 1 << 16


HEAD = 50
"""Rows that are looked at to understand a table."""


def peek(path: Path) -> Peek:
    """The header and the first rows; what is wrong with the rows is left to `load`."""
    with reading(path), Stream(path) as stream:
        table = _Table(stream)
        text = table.more().decode("utf-8", "replace")
    limit = csv.field_size_limit(2**31 - 1)
    try:
        rows = [r for r in islice(csv.reader(io.StringIO(text), delimiter=table.delimiter), 2 * HEAD) if r]
    except csv.Error:
        rows = []
    finally:
        csv.field_size_limit(limit)
    some = rows if len(text) < _SAMPLE else rows[:-1]  # the last one may be cut
    whole = [row for row in some[:HEAD] if len(row) == len(table.header)]
    return Peek(table.header, {name: [row[k] for row in whole] for k, name in enumerate(table.header)})


def load(
    path: Path,
    pick: Callable[[Sequence[str]], list[str]],
    numbers: Container[str] = (),
    ragged: list[int] | None = None,
) -> dict[str, Column | np.ndarray]:
    """The columns that ``pick`` chooses from the header, as text; those in ``numbers`` that hold nothing but numbers
    and empty fields as float64. Blank lines are skipped; a byte order mark and the kind of line ends are ignored. Words
    such as NA and null stay the words that they are. **ragged**: where given, rows of another length are left out and
    their numbers of fields put there.

    Raises `DataError` with the row for rows of another length, quotes that are not closed, and text in a column that
    is read which is not UTF-8.
    """
    with reading(path), Stream(path) as stream:
        table = _Table(stream)
        names = pick(table.header)
        if repeated := [c for c in names if table.header.count(c) > 1]:
            raise DataError(f"{path}: column {repeated[0]!r} appears twice in the header")
        places = [table.header.index(c) for c in names]
        columns = table.read(places, [c in numbers for c in names], ragged)
    for name, column in zip(names, columns, strict=True):
        _refuse_nul(path, name, column)
    return dict(zip(names, columns, strict=True))


class _Table:
    """A stream of text whose header has been read."""

    def __init__(self, stream: Stream, block: int = BLOCK) -> None:
        self.path = stream.path
        self.block = block
        self._stream = stream
        self._start = b""
        lines = self._lines()
        first = next((line for line in lines if line.strip()), "")
        if not first:
            raise DataError(f"{self.path} is empty: it has no header")
        self.delimiter = max(DELIMITERS, key=first.count)
        try:
            row = next(csv.reader(chain([first], lines), delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            raise DataError(f"{self.path}: the header cannot be read: {error}") from None
        self.header = [c.strip() for c in row]
        if len(self.header) > 1 and not self.header[0]:
            self.header[0] = INDEX
        if any("\0" in c for c in row):
            raise DataError(f"{self.path} holds NUL bytes: it is no table in text")

    def _lines(self) -> Iterator[str]:
        """Lines from the start of the stream; what was read beyond them stays in ``_start``."""
        self._start = self._more(b"")
        if other := foreign(self._start[:4]):
            raise DataError(f"{self.path} {other}")
        self._start = self._start.removeprefix(b"\xef\xbb\xbf")
        while self._start:
            end = _end_of_line(self._start)
            while end < 0 and (more := self._more(self._start)) != self._start:
                if len(more) > 2 * BLOCK:
                    raise DataError(f"{self.path} has a first line of more than {BLOCK} bytes: it is no table in text")
                self._start = more
                end = _end_of_line(self._start)
            end = len(self._start) if end < 0 else end
            line, self._start = self._start[:end], self._start[end:]
            yield line.decode("utf-8")

    def more(self) -> bytes:
        """Some of the rows, for a look at them."""
        while len(self._start) < _SAMPLE and (more := self._more(self._start)) != self._start:
            self._start = more
        return self._start

    def _more(self, start: bytes) -> bytes:
        return start + (self._stream.read(max(1 << 16, len(start))) or b"")

    def read(
        self, places: list[int], numbers: list[bool] | None = None, ragged: list[int] | None = None
    ) -> list[Column | np.ndarray]:
        """The columns at these places of the header, and whether each should be numbers."""
        import pyarrow as pa

        numbers = numbers or [False] * len(places)
        n_ragged = 0 if ragged is None else len(ragged)
        columns = {k: Numbers() if number else Texts() for k, number in zip(places, numbers, strict=True)}
        before = self._stream.lines - self._start.count(b"\n")
        n_rows = 0
        try:
            for batch in self._batches(columns, ragged):
                n_rows += batch.num_rows
                for k, column in columns.items():
                    column.add(batch.column(str(k)))
        except pa.ArrowInvalid as error:
            said = str(error)
            if "Empty CSV file" in said:
                return [Column(np.zeros(0, np.int64), []) for _ in places]
            words = re.match(r"In CSV column #(\d+): CSV conversion error to double", said)
            longer = "straddl" in said and self.block < LONGEST
            if words is None:
                _check(self.path, self.header, places, self.delimiter)
            if words is None and not longer:
                raise DataError(f"{self.path} cannot be read as a table: {said.splitlines()[0]}") from None
            if ragged is not None:
                del ragged[n_ragged:]
            numbers = [n and (words is None or k != int(words[1])) for k, n in zip(places, numbers, strict=True)]
            with Stream(self.path) as stream:
                return _Table(stream, LONGEST if longer else self.block).read(places, numbers, ragged)
        if self._stream.lines - before > n_rows and not ragged:
            # Some fields hold line ends (or there are blank lines): is each of their quotes closed in its place?
            _check(self.path, self.header, places, self.delimiter)
        done = {k: columns.pop(k).column() for k in list(columns)}
        pa.default_memory_pool().release_unused()
        return [done[k] for k in places]

    def _batches(self, columns: Mapping[int, Any], ragged: list[int] | None) -> Iterator[Any]:
        """The rows, a block at a time, so that the text of a long table is never in memory as a whole."""
        from pyarrow import csv as arrow

        leave_out = None if ragged is None else lambda row: ragged.append(row.actual_columns) or "skip"
        reader = arrow.open_csv(
            io.BufferedReader(_Joined(self._start, self._stream), BLOCK),
            read_options=arrow.ReadOptions(
                column_names=[str(k) for k in range(len(self.header))], block_size=self.block
            ),
            parse_options=arrow.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=leave_out
            ),
            convert_options=arrow.ConvertOptions(
                include_columns=list(map(str, columns)),
                column_types={str(k): column.kind() for k, column in columns.items()},
                null_values=[""],
                strings_can_be_null=False,
            ),
        )
        with reader:
            while True:
                try:
                    yield reader.read_next_batch()
                except StopIteration:
                    return


class Texts:
    """A column of text from the blocks of a table, each coded by arrow."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []

    @staticmethod
    def kind() -> Any:
        import pyarrow as pa

        return pa.dictionary(pa.int32(), pa.string())

    def add(self, block: Any) -> None:
        self._blocks.append(block)

    def column(self) -> Column:
        import pyarrow as pa

        # What arrow keeps of blocks that are done with would be up to twice the table.
        one = pa.chunked_array(self._blocks, self.kind()).unify_dictionaries().combine_chunks()
        self._blocks.clear()
        pa.default_memory_pool().release_unused()
        return code_arrow(one, clean=True)


class Numbers:
    """A column of numbers and empty fields from the blocks of a table."""

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []

    @staticmethod
    def kind() -> Any:
        import pyarrow as pa

        return pa.float64()

    def add(self, block: Any) -> None:
        self._blocks.append(block.to_numpy(zero_copy_only=False))

    def column(self) -> np.ndarray:
        return np.concatenate(self._blocks) if self._blocks else np.zeros(0)


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of their stream."""

    def __init__(self, start: bytes, stream: Stream) -> None:
        self._start = io.BytesIO(start)
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._start.readinto(buffer) or self._stream.readinto(buffer)


def _end_of_line(text: bytes) -> int:
    """Where the first line ends, -1 where that is not known yet."""
    feed, back = text.find(b"\n"), text.find(b"\r")
    if back >= 0 and (feed < 0 or back < feed - 1):
        return back + 1 if back + 1 < len(text) else -1
    return feed + 1 if feed >= 0 else -1


def _check(path: Path, header: list[str], places: list[int], delimiter: str) -> None:
    """Read the file again, row by row and strictly, for the place of what is wrong with it."""
    limit = csv.field_size_limit(2**31 - 1)
    n_rows = -1
    try:
        with io.TextIOWrapper(io.BufferedReader(Stream(path)), "utf-8-sig", "surrogateescape", newline="") as file:
            for row in csv.reader(file, delimiter=delimiter, strict=True):
                if not row:
                    continue
                n_rows += 1
                if len(row) != len(header):
                    raise DataError(
                        f"{path}: row {n_rows} has {len(row)} fields, the header has {len(header)} "
                        f"({listed(header, 12)}); errors='missing' leaves such rows out"
                    )
                for k in places:
                    if not row[k].isascii() and any("\udc80" <= ch <= "\udcff" for ch in row[k]):
                        raise DataError(
                            f"{path}: row {n_rows}, column {header[k]!r} is not UTF-8 text; save the file as UTF-8"
                        )
    except csv.Error as error:
        raise DataError(
            f"{path}: row {n_rows + 1}: a quoted field is not closed, or text follows its closing quote ({error})"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _refuse_nul(path: Path, name: str, column: Column | np.ndarray) -> None:
    if isinstance(column, np.ndarray):
        return
    for k, value in enumerate(column.values):
        if "\0" in value:
            raise DataError(
                f"{path}: row {column.first_row(k) + 1}, column {name!r} holds NUL bytes: it is no table in text"
            )
