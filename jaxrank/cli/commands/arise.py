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
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table
from jaxrank.errors import DataError, OptionError


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
        typer.Option(metavar="LOW,...,HIGH", help="The levels of effort in ascending order, where they are words."),
    ] = None,
    replicates: Replicates = 2000,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Output = None,
) -> None:
    """ARISE and the scaling metric of every model of FILE over its own levels, with bootstrap intervals."""
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import JaxrankWarning
    from jaxrank.evaluation.scaling import evaluate_scaling
    from jaxrank.evaluation.scaling.frames import dense

    check_output("--output", output)
    frame = read_frame(
        file,
        names={"model": model_column, "question": question_column},
        ordered={"effort": effort_column, "trial": trial_column},
        numbers={"correct": correct_column, "tokens": tokens_column},
    )
    frame[effort_column] = _in_order(frame[effort_column].to_list(), efforts)
    axes = {"sample": question_column, "level": effort_column, "trial": trial_column}
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
                models=[name],
                n_replicates=replicates,
                level=level,
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
        "lower": [float(found.arise_interval.lower[0]) for found, _ in rows],
        "upper": [float(found.arise_interval.upper[0]) for found, _ in rows],
        "scaling_metric": pick("scaling_metric"),
        "falling": pick("falling"),
    }
    Table(columns, f"ARISE, {100 * level:g} % intervals", Bars("arise", "lower", "upper")).emit(output)


def _in_order(found: list[Any], efforts: str | None) -> list[Any]:
    """Places of the levels of effort in ascending order: numbers are their own, words need to be put in order."""
    distinct = list(dict.fromkeys(found))
    if efforts is None:
        if not all(isinstance(v, float) for v in distinct):
            raise DataError(
                f"the levels of effort are words ({', '.join(map(str, distinct[:6]))}); "
                "put them in ascending order with --efforts, such as --efforts low,medium,high"
            )
        return found
    order = [_level(word) for word in efforts.split(",")]
    if len(set(order)) < len(order):
        raise OptionError(f"--efforts {efforts}: a level is named twice")
    absent = [v for v in distinct if v not in order]
    if absent:
        raise OptionError(f"--efforts {efforts}: the file also has {', '.join(map(_name, absent))}")
    return [order.index(v) for v in found]


def _level(word: str) -> Any:
    try:
        return float(word)
    except ValueError:
        return word.strip()


def _name(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


COMMANDS = (arise,)
