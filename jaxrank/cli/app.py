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

import jaxrank
import jaxrank.cli.commands
from jaxrank.cli.help import WIDEST, Command, Group
from jaxrank.cli.runtime import INTERRUPTED, TYPED, fail, reporting
from jaxrank.errors import OptionError

USAGE: Any = typer.BadParameter.__mro__[1]
"""The class of the errors in what was typed, whichever package typer takes it from."""

ALIASES = {
    "run": "fit",
    "diagnose": "check",
    "validate": "check",
    "convergence": "converge",
    "agreement": "methods",
    "metrics": "evaluate",
    "eval": "evaluate",
    "scaling": "arise",
    "judge": "judges",
    "sample": "posterior",
    "bayesian": "posterior",
    "versus": "diff OLD NEW",
    "vs": "diff OLD NEW",
    "plot": "fit FILE --plot ranking.svg",
    "export": "fit FILE -o ranking.csv",
    "pdf": "report FILE --pdf report.pdf",
    "info": "list METHOD",
    "datasets": "fit misguided_attention",
    "tiers": "fit FILE --plot tiers=tiers.svg",
    **dict.fromkeys(("battles", "votes", "winrate", "win_rate"), "fit FILE"),
    **dict.fromkeys(("predict", "winprob", "superiority"), "fit FILE --plot superiority=pairs.svg"),
    **dict.fromkeys(("significance", "test", "ttest", "pvalue"), "diff FILE --old OLD --new NEW"),
    **dict.fromkeys(("read", "load", "describe"), "check FILE"),
    **dict.fromkeys(("majority", "vote", "self-consistency"), "answers FILE --rule majority"),
    **dict.fromkeys(("summary", "ranking", "ranks"), "fit FILE"),
    **dict.fromkeys(("pass@k", "pass_at_k", "pass"), "evaluate FILE -m pass_at_k --set k=4"),
    **dict.fromkeys(("html", "page"), "report FILE -o report.html"),
    **dict.fromkeys(("gate", "ci"), "diff FILE --old OLD --new NEW --fail-if worse"),
    **{m: f"fit FILE -m {m}" for m in ("elo", "glicko", "trueskill", "borda", "bayes", "rasch", "bt", "bradley_terry")},
}
"""Words that people try as commands, and the commands that they mean."""

OPTIONS = {
    **dict.fromkeys(
        ("--model", "--models"), ("--old MODEL --new MODEL", "--model-column NAME, --method for the method")
    ),
    "--llm": "--model-column NAME, or --method for the method",
    **dict.fromkeys(("--a", "--baseline", "--before", "--reference-model"), "--old MODEL"),
    **dict.fromkeys(("--b", "--candidate", "--after"), "--new MODEL"),
    "--ties": "--set ties=half, for methods that have it",
    **dict.fromkeys(("--question", "--task", "--problem"), "--question-column NAME"),
    **dict.fromkeys(("--tau", "--prior"), "--set NAME=VALUE, such as --set k=4"),
    **dict.fromkeys(("--k", "-k"), ("--set NAME=VALUE, such as --set k=4", "--completions 4")),
    **dict.fromkeys(("--n", "-n"), ("--completions 4", "--replicates N")),
    **dict.fromkeys(("--samples", "--n-replicates", "--iterations"), "--replicates N"),
    **dict.fromkeys(("--majority", "--vote"), "--rule majority"),
    "--model-column": "--candidate-column NAME",
    "--model-a": "--a-column NAME",
    "--model-b": "--b-column NAME",
    "--winner": "--winner-column NAME",
    **dict.fromkeys(("--elo", "--rating", "--points"), "--scale elo"),
    **dict.fromkeys(("--ci", "--alpha", "--confidence", "--interval"), "--level 0.9"),
    **dict.fromkeys(("--json", "--csv", "--format", "--output-format", "--out"), "-o FILE.json, .csv or .parquet"),
    **dict.fromkeys(("--metric", "--algorithm", "--estimator"), "--method NAME"),
    **dict.fromkeys(("--figure", "--fig", "--chart", "--png"), "--plot FILE.svg"),
    **dict.fromkeys(("--top", "--head", "--limit"), "`| head`: tables are sorted, best model first"),
    "--random-state": "--seed N",
}
"""Options that people try, and what does the same; several: the first that the command has."""

HELP = """Rank models from repeated trials or battles, with honest uncertainty.

FILE is a csv, jsonl, parquet or npz file in long form (columns model, question, trial, score), a log or a folder of
logs of an evaluation tool (lm-eval, Inspect, EvalPlus, SWE-bench, ...), or the name of a bundled data set:

\b
  jaxrank fit misguided_attention
  jaxrank fit --help
"""


class Commands(Group):
    """The subcommands; errors in what was typed are told in one line too."""

    def main(self, args: Any = None, *more: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        code, typed = None, list(sys.argv[1:] if args is None else args)
        if typed[:1] in (["help"], ["version"]):
            typed = [*typed[1:], f"--{typed[0]}"]
        TYPED[:] = typed
        with reporting():
            try:
                code = super().main(typed, *more, standalone_mode=False, **extra)
            except USAGE as error:
                if type(error).__name__ == "NoArgsIsHelpError":  # nothing was typed: the help is the answer
                    error.show()
                    raise SystemExit(error.exit_code) from None
                said = _meant(error) or error.format_message().rstrip(".")
                fail(f"{said}; see {getattr(error.ctx, 'command_path', 'jaxrank')} --help")
        if code == INTERRUPTED:
            fail("interrupted", INTERRUPTED)
        if standalone_mode:
            raise SystemExit(code or 0)
        return code

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word, known = args[0], self.list_commands(ctx)
        if word not in known and not word.startswith("-"):
            from jaxrank.data import datasets

            file = os.path.exists(word) or os.path.splitext(word)[1] or os.sep in word or word in datasets.available()
            if word == "rank" or file:
                return super().resolve_command(ctx, ["fit", *args[word == "rank" :]])
            meant = ALIASES.get(word.lower()) or next(iter(difflib.get_close_matches(word, known, n=1)), "")
            hint = f"; did you mean `jaxrank {meant}`?" if meant else f"; there are {', '.join(known)}"
            raise OptionError(f"there is no command {word!r}{hint}")
        return super().resolve_command(ctx, args)


def _meant(error: Any) -> str:
    """The message on an option that is not there where `OPTIONS` knows what was meant, and the command has that."""
    typed = getattr(error, "option_name", "")
    if type(error).__name__ != "NoSuchOption" or error.ctx is None:
        return ""
    if error.ctx.parent is None:  # jaxrank --list
        known = error.ctx.command.list_commands(error.ctx)
        return f"No such option: {typed}; did you mean `jaxrank {typed[2:]}`" if typed[2:] in known else ""
    found = OPTIONS.get(typed, typed)
    every = (found,) if isinstance(found, str) else found
    wanted = lambda meant: {word for word in meant.replace(",", " ").split() if word.startswith("-")}
    for meant in every:
        if wanted(meant) <= _flags(error.ctx.command):
            return f"No such option: {typed}; did you mean {meant}"
    group = error.ctx.parent.command
    having = [name for name, command in group.commands.items() if wanted(every[0]) <= _flags(command)]
    if not wanted(every[0]) or not having:
        return ""
    return f"No such option: {typed}; {every[0]} is an option of {', '.join(having)}"


def _flags(command: Any) -> set[str]:
    return {flag for parameter in command.params for flag in parameter.opts}


def make_app() -> typer.Typer:
    """The application with all subcommands: what the files of ``jaxrank/cli/commands`` hold."""
    app = typer.Typer(
        cls=Commands,
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
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
                app.command(called, cls=Command)(_reporting(command))
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
