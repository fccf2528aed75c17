"""Score against cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_flag
from jaxrank.results.costs import CostFrontier
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    TINY,
    colour,
    make_axes,
    matplotlib,
    name_style,
    result_of,
    write_caption,
)
from jaxrank.results.plots.views import check_source


def frontier(source: CostFrontier, ax: Any = None, *, return_data: bool = False) -> Any:
    """Every model by cost (logarithmic where all are positive) and score; those on the frontier joined by a step line,
    the fuller the dot the likelier a place on it.

    **source**: from `jaxrank.cost_frontier`. The frame is that of the table.
    """
    check_source("a cost frontier", source, CostFrontier)
    check_flag("return_data", return_data)
    ax = make_axes(ax, 6.0, 4.0)
    order = [i for i in source.order if source.frontier[i]]
    ax.step(source.cost[order], source.scores[order], where="post", color=colour(0), linewidth=1.2, zorder=1)
    for i, name in enumerate(source.models):
        own = colour(0) if source.frontier[i] else MUTED
        ax.plot(source.cost[i], source.scores[i], "o", markeredgecolor=own, markerfacecolor="white", markersize=6)
        alpha = float(source.probability[i])
        ax.plot(source.cost[i], source.scores[i], "o", color=own, alpha=alpha, markersize=6, zorder=3)
        style = name_style(TINY)
        ax.annotate(name, (source.cost[i], source.scores[i]), (4, 4), textcoords="offset points", color=own, **style)
    if np.all(source.cost > 0):
        ax.set_xscale("log")
        ticker = matplotlib("matplotlib.ticker")
        ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.margins(x=0.25, y=0.1)
    ax.set_xlabel(source.cost_name, fontsize=SMALL, parse_math=False)
    ax.set_ylabel("mean score", fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    note = f"dots as full as a place on the frontier is likely ({source.n_replicates:,} replicates by question)"
    write_caption(ax, f"{len(order)} of {len(source.models)} models on the frontier", note)
    return result_of(ax, source.to_frame(), return_data)
