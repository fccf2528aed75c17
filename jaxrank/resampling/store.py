"""Where the chunks of a study lie: a folder, or an address of fsspec (gs://, s3://, memory://).

Six verbs are enough: names, has, read, put, create, remove. `put` leaves the old content or the new one, whole;
`create` fails where the name is taken. Nothing asks for the time, since the clocks of many machines differ.
"""

from __future__ import annotations

import abc
import os
import re
from pathlib import Path
from typing import Any

from jaxrank.data.files import create, replacing, sweep
from jaxrank.errors import OptionError, one_line

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Store(abc.ABC):
    """Files of one folder by their names. `FileNotFoundError` where `read` finds none."""

    def __init__(self, name: str) -> None:
        self.name = name
        """The folder as messages name it."""

    def __str__(self) -> str:
        return self.name

    @abc.abstractmethod
    def names(self) -> list[str]:
        """All files, sorted."""

    @abc.abstractmethod
    def has(self, name: str) -> bool: ...

    @abc.abstractmethod
    def read(self, name: str) -> bytes: ...

    @abc.abstractmethod
    def put(self, name: str, content: bytes) -> None:
        """Write a file in place of what was there; it is at every moment the old one or the new one."""

    @abc.abstractmethod
    def scribble(self, name: str, content: bytes) -> None:
        """As `put`, for what need not outlive a failure of the machine and may be seen half-written."""

    @abc.abstractmethod
    def create(self, name: str, content: bytes) -> bool:
        """Make a file that was not there; False, and nothing written, where there is one."""

    @abc.abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file; one that is absent is no error."""


class Folder(Store):
    """A folder of this machine, or one that machines share; made where it is absent."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path
        sweep(path)

    def names(self) -> list[str]:
        return sorted(entry.name for entry in os.scandir(self.path) if entry.is_file())

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        with replacing(self.path / name) as temporary:
            temporary.write_bytes(content)

    def scribble(self, name: str, content: bytes) -> None:
        (self.path / name).write_bytes(content)

    def create(self, name: str, content: bytes) -> bool:
        return create(self.path / name, content)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


class Address(Store):
    """A folder that fsspec reaches. Objects of such stores are written whole."""

    def __init__(self, address: str) -> None:
        super().__init__(address.rstrip("/"))
        try:
            from fsspec.core import url_to_fs

            self.system, self.root = url_to_fs(self.name)
        except ImportError as error:
            raise OptionError(
                f"checkpoint {address!r} needs the package that reaches such addresses ({error}); install it, or "
                "name a folder"
            ) from None
        except ValueError as error:
            raise OptionError(f"checkpoint {address!r}: {one_line(str(error))}; name a folder") from None
        self.root = self.root.rstrip("/")

    def names(self) -> list[str]:
        self.system.invalidate_cache()
        try:
            found = self.system.ls(self.root, detail=True)
        except FileNotFoundError:
            return []
        return sorted(Path(entry["name"]).name for entry in found if entry["type"] == "file")

    def has(self, name: str) -> bool:
        self.system.invalidate_cache()
        return self.system.exists(self._path(name))

    def read(self, name: str) -> bytes:
        return self.system.cat_file(self._path(name))

    def put(self, name: str, content: bytes) -> None:
        self.system.makedirs(self.root, exist_ok=True)
        self.system.pipe_file(self._path(name), content)

    def scribble(self, name: str, content: bytes) -> None:
        self.put(name, content)

    def create(self, name: str, content: bytes) -> bool:
        self.system.makedirs(self.root, exist_ok=True)
        try:
            self.system.pipe_file(self._path(name), content, mode="create")
        except FileExistsError:
            return False
        except (TypeError, NotImplementedError, ValueError) as error:
            raise OptionError(
                f"checkpoint {self.name!r}: this store cannot make a file only where there is none "
                f"({one_line(str(error))}), which processes that share a study need; name another one"
            ) from None
        return True

    def remove(self, name: str) -> None:
        try:
            self.system.rm_file(self._path(name))
        except FileNotFoundError:
            return

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"


def open_store(directory: Any) -> Store:
    """The store of a checkpoint, made where it is absent; `OptionError` where it cannot be one. Call it before the
    work."""
    if isinstance(directory, str) and _ADDRESS.match(directory):
        return Address(directory)
    try:
        path = Path(directory)
        path.mkdir(parents=True, exist_ok=True)
    except TypeError:
        raise OptionError(f"checkpoint must be a directory, not {directory!r}") from None
    except (FileExistsError, NotADirectoryError):
        raise OptionError(f"checkpoint {str(directory)!r} is a file, or lies below one; name a directory") from None
    except OSError as error:
        raise OptionError(f"checkpoint {str(directory)!r} cannot be made: {error.strerror}") from None
    except ValueError as error:  # a zero byte in the name
        raise OptionError(f"checkpoint {str(directory)!r} is no name of a directory: {error}") from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise OptionError(f"checkpoint {str(directory)!r}: no permission to write there; choose another directory")
    return Folder(path)


def below(directory: Any, name: str) -> Any:
    """A folder within the directory of a checkpoint."""
    if isinstance(directory, str) and _ADDRESS.match(directory):
        return f"{directory.rstrip('/')}/{name}"
    return Path(directory) / name
