"""Differences of many pairs with their intervals."""

from __future__ import annotations

from typing import Any

from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.interval import percent
from jaxrank.results.comparison import Comparison
from jaxrank.results.comparison_table import ComparisonTable
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    bare,
    colour,
    legend,
    make_axes,
    name_rows,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source

_COLOURS = {"better": 0, "worse": 1, "equivalent": 2, "not worse": 5}


def forest(
    source: ComparisonTable | Comparison, ax: Any = None, *, top: int | None = None, return_data: bool = False
) -> Any:
    """A line for every comparison: the difference and its interval, coloured by the verdict; the margin is shaded.

    **source**: from `jaxrank.compare_all` or `jaxrank.compare`. **top**: only the first lines. The frame is that of the
    table.
    """
    check_source("a forest of differences", source, Comparison, ComparisonTable)
    check_flag("return_data", return_data)
    if top is not None:
        check_count("top", top)
    frame = source.to_frame()
    names = list(source.names) if isinstance(source, ComparisonTable) else [f"{source.new} - {source.old}"]
    frame, names = (frame, names) if top is None else (frame.head(top), names[:top])
    ax = make_axes(ax, 5.6 + text_width(names), rows_height(len(names)) + 0.2)
    if source.margin > 0:
        ax.axvspan(-source.margin, source.margin, color=MUTED, alpha=0.15, linewidth=0)
    ax.axvline(0, color=MUTED, linewidth=0.8)
    seen: list[str] = []
    columns = (frame[name].tolist() for name in ("verdict", "difference", "lower", "upper"))
    for row, (verdict, difference, lower, upper) in enumerate(zip(*columns, strict=True)):
        own = colour(_COLOURS[verdict]) if verdict in _COLOURS else MUTED
        label = None if verdict in seen else verdict
        seen.append(verdict)
        ax.plot([lower, upper], [row, row], color=own, linewidth=1.6)
        ax.plot(difference, row, "o", color=own, markersize=4.5, label=label)
    name_rows(ax, names)
    bare(ax)
    ax.set_xlabel("difference of mean scores, new - old", fontsize=SMALL)
    legend(ax)
    at_once = "intervals hold at once, verdicts too" if isinstance(source, ComparisonTable) else "one comparison"
    note = f"{percent(source.level)}, {source.unit} drawn again; {at_once}"
    write_caption(ax, f"{len(frame)} comparison{'s' if len(frame) > 1 else ''}", note)
    return result_of(ax, frame, return_data)
