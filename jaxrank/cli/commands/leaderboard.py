"""``jaxrank leaderboard VOTES -o DIR``: a static site about the votes of an arena."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Cluster, Level, Method, parse_method, with_data
from jaxrank.cli.battles import Anchor, Covariates, Period, Side, parse_anchor, parse_period
from jaxrank.cli.runtime import say

Folder = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder that the pages go to.")]
Category = Annotated[
    str | None, typer.Option("--by", metavar="COLUMN", help="The column of categories; category by default.")
]


@with_data
def leaderboard(
    data: Any,
    output: Folder = Path("leaderboard"),
    method: Method = None,
    covariate: Covariates = [],  # noqa: B006  (typer reads the default and never changes it)
    side: Side = False,
    cluster: Cluster = None,
    by: Category = None,
    period: Period = None,
    anchor: Anchor = None,
    level: Level = 0.95,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Write a leaderboard of battles: ranking, categories, history, method, data, and the tables beside it."""
    from jaxrank.reports import leaderboard as write

    if method:
        parse_method(method)
    page = write(
        data,
        output,
        method,
        covariates=covariate,
        side=side,
        cluster=cluster,
        category=by,
        period=parse_period(period),
        anchor=parse_anchor(anchor),
        level=level,
        title=title,
        command=shlex.join(["jaxrank", *sys.argv[1:]]),
        tell=say,
    )
    say(f"wrote {page}")


COMMANDS = (leaderboard,)
