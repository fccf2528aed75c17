"""Leaderboard: who is really ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.interval import percent
from jaxrank.results.plots.canvas import (
    PALETTE,
    SMALL,
    bare,
    make_axes,
    name_rows,
    name_style,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import view_of


def leaderboard(
    source: Any, ax: Any = None, *, level: float = 0.95, top: int | None = None, return_data: bool = False
) -> Any:
    """Scores with intervals, best model first, and at the right the rank, or its interval where there are replicates.
    Shaded: the models that are not separated from the first where others are.

    **source**: a `Result`, `Replicates`, `Summary` or `Posterior`. **level**: of the intervals. **top**: draw only the
    best ones. Returns the Axes, with ``return_data`` also the frame (rank, model, score, lower, upper, rank_lower,
    rank_upper).
    """
    check_flag("return_data", return_data)
    if top is not None:
        check_count("top", top)
    view = view_of(source, level)
    frame = view.frame if top is None else view.frame.head(top)
    names = list(frame["model"])
    ax = make_axes(ax, 5.2 + text_width(names), rows_height(len(names)))
    shaded = view.near.any() and not view.near.all()
    for row in np.flatnonzero(view.near[: len(frame)] & shaded):
        ax.axhspan(row - 0.5, row + 0.5, color=PALETTE[0], alpha=0.08, linewidth=0)
    draw_rows(ax, frame, names, view.column, view.label)
    title = f"Leaderboard by {view.spoken}" + (f", best {len(frame)}" if len(frame) < len(view.frame) else "")
    apart = f"; shaded: not separated from the first at {percent(level)}" if shaded else ""
    write_caption(ax, title, f"{view.caption}{apart}")
    return result_of(ax, frame, return_data)


def draw_rows(ax: Any, frame: Any, names: Sequence[str], column: str, label: str) -> None:
    """Points in the order of a frame, with intervals (lower, upper) where it has them, names at the left and ranks (or
    rank_lower to rank_upper) at the right. **label**: of the ``column`` that is drawn."""
    rows = np.arange(len(names))
    if "lower" in frame:
        ax.hlines(rows, frame["lower"], frame["upper"], color=PALETTE[0], alpha=0.45, linewidth=3)
    ax.plot(frame[column], rows, "o", color=PALETTE[0], markersize=4)
    name_rows(ax, names)
    bare(ax)
    ax.set_xlabel(label, fontsize=SMALL)
    side = ax.secondary_yaxis("right")
    side.set_yticks(rows, _ranks(frame), **{**name_style(), "fontfamily": None})
    side.tick_params(length=0)
    side.spines[:].set_visible(False)


def _ranks(frame: Any) -> list[str]:
    if "rank_lower" not in frame:
        return [str(r) if r else "" for r in frame["rank"]]
    ends = zip(frame["rank_lower"], frame["rank_upper"], strict=True)
    return [f"{a}" if a == b else f"{a}–{b}" for a, b in ends]
