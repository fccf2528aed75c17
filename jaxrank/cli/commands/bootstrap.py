"""``jaxrank bootstrap FILE``: how sure a ranking is, from replicates of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Level, Method, MethodOptions, Out, PriorFile, Seed, parse_options, with_data
from jaxrank.cli.hosts import Hosts, join_hosts
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table, check_out

Count = Annotated[int, typer.Option("--replicates", "-B", help="Number of replicates.")]
SchemeName = Annotated[
    str,
    typer.Option(
        "--scheme",
        help="trials, trials_per_question, independent, questions, questions_and_trials, bayesian or subsample(n).",
    ),
]
CheckpointDir = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", metavar="FOLDER", help="Keep finished chunks here; a stopped study goes on from them."
    ),
]
ChunkSize = Annotated[int | None, typer.Option("--chunk-size", help="Replicates between two checkpoints.")]


@with_data
def bootstrap(
    data: Any,
    method: Method = "bayes",
    option: MethodOptions = [],  # noqa: B006  (typer reads the default and never changes it)
    replicates: Count = 10_000,
    scheme: SchemeName = "trials",
    prior_file: PriorFile = None,
    interval: Level = 0.95,
    seed: Seed = 0,
    checkpoint: CheckpointDir = None,
    chunk_size: ChunkSize = None,
    hosts: Hosts = None,
    out: Out = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all replicates to this npz or parquet file.")
    ] = None,
) -> None:
    """Rank replicates of FILE: intervals of scores and ranks, and how often each model is best."""
    from jaxrank.cli.prior import read_prior
    from jaxrank.data.files import check_target
    from jaxrank.numerics.status import Status
    from jaxrank.results.replicates import REPLICATES, Replicates
    from jaxrank.studies.replicates import bootstrap as study

    check_out(out)
    if save is not None:
        check_target(save, REPLICATES, "replicates")
    prints = join_hosts(hosts)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    rep = study(
        data,
        method,
        n_replicates=replicates,
        scheme=scheme,
        seed=seed,
        R0=R0,
        checkpoint=checkpoint,
        chunk_size=chunk_size,
        **parse_options(option),
    )
    if not prints:
        return
    _table(rep, interval).emit(out)
    if save is not None and isinstance(rep, Replicates):
        rep.save(save)
    for status, n in rep.status_counts().items():
        if status != Status.CONVERGED:
            say(f"note: {n} of {rep.n_replicates} replicates: {status}")


def _table(rep: Any, level: float) -> Table:
    order = rep.estimate.order
    ranks = rep.rank_intervals(level)
    columns: dict[str, Any] = {"rank": rep.ranks, "model": list(rep.models), "score": rep.scores}
    bars = None
    if 2 * int(rep.tally.finite) >= rep.n_replicates:
        ends = rep.interval(level)
        columns.update(lower=ends.lower, upper=ends.upper)
        bars = Bars("score", "lower", "upper")
    columns.update(rank_lower=ranks.lower, rank_upper=ranks.upper, p_best=rep.rank_probabilities()[:, 0])
    title = f"{rep.method}, {rep.n_replicates} replicates by {rep.scheme}, {level:.0%} intervals"
    return Table({k: [v[i] for i in order] for k, v in columns.items()}, title=title, bars=bars)


COMMANDS = (bootstrap,)
