"""The application: every file of ``jaxrank/cli/commands`` gives its ``COMMANDS``."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated

import typer

import jaxrank
import jaxrank.cli.commands
from jaxrank.cli.runtime import reporting

HELP = """Rank models from repeated trials or battles, with honest uncertainty.

FILE is a csv, jsonl, parquet or npz file in long form (columns model, question, trial, score), a log or a folder of
logs of an evaluation tool (lm-eval, Inspect, EvalPlus, SWE-bench, ...), or the name of a bundled data set:
try  jaxrank fit misguided_attention --method bradley_terry
"""


def make_app() -> typer.Typer:
    """The application with all subcommands, in the alphabetical order of their files."""
    app = typer.Typer(
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
        ] = False,
    ) -> None:
        pass

    options.__doc__ = HELP
    for info in sorted(pkgutil.iter_modules(jaxrank.cli.commands.__path__), key=lambda m: m.name):
        module = importlib.import_module(f"{jaxrank.cli.commands.__name__}.{info.name}")
        for command in module.COMMANDS:
            app.command(command.__name__.rstrip("_").replace("_", "-"))(reporting(command))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"jaxrank {jaxrank.__version__}")
        raise typer.Exit
