"""``jaxrank converge FILE``: how many trials a ranking needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Out, PriorFile, Seed, with_data
from jaxrank.cli.commands.bootstrap import CheckpointDir, ChunkSize, Count
from jaxrank.cli.hosts import Hosts, join_hosts
from jaxrank.cli.tables import Table, check_out

MethodNames = Annotated[
    list[str], typer.Option("--method", "-m", help="Identifier of a method, or with options NAME:k=4; may be repeated.")
]


@with_data
def converge(
    data: Any,
    method: MethodNames = ["bayes", "pass_at_k:k=2"],  # noqa: B006  (typer reads the default and never changes it)
    replicates: Count = 10_000,
    reference: Annotated[str, typer.Option(help="gold (Bayes@N on all trials) or self (the method on all).")] = "gold",
    scheme: Annotated[str, typer.Option(help="trials, trials_per_question, independent or subsample(N).")] = "trials",
    prior_file: PriorFile = None,
    seed: Seed = 0,
    checkpoint: CheckpointDir = None,
    chunk_size: ChunkSize = None,
    hosts: Hosts = None,
    out: Out = None,
    curves: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Write pmf, cdf, agreement and tau of every n to this file.")
    ] = None,
) -> None:
    """Convergence@n: after how many trials the ranking equals the reference and stays."""
    from jaxrank.cli.prior import read_prior
    from jaxrank.studies.convergence import convergence

    check_out(out)
    check_out(curves)
    prints = join_hosts(hosts)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    con = convergence(
        data,
        {name: _method(name) for name in method},
        n_replicates=replicates,
        reference=reference,
        seed=seed,
        scheme=scheme,
        R0=R0,
        checkpoint=checkpoint,
        chunk_size=chunk_size,
    )
    if not prints:
        return
    title = f"convergence@n of {con.n_replicates} replicates by {con.scheme}, reference: {con.reference}"
    Table(_columns(con.summary_frame()), title=title).emit(out)
    if curves is not None:
        Table(_columns(con.to_frame())).save(curves)


def _method(text: str) -> Any:
    from jaxrank.cli.arguments import parse_options
    from jaxrank.methods.catalogue import make

    name, _, options = text.partition(":")
    return make(name, **parse_options([o for o in options.split(",") if o]))


def _columns(frame: Any) -> dict[str, Any]:
    return {name: frame[name].to_list() for name in frame}


COMMANDS = (converge,)
