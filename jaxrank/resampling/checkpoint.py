"""Finished chunks on disk: a study that was killed goes on where it stood and ends with the same bits.

A directory holds ``manifest.json`` (what the study is, and a hash of it) and one file for each chunk of replicates,
``000000000-000004096.npz``. The manifest is made once and never written over: of two studies that begin at the same
moment one makes it, and the other reads it and is refused unless it is the same study. Every chunk carries the hash and
its bounds too, so that no chunk of another study is ever taken for one of this. Files are written beside their place
and renamed, so that a file is either absent or whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.files import DAMAGED, create, replacing, sweep
from jaxrank.errors import OptionError

MANIFEST = "manifest.json"
STUDY = "study"  # the name in a chunk of whose it is
_CHUNK = re.compile(r"\d{9,}-\d{9,}\.npz")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_LONGEST = 60  # letters of a label that its folder keeps


class Checkpoint:
    """The chunks of one method of one study in a directory.

    ``configuration`` is JSON data that determines the bits of every replicate; the number of replicates is not part of
    it, so that a study can be made longer. `OptionError` where the directory, or a chunk in it, is another study's.
    """

    def __init__(self, directory: str | os.PathLike[str], configuration: Mapping[str, Any], chunk: int) -> None:
        self.directory = check_folder(directory)
        sweep(self.directory)
        self.hash = digest_of(configuration)
        path = self.directory / MANIFEST
        manifest = {"hash": self.hash, "chunk": chunk, "configuration": dict(configuration)}
        if create(path, json.dumps(manifest, indent=1, sort_keys=True).encode("utf-8")):
            try:
                manifest["chunk"] = self._chunk_of_orphans() or chunk
            except OptionError:
                path.unlink()
                raise
            if manifest["chunk"] != chunk:
                with replacing(path) as temporary:
                    temporary.write_bytes(json.dumps(manifest, indent=1, sort_keys=True).encode("utf-8"))
        stored = read_manifest(path)
        _refuse_other(self.directory, stored, configuration)
        self.chunk = int(stored["chunk"])

    def load(self, start: int, stop: int, shapes: Mapping[str, tuple[int, ...]] | None) -> dict[str, np.ndarray] | None:
        """The arrays of replicates start..stop-1, None where they are not finished. ``shapes``: those that they must
        have; None where only the number of replicates is known."""
        path = self._path(start, stop)
        try:
            whose, arrays = _read_chunk(path)
        except FileNotFoundError:
            return None
        except (*DAMAGED, OSError) as error:
            raise OptionError(
                f"{path} cannot be read ({error}); delete it, and its replicates are run again"
            ) from error
        found = {name: x.shape for name, x in arrays.items()}
        if whose.get("hash") != self.hash:
            problem = "is a chunk of another study"
        elif (whose.get("start"), whose.get("stop")) != (start, stop):
            problem = f"holds replicates {whose.get('start')} to {whose.get('stop')}"
        elif found != ({name: (stop - start, *x[1:]) for name, x in found.items()} if shapes is None else dict(shapes)):
            problem = f"holds arrays of shapes {found}" + ("" if shapes is None else f", not {dict(shapes)}")
        else:
            return arrays
        raise OptionError(f"{path} {problem}; delete it, and its replicates are run again, or choose another directory")

    def save(self, start: int, stop: int, arrays: Mapping[str, np.ndarray]) -> None:
        whose = {"hash": self.hash, "start": start, "stop": stop, "chunk": self.chunk}
        contents: dict[str, Any] = {**arrays, STUDY: np.array(json.dumps(whose))}
        with replacing(self._path(start, stop)) as temporary, temporary.open("wb") as file:
            np.savez(file, **contents)

    def _path(self, start: int, stop: int) -> Path:
        return self.directory / f"{start:09d}-{stop:09d}.npz"

    def _chunk_of_orphans(self) -> int | None:
        """The chunk size of chunks that lost their manifest, None without any; `OptionError` unless all are of this
        study."""
        sizes = set()
        for path in sorted(p for p in self.directory.iterdir() if _CHUNK.fullmatch(p.name)):
            try:
                whose, _ = _read_chunk(path)
            except (*DAMAGED, OSError):
                whose = {}
            if whose.get("hash") != self.hash:
                raise OptionError(
                    f"checkpoint {str(self.directory)!r} has lost its {MANIFEST}, and {path.name} is no chunk of this "
                    "study; choose another directory, or delete the chunks"
                )
            sizes.add(int(whose["chunk"]))
        return max(sizes, default=None)


def check_folder(directory: str | os.PathLike[str]) -> Path:
    """The directory of a checkpoint, made where it is absent; `OptionError` where it cannot be one. Call it before the
    work."""
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
    if (path / MANIFEST).exists():
        read_manifest(path / MANIFEST)
    return path


def folder_of(directory: str | os.PathLike[str], label: str) -> Path:
    """The checkpoint of one label in the directory of a study with several.

    Different labels have different folders, on file systems too that ignore case: a label that is no plain name of a
    folder keeps its letters and takes a digest of the label.
    """
    digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    plain = re.fullmatch(r"[a-z0-9_][a-z0-9_@-]*", label) and len(label) <= _LONGEST and label not in _DEVICES
    if plain and not re.search(r"-[0-9a-f]{12}$", label):
        return Path(directory) / label
    kept = re.sub(r"[^a-z0-9_@-]+", "_", label.lower())[:_LONGEST]
    return Path(directory) / f"{kept}-{digest}"


def read_manifest(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(stored["hash"], str) and int(stored["chunk"]) > 0 and dict(stored["configuration"])
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}; choose another directory") from None
    if not whole:
        raise OptionError(f"{path} is no manifest of a study of jaxrank; choose another directory for the checkpoint")
    return stored


def digest_of(configuration: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode("utf-8")).hexdigest()


def digest_arrays(*arrays: Any) -> str:
    """SHA-256 of shapes, types and contents."""
    h = hashlib.sha256()
    for array in arrays:
        a = np.ascontiguousarray(array)
        h.update(f"{a.shape}{a.dtype.str}".encode())
        h.update(a.tobytes() if a.dtype != object else repr(a.tolist()).encode())
    return h.hexdigest()


def _read_chunk(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    whose = json.loads(str(arrays.pop(STUDY, "{}")))
    return (whose if isinstance(whose, dict) else {}), arrays


def _refuse_other(directory: Path, stored: dict[str, Any], configuration: Mapping[str, Any]) -> None:
    if stored["hash"] == digest_of(configuration):
        return
    other = stored["configuration"]
    changed = sorted(k for k in {*other, *configuration} if other.get(k) != configuration.get(k))
    detail = "; ".join(f"{k}: {other.get(k)!r} there, {configuration.get(k)!r} here" for k in changed)
    raise OptionError(f"checkpoint {str(directory)!r} holds another study ({detail}); choose another directory")
