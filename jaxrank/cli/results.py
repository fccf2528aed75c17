"""One result as the subcommands show it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import jaxrank as jr
from jaxrank.cli.runtime import in_flags, say
from jaxrank.cli.tables import Table
from jaxrank.data.clusters import clustering
from jaxrank.data.columns import GROUP
from jaxrank.numerics.ranks import rank_scores
from jaxrank.resampling.progress import progress_bar
from jaxrank.results.bars import Bars
from jaxrank.results.changes import Changes
from jaxrank.results.headline import headline


def fit_quietly(data: Any, method: str, **options: Any) -> Any:
    """``jaxrank.fit`` in float64, without the warnings that the notes of the result repeat."""
    with warnings.catch_warnings(), progress_bar(method, 1):
        warnings.simplefilter("ignore", jr.JaxrankWarning)
        return jr.fit(data, method, dtype="float64", **options)


def result_table(
    result: Any, level: float, rule: Any = "competition", include_partial: bool = False, moved: Changes | None = None
) -> Table:
    """A ranking as a table, best model first, with intervals at ``level`` where the method has them, and what ``moved``
    since an earlier one.

    Models that saw under half of the questions stand below the others and have no rank.
    """
    order, frame = result.order, result.to_frame(level=level)
    partial = result.data.partial & (not include_partial)
    with result.precision():
        scores = np.where(partial, np.nan, result.scores)
        ranks = np.asarray(rank_scores(scores, rule, result.fit.resolution))[order]
    frame["rank"] = ranks
    if partial.any():
        frame["rank"] = frame["rank"].astype(object).mask(partial[order], None)
        frame["questions"] = result.data.n_seen[order]
        frame = frame.iloc[np.argsort(partial[order], kind="stable")].reset_index(drop=True)
    frame = frame if moved is None else moved.beside(frame)
    described, bars = "", Bars(result.column)
    if "lower" in frame:
        described, bars = f", {100 * level:g} % intervals", Bars(result.column, "lower", "upper")
    return Table.of(frame, f"{result.method}{described}", bars, result._record())


def say_headline(ranked: Any, level: float, include_partial: bool = True) -> None:
    """The answer in a sentence above the table, where every model of the data is ranked."""
    if include_partial or not ranked.data.partial.any():
        said = headline(ranked, level)
        if said:
            say(said)


def by_clusters(result: Any, column: str) -> Any:
    """The result with intervals by clusters of a column; says what a reader should know of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.JaxrankWarning)
        clustered = result.clustered(column)
    if note := clustering(result.data, column).note:
        say(f"note: {note}")
    return clustered


def rankable(data: Any, include_partial: bool) -> Any:
    """``data`` without the models that saw under half of the questions, which is said."""
    if include_partial or not data.partial.any():
        return data
    say(f"note: {data.partial_note}; left out, --include-partial ranks them")
    return data.select(models=~data.partial)


def say_notes(result: Any, level: float, include_partial: bool = False) -> None:
    """What its intervals are about, what the fit has to say beyond the notes of the data, and where intervals come from
    if it has none."""
    if result.has_interval:
        say(f"{result.method}: intervals {result.interval(level).words}")
    if result.direction:
        say(result.direction)
    for note in result.notes[len(result.data.notes) :]:
        say(f"note: {in_flags(note)}")
    if note := _tasks(result.data):
        say(f"note: {note}")
    if result.data.partial.any() and not include_partial:
        say(f"note: {result.data.partial_note}; they stand below the others, --include-partial ranks them")
    if not result.has_interval:
        say(f"note: {result.method} has no analytic intervals; `jaxrank bootstrap -m {result.method}` draws them")


def _tasks(data: Any) -> str:
    """That questions of tasks of unequal size are pooled, where they are and nobody has weighted them."""
    columns = data.question_columns if data.questions else {}
    if GROUP not in columns or "weight" in columns:
        return ""
    names, sizes = np.unique(np.asarray(columns[GROUP]).astype(str), return_counts=True)
    if len(set(sizes.tolist())) < 2:
        return ""
    of = ", ".join(f"{name} {n}" for name, n in zip(names[:6], sizes, strict=False)) + (
        ", ..." if names[6:].size else ""
    )
    return f"every question counts once, whatever the size of its task ({of}); `jaxrank report` ranks in each task"
