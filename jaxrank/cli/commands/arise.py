"""``jaxrank arise FILE``: test-time scaling of every model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Level,
    Output,
    Replicates,
    Seed,
    check_output,
)
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Table
from jaxrank.errors import DataError, OptionError
from jaxrank.results.bars import Bars


def arise(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A csv, jsonl or parquet file, one row a trial.")],
    model_column: Annotated[str, typer.Option(help="Column of the model.")] = "model",
    question_column: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    effort_column: Annotated[str, typer.Option(help="Column of the level of effort.")] = "level",
    trial_column: Annotated[str, typer.Option(help="Column of the trial.")] = "trial",
    correct_column: Annotated[str, typer.Option(help="Column of correctness in [0, 1].")] = "correct",
    tokens_column: Annotated[str, typer.Option(help="Column of the tokens.")] = "tokens",
    efforts: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,...,HIGH",
            help="The levels of effort in ascending order; needed for words other than low, medium, high and the like.",
        ),
    ] = None,
    efforts_by_tokens: Annotated[
        bool, typer.Option("--efforts-by-tokens", help="Order the levels of effort by their mean tokens.")
    ] = False,
    common: Annotated[
        bool, typer.Option("--common", help="Keep the questions that every model has at all its levels.")
    ] = False,
    resample: Annotated[str, typer.Option(help="What replicates draw again: samples, trials or both.")] = "samples",
    replicates: Replicates = 2000,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Output = None,
    plot: Plots = [],  # noqa: B006  (typer reads the default and never changes it)
) -> None:
    """ARISE of every model of FILE over its own levels: as published, cross-fitted, and of noise alone.

    lower and upper are about ARISE of the success rates, that of endless trials: it lies between arise and cross_fit.
    """
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import JaxrankWarning
    from jaxrank.evaluation.scaling import evaluate_scaling
    from jaxrank.evaluation.scaling.frames import dense
    from jaxrank.results.plots.scaling_levels import scaling_curves, scaling_parts

    check_output("--output", output)
    kinds = {"curves": scaling_curves, "parts": scaling_parts}
    plots = check_plots(plot, kinds)
    if efforts is not None and efforts_by_tokens:
        raise OptionError("--efforts and --efforts-by-tokens both order the levels; give one of them")
    frame = read_frame(
        file,
        names={"model": model_column, "question": question_column},
        ordered={"effort": effort_column, "trial": trial_column},
        numbers={"correct": correct_column, "tokens": tokens_column},
    )
    order = _order(frame, effort_column, tokens_column, efforts, efforts_by_tokens)
    axes = {"model": model_column, "sample": question_column, "level": effort_column, "trial": trial_column}
    values = {"correct": correct_column, "tokens": tokens_column}
    arrays, labels = dense(frame, axes, values, {"level": order})
    absent = arrays["tokens"] <= 0
    arrays["tokens"] = np.where(absent, np.nan, arrays["tokens"])
    whole = np.isfinite(arrays["tokens"]) & np.isfinite(arrays["correct"])
    enough = whole.any((1, 3)).sum(1) >= 2
    for i, name in enumerate(labels["model"]):
        if absent[i].any():
            say(f"note: {name}: {absent[i].sum()} trials without tokens are left out")
        if not enough[i]:
            say(f"note: {name} left out: it needs tokens at two or more levels")
    if not enough.any():
        raise DataError("no model has tokens at two or more levels")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JaxrankWarning)
        found = evaluate_scaling(
            arrays["correct"][enough],
            arrays["tokens"][enough],
            models=[name for name, kept in zip(labels["model"], enough, strict=True) if kept],
            n_replicates=replicates,
            seed=seed,
            resample=resample,
            common=common,
        )
    for warning in caught:
        say(f"note: {warning.message}")
    tokens = [np.nanmean(arrays["tokens"][:, :, j]) if whole[:, :, j].any() else np.nan for j in range(len(order))]
    steps = ", ".join(f"{_name(v)} ({t:,.0f} tokens)" for v, t in zip(order, tokens, strict=True))
    say(f"note: levels of effort in the order {steps}")
    of = "ARISE of the success rates" if resample == "samples" else "ARISE of as many trials"
    title = f"ARISE, {100 * level:g} % intervals of {of}"
    table = Table.of(found.to_frame(level), title, Bars("arise", "lower", "upper"))
    say(table.first("ARISE", f"{100 * level:g} % interval of {of}"))
    table.emit(output)
    draw_plots(found, plots, kinds, level=level)


def _order(frame: Any, effort: str, tokens: str, efforts: str | None, by_tokens: bool) -> tuple[Any, ...]:
    """The levels of effort from low to high."""
    from jaxrank.evaluation.scaling import order_levels

    found = list(dict.fromkeys(frame[effort]))
    if by_tokens:
        mean = frame[frame[tokens] > 0].groupby(effort)[tokens].mean()
        unknown = [v for v in found if v not in mean.index]
        if unknown:
            raise DataError(f"--efforts-by-tokens: {', '.join(map(_name, unknown))} has no tokens")
        return tuple(sorted(found, key=lambda v: mean[v]))
    try:
        return order_levels(found, None if efforts is None else [_level(word) for word in efforts.split(",")])
    except OptionError as error:
        raise OptionError(f"--efforts: {error}") from None
    except DataError as error:
        raise DataError(f"{error} with --efforts low,medium,high, or use --efforts-by-tokens") from None


def _level(word: str) -> Any:
    try:
        return float(word)
    except ValueError:
        return word.strip()


def _name(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


COMMANDS = (arise,)
