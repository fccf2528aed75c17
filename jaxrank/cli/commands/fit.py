"""``jaxrank fit FILE``: one ranking by one method."""

from __future__ import annotations

from typing import Any

from jaxrank.cli.arguments import Level, Method, MethodOptions, Out, PriorFile, RankRule, Seed, parse_options, with_data
from jaxrank.cli.tables import check_out


@with_data
def fit(
    data: Any,
    method: Method = "bayes",
    option: MethodOptions = [],  # noqa: B006  (typer reads the default and never changes it)
    prior_file: PriorFile = None,
    interval: Level = 0.95,
    ranks: RankRule = "competition",
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Rank the models of FILE by one method, with intervals where the method has them."""
    from jaxrank.cli.prior import read_prior
    from jaxrank.cli.results import fit_quietly, result_table, say_notes

    check_out(out)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    result = fit_quietly(data, method, R0=R0, seed=seed, **parse_options(option))
    result_table(result, interval, ranks).emit(out)
    say_notes(result)


COMMANDS = (fit,)
