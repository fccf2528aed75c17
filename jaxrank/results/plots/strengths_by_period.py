"""Strengths by period."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.interval import percent
from jaxrank.results.over_time import RatingsOverTime
from jaxrank.results.plots.canvas import (
    BANDED,
    MUTED,
    SMALL,
    bare,
    draw_band,
    labels_of,
    line_style,
    make_axes,
    name_style,
    result_of,
    rows_height,
    spread,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source

COLOURED = 8


def ratings_over_time(
    source: Any, ax: Any = None, *, level: float = 0.95, coloured: int = COLOURED, return_data: bool = False
) -> Any:
    """Strengths by period, the ``coloured`` best of the last period in colour and the first four of them with bands; a
    period in which a model did not fight has no dot.

    **source**: `RatingsOverTime`. **level**: of the bands. The frame is that of `RatingsOverTime.to_frame`.
    """
    check_flag("return_data", return_data)
    check_source("ratings over time", source, RatingsOverTime)
    check_count("coloured", coloured, 0)
    lower, upper = source.interval(level)
    order = np.argsort(-source.scores[-1], kind="stable")
    names = labels_of([source.models[i] for i in order[:coloured]])
    at = np.arange(len(source.periods))
    ax = make_axes(ax, 6.4 + text_width(names), rows_height(max(len(names), 14)))
    for i in order[coloured:]:
        ax.plot(at, source.scores[:, i], color=MUTED, alpha=0.4, linewidth=0.9)
    for place in reversed(range(len(names))):
        i, style = order[place], line_style(place)
        draw_band(ax, place + 1, at, lower[:, i], upper[:, i], style["color"])
        ax.plot(at, source.scores[:, i], linewidth=1.6, **style)
        played = source.battles[:, i] > 0
        ax.plot(at[played], source.scores[played, i], "o", markersize=3.5, color=style["color"])
    bare(ax, "y")
    step = max(1, -(-len(at) // 10))
    ax.set_xticks(
        at[::step], [source.periods[k] for k in at[::step]], **{**name_style(), "rotation": 30, "ha": "right"}
    )
    ax.set_ylabel("strength (log-odds)", fontsize=SMALL)
    if names:
        low, high = ax.get_ylim()
        side = ax.secondary_yaxis("right")
        places = spread(source.scores[-1, order[: len(names)]][::-1], (high - low) * 0.035)[::-1]
        side.set_yticks(places, names, **name_style())
        side.tick_params(length=0)
        side.spines[:].set_visible(False)
        for place, text in enumerate(side.get_yticklabels()):
            text.set_color(line_style(place)["color"])
    how = "estimated" if source.estimated else "given"
    note = f"{len(source.models)} models; drift {source.drift:.3g} a period ({how})"
    first = "" if len(names) <= BANDED else f" of the first {BANDED}"
    note = f"{note}; bands{first}: {percent(level)}, normal, given all battles"
    write_caption(ax, "Ratings over time", note, width=6.0)
    return result_of(ax, source.to_frame(level=level), return_data)
