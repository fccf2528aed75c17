"""``jaxrank report FILE``: one page about the data and the ranking."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import IncludePartial, Level, Method, Replicates, Seed, parse_method, with_data_or_runs
from jaxrank.cli.runtime import say
from jaxrank.errors import OptionError

Page = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="PAGE", help="The page to write: .html, .pdf, or .md and a folder."),
]
Compared = Annotated[str | None, typer.Option("--methods", metavar="A,B,...", help="Methods whose agreement is shown.")]
AllMethods = Annotated[bool, typer.Option("--all-methods", help="Compare all methods of the catalogue (minutes).")]


@with_data_or_runs
def report(
    data: Any,
    output: Page = Path("report.html"),
    method: Method = None,
    methods: Compared = None,
    all_methods: AllMethods = False,
    replicates: Replicates = 2000,
    level: Level = 0.95,
    include_partial: IncludePartial = False,
    seed: Seed = 0,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    pdf: Annotated[
        Path | None,
        typer.Option("--pdf", metavar="FILE", help="Print the page into this file too (needs Chromium)."),
    ] = None,
) -> None:
    """Write one page: diagnosis, ranking, tiers, distribution of ranks, agreement of methods, convergence, versions."""
    from jaxrank.data.files import check_target
    from jaxrank.reports import report as write
    from jaxrank.reports.pdf import browser, print_pdf

    compared = methods.split(",") if methods else []
    for name in filter(None, [method, *compared]):
        parse_method(name)
    if pdf is not None:
        check_target(pdf, (".pdf",), "files of --pdf")
        browser()
        if output.suffix == ".md":
            raise OptionError("--pdf prints a page; give -o a name that ends in .html")
    path = write(
        data,
        output,
        method,
        methods=compared or None,
        all_methods=all_methods,
        n_replicates=replicates,
        level=level,
        include_partial=include_partial,
        seed=seed,
        title=title,
        command=shlex.join(["jaxrank", *sys.argv[1:]]),
        tell=say,
    )
    say(f"wrote {path}")
    if pdf is not None:
        print_pdf(path, pdf)
        say(f"wrote {pdf}")


COMMANDS = (report,)
