"""``read``: one door for every file of results."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.comparisons import Comparisons
from jaxrank.errors import DataError, OptionError
from jaxrank.io import delimited, frames, jsonl, npz
from jaxrank.io.columns import Column, concatenate
from jaxrank.io.tables import Options
from jaxrank.responses import Responses

TABLES: dict[str, Callable[..., dict[str, Column]]] = {
    "csv": delimited.load,
    "jsonl": jsonl.load,
    "parquet": frames.load_parquet,
}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npz",
}


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    *,
    model: str | None = None,
    question: str | None = None,
    trial: str | None = None,
    score: str | None = None,
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
    array: str | None = None,
) -> Responses | Comparisons:
    """Read results from a file, several files, or a pattern such as ``"runs/*.jsonl"``.

    **format**: one of "csv", "jsonl", "parquet", "npz"; by default it follows the file.
    **model**, **question**, **trial**, **score**: names of columns where they are not the usual ones
    (`jaxrank.io.columns.ALIASES`). Without a trial column the rows of a cell are trials in order of appearance.
    Scores are booleans, whole numbers, or words such as correct and incorrect; -1, null and "NA" are missing.
    **levels**: the distinct scores in ascending order where they are graded, such as ``(0, 0.5, 1)``.
    **threshold**: scores of at least this count as right.
    **ties**: "model" (keep), "half" (half a win each) or "drop"; **bothbad**: "tie" or "drop", for battles.
    **array**: the array of an npz file that is not called R.

    Returns `Responses`, or `Comparisons` where the columns are those of battles (model_a, model_b, winner). Their
    ``notes`` say what was read, dropped or assumed. Raises `DataError` that names file, row and column.
    """
    paths = resolve(path)
    options = Options(model, question, trial, score, levels, threshold, ties, bothbad)
    kinds = [format_of(p, format) for p in paths]
    if "npz" in kinds:
        if len(paths) > 1:
            raise DataError(f"an npz file holds a whole R; read one at a time, not {len(paths)} files")
        return npz.load(paths[0], array=array, levels=levels, threshold=threshold, ties=ties, bothbad=bothbad)
    return _read_tables(paths, kinds, options)


def _read_tables(paths: list[Path], kinds: list[str], options: Options) -> Responses | Comparisons:
    parts = [
        TABLES[k](p, lambda names, p=p: options.pick(names, f"{p.name}: ")) for p, k in zip(paths, kinds, strict=True)
    ]
    lengths = [len(next(iter(part.values())).codes) for part in parts]
    first = list(parts[0])
    for p, part in zip(paths[1:], parts[1:], strict=True):
        if len(part) != len(first):
            raise DataError(f"{p.name} has columns {', '.join(part)} where {paths[0].name} has {', '.join(first)}")
    columns = {name: concatenate([list(part.values())[k] for part in parts]) for k, name in enumerate(first)}
    named = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    notes = [f"read {sum(lengths)} rows of {named} ({kinds[0]}): columns {', '.join(first)}"]
    if len(paths) == 1:
        return options.build(columns, notes=notes, where=f"{named}: ")
    ends = np.cumsum(lengths)

    def place(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        return f"{paths[k].name}: row {row - int(ends[k]) + lengths[k] + 1}"

    return options.build(columns, notes=notes, place=place)


def resolve(path: Any) -> list[Path]:
    """The files that a path, a pattern or a list of these names; `DataError` where there are none."""
    if isinstance(path, str | os.PathLike):
        text = os.fspath(path)
        if not os.path.exists(text) and glob.has_magic(text):
            found = sorted(Path(p) for p in glob.glob(text, recursive=True) if os.path.isfile(p))
            if not found:
                raise DataError(f"no file matches {text!r}")
            return found
        if not os.path.exists(text):
            raise DataError(f"there is no file {text!r}")
        if os.path.isdir(text):
            raise DataError(f"{text!r} is a folder; give its files, such as {os.path.join(text, '*.jsonl')!r}")
        return [Path(text)]
    if not isinstance(path, Iterable):
        raise OptionError(f"path must be a file name, a pattern or a list of these, not {type(path).__name__}")
    paths = [p for one in path for p in resolve(one)]
    if not paths:
        raise DataError("path is an empty list: there is no file to read")
    return list(dict.fromkeys(paths))


def format_of(path: Path, format: str | None) -> str:
    """The format asked for, or the one that the file's name says."""
    known = sorted({*SUFFIXES.values()})
    if format is not None:
        if format not in known:
            raise OptionError(f"format={format!r}; it must be one of {', '.join(map(repr, known))}")
        return format
    suffixes = [s for s in path.suffixes[-2:] if s != ".gz"]
    if not suffixes or suffixes[-1].lower() not in SUFFIXES:
        raise DataError(f"{path.name} has no known ending ({', '.join(SUFFIXES)}); say format=...")
    return SUFFIXES[suffixes[-1].lower()]
