"""``read``: one door for every file of results."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.readers import npz, tables
from jaxrank.data.readers.columns import Column, coded, listed
from jaxrank.data.readers.discover import SUFFIXES, TABLES, resolve, select
from jaxrank.data.readers.files import suffixes_of
from jaxrank.data.readers.formats import BY_NAME
from jaxrank.data.readers.logs import LogOptions
from jaxrank.data.readers.options import Options
from jaxrank.data.readers.paths import PathPattern, guess
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError, OptionError, one_line


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    *,
    model: str | Callable[[Path], str] | None = None,
    question: str | None = None,
    trial: str | None = None,
    score: str | Sequence[str] | None = None,
    answer: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    a: str | None = None,
    b: str | None = None,
    winner: str | None = None,
    a_score: str | None = None,
    b_score: str | None = None,
    count: str | None = None,
    voter: str | None = None,
    category: str | None = None,
    time: str | None = None,
    order: str | None = None,
    place: str | None = None,
    winner_as: str | Mapping[Any, str] | None = None,
    wide: str | None = None,
    model_from_path: str | None = None,
    lower_is_better: bool | Sequence[str] | None = None,
    missing: str = "observed",
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
) -> Data:
    """Read results from a file, several files, a pattern such as ``"logs/*.eval"``, or a folder with its subfolders.

    Files may be packed with gzip or Zstandard, up to `jaxrank.data.readers.files.MAX_UNPACKED` bytes each. A file that
    is reached by several paths or links is read once.

    **format**: by default recognised from the file: "csv", "jsonl", "parquet", "npz" for tables and arrays (JSON under
    any ending), and the formats of tools by the names that `docs/tools/formats.md` lists.

    A table has one row a trial, or is wide, or has one row a battle; columns are known by their usual names
    (`jaxrank.data.readers.columns.ALIASES`, `jaxrank.data.readers.sides`), and named here where they are called
    otherwise. **model**, **question**, **trial**, **score**: the columns of trials; without a trial column the rows of
    a cell are trials in order of appearance. Several columns of **score** are a question each. **answer**: the column
    of right answers, with which the column of predictions (**score**) is compared. **weight**, **group**: columns that
    say what a question counts, and to which task or subject it belongs.
    **wide**: "models" where there is a column for each model, "questions" where there is one for each question.
    **model_from_path**: where the path tells the model: ``"runs/{model}/{task}/*.json"``; names in braces are columns.
    Scores are booleans, numbers, or words such as correct and incorrect; null, "NA" and, among whole numbers, -1 are
    missing. **levels**: the distinct scores in ascending order where they are graded, such as ``(0, 0.5, 1)``.
    **threshold**: scores of at least this count as right. With either of the two, -1 is a score.
    **lower_is_better**: True, or the names of the questions where it holds; by default as the names of columns say
    ("error", "loss"), and a note. **missing**: questions that a model lacks, see `jaxrank.Responses`.
    **a**, **b**, **winner**, **count**: the columns of battles; **a_score**, **b_score** where two columns hold what
    either side scored; **question**, **voter**, **category**, **time**, **weight**: what else is known of a battle.
    **order**, **place**: the columns of ordered lists in long form, a row for each model of a list: which list (or the
    **question**) it is of, and its place there, 1 the best, equal places tie; a set of winners has two places. Other
    columns are kept: what is the same for a whole list (a voter), and numbers of each model of a list (a price).
    **winner_as**: "name" where the column of winners names the model that won, "side" where it says model_a, left, a;
    by default what all rows allow, and an error where both are possible and differ; or what each code says,
    "1=a,2=b,0=tie".
    **ties**: "model" (keep), "half" (half a win each) or "drop"; **bothbad**: "tie" or "drop", for battles.
    **array**: the array of an npz file that is not called R.

    Logs: **model** names the model of files that do not (a name, or a function of the path); **scorer**, **metric**,
    **filter** choose among several results of a sample; **errors** is "zero" or "missing" for samples that failed for
    technical reasons (by default as in the tool); **rescore**, **questions**, **tests**, **n**: see
    `jaxrank.data.readers.logs.LogOptions`. Several files of one model are further trials.

    Returns `Responses`, `Comparisons` for battles, or `Rankings` for ordered lists. Their ``notes`` say what was read,
    dropped or assumed. Raises `DataError` in one line that names the file and the place in it.

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
    pattern = None if model_from_path is None else PathPattern(model_from_path)
    named = pattern.model if pattern is not None and "model" in pattern.names and model is None else model
    logs = LogOptions(
        named, scorer, metric, filter, errors, rescore, questions, tests, n, levels, threshold, ties, bothbad
    )
    logs.check()
    options = Options(
        *(model if isinstance(model, str) or model is None else None, question, trial, score, answer, weight, group),
        *(a, b, winner, a_score, b_score, count, voter, category, time, order, place, winner_as, wide),
        *(lower_is_better, missing, errors, levels, threshold, ties, bothbad),
    )
    paths, repeated = resolve(path)
    files, kinds, notes = select(paths, format, path)
    notes = [*repeated, *notes]
    chosen = list(dict.fromkeys(kinds))
    if len(chosen) > 1 and not set(chosen) <= set(TABLES):
        shown = ", ".join(f"{files[kinds.index(kind)].name} ({kind})" for kind in chosen)
        raise DataError(f"the files have several formats: {shown}; read them apart, or say format=...")
    if chosen[0] in BY_NAME:
        if stranger := next((f for f in files if not BY_NAME[chosen[0]].sniff(f)), None):
            raise DataError(f"{stranger.name} does not have the format {chosen[0]!r}")
        with _no_collection():
            return _with_notes(BY_NAME[chosen[0]].read(files, logs), notes)
    if chosen[0] == "npz":
        if len(files) > 1:
            raise DataError(f"an npz file holds a whole R; read one at a time, not {len(files)} files")
        scale = {"levels": levels, "threshold": threshold, "ties": ties, "bothbad": bothbad}
        return _with_notes(npz.load(files[0].path, array=array, **scale), notes)
    if model is not None and not (isinstance(model, str) or callable(model)):
        raise OptionError(f"model={one_line(model)}; it must be the name of a column, or a function of the path")
    return _with_notes(_read_tables(files, kinds, options, model, pattern), notes)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without passes of the garbage collector: logs become objects by the hundred thousand, none of them in a circle,
    and looking through them again and again takes a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _with_notes(data: Data, notes: list[str]) -> Data:
    if notes:
        object.__setattr__(data, "notes", (*data.notes, *notes))
    return data


def _read_tables(
    files: list[Source], kinds: list[str], options: Options, model: Any, pattern: PathPattern | None
) -> Data:
    parts, given, ragged = [], [], []
    for file, kind in zip(files, kinds, strict=True):
        told = {} if pattern is None else pattern.columns(file.path)
        given.append(told | ({"model": str(model(file.path))} if callable(model) else {}))
        peek = TABLES[kind].peek(file.path)
        more = {"ragged": ragged} if kind == "csv" and options.errors == "missing" else {}
        more |= {} if peek.whole is None else {"whole": peek.whole}
        load = lambda pick, numbers, file=file, kind=kind, more=more: TABLES[kind].load(
            file.path, pick, numbers, **more
        )
        parts.append(
            tables.open_part(
                peek,
                load,
                options,
                f"{file.name}: ",
                given[-1],
                path_names_model=len(files) > 1,
            )
        )
    notes = _name_models(files, parts)
    lengths = [part.rows for part in parts]
    layout = parts[0].layout
    main = layout.columns if layout.battles is None else layout.battles.main
    named = files[0].path.name if len(files) == 1 else f"{len(files)} files"
    said = [f"read {sum(lengths)} rows of {named} ({kinds[0]}): columns {listed(main)}", *notes]
    said += tables.unread(parts[0].names, layout)
    if ragged:
        said.append(f"{len(ragged)} rows have another number of fields than the header and were left out")
    if len(files) == 1:
        return tables.build(parts, options, said)
    ends = np.cumsum(lengths)

    def place(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        return f"{files[k].name}: row {row - int(ends[k]) + lengths[k] + 1}"

    return tables.build(parts, options, said, place)


def _name_models(files: list[Source], parts: list[tables.Part]) -> list[str]:
    """Where no column holds the model, the paths name it."""
    if all("model" in part.layout.roles or part.layout.kind in ("wide", "battles") for part in parts):
        return []
    names, note = guess([file.path for file in files])
    for part, name in zip(parts, names, strict=True):
        tables.name_model(part, name)
    return [note]


def read_columns(path: Path, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    """The columns that ``pick`` chooses of a table in a file (csv, jsonl or parquet), for tables of other kinds."""
    kind = SUFFIXES.get(suffixes_of(path)[1])
    if kind not in TABLES:
        raise DataError(f"{path} is not a csv, jsonl or parquet file by its name")
    if not os.path.exists(path):
        raise DataError(f"there is no file {str(path)!r}")
    return {name: coded(column) for name, column in TABLES[kind].load(path, pick).items()}
