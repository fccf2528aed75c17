"""``jaxrank rubrics FILE``: attempts mapped to categories by a rubric, and Bayes@N of their weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxrank.cli.arguments import Level, Output, check_output, parse_numbers
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Table
from jaxrank.results.bars import Bars


def rubrics(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A csv, jsonl or parquet file, one row an attempt, with columns named like the signals: is_correct, "
            "has_box, token_ratio, repeated_pattern, prompt_bpt, completion_bpt, compass_A, compass_B, compass_C.",
        ),
    ],
    rubric: Annotated[
        str, typer.Option(help="Name of the rubric: conservative, format_aware, ...; a wrong one lists all.")
    ] = "conservative",
    weights: Annotated[
        str | None, typer.Option(help="Weights of the categories, that of invalid attempts first: 0,-0.1,0.05,1")
    ] = None,
    pooled: Annotated[
        bool | None,
        typer.Option("--pooled/--by-model", help="Thresholds over all models, or by model; default as published."),
    ] = None,
    model_column: Annotated[str, typer.Option(help="Column of the model.")] = "model",
    question_column: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    trial_column: Annotated[str, typer.Option(help="Column of the trial.")] = "trial",
    level: Level = 0.95,
    output: Output = None,
    plot: Plots = [],  # noqa: B006  (typer reads the default and never changes it)
) -> None:
    """Score the attempts of FILE by a rubric: shares of the categories, and the mean weight with its interval."""
    import dataclasses
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import JaxrankWarning
    from jaxrank.evaluation import rubrics as judging
    from jaxrank.numerics.ranks import rank_scores
    from jaxrank.results.plots.metric_chart import estimates

    check_output("--output", output)
    kinds = {"estimates": estimates}
    plots = check_plots(plot, kinds)
    schema = judging.find(rubric)
    axes = {"model": model_column, "question": question_column}
    columns = [field.name for field in dataclasses.fields(judging.Signals)]
    frame = read_frame(file, axes, {"trial": trial_column}, {}, columns)
    signals, models, _ = judging.Signals.from_frame(frame, model_column, question_column, trial_column)
    chosen = None if weights is None else parse_numbers("--weights", weights)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JaxrankWarning)
        found = judging.evaluate(signals, schema, weights=chosen, pooled=pooled, level=level)
    for warning in caught:
        say(f"note: {warning.message}")
    with warnings.catch_warnings(action="ignore", category=JaxrankWarning):
        categories = schema.categories(signals, pooled)
    seen = (categories >= 0).sum(axis=(1, 2))
    order = np.argsort(-found.mean, kind="stable")
    table = {
        "rank": np.asarray(rank_scores(found.mean))[order],
        "model": [models[i] for i in order],
        "mean": found.mean[order],
        "lower": found.lower[order],
        "upper": found.upper[order],
        **{
            f"share_{c}": ((categories == c).sum(axis=(1, 2)) / np.maximum(seen, 1))[order]
            for c in range(len(schema.labels) + 1)
        },
    }
    named = ", ".join(f"{c} {label}" for c, label in enumerate(("invalid", *schema.labels)))
    say(f"note: share_0, ... are the shares of the categories {named}")
    drawn = Table(table, f"{schema.name}, {100 * level:g} % intervals", Bars("mean", "lower", "upper"))
    say(drawn.first(schema.name, f"{100 * level:g} % interval"))
    drawn.emit(output)
    draw_plots(found, plots, kinds, models=models, metric=f"mean weight ({schema.name})")


COMMANDS = (rubrics,)
