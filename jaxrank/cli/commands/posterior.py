"""``jaxrank posterior FILE``: the full posterior of a model, summarised; the draws in a file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from jaxrank.cli.arguments import (
    Level,
    Output,
    Samples,
    Seed,
    check_output,
    save_option,
    whole,
    with_data,
)
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import in_flags, say
from jaxrank.cli.sharing import GRACE, CheckpointFolder, ClaimTimeout, Grace, Shard, Steal, share_of, shared
from jaxrank.cli.tables import Table
from jaxrank.results.bars import Bars

Model = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="bayes, rasch_2pl, bradley_terry, rao_kupper ..., with the prefix hierarchical_ too; the data's kind has "
        "a default.",
    ),
]


@with_data
def posterior(
    data: Any,
    method: Model = None,
    chains: Annotated[int, typer.Option(callback=whole("--chains"), help="Number of chains.")] = 4,
    warmup: Annotated[int, typer.Option(callback=whole("--warmup"), help="Warm-up steps of each chain.")] = 1000,
    samples: Samples = 1000,
    sampler: Annotated[str, typer.Option(help="nuts, laplace or svi.")] = "nuts",
    prior_variance: Annotated[
        float | None, typer.Option(help="Prior variance of a strength, 1 where there is one.", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMN", help="Strengths in each category of a column, partially pooled."),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Output = None,
    save: Annotated[Path | None, save_option("all draws", (".nc", ".zarr", ".npz"))] = None,
    plot: Plots = [],  # noqa: B006
    checkpoint: CheckpointFolder = None,
    shard: Shard = None,
    steal: Steal = False,
    claim_timeout: ClaimTimeout = 60.0,
    grace: Grace = GRACE,
) -> None:
    """Sample the posterior of a model: strengths, ranks and their probabilities."""
    import warnings

    from jaxrank.cli.results import say_headline
    from jaxrank.errors import JaxrankWarning
    from jaxrank.posteriors.files import check_format
    from jaxrank.results.posterior import Posterior
    from jaxrank.results.posterior_by_category import PosteriorByCategory
    from jaxrank.studies.posterior import default_model, posterior

    check_output("--output", output)
    check_output("--save", save, (".nc", ".zarr", ".npz"))
    if save is not None:
        check_format(save)
    plots = check_plots(plot, Posterior if by is None else PosteriorByCategory)
    name = method or default_model(data)
    share = share_of(shard, steal, claim_timeout, checkpoint)
    with shared(checkpoint, share, grace), warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # said below, once
        found = posterior(
            data,
            name,
            priors=prior_variance,
            n_chains=chains,
            n_warmup=warmup,
            n_samples=samples,
            seed=seed,
            sampler=cast(Any, sampler),
            checkpoint=checkpoint,
            shard=share,
            by=by,
        )
        frame = found.to_frame(level=level)
    say_headline(found, level)
    title = f"{name}: posterior means and {100 * level:g} % credible intervals"
    table = Table.of(frame, title, Bars("score", "lower", "upper"), {"method": name, "sampler": found.sampler})
    if output is not None:
        table.save(output)
    if sys.stdout.isatty() and set(frame["status"]) == {"ok"}:  # of no model has a person to hear
        table = replace(table, columns={n: c for n, c in table.columns.items() if n != "status"})
    table.show()
    if isinstance(found, PosteriorByCategory):
        say(found.spread(level))
    draw_plots(found, plots, level=level)
    if save is not None:
        found.save(save)
    for problem in found.problems:
        say(f"caution: {in_flags(problem)}")
    say(f"{found.seconds:.1f} seconds, {found.divergences} divergences")


COMMANDS = (posterior,)
