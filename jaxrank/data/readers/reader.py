"""``read``: one door for every file of results."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import delimited, frames, jsonl, npz
from jaxrank.data.readers.columns import Column, concatenate, listed
from jaxrank.data.readers.files import suffixes_of
from jaxrank.data.readers.formats import BY_NAME, is_companion, recognise
from jaxrank.data.readers.logs import LogOptions
from jaxrank.data.readers.source import Source
from jaxrank.data.readers.tables import Options
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError, one_line

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
PLAIN = (*TABLES, "npz")
COMPANION = "companion"
"""The kind of files that tools write beside their samples: left out without a word."""
SNIFFED = ("jsonl", "parquet")
"""Plain formats whose files may be logs of a tool."""


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    *,
    model: str | Callable[[Path], str] | None = None,
    question: str | None = None,
    trial: str | None = None,
    score: str | None = None,
    model_a: str | None = None,
    model_b: str | None = None,
    winner: str | None = None,
    count: str | None = None,
    winner_as: str | None = None,
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
    array: str | None = None,
    scorer: str | None = None,
    metric: str | None = None,
    filter: str | None = None,
    errors: str | None = None,
    rescore: str | Callable[[str, Any, Any], Any] | None = None,
    questions: str | os.PathLike[str] | Iterable[str] | None = None,
    tests: str = "plus",
    n: int | None = None,
) -> Responses | Comparisons:
    """Read results from a file, several files, a pattern such as ``"logs/*.eval"``, or a folder with its subfolders.

    Files may be packed with gzip or Zstandard, up to `jaxrank.data.readers.files.MAX_UNPACKED` bytes each. A file that
    is reached by several paths or links is read once.

    **format**: by default recognised from the file: "csv", "jsonl", "parquet", "npz" for tables and arrays, and the
    logs of tools, "lm-eval", "inspect", "openai-evals", "every-eval-ever", "livecodebench", "evalplus", "bigcodebench",
    "swebench-experiments", "swebench-report", "swebench-leaderboards", "tau-bench", "tau2-bench", "lighteval",
    "arena-pairs".

    Tables have one row a trial, or a battle (model_a, model_b, winner, and count where a row stands for several).
    **model**, **question**, **trial**, **score**: names of columns where they are not the usual ones
    (`jaxrank.data.readers.columns.ALIASES`). Without a trial column the rows of a cell are trials in order of
    appearance. Names are kept as they are written, "NA" and "null" too.
    Scores are booleans, whole numbers, or words such as correct and incorrect; -1, null and "NA" are missing.
    **levels**: the distinct scores in ascending order where they are graded, such as ``(0, 0.5, 1)``.
    **threshold**: scores of at least this count as right. With either of the two, -1 is a score.
    **model_a**, **model_b**, **winner**, **count**: the columns of battles (`jaxrank.data.readers.battles.SIDES`).
    **winner_as**: "name" where the column of winners names the model that won, "side" where it says model_a, left, a;
    by default what all rows allow, and an error where both are possible and differ.
    **ties**: "model" (keep), "half" (half a win each) or "drop"; **bothbad**: "tie" or "drop", for battles.
    **array**: the array of an npz file that is not called R.

    Logs: **model** names the model of files that do not (a name, or a function of the path); **scorer**, **metric**,
    **filter** choose among several results of a sample; **errors** is "zero" or "missing" for samples that failed for
    technical reasons (by default as in the tool); **rescore**, **questions**, **tests**, **n**: see
    `jaxrank.data.readers.logs.LogOptions`. Several files of one model are further trials.

    Returns `Responses`, or `Comparisons` for battles. Their ``notes`` say what was read, dropped or assumed.
    Raises `DataError` in one line that names the file and the place in it.

    >>> import pathlib, tempfile
    >>> import jaxrank as jr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.csv"
    >>> _ = path.write_text("model,question,score\\nada,q1,1\\nada,q2,1\\nbob,q1,0\\nbob,q2,1\\n")
    >>> data = jr.read(path)
    >>> data
    Responses(2 models x 2 questions x 1 trials, binary)
    >>> data.notes
    ('read 4 rows of results.csv (csv): columns model, question, score',)
    """
    logs = LogOptions(
        model, scorer, metric, filter, errors, rescore, questions, tests, n, levels, threshold, ties, bothbad
    )
    logs.check()
    table = Options(
        *(model if isinstance(model, str) or model is None else None, question, trial, score),
        *(model_a, model_b, winner, count, winner_as, levels, threshold, ties, bothbad),
    )
    paths, repeated = resolve(path)
    files, kinds, notes = select(paths, format, path)
    notes = [*repeated, *notes]
    chosen = list(dict.fromkeys(kinds))
    if len(chosen) > 1:
        shown = ", ".join(f"{files[kinds.index(kind)].name} ({kind})" for kind in chosen)
        raise DataError(f"the files have several formats: {shown}; read them apart, or say format=...")
    if chosen[0] in BY_NAME:
        if stranger := next((f for f in files if not BY_NAME[chosen[0]].sniff(f)), None):
            raise DataError(f"{stranger.name} does not have the format {chosen[0]!r}")
        return _with_notes(BY_NAME[chosen[0]].read(files, logs), notes)
    if chosen[0] == "npz":
        if len(files) > 1:
            raise DataError(f"an npz file holds a whole R; read one at a time, not {len(files)} files")
        scale = {"levels": levels, "threshold": threshold, "ties": ties, "bothbad": bothbad}
        return _with_notes(npz.load(files[0].path, array=array, **scale), notes)
    if model is not None and not isinstance(model, str):
        raise OptionError(f"model={one_line(model)}; it must be the name of a column")
    return _with_notes(_read_tables([f.path for f in files], kinds, table), notes)


def _with_notes(data: Responses | Comparisons, notes: list[str]) -> Responses | Comparisons:
    if notes:
        object.__setattr__(data, "notes", (*data.notes, *notes))
    return data


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
    if searched and any(kind in BY_NAME for kind in kinds):
        keep = [k for k, kind in enumerate(kinds) if kind in BY_NAME]
    else:
        keep = tables
    if not keep:
        raise DataError(f"none of the {len(files)} files holds results ({', '.join(f.name for f in files[:5])})")
    notes = []
    left = [file.path.name for k, file in enumerate(files) if k not in keep and kinds[k] != COMPANION]
    if left:
        notes = [f"{len(left)} other files were left out ({', '.join(left[:3])}{', ...' if len(left) > 3 else ''})"]
    return [files[k] for k in keep], [kinds[k] or "" for k in keep], notes


def _kind(file: Source, format: str | None, searched: bool) -> str | None:
    """The format of one file; None for a file that may be left out, `COMPANION` for one that goes with others."""
    if format is not None:
        return format
    plain = SUFFIXES.get(suffixes_of(file.path)[1])
    if plain is not None and plain not in SNIFFED:
        return plain
    if file.suffix == ".eval" or plain is not None or not file.suffix:
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
    if plain is None and not searched:
        raise DataError(f"{file.name} has no known ending ({', '.join(SUFFIXES)}, .eval); say format=...")
    return plain


def _read_tables(paths: list[Path], kinds: list[str], options: Options) -> Responses | Comparisons:
    available: dict[str, None] = {}

    def pick(names: Sequence[str], path: Path) -> list[str]:
        available.update(dict.fromkeys(names))
        return options.pick(names, f"{path}: ")

    parts = [TABLES[k](p, lambda names, p=p: pick(names, p)) for p, k in zip(paths, kinds, strict=True)]
    lengths = [len(next(iter(part.values())).codes) for part in parts]
    first = list(parts[0])
    for p, part in zip(paths[1:], parts[1:], strict=True):
        if len(part) != len(first):
            raise DataError(f"{p} has columns {listed(part)} where {paths[0]} has {listed(first)}")
    columns = {name: concatenate([list(part.values())[k] for part in parts]) for k, name in enumerate(first)}
    named = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    notes = [f"read {sum(lengths)} rows of {named} ({kinds[0]}): columns {listed(first)}"]
    notes += options.unread(available, first)
    if len(paths) == 1:
        return options.build(columns, notes=notes, where=f"{paths[0]}: ")
    ends = np.cumsum(lengths)

    def place(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        return f"{paths[k]}: row {row - int(ends[k]) + lengths[k] + 1}"

    return options.build(columns, notes=notes, place=place)


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


def read_columns(path: Path, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    """The columns that ``pick`` chooses of a table in a file (csv, jsonl or parquet), for tables of other kinds."""
    kind = SUFFIXES.get(suffixes_of(path)[1])
    if kind not in TABLES:
        raise DataError(f"{path} is not a csv, jsonl or parquet file by its name")
    if not os.path.exists(path):
        raise DataError(f"there is no file {str(path)!r}")
    return TABLES[kind](path, pick)
