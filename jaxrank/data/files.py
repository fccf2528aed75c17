"""Writing files so that none is lost: looked at before the work, written beside the target, renamed when whole.

A file that `replacing` writes is at every moment the old one or the new one, whole, whenever the process is killed.
What a killed process leaves is a ``.jaxrank-*.part`` in the same folder, which nothing reads; the next save of the same
file sweeps those that are a day old. A folder (a zarr store) steps aside as ``.jaxrank-*.old`` for the moment between
two renames, and `left_aside` finds it where the process was killed in that moment.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import struct
import time
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.errors import DataError, OptionError

DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, EOFError, ValueError, TypeError, KeyError),
    *(AttributeError, IndexError, OverflowError, MemoryError, RuntimeError, SyntaxError),
)
"""What NumPy and the library of zip files raise on an npz that is damaged or none; a file that is absent is not among
them."""


_DAY = 86_400  # seconds after which a temporary file is taken for one that a killed process left


def as_path(path: Any) -> Path:
    """`DataError` for what is no path, and for a folder where a file is needed."""
    try:
        path = Path(path)
        folder = path.is_dir() and path.suffix != ".zarr"
    except (TypeError, ValueError, OSError):
        raise DataError(f"a file is named by its path, not by a {type(path).__name__}") from None
    if folder:
        raise DataError(f"{path} is a folder where a file is needed")
    return path


def check_target(path: str | os.PathLike[str], suffixes: Sequence[str], what: str) -> Path:
    """The path of a file that can be written; call it before long work.

    **suffixes**: the endings that choose a format. **what**: the subject of the sentence, in the plural ("replicates").
    `OptionError` for another ending, a folder that is missing or not to be written, and a target that is no file.
    """
    try:
        path = Path(path)
    except TypeError:
        raise OptionError(f"{what} are written to a path, not to {path!r}") from None
    if path.suffix not in suffixes:
        *most, last = suffixes
        endings = f"{', '.join(most)} or {last}" if most else last
        raise OptionError(f"{str(path)!r}: {what} are written as {endings}; choose a name with one of these endings")
    check_writable(path, what)
    return path


def check_writable(path: Path, what: str) -> None:
    """`OptionError` where a file (or a zarr store) cannot be put at ``path``."""
    folder = path.parent
    if not folder.is_dir():
        trouble = "is no folder" if folder.exists() else "does not exist; make it first"
        raise OptionError(f"{str(path)!r}: {what} cannot be written there, since {str(folder)!r} {trouble}")
    if path.exists() and not path.is_file() and path.suffix != ".zarr":
        kind = "a folder" if path.is_dir() else "no ordinary file"
        raise OptionError(f"{str(path)!r} is {kind}; {what} need a name of their own")
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise OptionError(f"{str(path)!r}: no permission to write {what} there; choose another place")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path beside ``path``, which takes its place when the block ends without an error.

    The writer makes the file (or the folder of a zarr store) at the temporary path. Links are followed, and a file that
    is replaced keeps its permissions.
    """
    path = Path(path)
    target = path.resolve() if path.is_symlink() else path
    sweep(target.parent, target)
    temporary = _beside(target, "part")
    try:
        yield temporary
        if temporary.is_dir():
            _swap_folder(temporary, target)
            return
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        _remove(temporary)
        raise


def create(path: Path, content: bytes) -> bool:
    """Make a file that was not there, whole at once; False, and nothing written, where there is one already."""
    temporary = _beside(path, "part")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)  # fails where the name is taken, unlike a rename
            return True
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            with contextlib.suppress(FileExistsError), path.open("xb") as file:
                file.write(content)
                return True
            return False
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def damage_named(path: Path, content: str) -> Iterator[None]:
    """Turns what reading a damaged file raises into one `DataError` that names the file. ``content``: what it should
    hold."""
    try:
        yield
    except DataError as error:
        raise (error if str(path) in str(error) else DataError(f"{path}: {error}")) from None
    except (*DAMAGED, OSError) as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path} does not hold {content}, or is damaged ({why}); save it again") from None


@contextlib.contextmanager
def reading_npz(path: Path, content: str) -> Iterator[Any]:
    """An npz file whose arrays are read when they are asked for, without pickles; errors as `damage_named`, and
    `OSError` where the file cannot be opened."""
    with path.open("rb") as raw, damage_named(path, content), np.load(raw, allow_pickle=False) as file:
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise DataError(f"{path} does not hold {content}: it is no npz file")
        yield file


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Text in UTF-8 with line ends as they are, in place of what was there."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def _swap_folder(temporary: Path, target: Path) -> None:
    """A folder cannot be renamed over another: the old one steps aside first, and comes back if the new one fails."""
    if not target.exists():
        os.replace(temporary, target)
        return
    aside = _beside(target, "old")
    os.replace(target, aside)
    try:
        os.replace(temporary, target)
    except BaseException:
        os.replace(aside, target)
        raise
    _remove(aside)


def sweep(folder: Path, target: Path | None = None) -> None:
    """Remove what killed processes left in a folder a day ago or earlier: beside one target, or all. An old folder
    stays while nothing stands in its place."""
    endings = (".part", ".old") if target is not None and target.exists() else (".part",)
    for path in folder.glob(f".jaxrank-{'' if target is None else _mark(target)}*"):
        with contextlib.suppress(OSError):  # another process swept it first
            if path.suffix in endings and time.time() - _last_touched(path) > _DAY:
                _remove(path)


def left_aside(path: str | os.PathLike[str]) -> Path | None:
    """The old content of a folder that is gone since a process was killed while it replaced it."""
    path = Path(path)
    if path.exists():
        return None
    return max(path.parent.glob(f".jaxrank-{_mark(path)}*.old"), key=_last_touched, default=None)


def _last_touched(path: Path) -> float:
    found = path.stat()
    return max(found.st_mtime, found.st_ctime)


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f".jaxrank-{_mark(target)}{secrets.token_hex(6)}.{ending}")


def _mark(target: Path) -> str:
    """Whose a temporary file is, in few letters, whatever the length of the name."""
    return f"{zlib.crc32(target.name.encode('utf-8', 'surrogatepass')):08x}-"


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
