"""The application: every file of ``jaxrank/cli/commands`` gives its ``COMMANDS``."""

from __future__ import annotations

import difflib
import functools
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import jaxrank
import jaxrank.cli.commands
from jaxrank.cli.runtime import INTERRUPTED, TYPED, fail, reporting
from jaxrank.errors import OptionError

USAGE: Any = typer.BadParameter.__mro__[1]
"""The class of the errors in what was typed, whichever package typer takes it from."""

ALIASES = {
    "run": ("fit",),
    "diagnose": ("check",),
    "convergence": ("converge",),
    "agreement": ("methods",),
    "metrics": ("evaluate",),
    "eval": ("evaluate",),
    "scaling": ("arise",),
    "judge": ("judges",),
    "sample": ("posterior",),
}
"""Words that people try, and the commands that they mean."""

HELP = """Rank models from repeated trials or battles, with honest uncertainty.

FILE is a csv, jsonl, parquet or npz file in long form (columns model, question, trial, score), a log or a folder of
logs of an evaluation tool (lm-eval, Inspect, EvalPlus, SWE-bench, ...), or the name of a bundled data set:
try  jaxrank fit misguided_attention --method bradley_terry
"""


class Commands(TyperGroup):
    """The subcommands; errors in what was typed are told in one line too."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        code = None
        words = args[0] if args else extra.get("args")
        TYPED[:] = sys.argv[1:] if words is None else words
        with reporting():
            try:
                code = super().main(*args, standalone_mode=False, **extra)
            except USAGE as error:
                if type(error).__name__ == "NoArgsIsHelpError":  # nothing was typed: the help is the answer
                    error.show()
                    raise SystemExit(error.exit_code) from None
                fail(
                    f"{error.format_message().rstrip('.')}; see {getattr(error.ctx, 'command_path', 'jaxrank')} --help"
                )
        if code == INTERRUPTED:
            fail("interrupted", INTERRUPTED)
        if standalone_mode:
            raise SystemExit(code or 0)
        return code

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word, known = args[0], self.list_commands(ctx)
        if word not in known and not word.startswith("-"):
            from jaxrank.data import datasets

            if word == "rank" or os.path.exists(word) or word in datasets.available():
                return super().resolve_command(ctx, ["fit", *args[word == "rank" :]])
            near = [f"jaxrank {name}" for name in difflib.get_close_matches(word, known, n=1)]
            near = near or [f"jaxrank {name}" for name in ALIASES.get(word, ())]
            hint = f"; did you mean `{'` or `'.join(near)}`?" if near else f"; there are {', '.join(known)}"
            raise OptionError(f"there is no command {word!r}{hint}")
        return super().resolve_command(ctx, args)


def make_app() -> typer.Typer:
    """The application with all subcommands, in the alphabetical order of their files."""
    app = typer.Typer(
        cls=Commands,
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
            name = command.__name__.rstrip("_").replace("_", "-")
            for called in (name, *getattr(module, "ALSO", {}).get(name, ())):  # a second name of the same command
                app.command(called)(_reporting(command))
    return app


def _reporting(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        with reporting():
            command(*args, **kwargs)

    return run


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"jaxrank {jaxrank.__version__}")
        raise typer.Exit
