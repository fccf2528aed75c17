"""``jaxrank posterior FILE``: the full posterior of a model, summarised; the draws in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Level, Seed, with_data
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table, check_out

DRAWS = (".nc", ".zarr", ".npz")
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
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the draws (.nc, .zarr, .npz) or the table (.csv, .json, .parquet)."),
    ] = None,
) -> None:
    """Sample the posterior of a model: strengths, ranks and their probabilities."""
    import warnings

    from jaxrank.errors import JaxrankWarning
    from jaxrank.posteriors.files import check_format
    from jaxrank.studies.posterior import CONJUGATE, posterior

    draws = out if out is not None and out.suffix in DRAWS else None
    table = None if draws is not None else out
    check_out(table)
    if draws is not None:
        check_format(draws)
    say(f"sampling {model}: {chains} chains of {warmup} + {samples} steps (compiling takes most of a short run)")
    priors = None if model in CONJUGATE or model.startswith("hierarchical_") else prior_variance
    with warnings.catch_warnings(), bar() as progress:
        warnings.simplefilter("ignore", JaxrankWarning)  # said below, once
        found = posterior(
            data,
            model,
            priors=priors,
            n_chains=chains,
            n_warmup=warmup,
            n_samples=samples,
            seed=seed,
            sampler=sampler,
            progress=progress,
        )
        frame = found.to_frame(level=interval)
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    title = f"{model}: posterior means and {interval:.0%} intervals"
    Table(columns, title=title, bars=Bars("score", "lower", "upper"), wrap=("model",)).emit(table)
    if draws is not None:
        found.save(draws)
    for problem in found.problems:
        say(f"caution: {problem}")
    say(f"{found.seconds:.1f} seconds, {found.divergences} divergences")


@contextmanager
def bar() -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr, shown on a terminal alone: a function of steps done and steps in all."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.completed}/{task.total} steps of each chain"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("sampling", total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


COMMANDS = (posterior,)
