"""Data frames of any library (pandas, polars, pyarrow), mappings of columns or of scores."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.rankings import Rankings
from jaxrank.data.readers import tables
from jaxrank.data.readers.columns import ALIASES, Column, Peek, code, code_arrow, listed, numbers_arrow
from jaxrank.data.readers.mappings import plain_mapping
from jaxrank.data.readers.options import Options
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

HEAD = 50
"""Rows that are looked at to understand a table."""


class Frame(Protocol):
    """A data frame of any library."""

    @property
    def columns(self) -> Any: ...


def is_frame(data: Any) -> bool:
    """True for what `from_frame` reads: data frames of any library, arrow tables, mappings of columns."""
    return (
        hasattr(data, "__arrow_c_stream__")
        or isinstance(data, Mapping)
        or (hasattr(data, "columns") and hasattr(data, "__getitem__"))
    )


def from_frame(
    frame: Frame | Mapping[str, Any],
    *,
    model: str | None = None,
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
    lower_is_better: bool | Sequence[str] | None = None,
    missing: str = "observed",
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
) -> Responses | Comparisons | Rankings:
    """A data frame of any library, or a mapping of columns, read as `read` reads a table, with its options.

    A frame that was pivoted is read by the names of its index and columns. A mapping from models to lists of scores has
    a score (or a list of trials) for each question; a mapping from models to mappings has questions by name.

    >>> import jaxrank as jr
    >>> jr.from_frame({"ada": [1, 0, 1], "bob": [0, 0, 1]}).models
    ('ada', 'bob')
    >>> jr.from_frame({"ada": {"q1": 1, "q2": 0}, "bob": {"q1": 0, "q2": 0}}).questions
    ('q1', 'q2')
    """
    if not is_frame(frame):
        raise DataError(f"a data frame is needed, or a mapping of columns, not a {type(frame).__name__}")
    options = Options(
        *(model, question, trial, score, answer, weight, group),
        *(a, b, winner, a_score, b_score, count, voter, category, time, order, place, winner_as, wide),
        *(lower_is_better, missing, None, levels, threshold, ties, bothbad),
    )
    notes = []
    if isinstance(frame, Mapping):
        frame, options, notes = plain_mapping(frame, options)
    elif hasattr(frame, "index") and hasattr(frame, "reset_index"):
        frame, options = _pivoted(frame, options)
    part = tables.open_part(_peek(frame), lambda pick, numbers: _load(frame, pick, numbers), options)
    layout = part.layout
    main = layout.columns if layout.battles is None else layout.battles.main
    said = [f"read {part.rows} rows of a data frame: columns {listed(main)}", *notes]
    return tables.build([part], options, [*said, *tables.unread(part.names, layout)])


def _pivoted(frame: Any, options: Options) -> tuple[Any, Options]:
    """A pandas frame with its index as columns, and what the names of its columns say."""
    across = str(getattr(frame.columns, "name", None) or "").strip().lower()
    if options.wide is None and not options.trials and not options.battles:
        for role, what in (("model", "models"), ("question", "questions")):
            if across and across.rstrip("s") in (*ALIASES[role], role):
                options = replace(options, wide=what)
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise DataError(
            f"the columns of the frame have {frame.columns.nlevels} levels; keep one (frame.columns.droplevel) or "
            "bring it into long form (frame.stack)"
        )
    names = [str(name) for name in frame.index.names if name is not None]
    if any(n in frame.columns for n in names):
        return frame, options
    numbered = frame.index.nlevels == 1 and frame.index.dtype.kind in "iub"
    return (frame if numbered and not names else frame.reset_index()), options


def _peek(frame: Any) -> Peek:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        head = frame.slice(0, HEAD)
        return Peek(frame.column_names, {n: head.column(k).to_pylist() for k, n in enumerate(frame.column_names)})
    names = list(frame) if isinstance(frame, Mapping) else [c for c in frame.columns if isinstance(c, str)]
    names = [name for name in names if isinstance(name, str)]
    return Peek(names, {name: _first(frame[name]) for name in names})


def _first(values: Any) -> list[Any]:
    try:
        return np.asarray(values[:HEAD], object).tolist()
    except (TypeError, ValueError, KeyError):
        return []


def _load(frame: Any, pick: Callable[[Sequence[str]], list[str]], numbers: Container[str]) -> tables.Columns:
    if hasattr(frame, "__arrow_c_stream__"):
        return _arrow_columns(frame, pick, numbers)
    return dict(_plain_columns(frame, pick))


def _arrow_columns(frame: Any, pick: Callable[[Sequence[str]], list[str]], numbers: Container[str]) -> tables.Columns:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        names = pick(frame.column_names)
        table = frame.select(names)
    else:
        # Only the columns in use are converted: others may hold objects that arrow does not know.
        names = pick([c for c in frame.columns if isinstance(c, str)])
        try:
            table = pa.table(frame[names])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return dict(_plain_columns(frame, lambda _: names))
    read = lambda name: numbers_arrow if name in numbers else code_arrow
    return {name: read(name)(table.column(name)) for name in names}


def _plain_columns(frame: Any, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    columns = {}
    for name in pick(names):
        values = frame[name]
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise DataError(f"column {name!r} is {type(values).__name__}, not a list of values")
        values = np.asarray(values, object) if not isinstance(values, list) else values
        columns[name] = code(values if isinstance(values, list) else values.ravel().tolist())
    lengths = {name: len(c.codes) for name, c in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError("columns have different lengths: " + ", ".join(f"{k} {v}" for k, v in lengths.items()))
    return columns
