"""Arguments that several subcommands share, and how their text becomes values."""

from __future__ import annotations

import ast
import functools
import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.runtime import in_flags, say
from jaxrank.data import datasets
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError

READING = "Reading the file"
TABLES = (".csv", ".json", ".parquet")

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files, patterns or folders of results: tables (csv, jsonl, parquet, npz) or logs of evaluation tools; "
        "or the name of a bundled data set.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", "-m", help="Identifier of the method, `jaxrank list` shows all; the data's kind has a default."
    ),
]
Methods = Annotated[
    list[str],
    typer.Option(
        "--method", "-m", help="Identifier, or with options NAME:k=4; may be repeated. The data's kind has a default."
    ),
]
Settings = Annotated[
    list[str],
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="Option of the method, such as k=4; may be repeated."),
]
PriorFile = Annotated[
    Path | None,
    typer.Option("--prior-file", metavar="R0", help="Earlier outcomes that serve as a prior, in any format of FILE."),
]
MOST = 100_000_000
"""Replicates, draws or steps beyond which a number is rather a slip: no machine has the memory to keep them."""


def whole(option: str, least: int = 1, most: int = MOST) -> Callable[[int | None], int | None]:
    """A check of a whole number as it is typed."""

    def check(value: int | None) -> int | None:
        if value is not None and not least <= value <= most:
            raise OptionError(f"{option} {value}; it must lie between {least} and {most:,}")
        return value

    return check


Replicates = Annotated[
    int, typer.Option("--replicates", "-B", callback=whole("--replicates", 2), help="Number of replicates.")
]
Seed = Annotated[
    int, typer.Option("--seed", callback=whole("--seed", 0, 2**32 - 1), help="Seed of the random numbers.")
]
Samples = Annotated[int, typer.Option("--samples", callback=whole("--samples"), help="Posterior draws of each chain.")]


def _between_0_and_1(level: float) -> float:
    if not 0 < level < 1:
        raise OptionError(f"--level {level:g}; it must lie between 0 and 1, for example 0.95")
    return level


Level = Annotated[
    float, typer.Option("--level", callback=_between_0_and_1, help="Level of the intervals, between 0 and 1.")
]
RankRule = Annotated[
    str, typer.Option("--ranks", help="Ranks of ties: competition (1 2 2 4), competition_max, dense or average.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="TABLE", help="Write the table to this csv, json or parquet file as well."),
]


def check_output(option: str, path: Path | None, suffixes: Sequence[str] = TABLES) -> None:
    """`OptionError` where a file that is asked for could not be written: called before the work."""
    if path is not None:
        from jaxrank.data.files import check_target

        check_target(path, suffixes, f"files of {option}")


def save_option(what: str, suffixes: Sequence[str]) -> Any:
    """``--save FILE``: what the table of a command sums up, in full."""
    return typer.Option("--save", metavar="FILE", help=f"Write {what} to this file ({', '.join(suffixes)}).")


_READING: dict[str, tuple[Any, Any]] = {
    "files": (Files, inspect.Parameter.empty),
    "model_column": (Annotated[str | None, typer.Option(help="Column of the model.", rich_help_panel=READING)], None),
    "question_column": (
        Annotated[str | None, typer.Option(help="Column of the question.", rich_help_panel=READING)],
        None,
    ),
    "trial_column": (Annotated[str | None, typer.Option(help="Column of the trial.", rich_help_panel=READING)], None),
    "score_column": (Annotated[str | None, typer.Option(help="Column of the score.", rich_help_panel=READING)], None),
    **{
        f"{role}_column": (
            Annotated[str | None, typer.Option(help=f"Battles: column of {what}.", rich_help_panel=READING)],
            None,
        )
        for role, what in (
            ("model_a", "the first model"),
            ("model_b", "the second model"),
            ("winner", "the winner"),
            ("count", "the number of battles that a row stands for"),
        )
    },
    "levels": (
        Annotated[
            str | None, typer.Option(help="The distinct scores in ascending order: 0,0.5,1", rich_help_panel=READING)
        ],
        None,
    ),
    "threshold": (
        Annotated[float | None, typer.Option(help="Scores of at least this count as right.", rich_help_panel=READING)],
        None,
    ),
    "file_format": (
        Annotated[
            str | None, typer.Option(help="Format of the file where its name does not say.", rich_help_panel=READING)
        ],
        None,
    ),
    "read_options": (
        Annotated[
            list[str],
            typer.Option(
                "--read",
                metavar="NAME=VALUE",
                help="Another option of jaxrank.read, such as scorer=match or errors=missing; may be repeated.",
                rich_help_panel=READING,
            ),
        ],
        [],
    ),
}


def with_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command(data, ...)`` the arguments that say what to read; it receives the results as ``data``."""
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**kwargs: Any) -> None:
        data = read_data(**{name: kwargs.pop(name) for name in _READING})
        command(data, **kwargs)

    keyword = inspect.Parameter.KEYWORD_ONLY
    reading = [inspect.Parameter(name, keyword, annotation=a, default=d) for name, (a, d) in _READING.items()]
    rest = [p.replace(kind=keyword) for p in list(own.parameters.values())[1:]]
    parameters = [reading[0], *rest, *reading[1:]]
    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def read_data(
    files: list[str],
    *,
    model_column: str | None = None,
    question_column: str | None = None,
    trial_column: str | None = None,
    score_column: str | None = None,
    model_a_column: str | None = None,
    model_b_column: str | None = None,
    winner_column: str | None = None,
    count_column: str | None = None,
    levels: str | None = None,
    threshold: float | None = None,
    file_format: str | None = None,
    read_options: Sequence[str] = (),
) -> Responses | Comparisons:
    """The results in files, or a bundled data set where its name is given and no such file exists; says its notes."""
    if len(files) == 1 and files[0] in datasets.available() and not os.path.exists(files[0]):
        data = datasets.load(files[0])
    else:
        from jaxrank.data.readers import read

        others = _other_options(read, parse_options(read_options, "--read"))
        columns = {
            "model": others.pop("model", model_column),
            "question": question_column,
            "trial": trial_column,
            "score": score_column,
            "model_a": model_a_column,
            "model_b": model_b_column,
            "winner": winner_column,
            "count": count_column,
        }
        data = read(
            files[0] if len(files) == 1 else files,
            format=file_format,
            levels=None if levels is None else parse_numbers("--levels", levels),
            threshold=threshold,
            **columns,
            **others,
        )
    for note in data.notes:
        say(f"note: {in_flags(note)}")
    return data


def _other_options(read: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options of ``read`` that have no argument of their own on the command line."""
    own = ("path", "format", *COLUMNS[1:], "levels", "threshold")
    known = [name for name in inspect.signature(read).parameters if name not in own]
    for name in options:
        if name not in known:
            raise OptionError(f"--read {name}=...: there is no such option; there are {', '.join(known)}")
    return options


COLUMNS = ("model", "question", "trial", "score", "model_a", "model_b", "winner", "count")
"""Options of ``read`` that name columns, here ``--model-column`` and so on."""


def parse_numbers(option: str, text: str) -> tuple[float, ...]:
    """``"0,0.5,1"`` -> (0.0, 0.5, 1.0)."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"{option}={text!r}; it must be numbers separated by commas") from None


def parse_options(pairs: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """``["k=4", "ties=half"]`` -> {"k": 4, "ties": "half"}: numbers, lists, True, False, None, or text."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise OptionError(f"{option} {pair!r}; it must be NAME=VALUE, such as k=4")
        if name in options:
            raise OptionError(f"{option} {name} is given twice")
        options[name] = _value(text.strip())
    return options


def chosen_method(method: str | None, data: Any, prior: Any = None) -> str:
    """The method asked for, or the default of this kind of data, and of a file of prior outcomes."""
    from jaxrank.studies.preparation import default_method

    return method or default_method(data, prior)


def settings_of(method: str, pairs: Sequence[str]) -> dict[str, Any]:
    """The options of ``--set``, each of them one that the method has."""
    from jaxrank.methods.catalogue import make

    options = parse_options(pairs)
    make(method, **options)
    return options


def parse_method(text: str) -> Any:
    """``pass_at_k:k=2`` -> the method with its options; `UnknownMethodError` or `OptionError` says what there is."""
    from jaxrank.methods.catalogue import make

    name, _, options = text.partition(":")
    return make(name, **parse_options([o for o in options.split(",") if o], name))


def _value(text: str) -> Any:
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
