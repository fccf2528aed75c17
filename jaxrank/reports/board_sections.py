"""The sections of a leaderboard's page."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from jaxrank.models.options import options_in_words
from jaxrank.reports.blocks import Code, Figure, Items, Section, Table, Text
from jaxrank.reports.board import Board
from jaxrank.results import plots
from jaxrank.results.bars import Bars
from jaxrank.results.headline import headline
from jaxrank.results.plots.views import size_of
from jaxrank.results.storage import versions
from jaxrank.studies.diagnosis.finding import Finding

SHOWN = 15
"""Models in the figure of the categories."""


def board_sections(board: Board, tables: dict[str, Any]) -> list[Section]:
    made = [
        _summary(board),
        _ranking(board, tables),
        _style(board, tables),
        _categories(board, tables),
        _history(board, tables),
    ]
    made += [_findings(board), _method(board), _data(board), _files(board, tables)]
    return [section for section in made if section is not None]


def _summary(board: Board) -> Section:
    first = headline(board.result, board.level, board.ratings) or f"{board.result.method} ranks no model."
    cautions = [f.name for f in _found(board) if f.severity != "note"]
    said = f"The votes: {size_of(board.result)}."
    if cautions:
        said += f" To be known about them: {', '.join(cautions)} (see What to distrust)."
    return Section("In short", [Text(first, lead=True), Text(said)])


def _ranking(board: Board, tables: dict[str, Any]) -> Section:
    clusters = f", by clusters of {board.result.cluster!r}" if board.result.cluster else ""
    note = board.ratings.note
    words = (
        f"{board.result.method}; lower, upper: interval of the rating, {board.ratings.kind}{clusters}. "
        f"{note[0].upper()}{note[1:]}. A tier ends above the first model that is separated from its leader, all pairs "
        "at once."
    )
    draw = lambda ax: plots.leaderboard(board.result, ax, level=board.level)
    figure = Figure("ranking", "Scores with intervals, best model first", draw)
    return Section(
        "Ranking", [Text(words), Table(tables["ranking"], bars=Bars("rating", "lower", "upper"), figure=figure)]
    )


def _style(board: Board, tables: dict[str, Any]) -> Section | None:
    if board.coefficients is None:
        return None
    draw = lambda ax: plots.coefficients(board.coefficients, ax)
    words = (
        "What shifts votes between models of equal strength, in log-odds by unit of each covariate; strengths are "
        "those where covariates are equal."
    )
    figure = Figure("coefficients", "Coefficients with intervals", draw)
    return Section("Style and side", [Text(words), figure, Table(tables["coefficients"])])


def _categories(board: Board, tables: dict[str, Any]) -> Section | None:
    split = board.categories
    if split is None:
        return None
    draw = lambda ax: plots.ranks_by_category(split, ax, best=SHOWN)
    words = (
        "Ranks among the models that fought in a category, from its battles alone and without covariates. They have "
        "errors too: a small category orders models by chance."
    )
    if len(split.models) > SHOWN:
        words += f" Drawn are the {SHOWN} best of all battles."
    figure = Figure("categories", "Ranks by category", draw)
    said = [("note", line.removeprefix("note: ")) for line in split._foot()]
    table = Table(tables["categories"], folded="Ranks of every model in every category")
    return Section("Categories", [Text(words), figure, *([Items(said)] if said else []), table])


def _history(board: Board, tables: dict[str, Any]) -> Section | None:
    history = board.history
    if history is None:
        return None
    draw = lambda ax: plots.ratings_over_time(history, ax, level=board.level)
    words = f"Strengths by period, each given all battles: a random walk, {history._title()}."
    figure = Figure("history", "Strengths by period with bands", draw)
    return Section("History", [Text(words), figure, Table(tables["history"], folded="Every model in every period")])


def _findings(board: Board) -> Section:
    found = [(f.severity, f.sentences) for f in _found(board)]
    return Section("What to distrust", [Items(found) if found else Text("Nothing was found.")])


def _found(board: Board) -> list[Finding]:
    """What was found about the votes, but for what the fit has already taken out of the strengths."""
    ranker: Any = board.result.ranker
    known = {"side bias"} if getattr(ranker, "side", False) else set()
    known |= {"covariates shift votes"} if getattr(ranker, "covariates", ()) else set()
    return [f for f in board.diagnosis if f.name not in known]


def _method(board: Board) -> Section:
    result = board.result
    options = options_in_words(result.ranker)
    clusters = f"clusters of {result.cluster!r}" if result.cluster else "battles taken for independent"
    rows = [
        ("method", result.method),
        ("status", str(result.status)),
        ("options", ", ".join(f"{k}={v}" for k, v in options.items() if v not in ("None", "()"))),
        ("errors", f"{board.ratings.kind}; {clusters}"),
        *(("note", note) for note in result.notes[len(result.data.notes) :]),
    ]
    return Section("Method", [Items(rows)])


def _data(board: Board) -> Section:
    data = board.data
    met = data.wins + data.wins.T + data.ties > 0
    n = len(data.models)
    rows = [
        ("battles", f"{data.count.sum():,.10g}"),
        ("models", f"{n}"),
        ("pairs that met", f"{int(np.triu(met, 1).sum()):,} of {n * (n - 1) // 2:,}"),
    ]
    import pandas as pd

    for name, values in data.columns.items():
        absent = int(pd.isna(values).sum())
        said = f"{pd.Series(values).nunique():,} values"
        rows.append((name, f"{said}, absent in {absent:,} rows" if absent else said))
    rows += [(f"no {name}", why) for name, why in board.missing.items()]
    return Section("Data", [Items([*rows, *(("note", note) for note in data.notes)])])


def _files(board: Board, tables: dict[str, Any]) -> Section:
    rows = [("tables", ", ".join(f"{name}.csv" for name in tables)), ("all of it", "leaderboard.json")]
    rows += [*versions().items(), ("Python", platform.python_version()), ("computed in", f"{board.seconds} s")]
    return Section("Files and versions", [Items(rows), *([Code(board.command)] if board.command else [])])
