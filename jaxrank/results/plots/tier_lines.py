"""Tiers: where lines may be drawn under a ranking."""

from __future__ import annotations

from typing import Any

from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.interval import percent
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    bare,
    make_axes,
    matplotlib,
    name_rows,
    result_of,
    rows_height,
    shade,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import view_of
from jaxrank.results.tiers import inseparable, rule_of, separated
from jaxrank.results.tiers import tiers as tiers_of


def tiers(
    source: Any, ax: Any = None, *, level: float = 0.95, top: int | None = None, return_data: bool = False
) -> Any:
    """Scores with their intervals in the order of the ranking, tiers numbered and shaded in turn, and bars over
    stretches that cannot be told apart.

    A tier ends above the first model that is separated from the tier's leader. The bars at the right (a critical
    difference diagram on its side) join models of which no two are separated. **source**, **level**: as in
    `jaxrank.results.tiers.separated`. **top**: draw only the best ones. The frame has columns tier, rank, model, score.
    """
    check_flag("return_data", return_data)
    if top is not None:
        check_count("top", top)
    view = view_of(source, level)
    above = separated(source, level)
    frame = view.frame[["rank", "model", view.column]].copy()
    frame.insert(0, "tier", tiers_of(source, level).tiers[source.order])
    stretches = [s for s in inseparable(source, level) if top is None or s[0] < top]
    shown = frame if top is None else frame.head(top)
    names = list(shown["model"])
    ax = make_axes(ax, 4.6 + text_width(names) + 0.12 * min(len(stretches), 20), rows_height(len(names)))
    ends, n_tiers = view.frame, int(shown["tier"].max())
    for tier, rows in shown.groupby("tier").groups.items():
        first, last, ink = min(rows), max(rows), shade(int(tier) - 1, n_tiers)
        if tier % 2 == 0:
            ax.axhspan(first - 0.5, last + 0.5, color=MUTED, alpha=0.13, linewidth=0)
        if "lower" in ends:
            ax.hlines(rows, ends["lower"][rows], ends["upper"][rows], color=ink, alpha=0.45, linewidth=3)
        ax.plot(shown[view.column][rows], rows, "o", color=ink, markersize=4.5)
        place = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "va": "center"}
        ax.annotate(str(tier), (0, (first + last) / 2), (4, 0), fontsize=SMALL, color=ink, fontweight="bold", **place)
    name_rows(ax, names)
    bare(ax)
    low, high = ax.get_xlim()
    ax.set_xlim(low - 0.06 * (high - low), high)  # room for the numbers of the tiers
    ax.set_xlabel(view.label, fontsize=SMALL)
    _bars(ax, stretches, len(names))
    n_pairs = len(above) * (len(above) - 1) // 2
    note = (
        f"{view.size}; {int(above.sum()):,} of {n_pairs:,} pairs separated at {percent(level)} ({rule_of(source)}); "
        "at the left the tier; bars at the right join models that are not separated"
        + (f"; lines: {view.interval}" if view.interval else "")
    )
    write_caption(ax, f"{n_tiers} tier{'s' if n_tiers > 1 else ''} by {view.spoken}", note)
    return result_of(ax, frame, return_data)


def _bars(ax: Any, stretches: list[tuple[int, int]], n_rows: int) -> None:
    """Bars outside at the right, those that overlap side by side."""
    ends: list[int] = []
    shifted = matplotlib("matplotlib.transforms").ScaledTranslation
    for first, last in stretches:
        lane = next((k for k, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        place = ax.get_yaxis_transform() + shifted(0.1 + 0.09 * lane, 0, ax.figure.dpi_scale_trans)
        rows = [first - 0.25, min(last, n_rows - 1) + 0.25]
        ax.plot([1, 1], rows, transform=place, clip_on=False, color="#7F7F7F", linewidth=2.5)
