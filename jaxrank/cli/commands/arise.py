"""``jaxrank arise FILE``: test-time scaling of every model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxrank.cli.arguments import Level, Out, Seed
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table, check_out


def arise(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A csv, jsonl or parquet file, one row a trial.")],
    model_column: Annotated[str, typer.Option(help="Column of the model.")] = "model",
    question_column: Annotated[str, typer.Option(help="Column of the sample.")] = "question",
    level_column: Annotated[str, typer.Option(help="Column of the level of effort, in ascending order.")] = "level",
    trial_column: Annotated[str, typer.Option(help="Column of the trial.")] = "trial",
    correct_column: Annotated[str, typer.Option(help="Column of correctness in [0, 1].")] = "correct",
    tokens_column: Annotated[str, typer.Option(help="Column of the tokens.")] = "tokens",
    n_replicates: Annotated[int, typer.Option(help="Bootstrap replicates.")] = 2000,
    interval: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """ARISE and the scaling metric of every model of FILE over its own levels, with bootstrap intervals."""
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import DataError, JaxrankWarning
    from jaxrank.evaluation.scaling import evaluate_scaling
    from jaxrank.evaluation.scaling.frames import dense

    check_out(out)
    frame = read_frame(
        file,
        names={"model": model_column, "question": question_column},
        ordered={"level": level_column, "trial": trial_column},
        numbers={"correct": correct_column, "tokens": tokens_column},
    )
    axes = {"sample": question_column, "level": level_column, "trial": trial_column}
    rows = []
    for name, part in frame.groupby(model_column, sort=True):
        arrays, labels = dense(part, axes, {"correct": correct_column, "tokens": tokens_column})
        absent = arrays["tokens"] <= 0
        if absent.any():
            say(f"note: {name}: {absent.sum()} trials without tokens are left out")
            arrays["tokens"] = np.where(absent, np.nan, arrays["tokens"])
        if len(labels["level"]) < 2 or not np.isfinite(arrays["tokens"]).any((0, 2)).all():
            say(f"note: {name} left out: it needs tokens at two or more levels")
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", JaxrankWarning)
            found = evaluate_scaling(
                arrays["correct"][None],
                arrays["tokens"][None],
                models=[str(name)],
                n_replicates=n_replicates,
                level=interval,
                seed=seed,
            )
        for warning in caught:
            say(f"note: {warning.message}")
        rows.append((found, len(labels["level"])))
    if not rows:
        raise DataError("no model has tokens at two or more levels")
    rows.sort(key=lambda row: -row[0].arise[0])
    pick = lambda field: [float(getattr(found, field)[0]) for found, _ in rows]
    columns = {
        "model": [found.models[0] for found, _ in rows],
        "levels": [levels for _, levels in rows],
        "samples": [int(np.isfinite(found.samples).sum()) for found, _ in rows],
        "arise": pick("arise"),
        "low": [float(found.arise_interval.lower[0]) for found, _ in rows],
        "high": [float(found.arise_interval.upper[0]) for found, _ in rows],
        "scaling_metric": pick("scaling_metric"),
        "falling": pick("falling"),
    }
    Table(columns, title=f"ARISE, {interval:.0%} intervals", bars=Bars("arise", "low", "high")).emit(out)


COMMANDS = (arise,)
