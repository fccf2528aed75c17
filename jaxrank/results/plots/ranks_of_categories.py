"""Ranks by category."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.results.categories import Categories
from jaxrank.results.plots.canvas import (
    MUTED,
    bare,
    labels_of,
    line_style,
    make_axes,
    name_style,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source

COLOURED = 8
WIDTH = 0.6
"""Inches of a category."""


def ranks_by_category(
    source: Any, ax: Any = None, *, coloured: int = COLOURED, best: int | None = None, return_data: bool = False
) -> Any:
    """Ranks in each category, joined by lines: who gains and who loses there; the ``coloured`` best of all battles in
    colour. A model that did not fight in a category has a gap. **best**: how many models are drawn, the best of all
    battles, with their ranks among all models; None for all.

    **source**: `Categories`. The frame is that of `Categories.to_frame`.
    """
    check_flag("return_data", return_data)
    check_source("ranks by category", source, Categories)
    check_count("coloured", coloured, 0)
    if best is not None:
        check_count("best", best, 1)
    order = source.whole.order[:best]
    names = labels_of([source.models[i] for i in order])
    ranks = np.vstack([source.whole.ranks, source.ranks()]).astype(float)[:, order]
    ranks[ranks == 0] = np.nan
    labels = ["all", *source.names]
    at = np.arange(len(labels))
    last = int(max(len(names), np.nanmax(ranks)))
    ax = make_axes(ax, 2.2 + WIDTH * len(labels) + text_width(names), rows_height(last))
    for i in reversed(range(len(names))):
        style = line_style(i) if i < coloured else {"color": MUTED, "linestyle": "-", "alpha": 0.45}
        ax.plot(at, ranks[:, i], linewidth=1.8 if i < coloured else 1, marker="o", markersize=3.5, **style)
    bare(ax, None)
    ax.set_xticks(at, labels_of(labels), **{**name_style(), "rotation": 30, "ha": "right"})
    ax.set_ylim(last + 0.6, 0.4)
    ax.set_yticks(ranks[0], names, **name_style())
    ax.tick_params(axis="y", length=0)
    test = source.test
    said = f"; equal strengths everywhere: p = {test.p_value:.2g}" if test is not None else ""
    note = f"{source.whole.method}; ranks among the models that fought in a category, without their errors{said}"
    write_caption(ax, f"Ranks by {source.column}", note, width=WIDTH * len(labels) + 1.5)
    return result_of(ax, source.to_frame(), return_data)
