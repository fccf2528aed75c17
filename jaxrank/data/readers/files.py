"""Files as bytes and as text, plain or packed: every failure is one sentence, packed files have a limit."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from jaxrank.errors import DataError

PACKED = (".gz", ".zst")
"""Endings of packed files. What a file is decides by its first bytes, not by its ending."""
MAX_UNPACKED = 2**31
"""Bytes that one packed file, or one member of an archive, may unpack to."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What may go wrong between the disk and text, as a `DataError` that names the whole path."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder where a file is needed") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error).split("\n")[0] or "it ends too early"
        raise DataError(f"{path} cannot be read: {why}") from None


def packing(magic: bytes) -> str | None:
    """How a file that begins with these four bytes is packed; None where it is not."""
    return "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


class Stream(io.RawIOBase):
    """The bytes of a file, unpacked where it is packed. ``lines`` counts the line feeds that have passed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = 0
        self._total = 0
        self._file = path.open("rb")
        packed = packing(self._file.peek(4)[:4])
        self._packed = packed is not None
        self._bytes: Any = self._file
        if packed == "gzip":
            self._bytes = gzip.GzipFile(fileobj=self._file)
        elif packed == "zstd":
            import pyarrow as pa

            self._bytes = pa.CompressedInputStream(self._file, "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._bytes.readinto(buffer)
        self._total += n
        if self._packed and self._total > MAX_UNPACKED:
            raise DataError(
                f"{self.path} unpacks to more than {MAX_UNPACKED} bytes; unpack it and read the file that comes out"
            )
        self.lines += bytes(memoryview(buffer)[:n]).count(b"\n")
        return n

    def close(self) -> None:
        if not self.closed and hasattr(self, "_file"):  # a file that could not be opened has nothing to close
            self._file.close()
        super().close()


def open_bytes(path: Path) -> io.BufferedReader:
    """A file for reading, unpacked; use it inside `reading`."""
    return io.BufferedReader(Stream(path), 1 << 16)


def open_text(path: Path) -> IO[str]:
    """The same as UTF-8 text, line by line; a byte order mark is left out."""
    with path.open("rb") as file:
        magic = file.read(4)
    if packing(magic) is None:
        return path.open("rt", encoding="utf-8-sig", newline="\n")  # twice as fast as lines through a `Stream`
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="\n")


def text_of(path: Path) -> str:
    """The text of a file; `DataError` where it is not UTF-8 or empty."""
    with reading(path), open_bytes(path) as file:
        raw = file.read()
    if other := foreign(raw[:4]):
        raise DataError(f"{path} {other}")
    with reading(path):
        text = raw.decode("utf-8-sig")
    if not text.strip():
        raise DataError(f"{path} is empty")
    return text


def foreign(start: bytes) -> str:
    """What a file that begins so is, where that is no UTF-8 text; else ""."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "is UTF-16 text; save it as UTF-8"
    if start == b"PK\x03\x04":
        return "is a zip archive or a workbook, not text; save its table as csv"
    if start == b"PAR1":
        return "is a parquet file; name it .parquet"
    return ""


def suffixes_of(path: Path) -> tuple[str, str]:
    """The stem and the ending in lower case of a file's name, both without the ending of a packed file."""
    stem, suffix = os.path.splitext(path.name)
    if suffix.lower() in PACKED:
        stem, suffix = os.path.splitext(stem)
    return stem, suffix.lower()
