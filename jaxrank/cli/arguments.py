"""Arguments that several subcommands share, and how their text becomes values."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.runtime import say
from jaxrank.data import datasets
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.errors import JaxrankError, OptionError

READING = "Reading the file"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files, patterns or folders of results: tables (csv, jsonl, parquet, npz) or logs of evaluation tools; "
        "or the name of a bundled data set.",
    ),
]
Method = Annotated[str, typer.Option("--method", "-m", help="Identifier of the method; `jaxrank list` shows all.")]
MethodOptions = Annotated[
    list[str],
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Option of the method, such as k=4; may be repeated."),
]
PriorFile = Annotated[
    Path | None,
    typer.Option("--prior-file", metavar="R0", help="Earlier outcomes that serve as a prior, in any format of FILE."),
]
Level = Annotated[float, typer.Option("--interval", help="Coverage of the intervals, between 0 and 1.")]
RankRule = Annotated[
    str, typer.Option("--ranks", help="Ranks of ties: competition (1 2 2 4), competition_max, dense or average.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="TABLE", help="Write the table to this csv, json or parquet file as well."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of methods that draw random numbers.")]

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

        others = _other_options(read, parse_options(list(read_options)))
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
        with in_flags():
            data = read(
                files[0] if len(files) == 1 else files,
                format=file_format,
                levels=None if levels is None else parse_numbers("--levels", levels),
                threshold=threshold,
                **columns,
                **others,
            )
    for note in data.notes:
        say(f"note: {as_flags(note)}")
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


@contextmanager
def in_flags() -> Iterator[None]:
    """Errors of ``read`` name its options as the command line spells them."""
    try:
        yield
    except JaxrankError as error:
        raise type(error)(as_flags(str(error))) from None


def as_flags(text: str) -> str:
    """A message of ``read`` with its options spelled as flags: ``model=...`` is ``--model-column ...``."""
    text = re.sub(rf"\b({'|'.join(COLUMNS)})=\.\.\.", lambda m: f"--{m[1].replace('_', '-')}-column ...", text)
    text = re.sub(r"\b(array|scorer|metric|filter|rescore|questions|n)=\.\.\.", r"--read \1=...", text)
    text = re.sub(r"\b(winner_as|model)=(?=[\"'])", r"--read \1=", text)
    text = text.replace("format=...", "--file-format ...").replace("levels=(0, 0.5, 1)", "--levels 0,0.5,1")
    return re.sub(r"\bthreshold=([\d.]+)", r"--threshold \1", text)


def parse_numbers(option: str, text: str) -> tuple[float, ...]:
    """``"0,0.5,1"`` -> (0.0, 0.5, 1.0)."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"{option}={text!r}; it must be numbers separated by commas") from None


def parse_options(pairs: list[str]) -> dict[str, Any]:
    """``["k=4", "ties=half"]`` -> {"k": 4, "ties": "half"}: numbers, lists, True, False, None, or text."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise OptionError(f"--option {pair!r}; it must be NAME=VALUE, such as k=4")
        if name in options:
            raise OptionError(f"--option {name} is given twice")
        options[name] = _value(text.strip())
    return options


def _value(text: str) -> Any:
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
