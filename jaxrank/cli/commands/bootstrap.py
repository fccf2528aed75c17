"""``jaxrank bootstrap FILE``: how sure a ranking is, from replicates of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Cluster,
    IncludePartial,
    Level,
    Method,
    Output,
    PriorFile,
    Replicates,
    Seed,
    Settings,
    check_output,
    chosen_method,
    save_option,
    settings_of,
    whole,
    with_data,
)
from jaxrank.cli.battles import Covariates, Side
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.hosts import Hosts, join_hosts
from jaxrank.cli.runtime import say
from jaxrank.cli.sharing import GRACE, CheckpointFolder, ClaimTimeout, Grace, Shard, Steal, share_of, shared
from jaxrank.cli.tables import Table
from jaxrank.results.bars import Bars

SchemeName = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="What is drawn again: questions (default; battles and lists: these), independent (trials), trials, "
        "trials_per_question, questions_and_trials, bayesian or subsample(n).",
        show_default=False,
    ),
]
ChunkSize = Annotated[
    int | None,
    typer.Option("--chunk-size", callback=whole("--chunk-size"), help="Replicates between two checkpoints."),
]


@with_data
def bootstrap(
    data: Any,
    method: Method = None,
    settings: Settings = [],  # noqa: B006  (typer reads the default and never changes it)
    replicates: Replicates = 10_000,
    scheme: SchemeName = None,
    cluster: Cluster = None,
    prior_file: PriorFile = None,
    level: Level = 0.95,
    include_partial: IncludePartial = False,
    seed: Seed = 0,
    checkpoint: CheckpointFolder = None,
    chunk_size: ChunkSize = None,
    shard: Shard = None,
    steal: Steal = False,
    claim_timeout: ClaimTimeout = 60.0,
    grace: Grace = GRACE,
    hosts: Hosts = None,
    output: Output = None,
    save: Annotated[Path | None, save_option("all replicates", (".npz", ".parquet"))] = None,
    plot: Plots = [],  # noqa: B006
    covariate: Covariates = [],  # noqa: B006
    side: Side = False,
) -> None:
    """Rank replicates of FILE: intervals of scores and ranks, and how often each model is best."""
    from jaxrank.cli.battles import show_coefficients
    from jaxrank.cli.prior import read_prior
    from jaxrank.cli.results import rankable, say_headline
    from jaxrank.numerics.status import Status
    from jaxrank.results.replicates import REPLICATES, Replicates
    from jaxrank.results.study import Study
    from jaxrank.studies.replicates import bootstrap as study

    check_output("--output", output)
    check_output("--save", save, REPLICATES)
    plots = check_plots(plot, Study)
    drawn = scheme if cluster is None else _clusters(cluster, scheme)
    name = chosen_method(method, data, prior_file)
    options: dict[str, Any] = settings_of(name, settings) | ({"covariates": covariate} if covariate else {})
    options |= {"side": True} if side else {}
    data = rankable(data, include_partial)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    share = share_of(shard, steal, claim_timeout, checkpoint)
    prints = join_hosts(hosts)
    with shared(checkpoint, share, grace):
        rep = study(
            data,
            name,
            n_replicates=replicates,
            scheme=drawn,
            seed=seed,
            R0=R0,
            checkpoint=checkpoint,
            chunk_size=chunk_size,
            shard=share,
            **options,
        )
    if not prints:
        return
    say_headline(rep, level)
    _table(rep, level).emit(output)
    if isinstance(rep, Replicates):
        show_coefficients(rep, level)
    draw_plots(rep, plots, level=level)
    if save is not None and isinstance(rep, Replicates):
        rep.save(save)
    for line in (*rep.words(level), rep.direction):
        if line:
            say(line)
    for status, n in rep.status_counts().items():
        if status != Status.CONVERGED:
            say(f"note: {n} of {rep.n_replicates} replicates: {status}")


def _clusters(columns: str, scheme: str | None) -> Any:
    """The scheme that draws clusters of one column, or of two that a comma separates."""
    from jaxrank.errors import OptionError
    from jaxrank.resampling.clusters import clusters

    if scheme is not None:
        raise OptionError("--cluster and --scheme both say what is drawn again; leave one out")
    return clusters(*(name.strip() for name in columns.split(",")))


def _table(rep: Any, level: float) -> Table:
    frame = rep.to_frame(level=level)
    bars = Bars(rep.column, "lower", "upper") if "lower" in frame else None
    title = f"{rep.method}, {rep.n_replicates} replicates by {rep.drawn}, {100 * level:g} % intervals"
    return Table.of(frame, title, bars, rep._record())


COMMANDS = (bootstrap,)
