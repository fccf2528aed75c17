"""``jaxrank judges FILE``: candidates ranked from judges of unknown quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxrank.cli.arguments import (
    Level,
    Output,
    Samples,
    Seed,
    check_output,
)
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table


def judges(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A csv, jsonl or parquet file, one row a score.")],
    judge_column: Annotated[str, typer.Option(help="Column of the judge.")] = "judge",
    candidate_column: Annotated[str, typer.Option(help="Column of the candidate.")] = "candidate",
    question_column: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    score_column: Annotated[str, typer.Option(help="Column of the score, a whole level.")] = "score",
    prior: Annotated[
        str, typer.Option(help="Trust in the judges: free, weak, moderate, strong, perfect.")
    ] = "moderate",
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Output = None,
) -> None:
    """Rank the candidates of FILE from the scores of judges: posterior scores and ranks beside the plain means."""
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import DataError, JaxrankWarning
    from jaxrank.evaluation import judges as judging
    from jaxrank.evaluation.judges.priors import find_prior
    from jaxrank.evaluation.scaling.frames import dense

    check_output("--output", output)
    find_prior(prior)
    axes = {"judge": judge_column, "candidate": candidate_column, "question": question_column}
    frame = read_frame(file, names=axes, ordered={}, numbers={"score": score_column})
    arrays, labels = dense(frame, axes, {"score": score_column})
    if not np.isfinite(arrays["score"]).any():
        raise DataError(f"{file}: column {score_column!r} holds no score")
    lowest = np.nanmin(arrays["score"])
    scores = np.where(np.isnan(arrays["score"]), -1, arrays["score"] - lowest)
    if lowest != 0:
        say(f"note: the lowest score, {lowest:g}, is level 0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JaxrankWarning)
        found = judging.infer(scores, prior=prior, n_samples=samples, n_warmup=samples, seed=seed)
    for warning in caught:
        say(f"note: {warning.message}")
    low, high = found.interval(level)
    first, last = found.rank_intervals(level)
    order = np.argsort(-found.scores, kind="stable")
    columns = {
        "rank": found.ranks[order],
        "candidate": [labels["candidate"][i] for i in order],
        "score": found.scores[order],
        "lower": low[order],
        "upper": high[order],
        "rank_lower": first[order],
        "rank_upper": last[order],
        "plain_mean": judging.plug_in_scores(scores)[order],
        "dawid_skene": judging.dawid_skene(scores).scores[order],
        "r_hat": found.r_hat[order],
    }
    title = f"Judges ({prior} trust), {100 * level:g} % intervals"
    Table(columns, title, Bars("score", "lower", "upper")).emit(output)


COMMANDS = (judges,)
