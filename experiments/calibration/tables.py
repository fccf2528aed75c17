"""The measured table as Markdown, and which of its rows fail."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.calibration.statements import STATEMENTS

LIMIT, FEW_LIMIT, FEW = 0.065, 0.08, 20  # of errors where 5 % are claimed; the second below so many questions

Row = dict[str, Any]


def fails(row: Row) -> bool:
    """Whether the error is over its limit by more than two standard errors of the simulation, of data of which the
    library knows all that matters."""
    limit = FEW_LIMIT if row.get("questions", FEW) < FEW else LIMIT
    return row["error"] is not None and not row["untold"] and row["error"] - 2 * row["mc"] > limit


def sentence(row: Row) -> str:
    return f"{row['statement']}: {row['truth']}, {_size(row)}: {_percent(row)} false (width {row['width']:.3g})"


def _size(row: Row) -> str:
    parts = [f"{row[k]} {k}" for k in ("models", "questions", "trials", "battles") if k in row]
    return " x ".join(parts)


def _percent(row: Row) -> str:
    if row["error"] is None:
        return "says nothing"
    return f"{100 * row['error']:.1f} ± {100 * row['mc']:.1f} %"


def _entry(row: Row | None) -> str:
    """Error in percent, width, and what share of the width would do; what fails is bold."""
    if row is None or row["error"] is None:
        return "-"
    error = f"{100 * row['error']:.1f}"
    silent = f", silent {100 * row['silent'] / row['sets']:.0f} %" if row["silent"] else ""
    does = "" if row["reached"] is None else f", {row['reached']:.2f}"
    return f"{f'**{error}**' if fails(row) else error} ({row['width']:.3f}{does}{silent})"


def markdown(rows: list[Row]) -> str:
    """A table for each statement and kind of data."""
    out = ["# Errors of the default statements", "", _HEAD, "", *summary(rows), ""]
    for statement in STATEMENTS:
        own = [row for row in rows if row["statement"] == statement.name]
        if own:
            out += [f"## {statement.name}: `{statement.call}`", "", f"Width: {statement.width}.", ""]
        for kinds, table in ((("score", "gap"), _by_trials), (("all", "battles"), _by_size)):
            for kind in kinds:
                if part := [row for row in own if row["kind"] == kind]:
                    out += [*table(part), ""]
    return "\n".join(out).rstrip() + "\n"


def summary(rows: list[Row]) -> list[str]:
    """A line for each statement and kind of data, over all cells of which the library knows what matters: the least,
    median and largest error, and the least and largest share of the width that would do."""
    body = []
    for statement in STATEMENTS:
        for data, kinds in (("trials", ("score", "gap", "all")), ("battles", ("battles",))):
            own = [r for r in rows if r["statement"] == statement.name and r["kind"] in kinds and not r["untold"]]
            few = [r for r in own if r.get("questions", FEW + 1) <= FEW]
            many = [r for r in own if r not in few]
            ways = [r["reached"] for r in many if r["reached"] is not None]
            does = f"{min(ways):.2f} to {max(ways):.2f}" if ways else ""
            if own:
                counts = [str(len(own)), str(sum(map(fails, own)))]
                body.append([f"{statement.name}, {data}", *counts, _errors(few), _errors(many), does])
    return _grid(["statement", "cells", "fail", f"10 to {FEW} questions, %", "more, %", "width that would do"], body)


def _errors(rows: list[Row]) -> str:
    errors = [100 * r["error"] for r in rows if r["error"] is not None]
    return f"{min(errors):.1f} / {np.median(errors):.1f} / {max(errors):.1f}" if errors else ""


_HEAD = (
    "In percent of the data sets; in brackets the mean width and, of intervals, the share of it that would do for 5 %: "
    "below 1 they are conservative by that factor. 5 % are claimed; **bold**: over 6.5 % (8 % below 20 "
    "questions) by more than two standard errors of the simulation. In clusters of questions and votes of few voters "
    "the library is not told what belongs together: their errors show what that costs. `silent`: the share of sets on "
    "which the library refuses the statement."
)


def _grid(head: list[str], body: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body)]


def _by_trials(rows: list[Row]) -> list[str]:
    trials = sorted({row["trials"] for row in rows})
    lines = list(dict.fromkeys((row["truth"], row["questions"]) for row in rows))
    place = {(row["truth"], row["questions"], row["trials"]): row for row in rows}
    head = ["truth", "questions", *(f"{n} trial{'s' * (n > 1)}" for n in trials)]
    return _grid(head, [[t, str(m), *(_entry(place.get((t, m, n))) for n in trials)] for t, m in lines])


def _by_size(rows: list[Row]) -> list[str]:
    truths = list(dict.fromkeys(row["truth"] for row in rows))
    place = {(_size(row), row["truth"]): row for row in rows}
    return _grid(
        ["size", *truths],
        [[size, *(_entry(place.get((size, t))) for t in truths)] for size in dict.fromkeys(_size(row) for row in rows)],
    )
