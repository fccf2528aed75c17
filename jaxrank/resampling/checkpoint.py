"""Finished chunks on disk: a study that was killed goes on where it stood and ends with the same bits.

A directory holds ``manifest.json`` (what the study is, and a hash of it) and one file for each chunk of replicates,
``000000000-000004096.npz``. The manifest is made once and never written over: of two studies that begin at the same
moment one makes it, and the other reads it and is refused unless it is the same study. Every chunk carries the hash and
its bounds too, so that no chunk of another study is ever taken for one of this. Files are written beside their place
and renamed, so that a file is either absent or whole.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jaxrank.data.files import DAMAGED
from jaxrank.errors import OptionError
from jaxrank.resampling.store import Store, below, open_store

MANIFEST = "manifest.json"
STUDY = "study"  # the name in a chunk of whose it is
_CHUNK = re.compile(r"\d{9,}-\d{9,}\.npz")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_ONE_AT_A_TIME = threading.Lock()
"""NumPy reads the head of an array as Python, and CPython 3.11 may fail where two threads parse at a time (its issue
106905)."""
_LONGEST = 60  # letters of a label that its folder keeps


class Checkpoint:
    """The chunks of one method of one study in a directory.

    ``configuration`` is JSON data that determines the bits of every replicate; the number of replicates is not part of
    it, so that a study can be made longer. `OptionError` where the directory, or a chunk in it, is another study's.
    """

    def __init__(self, directory: str | os.PathLike[str], configuration: Mapping[str, Any], chunk: int) -> None:
        self.store = check_folder(directory)
        self.hash = digest_of(configuration)
        manifest = {"hash": self.hash, "chunk": chunk, "configuration": dict(configuration)}
        if self.store.create(MANIFEST, _as_json(manifest)):
            try:
                manifest["chunk"] = self._chunk_of_orphans() or chunk
            except OptionError:
                self.store.remove(MANIFEST)
                raise
            if manifest["chunk"] != chunk:
                self.store.put(MANIFEST, _as_json(manifest))
        stored = read_manifest(self.store)
        _refuse_other(self.store, stored, configuration)
        self.chunk = int(stored["chunk"])

    def finished(self, bounds: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of the chunks that have a file."""
        there = set(self.store.names())
        return {b for b in bounds if name_of(*b) in there}

    def load(self, start: int, stop: int, shapes: Mapping[str, tuple[int, ...]] | None) -> dict[str, np.ndarray] | None:
        """The arrays of replicates start..stop-1, None where they are not finished. ``shapes``: those that they must
        have; None where only the number of replicates is known."""
        path = f"{self.store}/{name_of(start, stop)}"
        try:
            whose, arrays = _read_chunk(self.store, name_of(start, stop))
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
        file = io.BytesIO()
        np.savez(file, **contents)
        self.store.put(name_of(start, stop), file.getvalue())

    def _chunk_of_orphans(self) -> int | None:
        """The chunk size of chunks that lost their manifest, None without any; `OptionError` unless all are of this
        study."""
        sizes = set()
        for name in filter(_CHUNK.fullmatch, self.store.names()):
            try:
                whose, _ = _read_chunk(self.store, name)
            except (*DAMAGED, OSError):
                whose = {}
            if whose.get("hash") != self.hash:
                raise OptionError(
                    f"checkpoint {str(self.store)!r} has lost its {MANIFEST}, and {name} is no chunk of this "
                    "study; choose another directory, or delete the chunks"
                )
            sizes.add(int(whose["chunk"]))
        return max(sizes, default=None)


def name_of(start: int, stop: int) -> str:
    """The file of replicates start..stop-1."""
    return f"{start:09d}-{stop:09d}.npz"


def check_folder(directory: str | os.PathLike[str]) -> Store:
    """The store of a checkpoint; `OptionError` where it cannot be one, or holds something else. Call it before the
    work."""
    store = open_store(directory)
    if store.has(MANIFEST):
        read_manifest(store)
    return store


def folder_of(directory: str | os.PathLike[str], label: str) -> Any:
    """The checkpoint of one label in the directory of a study with several.

    Different labels have different folders, on file systems too that ignore case: a label that is no plain name of a
    folder keeps its letters and takes a digest of the label.
    """
    digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    plain = re.fullmatch(r"[a-z0-9_][a-z0-9_@-]*", label) and len(label) <= _LONGEST and label not in _DEVICES
    if plain and not re.search(r"-[0-9a-f]{12}$", label):
        return below(directory, label)
    kept = re.sub(r"[^a-z0-9_@-]+", "_", label.lower())[:_LONGEST]
    return below(directory, f"{kept}-{digest}")


def read_manifest(store: Store) -> dict[str, Any]:
    path = f"{store}/{MANIFEST}"
    try:
        stored = json.loads(store.read(MANIFEST).decode("utf-8"))
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


def _as_json(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, indent=1, sort_keys=True).encode("utf-8")


def _read_chunk(store: Store, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    content = store.read(name)
    with _ONE_AT_A_TIME, np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    whose = json.loads(str(arrays.pop(STUDY, "{}")))
    return (whose if isinstance(whose, dict) else {}), arrays


def _refuse_other(store: Store, stored: dict[str, Any], configuration: Mapping[str, Any]) -> None:
    if stored["hash"] == digest_of(configuration):
        return
    other = stored["configuration"]
    changed = sorted(k for k in {*other, *configuration} if other.get(k) != configuration.get(k))
    detail = "; ".join(f"{k}: {other.get(k)!r} there, {configuration.get(k)!r} here" for k in changed)
    raise OptionError(f"checkpoint {str(store)!r} holds another study ({detail}); choose another directory")
