"""``jaxrank evaluate FILE``: a metric of every model with its posterior interval."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Level,
    Output,
    PriorFile,
    Settings,
    check_output,
    parse_options,
    with_data,
)
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Table
from jaxrank.errors import OptionError, UnknownMethodError
from jaxrank.results.bars import Bars

OPTIONS: dict[str, tuple[str, ...]] = {
    "bayes": (),
    "avg": (),
    "pass_at_k": ("k",),
    "pass_hat_k": ("k",),
    "g_pass_at_k_tau": ("k", "tau"),
    "mg_pass_at_k": ("k",),
    "maj_at_k": ("k",),
    "auc_at_k": ("k",),
    "threshold_spectrum_at_k": ("w",),
    "geom_at_k": ("k",),
    "geom_ds_at_k": ("k",),
    "geo_spectrum_at_k": ("k",),
    "max_at_k": ("k",),
    "tail_pass": ("v",),
}
"""The metrics, and the options that each needs."""

FURTHER: dict[str, tuple[str, ...]] = {
    "geom_at_k": ("pass_power", "unanimous_power"),
    "geom_ds_at_k": ("pass_power", "unanimous_power"),
    "geo_spectrum_at_k": ("lam", "w"),
    "max_at_k": ("w",),
    "tail_pass": ("w",),
}
FURTHER = {name: (*FURTHER.get(name, ()), "extrapolate") for name in OPTIONS if name not in ("bayes", "avg")}
"""Options that a metric can do without."""


@with_data
def evaluate(
    data: Any,
    method: Annotated[str, typer.Option("--method", "--metric", "-m", help=f"One of {', '.join(OPTIONS)}.")] = "bayes",
    settings: Settings = [],  # noqa: B006  (typer reads the default and never changes it)
    prior_file: PriorFile = None,
    strength: Annotated[float, typer.Option("--strength", help="Weight of the prior outcomes, 0 to 1.")] = 1.0,
    level: Level = 0.95,
    exact: Annotated[bool, typer.Option("--exact", help="Posterior quantiles instead of the normal interval.")] = False,
    output: Output = None,
    plot: Plots = [],  # noqa: B006
) -> None:
    """Evaluate every model of FILE by one metric: estimate, posterior mean, deviation, interval."""
    import numpy as np

    from jaxrank import evaluation
    from jaxrank.cli.prior import read_prior
    from jaxrank.data.responses import responses_of
    from jaxrank.numerics.interval import percent
    from jaxrank.numerics.ranks import rank_scores
    from jaxrank.results.plots.metric_chart import estimates

    check_output("--output", output)
    method = _named(method)
    kinds = {"estimates": estimates}
    plots = check_plots(plot, kinds)
    data = responses_of(data, "evaluate", "rank them by jaxrank fit")
    arguments, further = _arguments(method, parse_options(settings))
    options: dict[str, Any] = {"level": level} | further | ({"method": "exact"} if exact else {})
    if prior_file is not None:
        if method == "avg":
            raise OptionError("avg takes no prior; use --method bayes")
        options |= {"R0": read_prior(prior_file, data), "strength": strength}
    found = getattr(evaluation, method)(data, *arguments, **options)
    ranks = np.asarray(rank_scores(found.mean))
    order = np.argsort(-found.mean, kind="stable")
    columns = {
        "rank": ranks[order],
        "model": [data.models[i] for i in order],
        method: found.point[order],
        "mean": found.mean[order],
        "sd": found.sd[order],
        "lower": found.lower[order],
        "upper": found.upper[order],
    }
    noun = found.interval().noun
    # intervals are those of the estimate, which a posterior mean of few trials may lie outside of
    shown = method if np.isfinite(found.point).all() else "mean"
    spare = ("mean",) if shown == method else ()
    table = Table(columns, f"{method}, {100 * level:g} % {noun}s", Bars(shown, "lower", "upper"), spare=spare)
    say(table.first(method, f"{percent(level)} {noun}"))
    table.emit(output)
    say(f"mean, sd: of the posterior under its prior; lower, upper: {found.interval().words}")
    draw_plots(found, plots, kinds, models=data.models, metric=_spoken(method, arguments))


def _named(method: str) -> str:
    """The metric that a word of speech means ("accuracy"); `UnknownMethodError` where it means one with an option, as
    pass@2 does."""
    from jaxrank.methods.catalogue import entry

    try:
        name = method if method in OPTIONS else entry(method).name
    except UnknownMethodError as error:
        if any(repr(known) in str(error) for known in OPTIONS):
            raise
        return method
    return name if name in OPTIONS else method


def _arguments(method: str, options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """What the metric takes beside the data, in its order, and what it can do without; `OptionError` for options that
    it lacks or does not have."""
    if method not in OPTIONS:
        near = difflib.get_close_matches(method, OPTIONS, n=1)
        hint = f"did you mean {near[0]!r}? The metrics are" if near else "the metrics are"
        raise OptionError(f"--method {method!r}: {hint} {', '.join(OPTIONS)}")
    needed, further = OPTIONS[method], FURTHER.get(method, ())
    for name in options:
        if name not in (*needed, *further):
            has = f"has --set {', '.join((*needed, *further))} only" if needed else "has no options"
            raise OptionError(f"--set {name}=...: {method} {has}")
    missing = [name for name in needed if name not in options]
    if missing:
        example = {"k": "4", "tau": "0.5", "w": "0.5,0.5", "v": "0.5,0.5"}
        wanted = " ".join(f"--set {name}={example[name]}" for name in missing)
        raise OptionError(f"{method} needs {' and '.join(missing)}, such as {wanted}")
    return [options[name] for name in needed], {name: options[name] for name in further if name in options}


def _spoken(method: str, arguments: Sequence[Any]) -> str:
    """A metric with its options, as in "pass_at_k (k=4)"."""
    options = ", ".join(f"{name}={value}" for name, value in zip(OPTIONS[method], arguments, strict=True))
    return f"{method} ({options})" if options else method


COMMANDS = (evaluate,)
