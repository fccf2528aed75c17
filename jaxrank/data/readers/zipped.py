"""Members of zip files, also of those packed with Zstandard, which Python itself reads from 3.14 on only."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from jaxrank.data.readers.files import MAX_UNPACKED
from jaxrank.errors import DataError

ZSTANDARD = 93
_UNREADABLE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, NotImplementedError, RuntimeError)


class Archive:
    """A zip file that is open for reading; errors are `DataError` with the file's name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from None
        try:
            self._zip = zipfile.ZipFile(self._file)
        except (*_UNREADABLE, ValueError) as error:
            self._file.close()
            raise DataError(f"{path} is not a complete zip file ({error}); was it cut off?") from None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> list[str]:
        return self._zip.namelist()

    def read(self, name: str) -> bytes:
        """The bytes of one member."""
        info = self._zip.getinfo(name)
        if info.file_size > MAX_UNPACKED:
            raise DataError(f"{self.path}: {name} unpacks to {info.file_size} bytes; at most {MAX_UNPACKED} are read")
        try:
            if info.compress_type != ZSTANDARD:
                return self._zip.read(info)
            raw = _unpack(self._packed(info), info.file_size)
            if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
                raise zipfile.BadZipFile("its check sum is wrong")
        except _UNREADABLE as error:
            raise DataError(f"{self.path}: {name} cannot be unpacked ({error})") from None
        return raw

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        # The local header repeats the name and may carry more extra bytes than the directory says.
        self._file.seek(info.header_offset)
        header = self._file.read(30)
        if len(header) < 30:
            raise EOFError("the file ends too early")
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        self._file.seek(name_length + extra_length, 1)
        packed = self._file.read(info.compress_size)
        if len(packed) < info.compress_size:
            raise EOFError("the file ends too early")
        return packed


def _unpack(packed: bytes, size: int) -> bytes:
    import pyarrow as pa

    with pa.input_stream(pa.py_buffer(packed), compression="zstd") as stream:
        return stream.read(size + 1)  # one byte more shows that the directory's size is wrong
