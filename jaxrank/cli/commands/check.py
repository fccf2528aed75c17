"""``jaxrank check FILE``: what in the data will trouble which methods."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Output,
    check_output,
    with_data,
)
from jaxrank.cli.tables import Table
from jaxrank.results.tables import visible


@with_data
def check(
    data: Any,
    strict: Annotated[
        bool, typer.Option(help="Exit with code 1 where some methods would have no answer (a problem).")
    ] = False,
    output: Output = None,
) -> None:
    """Look at the data before ranking: coverage, separation, disconnected groups, duplicates, order of trials."""
    from jaxrank.studies.diagnosis import diagnose

    check_output("--output", output)
    found = diagnose(data)
    columns = found.to_dict()
    shown = {name: columns[name] for name in ("severity", "finding", "says", "means")}
    print(visible(repr(data)))
    if found.findings:
        Table(shown).show()
    else:
        print("nothing to report")
    if output is not None:
        Table(columns).save(output)
    if strict and found.problems:
        raise typer.Exit(1)


COMMANDS = (check,)
