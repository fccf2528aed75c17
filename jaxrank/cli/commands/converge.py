"""``jaxrank converge FILE``: how many trials a ranking needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    TABLES,
    Methods,
    Output,
    PriorFile,
    Replicates,
    Seed,
    check_output,
    parse_method,
    save_option,
    with_data,
)
from jaxrank.cli.commands.bootstrap import ChunkSize
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.hosts import Hosts, join_hosts
from jaxrank.cli.runtime import say
from jaxrank.cli.sharing import GRACE, CheckpointFolder, ClaimTimeout, Grace, Shard, Steal, share_of, shared
from jaxrank.cli.tables import Table


@with_data
def converge(
    data: Any,
    method: Methods = [],  # noqa: B006  (typer reads the default and never changes it)
    replicates: Replicates = 10_000,
    reference: Annotated[str, typer.Option(help="gold (Bayes@N on all trials) or self (the method on all).")] = "gold",
    scheme: Annotated[str, typer.Option(help="trials, trials_per_question, independent or subsample(N).")] = "trials",
    prior_file: PriorFile = None,
    seed: Seed = 0,
    checkpoint: CheckpointFolder = None,
    chunk_size: ChunkSize = None,
    shard: Shard = None,
    steal: Steal = False,
    claim_timeout: ClaimTimeout = 60.0,
    grace: Grace = GRACE,
    hosts: Hosts = None,
    output: Output = None,
    save: Annotated[
        Path | None,
        save_option("pmf, cdf, agreement and tau of every n, or the whole study as npz,", (*TABLES, ".npz")),
    ] = None,
    plot: Plots = [],  # noqa: B006
) -> None:
    """Convergence@n: after how many trials the ranking equals the reference and stays."""
    from jaxrank.cli.prior import read_prior
    from jaxrank.results.convergence import Convergence
    from jaxrank.results.headline import settling
    from jaxrank.studies.convergence import convergence

    check_output("--output", output)
    check_output("--save", save, (*TABLES, ".npz"))
    plots = check_plots(plot, Convergence)
    methods = {name: parse_method(name) for name in method}
    R0 = None if prior_file is None else read_prior(prior_file, data)
    share = share_of(shard, steal, claim_timeout, checkpoint)
    prints = join_hosts(hosts)
    with shared(checkpoint, share, grace):
        con = convergence(
            data,
            methods or None,
            n_replicates=replicates,
            reference=reference,
            seed=seed,
            scheme=scheme,
            R0=R0,
            checkpoint=checkpoint,
            chunk_size=chunk_size,
            shard=share,
        )
    if not prints:
        return
    title = f"convergence@n of {con.n_replicates} replicates by {con.scheme}, reference: {con.reference}"
    say(settling(con))
    Table.of(con.summary_frame(), title).emit(output)
    draw_plots(con, plots)
    for note in con.notes:
        say(note)
    if save is not None:
        con.save(save)


COMMANDS = (converge,)
