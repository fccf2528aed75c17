"""``jaxrank judges FILE``: candidates ranked from judges of unknown quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxrank.cli.arguments import Level, Out, Seed
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table, check_out


def judges(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A csv, jsonl or parquet file, one row a score.")],
    judge_column: Annotated[str, typer.Option(help="Column of the judge.")] = "judge",
    candidate_column: Annotated[str, typer.Option(help="Column of the candidate.")] = "candidate",
    question_column: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    score_column: Annotated[str, typer.Option(help="Column of the score, a whole level.")] = "score",
    prior: Annotated[
        str, typer.Option(help="Trust in the judges: free, weak, moderate, strong, perfect.")
    ] = "moderate",
    n_samples: Annotated[int, typer.Option(help="Posterior draws of each of four chains.")] = 1000,
    interval: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Rank the candidates of FILE from the scores of judges: posterior scores and ranks beside the plain means."""
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import JaxrankWarning
    from jaxrank.evaluation import judges as judging
    from jaxrank.evaluation.scaling.frames import dense

    check_out(out)
    axes = {"judge": judge_column, "candidate": candidate_column, "question": question_column}
    frame = read_frame(
        file,
        names={"judge": judge_column, "candidate": candidate_column, "question": question_column},
        ordered={},
        numbers={"score": score_column},
    )
    arrays, labels = dense(frame, axes, {"score": score_column})
    lowest = np.nanmin(arrays["score"])
    scores = np.where(np.isnan(arrays["score"]), -1, arrays["score"] - lowest)
    if lowest != 0:
        say(f"note: the lowest score, {lowest:g}, is level 0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JaxrankWarning)
        found = judging.infer(scores, prior=prior, n_samples=n_samples, n_warmup=n_samples, seed=seed)
    for warning in caught:
        say(f"note: {warning.message}")
    low, high = found.interval(interval)
    first, last = found.rank_intervals(interval)
    order = np.argsort(-found.scores, kind="stable")
    columns = {
        "rank": found.ranks[order],
        "candidate": [str(labels["candidate"][i]) for i in order],
        "score": found.scores[order],
        "low": low[order],
        "high": high[order],
        "best_rank": first[order],
        "worst_rank": last[order],
        "plain_mean": judging.plug_in_scores(scores)[order],
        "dawid_skene": judging.dawid_skene(scores).scores[order],
        "r_hat": found.r_hat[order],
    }
    Table(columns, title=f"Judges ({prior} trust), {interval:.0%} intervals", bars=Bars("score", "low", "high")).emit(
        out
    )


COMMANDS = (judges,)
