"""``jaxrank evaluate FILE``: a metric of every model with its posterior interval."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Level, Out, PriorFile, with_data
from jaxrank.cli.tables import Bars, Table, check_out
from jaxrank.errors import OptionError

METRICS = ("bayes", "avg", "pass_at_k", "pass_hat_k", "g_pass_at_k_tau", "mg_pass_at_k")


@with_data
def evaluate(
    data: Any,
    metric: Annotated[str, typer.Option("--metric", "-m", help=f"One of {', '.join(METRICS)}.")] = "bayes",
    k: Annotated[int | None, typer.Option("--k", help="Tries, for the Pass@k family.")] = None,
    tau: Annotated[float, typer.Option("--tau", help="Share of tries that must succeed, for g_pass_at_k_tau.")] = 0.5,
    prior_file: PriorFile = None,
    strength: Annotated[float, typer.Option("--strength", help="Weight of the prior outcomes, 0 to 1.")] = 1.0,
    interval: Level = 0.95,
    exact: Annotated[bool, typer.Option("--exact", help="Posterior quantiles instead of the normal interval.")] = False,
    out: Out = None,
) -> None:
    """Evaluate every model of FILE by one metric: estimate, posterior mean, deviation, interval, shared ranks."""
    import numpy as np

    from jaxrank import evaluation
    from jaxrank.cli.prior import read_prior

    check_out(out)
    if metric not in METRICS:
        raise OptionError(f"--metric {metric!r}; it must be one of {', '.join(METRICS)}")
    family = metric not in ("bayes", "avg")
    if family and k is None:
        raise OptionError(f"{metric} needs --k, the number of tries")
    if not family and k is not None:
        raise OptionError(f"{metric} has no --k; the metrics with tries are {', '.join(METRICS[2:])}")
    options: dict[str, Any] = {"level": interval, "method": "exact" if exact else "normal"}
    if prior_file is not None:
        if metric == "avg":
            raise OptionError("avg takes no prior; use --metric bayes")
        options |= {"R0": read_prior(prior_file, data), "strength": strength}
    arguments = () if not family else (k, tau) if metric == "g_pass_at_k_tau" else (k,)
    found = getattr(evaluation, metric)(data, *arguments, **options)
    ranks = np.asarray(evaluation.rank_with_intervals(found.mean, found.sd, level=(1 + interval) / 2))
    order = np.argsort(-found.mean, kind="stable")
    columns = {
        "rank": ranks[order],
        "model": [data.models[i] for i in order],
        metric: found.point[order],
        "mean": found.mean[order],
        "sd": found.sd[order],
        "low": found.lower[order],
        "high": found.upper[order],
    }
    Table(columns, title=f"{metric}, {interval:.0%} intervals", bars=Bars("mean", "low", "high")).emit(out)


COMMANDS = (evaluate,)
