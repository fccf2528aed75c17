"""``jaxrank fit FILE``: one ranking by one method."""

from __future__ import annotations

from typing import Any

from jaxrank.cli.arguments import (
    Cluster,
    IncludePartial,
    Level,
    Method,
    Output,
    PriorFile,
    RankRule,
    Seed,
    Settings,
    check_output,
    chosen_method,
    settings_of,
    with_data_since,
)
from jaxrank.cli.battles import Anchor, By, Covariates, Period, Scale, Side, Since
from jaxrank.cli.drawing import Plots, check_plots, draw_plots


@with_data_since
def fit(
    data: Any,
    method: Method = None,
    settings: Settings = [],  # noqa: B006  (typer reads the default and never changes it)
    prior_file: PriorFile = None,
    level: Level = 0.95,
    cluster: Cluster = None,
    ranks: RankRule = "competition",
    include_partial: IncludePartial = False,
    seed: Seed = 0,
    output: Output = None,
    plot: Plots = [],  # noqa: B006
    covariate: Covariates = [],  # noqa: B006
    side: Side = False,
    scale: Scale = None,
    anchor: Anchor = None,
    by: By = None,
    period: Period = None,
    since: Since = False,
) -> None:
    """Rank the models of FILE by one method, with intervals where the method has them."""
    from jaxrank.cli.battles import (
        check_since,
        check_views,
        parse_anchor,
        show_categories,
        show_coefficients,
        show_periods,
        show_ratings,
        updated,
    )
    from jaxrank.cli.prior import read_prior
    from jaxrank.cli.results import by_clusters, fit_quietly, result_table, say_headline, say_notes
    from jaxrank.results.fit import Result

    check_output("--output", output)
    plots = check_plots(plot, Result)
    name = chosen_method(method or ("bradley_terry" if period is not None else None), data, prior_file)
    options = settings_of(name, settings) | ({"covariates": covariate} if covariate else {})
    options |= {"side": True} if side else {}
    check_views(scale, anchor, by, period, plot)
    if since is not None:
        check_since(name, options, by, period, prior_file)
    if by is not None:
        show_categories(data, by, name, options, level, output)
        return
    if period is not None:
        show_periods(data, period, name, options, level, output)
        return
    R0 = None if prior_file is None else read_prior(prior_file, data)
    result = fit_quietly(data, name, R0=R0, seed=seed, **options)
    moved, fixed = None, parse_anchor(anchor)
    if since is not None:
        result, moved = updated(result, since, fixed and fixed[0], ranks)
    result = result if cluster is None else by_clusters(result, cluster)
    if scale is None:
        say_headline(result, level, include_partial)
        result_table(result, level, ranks, include_partial, moved).emit(output)
    else:
        show_ratings(result, anchor, level, output, moved)
    show_coefficients(result, level)
    draw_plots(result, plots, level=level)
    say_notes(result, level, include_partial)


COMMANDS = (fit,)
