"""Strengths in each category."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.interval import percent
from jaxrank.posteriors.pooled import BY_CATEGORY
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    bare,
    colour,
    labels_of,
    legend,
    make_axes,
    name_rows,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source
from jaxrank.results.posterior import equal_tails
from jaxrank.results.posterior_by_category import PosteriorByCategory

ROW_OF_CATEGORY = 0.11
"""Height in inches of one interval within the row of a model."""


def strengths_by_category(
    source: Any, ax: Any = None, *, level: float = 0.95, top: int | None = None, return_data: bool = False
) -> Any:
    """Strengths with intervals, a row a model, best of all categories first: in grey the strength of all, in colour
    those of each category below it.

    **source**: `PosteriorByCategory`. **level**: of the intervals. **top**: draw only the best ones. The frame is that
    of `PosteriorByCategory.scores_frame`.
    """
    check_flag("return_data", return_data)
    check_source("strengths by category", source, PosteriorByCategory)
    if top is not None:
        check_count("top", top)
    order = source.order[:top]
    names = [source.models[i] for i in order]
    n_categories = len(source.categories)
    labels = ["all", *labels_of(source.categories)]
    drawn = source.draws[BY_CATEGORY].reshape(-1, n_categories, len(source.models))
    every = np.concatenate([source.theta[:, None], drawn], axis=1)[:, :, order]  # (draws, 1 + K, rows)
    (lower, upper), middle = equal_tails(every, level), every.mean(axis=0)
    height = rows_height(len(names), row=0.08 + ROW_OF_CATEGORY * (n_categories + 1))
    ax = make_axes(ax, 5.2 + text_width(names) + text_width(labels), height)
    rows, places = np.arange(len(names)), (np.arange(n_categories + 1) - n_categories / 2) / (n_categories + 2)
    for k, place in enumerate(places):
        ink = MUTED if k == 0 else colour(k - 1)
        ax.hlines(rows + place, lower[k], upper[k], color=ink, alpha=0.5, linewidth=2)
        marker = "o" if k == 0 or k <= 8 else "s"
        ax.plot(middle[k], rows + place, marker, color=ink, markersize=3.5, label=labels[k])
    name_rows(ax, names)
    bare(ax)
    ax.set_xlabel("strength (log-odds)", fontsize=SMALL)
    legend(ax)
    low, high = source.tau_interval(level)
    spread = f"tau {source.tau.mean():.2g} ({low:.2g} to {high:.2g})"
    note = f"{source.model}, partially pooled; {spread}; intervals: {percent(level)}, of the posterior"
    write_caption(ax, f"Strengths by {source.by}", note, width=5.0)
    return result_of(ax, source.scores_frame(level=level), return_data)
