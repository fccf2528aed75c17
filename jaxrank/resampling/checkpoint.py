"""Finished chunks on disk: a study that was killed goes on where it stood and ends with the same bits.

A directory holds ``manifest.json`` (what the study is, and a hash of it) and one file for each chunk of replicates,
``000000000-000004096.npz``. Files are written to a temporary name in the directory, synced, and renamed, so that a file
is either absent or whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from jaxrank.errors import OptionError

MANIFEST = "manifest.json"


class Checkpoint:
    """The chunks of one method of one study in a directory.

    ``configuration`` is JSON data that determines the bits of every replicate; the number of replicates is not part of
    it, so that a study can be made longer. `OptionError` where the directory holds another study.
    """

    def __init__(self, directory: str | os.PathLike, configuration: Mapping[str, Any], chunk: int) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / MANIFEST
        if path.exists():
            stored = json.loads(path.read_text())
            _refuse_other(self.directory, stored, configuration)
            self.chunk = int(stored["chunk"])
            return
        self.chunk = chunk
        manifest = {"hash": digest_of(configuration), "chunk": chunk, "configuration": dict(configuration)}
        _write(path, lambda f: f.write(json.dumps(manifest, indent=1, sort_keys=True).encode()))

    def load(self, start: int, stop: int) -> dict[str, np.ndarray] | None:
        """The arrays of replicates start..stop-1, None where they are not finished."""
        try:
            with open(self._path(start, stop), "rb") as file, np.load(file, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except FileNotFoundError:
            return None
        except (zipfile.BadZipFile, EOFError, ValueError, KeyError) as error:
            raise OptionError(
                f"{self._path(start, stop)} cannot be read ({error}); delete it, and its replicates are run again"
            ) from error

    def save(self, start: int, stop: int, arrays: Mapping[str, np.ndarray]) -> None:
        contents: dict[str, Any] = dict(arrays)
        _write(self._path(start, stop), lambda f: np.savez(f, **contents))

    def _path(self, start: int, stop: int) -> Path:
        return self.directory / f"{start:09d}-{stop:09d}.npz"


def digest_of(configuration: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()


def digest_arrays(*arrays: Any) -> str:
    """SHA-256 of shapes, types and contents."""
    h = hashlib.sha256()
    for array in arrays:
        a = np.ascontiguousarray(array)
        h.update(f"{a.shape}{a.dtype.str}".encode())
        h.update(a.tobytes() if a.dtype != object else repr(a.tolist()).encode())
    return h.hexdigest()


def _refuse_other(directory: Path, stored: dict[str, Any], configuration: Mapping[str, Any]) -> None:
    if stored["hash"] == digest_of(configuration):
        return
    other = stored["configuration"]
    changed = sorted(k for k in {*other, *configuration} if other.get(k) != configuration.get(k))
    detail = "; ".join(f"{k}: {other.get(k)!r} there, {configuration.get(k)!r} here" for k in changed)
    raise OptionError(f"checkpoint {str(directory)!r} holds another study ({detail}); choose another directory")


def _write(path: Path, fill: Callable[[BinaryIO], Any]) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as f:
            fill(f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
