"""``jaxrank posterior FILE``: the full posterior of a model, summarised; the draws in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Level, Out, Seed, with_data
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table, check_out

Model = Annotated[str, typer.Option(help="bradley_terry, davidson, rasch_2pl, bayes ...; prefix hierarchical_.")]


@with_data
def posterior(
    data: Any,
    model: Model = "bradley_terry",
    chains: Annotated[int, typer.Option(help="Number of chains.")] = 4,
    warmup: Annotated[int, typer.Option(help="Warm-up steps of each chain.")] = 1000,
    samples: Annotated[int, typer.Option(help="Draws of each chain.")] = 1000,
    sampler: Annotated[str, typer.Option(help="nuts, laplace or svi.")] = "nuts",
    prior_variance: Annotated[float, typer.Option(help="Prior variance of a strength.")] = 1.0,
    interval: Level = 0.95,
    seed: Seed = 0,
    draws: Annotated[Path | None, typer.Option(help="Write the draws to this npz file.")] = None,
    out: Out = None,
) -> None:
    """Sample the posterior of a model: strengths, ranks and their probabilities."""
    import warnings

    from jaxrank.errors import JaxrankWarning
    from jaxrank.posterior import CONJUGATE, posterior

    check_out(out)
    say(f"sampling {model}: {chains} chains of {warmup} + {samples} steps (compiling takes most of a short run)")
    priors = None if model in CONJUGATE or model.startswith("hierarchical_") else prior_variance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # said below, once
        found = posterior(data, model, priors, chains, warmup, samples, seed, sampler)
    frame = found.summary(interval)
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    title = f"{model}: posterior means and {interval:.0%} intervals"
    Table(columns, title=title, bars=Bars("mean", "lo", "hi"), wrap=("model",)).emit(out)
    if draws is not None:
        found.save(draws)
    for problem in found.problems:
        say(f"caution: {problem}")
    say(f"{found.seconds:.1f} seconds, {found.divergences} divergences")


COMMANDS = (posterior,)
