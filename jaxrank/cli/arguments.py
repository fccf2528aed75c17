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
from jaxrank.errors import DataError, OptionError

READING = "Reading the file"
TABLES = (".csv", ".json", ".parquet")

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
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
IncludePartial = Annotated[
    bool, typer.Option("--include-partial", help="Rank models with results on under half of the questions too.")
]
PriorFile = Annotated[
    Path | None,
    typer.Option("--prior-file", metavar="R0", help="Earlier outcomes that serve as a prior, in any format of FILE."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="COLUMN",
        help="Results of one value of this column are alike (voter, group): uncertainty by clusters of them.",
    ),
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

        try:
            check_target(path, suffixes, f"files of {option}")
        except OptionError as error:
            raise OptionError(f"{error}{_OTHER_FILES.get(path.suffix, '')}") from None


_OTHER_FILES = {
    **dict.fromkeys((".svg", ".png"), "; --plot FILE draws"),
    **dict.fromkeys((".html", ".md", ".pdf"), "; `jaxrank report FILE -o PAGE` writes pages"),
}
"""What writes files of other endings than those of tables."""


def save_option(what: str, suffixes: Sequence[str]) -> Any:
    """``--save FILE``: what the table of a command sums up, in full."""
    return typer.Option("--save", metavar="FILE", help=f"Write {what} to this file ({', '.join(suffixes)}).")


_COLUMNS = {
    "model": "the model",
    "question": "the question (of battles: the prompt)",
    "trial": "the trial",
    "answer": "right answers, with which the scores (predictions) are compared",
    "weight": "what a question counts, or a battle",
    "group": "the task or subject of a question",
    "a": "the first model of battles",
    "b": "the second model of battles",
    "winner": "the winner of battles",
    "a_score": "what the first side of a battle scored",
    "b_score": "what the second side scored",
    "count": "the number of battles that a row stands for",
    "voter": "the judge of battles",
    "category": "the category of battles",
    "time": "the time of battles",
    "order": "the list that a row of ordered lists is of",
    "place": "the place in that list, 1 the best",
}
"""Options of ``read`` that name one column, here ``--model-column`` and so on, and what the column holds."""


def _option(kind: Any, help: str, *names: str, default: Any = None) -> tuple[Any, Any]:
    return Annotated[kind, typer.Option(*names, help=help, rich_help_panel=READING)], default


_READING: dict[str, tuple[Any, Any]] = {
    "files": (Files, inspect.Parameter.empty),
    "score_column": _option(
        list[str], "Column of the score; repeated or with commas, each is a question.", "--score-column", default=[]
    ),
    **{f"{role}_column": _option(str | None, f"Column of {what}.") for role, what in _COLUMNS.items()},
    "wide": _option(str | None, "What the columns of a wide table are: models or questions."),
    "model_from_path": _option(
        str | None, "Pattern of the path with the model in braces: 'runs/{model}/{task}/*.json'."
    ),
    "lower_is_better": _option(
        bool | None,
        "Whether lower scores are better; by default as columns are called.",
        "--lower-is-better/--higher-is-better",
    ),
    "missing": _option(str, "Questions that a model lacks: observed, common or worst.", default="observed"),
    "levels": _option(str | None, "The distinct scores in ascending order: 0,0.5,1"),
    "threshold": _option(float | None, "Scores of at least this count as right."),
    "file_format": _option(str | None, "Format of the file where its name does not say."),
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
    return _reading(command, read_data)


def with_data_since(command: Callable[..., None]) -> Callable[..., None]:
    """As `with_data`, for a command with ``--since``: where it is given, the command receives what all files but the
    last hold, and as ``since`` what the last holds, else None."""
    return _reading(command, read_data, _old_and_new)


def _old_and_new(since: bool, files: list[str], **options: Any) -> tuple[Any, Any]:
    if not since:
        return read_data(files, **options), None
    *old, new = files
    if not old:
        raise OptionError("--since tells what the last FILE changed; give those before it too: old.parquet new.parquet")
    return read_data(old, **options), read_data([new], **options)


def with_runs(command: Callable[..., None]) -> Callable[..., None]:
    """As `with_data`, with each of the files read for itself: the command receives a list of results."""
    return _reading(command, _each)


def _each(files: list[str], **options: Any) -> list[Any]:
    old, new = files[1:] if len(files) == 3 else ("", "")
    if old and not (os.path.exists(old) or os.path.exists(new)):
        raise DataError(f"no files {old!r} and {new!r}; models of one file are named by --old {old} --new {new}")
    return [read_data([file], **options) for file in files]


def with_data_or_runs(command: Callable[..., None]) -> Callable[..., None]:
    """As `with_data`; two files that both hold the one model are its old and its new run."""
    return _reading(command, _data_or_runs)


def _data_or_runs(files: list[str], **options: Any) -> Any:
    from jaxrank.studies.compare import runs

    if len(files) != 2:
        return read_data(files, **options)
    try:
        data = read_data(files, **options)
    except DataError:  # as where both files have a trial 0
        data = None
    if data is not None and (len(data.models) > 1 or not data.questions):
        return data
    old, new = (read_data([file], **options) for file in files)
    if len({*old.models, *new.models}) > 1:
        return read_data(files, **options)
    say(f"note: both files hold {old.models[0]!r}: they are compared as the old and the new run")
    return runs(old=old, new=new)


def _reading(
    command: Callable[..., None], read: Callable[..., Any], apart: Callable[..., Any] | None = None
) -> Callable[..., None]:
    """**apart**: reads the data and what ``since`` stands for, in place of ``read``."""
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**kwargs: Any) -> None:
        reading = {name: kwargs.pop(name) for name in _READING}
        if apart is None:
            data = read(**reading)
        else:
            data, kwargs["since"] = apart(kwargs["since"], **reading)
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
    score_column: Sequence[str] = (),
    wide: str | None = None,
    model_from_path: str | None = None,
    lower_is_better: bool | None = None,
    missing: str = "observed",
    levels: str | None = None,
    threshold: float | None = None,
    file_format: str | None = None,
    read_options: Sequence[str] = (),
    **columns: str | None,
) -> Any:
    """The results in files, or a bundled data set where its name is given and no such file exists; says its notes.

    **columns**: ``model_column`` and so on, for each name of `_COLUMNS`.
    """
    from jaxrank.data import datasets

    if len(files) == 1 and files[0] in datasets.available() and not os.path.exists(files[0]):
        data = datasets.load(files[0])
    else:
        from jaxrank.data.readers import read

        if len(files) == 1:
            _check_there(files[0])
        others = _other_options(read, parse_options(read_options, "--read"))
        named = {role: columns.get(f"{role}_column") for role in _COLUMNS}
        named["model"] = others.pop("model", named["model"])
        scores = [name for text in score_column for name in _score_names(text)]
        data = read(
            files[0] if len(files) == 1 else files,
            format=file_format,
            score=None if not scores else scores[0] if len(scores) == 1 else scores,
            wide=wide,
            model_from_path=model_from_path,
            lower_is_better=others.pop("lower_is_better", lower_is_better),
            missing=missing,
            levels=None if levels is None else parse_numbers("--levels", levels),
            threshold=threshold,
            **named,
            **others,
        )
    for note in data.notes:
        say(f"note: {in_flags(note)}")
    return data


def _check_there(file: str) -> None:
    """`DataError` with what may have been meant, for a name of no file and no bundled data set."""
    if os.path.exists(file) or any(sign in file for sign in "*?[{"):
        return
    from jaxrank.data import datasets
    from jaxrank.data.names import nearest

    folder, name = os.path.split(file)
    try:
        beside = sorted(os.listdir(folder or "."))
    except OSError:
        raise DataError(f"no file {file!r}: there is no folder {folder!r}") from None
    known = [] if folder else datasets.available()
    near = nearest(name, [*known, *(os.path.join(folder, other) for other in beside)])
    hint = f"; did you mean {near}?" if near else f"; bundled data sets are {', '.join(known)}" if known else ""
    raise DataError(f"no file {file!r}{hint}")


def _score_names(text: str) -> list[str]:
    """Names of columns that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()] or [text]


def _other_options(read: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options of ``read`` that have no argument of their own on the command line."""
    own = ("path", "format", *[c for c in _COLUMNS if c != "model"], "score", "wide", "model_from_path", "missing")
    own = (*own, "levels", "threshold")
    known = [name for name in inspect.signature(read).parameters if name not in own]
    if (name := next((name for name in options if name not in known), None)) is not None:
        raise OptionError(f"--read {name}=...: there is no such option; there are {', '.join(known)}")
    return options


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
