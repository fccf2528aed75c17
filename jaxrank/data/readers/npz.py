"""NumPy archives: R, or counts k and n, or battles, with names."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import battles, pairs
from jaxrank.data.readers.assemble import LOW, check_scale
from jaxrank.data.readers.columns import listed
from jaxrank.data.readers.files import MAX_UNPACKED
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError

MODELS = ("models", "model_names", "systems", "judges")
QUESTIONS = ("questions", "items", "tasks", "problems")
COUNTS = (("k", "n"), ("successes", "trials"))


def load(
    path: Path,
    *,
    array: str | None = None,
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
) -> Responses | Comparisons:
    """``R`` (L, M) or (L, M, N); else counts ``k`` and ``n``; else battles ``X`` and ``Y`` or ``left``, ``right``,
    ``winner``; else an array (runs, questions) for each model under its name; with ``models`` and ``questions`` where
    present. ``array`` names another array ("k_cot" is read
    with "n_cot"). A .npy file is R."""
    arrays = _Arrays(path)
    where = f"{path}: "
    notes = [f"read {path.name} (npz)"]
    models = next((arrays[k].tolist() for k in MODELS if k in arrays), None)
    questions = next((arrays[k].tolist() for k in QUESTIONS if k in arrays), None)
    if array is not None and array not in arrays:
        raise OptionError(f"{where}no array {array!r}; the arrays are {arrays}")
    name = array or ("R" if "R" in arrays else None)
    for k, n in COUNTS:
        if name is None and k in arrays and n in arrays:
            name = k
        if name is not None and (name == k or name.startswith(k + "_")) and n + name[len(k) :] in arrays:
            total = n + name[len(k) :]
            notes.append(f"counts {name} of {total}; which trial succeeded is not known")
            return Responses.from_counts(arrays[name], arrays[total], models, questions, notes=notes)
    if name is None and {"X", "Y"} <= set(arrays):
        return pairs.from_pairs(arrays["X"], arrays["Y"], models, ties=ties, bothbad=bothbad, notes=notes, where=where)
    if name is None and {"left", "right", "winner"} <= set(arrays):
        return _battles(arrays, models, ties, bothbad, notes, where)
    if name is None and (of_models := _by_model(arrays)) is not None:
        notes.append("each array is a model: runs down, questions across")
        R, models = of_models
        return _responses(R, models, questions, levels, threshold, notes)
    if name is None:
        raise DataError(
            f"{where}no array R, no counts k and n, no battles X and Y or left, right, winner, no array (runs, "
            f"questions) a model; the arrays are {arrays}. Name one with array=..."
        )
    if name == "R" and "k" in arrays and "n" in arrays:
        notes.append('the file also holds counts; array="k" reads them')
    return _responses(arrays[name], models, questions, levels, threshold, notes)


def _by_model(arrays: _Arrays) -> tuple[np.ndarray, list[str]] | None:
    """Scores kept as an array (runs, questions) for each model, under its name, as (L, M, N) with NaN where a model has
    fewer runs than others; None for other archives."""
    names = [name for name in arrays if name not in (*MODELS, *QUESTIONS)]
    shapes = [arrays.shape(name) for name in names]
    if len(names) < 2 or any(len(shape) != 2 for shape in shapes) or len({shape[1] for shape in shapes}) > 1:
        return None
    if any(arrays[name].dtype.kind not in "biuf" for name in names):
        return None
    R = np.full((len(names), shapes[0][1], max(shape[0] for shape in shapes)), np.nan)
    for i, name in enumerate(names):
        R[i, :, : shapes[i][0]] = arrays[name].T
    return R, names


def _responses(
    R: np.ndarray, models: Any, questions: Any, levels: Any, threshold: float | None, notes: list[str]
) -> Responses:
    check_scale(levels, threshold)
    if threshold is not None and R.dtype.kind in "biuf":
        if (R == -1).any():
            notes.append(LOW.format(int((R == -1).sum()), "cells"))
        R = np.where(np.isnan(R), np.nan, np.greater_equal(R, threshold))
    return Responses(R, models, questions, levels=levels, notes=notes)


class _Arrays(Mapping[str, np.ndarray]):
    """The arrays of an npz or npy file by name; each is read when it is asked for, none that claims too much."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._shapes: dict[str, tuple[int, ...] | str] = {}
        self._read: dict[str, np.ndarray] = {}
        with _opened(path) as file:
            packed = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            if not packed:
                self._shapes["R"] = _shape_of(file, os.fstat(file.fileno()).st_size)
                file.seek(0)
                self._read["R"] = np.load(file, allow_pickle=False)
                return
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    if info.filename.endswith(".npy"):
                        self._shapes[info.filename.removesuffix(".npy")] = self._look(archive, info)

    def _look(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[int, ...] | str:
        """The shape of an array, or why it cannot be read: that matters only where it is asked for."""
        try:
            with archive.open(info) as member:
                return _shape_of(member, info.file_size)
        except _UNREADABLE as error:
            return _reason(error)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._read:
            shape = self._shapes[name]
            if isinstance(shape, str):
                raise DataError(f"{self.path}: array {name!r} cannot be read: {shape}")
            with _opened(self.path) as file, zipfile.ZipFile(file) as archive:
                info = archive.getinfo(f"{name}.npy")
                if info.file_size > MAX_UNPACKED:
                    raise DataError(
                        f"{self.path}: array {name!r} unpacks to {info.file_size} bytes; at most {MAX_UNPACKED} are "
                        "read"
                    )
                with archive.open(info) as member:
                    self._read[name] = np.lib.format.read_array(member, allow_pickle=False)
                    member.read()  # to the end, where the check sum is compared
        return self._read[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, () where it cannot be read."""
        found = self._shapes[name]
        return () if isinstance(found, str) else found

    def __contains__(self, name: object) -> bool:
        return name in self._shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def __str__(self) -> str:
        return listed(f"{name} {shape}" for name, shape in self._shapes.items())


def _shape_of(file: Any, size: int) -> tuple[int, ...]:
    """The shape in the header of an array; ValueError where its ``size`` bytes cannot hold what the header claims."""
    version = np.lib.format.read_magic(file)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = reader(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    needed, held = math.prod(shape) * dtype.itemsize, size - file.tell()
    if any(n < 0 for n in shape) or needed > held:
        raise ValueError(f"its header claims {needed} bytes of numbers, the file holds {held}")
    return shape


_UNREADABLE = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, NotImplementedError, RuntimeError, SyntaxError),
    *(OverflowError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
"""What NumPy and zipfile raise on files that are cut, changed, or something else."""


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).split("\n")[0] or "it is cut off"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as file:
            yield file
    except DataError:
        raise
    except _UNREADABLE as error:
        raise DataError(f"{path} is not a readable NumPy archive: {_reason(error)}") from None


def _battles(
    arrays: Mapping[str, np.ndarray], models: Any, ties: str, bothbad: str, notes: list[str], where: str
) -> Comparisons:
    """``winner`` is 0 left, 1 right, 2 tie, 3 both bad; other values are rows without a winner."""
    battles.check_options(ties, bothbad)
    left, right, winner = (arrays[k] for k in ("left", "right", "winner"))
    if winner.dtype.kind not in "iu" or not left.shape == right.shape == winner.shape or winner.ndim != 1:
        raise DataError(
            f"{where}left, right and winner need one equal length, and winner whole numbers; "
            f"they are {left.shape}, {right.shape} and {winner.dtype} {winner.shape}"
        )
    outcome = np.where((winner >= 0) & (winner <= 3), winner, -1)
    if (outcome < 0).any():
        notes.append(f"{int((outcome < 0).sum())} rows have no winner and were dropped")
    a, b, outcome, count, _ = battles.apply(left, right, outcome, np.ones(len(left)), ties, bothbad, notes)
    return Comparisons(a, b, battles.CODE_VALUES[outcome], count, models, notes=notes)
