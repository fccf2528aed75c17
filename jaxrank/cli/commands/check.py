"""``jaxrank check FILE``: what in the data will trouble which methods."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Output,
    check_output,
    with_data,
)
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import wrapped
from jaxrank.cli.tables import Table
from jaxrank.results.tables import fold, visible

WIDEST = 100
"""Cells that a line of a finding takes at most on a terminal."""


@with_data
def check(
    data: Any,
    strict: Annotated[
        bool, typer.Option(help="Exit with code 1 where some methods would have no answer (a problem).")
    ] = False,
    output: Output = None,
    plot: Plots = [],  # noqa: B006  (typer reads the default and never changes it)
) -> None:
    """Look at the data before ranking: coverage, separation, disconnected groups, duplicates, order of trials."""
    from jaxrank.studies.diagnosis import diagnose

    check_output("--output", output)
    plots = check_plots(plot, type(data))
    found = diagnose(data)
    columns = found.to_dict()
    shown = {name: columns[name] for name in ("severity", "finding", "says", "means")}
    print(wrapped(visible(repr(data)), sys.stdout, "  "))
    for what, says in reading(data).items():
        print(wrapped(visible(f"  {what}: {says}"), sys.stdout, "    "))
    if found.findings and sys.stdout.isatty():
        print(*_in_paragraphs(shown, shutil.get_terminal_size().columns), sep="\n")
    elif found.findings:
        Table(shown).show()
    else:
        print("nothing to report")
    if output is not None:
        Table(columns).save(output)
    draw_plots(data, plots)
    if strict and found.problems:
        raise typer.Exit(1)


def _in_paragraphs(columns: dict[str, list[str]], width: int) -> Iterator[str]:
    """Each finding under its name, in lines for a terminal: a table would fold its sentences to a few words."""
    width = min(width, WIDEST)
    for severity, finding, *sentences in zip(*columns.values(), strict=True):
        yield from ("", visible(f"{severity}: {finding}"))
        for sentence in sentences:
            yield from (f"  {line}" for line in fold(visible(sentence), width - 2))


def reading(data: Any) -> dict[str, str]:
    """What was read, in words: one entry a line."""
    many = lambda names: ", ".join(map(str, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    said = {"models": f"{len(data.models)}: {many(data.models)}"}
    if data.questions:
        said["questions"] = f"{len(data.questions)}: {many(data.questions)}"
        said["trials"] = data.size.rpartition("questions, ")[2]
    columns = dict(getattr(data, "question_columns", {}))
    if "group" in columns:
        groups = list(dict.fromkeys(columns["group"].tolist()))
        said["groups"] = f"{len(groups)}: {many(groups)}"
    if "weight" in columns:
        said["weights"] = f"{columns['weight'].min():g} to {columns['weight'].max():g}"
    if data.questions:
        turned = [q for q, up in zip(data.questions, columns.get("higher_is_better", ()), strict=False) if not up]
        all_of = " all questions" if len(turned) == len(data.questions) else f" {len(turned)}: {many(turned)}"
        said["direction"] = f"lower is better for{all_of}" if turned else "higher is better"
    if further := list(getattr(data, "columns", {})):
        said["columns"] = many(further)
    return said


COMMANDS = (check,)
