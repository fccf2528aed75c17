"""Which files to read, and in which format each is."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from jaxrank.data.readers import aggregates, delimited, jsonl, parquet
from jaxrank.data.readers.columns import Peek
from jaxrank.data.readers.files import suffixes_of
from jaxrank.data.readers.formats import BY_NAME, OWN, is_companion, recognise
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError, OptionError, one_line


class Loader(NamedTuple):
    """A format of tables: a look at its first rows, and its columns."""

    peek: Callable[[Path], Peek]
    load: Callable[..., Any]


TABLES = {
    "csv": Loader(delimited.peek, delimited.load),
    "jsonl": Loader(jsonl.peek, jsonl.load),
    "parquet": Loader(parquet.peek, parquet.load),
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
PLAIN = (*TABLES, "npz")
COMPANION = "companion"
"""The kind of files that tools write beside their samples: left out without a word."""
SNIFFED = ("jsonl", "parquet")
"""Plain formats whose files may be logs of a tool."""


def select(paths: list[Path], format: str | None, given: Any) -> tuple[list[Source], list[str], list[str]]:
    """The files to read, the format of each, and notes on files that were left out.

    Where a folder or pattern holds logs of a tool, files beside them that are something else are left out.
    """
    known = [*PLAIN, *BY_NAME]
    if format is not None and not (isinstance(format, str) and format in known):
        raise OptionError(f"format={one_line(format)}; it must be one of {', '.join(map(repr, known))}")
    files = [Source(path) for path in paths]
    searched = not isinstance(given, str | os.PathLike) or len(paths) > 1 or paths[0] != Path(given)
    kinds = [_kind(file, format, searched) for file in files]
    if searched and format is None:
        # Notes in plain text lie beside results in many folders; alone they may be tables.
        texts = [suffixes_of(file.path)[1] == ".txt" for file in files]
        kinds = [None if text and not all(texts) else kind for text, kind in zip(texts, kinds, strict=True)]
    tables = [k for k, kind in enumerate(kinds) if kind not in (None, COMPANION)]
    if searched and len(tables) > 1:
        boards = [k for k in tables if _is_leaderboard(files[k], kinds[k])]
        tables = [k for k in tables if k not in boards] or tables
    if searched and any(kind in BY_NAME for kind in kinds):
        keep = [k for k, kind in enumerate(kinds) if kind in BY_NAME]
    else:
        keep = tables
    if not keep:
        raise DataError(f"none of the {len(files)} files holds results ({', '.join(f.name for f in files[:5])})")
    notes = []
    left = [file.path.name for k, file in enumerate(files) if k not in keep and kinds[k] != COMPANION]
    if left:
        named = ", ".join(left[:3]) + (", ..." if len(left) > 3 else "")
        notes = [f"{len(left)} other file{'s were' if len(left) > 1 else ' was'} left out ({named})"]
    return [files[k] for k in keep], [kinds[k] or "" for k in keep], notes


def _is_leaderboard(file: Source, kind: str | None) -> bool:
    """Whether a table holds totals of models; looked at where it is cheap."""
    try:
        return kind in ("csv", "parquet") and aggregates.is_leaderboard(TABLES[kind].peek(file.path).names)
    except DataError:
        return False


def _kind(file: Source, format: str | None, searched: bool) -> str | None:
    """The format of one file; None for a file that may be left out, `COMPANION` for one that goes with others."""
    if format is not None:
        return format
    plain = SUFFIXES.get(suffixes_of(file.path)[1])
    if plain is not None and plain not in SNIFFED:
        return plain
    if plain is None and file.is_json:
        plain = "jsonl"
    if file.suffix in OWN or plain is not None or not file.suffix:
        try:
            if (tool := recognise(file)) is not None:
                return tool
            if is_companion(file):
                if searched:
                    return COMPANION
                raise DataError(
                    f"{file.name} holds totals, not results of single trials; read the samples_*.jsonl beside it"
                )
        except DataError:
            if plain is not None or not searched:
                raise
            return None
    if file.suffix.lower() in (".xlsx", ".xls", ".ods") and not searched:
        raise DataError(f"{file.name} is a spreadsheet; save the sheet as csv")
    if plain is None and not searched:
        raise DataError(
            f"{file.name} has no known ending ({', '.join((*SUFFIXES, *OWN))}) and does not begin as JSON; "
            "say format=..."
        )
    return plain


def resolve(path: Any) -> tuple[list[Path], list[str]]:
    """The files that a path, a folder, a pattern or a list of these names, each once, and a note on those that were
    named again; `DataError` where there are none."""
    found: dict[str, Path] = {}
    again: list[Path] = []
    for file in _found(path):
        if found.setdefault(os.path.realpath(file), file) is not file:
            again.append(file)
    notes = []
    if again:
        first = found[os.path.realpath(again[0])]
        which = f"{again[0]} is {first}" + (f", and {len(again) - 1} more" if len(again) > 1 else "")
        notes = [f"{len(again)} paths lead to files that were read already ({which}): each file was read once"]
    return list(found.values()), notes


def _found(path: Any) -> list[Path]:
    if isinstance(path, bytes) or (isinstance(path, str | os.PathLike) and "\0" in str(path)):
        raise OptionError(f"path={path!r} is not the name of a file")
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
            found = sorted(p for p in Path(text).rglob("*") if p.is_file() and not p.name.startswith("."))
            if not found:
                raise DataError(f"the folder {text!r} holds no files")
            return found
        return [Path(text)]
    if not isinstance(path, Iterable):
        raise OptionError(f"path must be a file name, a pattern or a list of these, not {type(path).__name__}")
    paths = [p for one in path for p in _found(one)]
    if not paths:
        raise DataError("path is an empty list: there is no file to read")
    return paths
