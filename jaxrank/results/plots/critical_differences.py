"""Critical difference diagram: mean ranks over questions, and which models a test does not tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.responses import responses_of
from jaxrank.errors import OptionError
from jaxrank.models.options import check_flag
from jaxrank.numerics.interval import percent
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    bare,
    labels_of,
    make_axes,
    matplotlib,
    name_style,
    result_of,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import size_of

_BODY = 4.2
"""Width in inches of the axis of mean ranks."""
_LANE, _NAME = 0.16, 0.2
"""Inches between two bars, and between two names."""


def critical_difference(
    source: Any, ax: Any = None, *, posthoc: str = "nemenyi", level: float = 0.95, return_data: bool = False
) -> Any:
    """Models at their mean ranks, 1 at the left, and bars over models that do not differ [demsar2006].

    **source**: `Responses` in which every model has every question, or a `Result` on them. **posthoc**, **level**: the
    test and its level, as in `jaxrank.critical_difference`; of Nemenyi's and Conover's the critical difference is drawn
    above the axis. The frame has columns model, mean_rank, groups (numbers, from 1, of the bars above the model).
    """
    import pandas as pd

    from jaxrank.evaluation.table_tests import critical_difference as compare
    from jaxrank.evaluation.table_tests import friedman

    check_flag("return_data", return_data)
    data = getattr(source, "data", source)
    if not isinstance(data, Data):
        kind = type(source).__name__
        raise OptionError(f"a critical difference diagram is drawn from data or a result on them, not from {kind}")
    data = responses_of(data, "critical_difference")
    found, test = compare(data, posthoc, level), friedman(data)
    order = np.argsort(found.mean_ranks, kind="stable")
    under = {int(i): [str(n) for n, group in enumerate(found.groups, 1) if i in group] for i in order}
    names = [found.models[i] for i in order]
    ranks = found.mean_ranks[order]
    frame = pd.DataFrame({"model": names, "mean_rank": ranks, "groups": [" ".join(under[int(i)]) for i in order]})
    place = {int(i): n for n, i in enumerate(order)}
    lanes = _lanes([(place[group[0]], place[group[-1]]) for group in found.groups])
    ax = _diagram(ax, labels_of(names), ranks, lanes, found.distance)
    distance = "" if np.isnan(found.distance) else f", critical difference {found.distance:.3g}"
    note = (
        f"{size_of(data)}; Friedman's chi-square {test.chi2:.4g} on {test.df} degrees, p {_p(test.p_chi2)}; bars join "
        f"models that do not differ at {percent(level)}, all pairs together ({posthoc.capitalize()}{distance})"
    )
    write_caption(ax, "Mean ranks, and what cannot be told apart", note, _BODY)
    return result_of(ax, frame, return_data)


def _diagram(ax: Any, names: list[str], ranks: np.ndarray, lanes: list[tuple[int, int, int]], distance: float) -> Any:
    """The axis of ranks at the top, below it bars, and names at both sides that hang from their ranks."""
    n, half = len(names), (len(names) + 1) // 2
    n_lanes = 1 + max((lane for *_, lane in lanes), default=-1)
    room = text_width([f" {rank:.2f} " for rank in ranks]) + 0.05  # of the mean ranks beside the names
    left, right = (text_width(part) + room + 0.3 for part in (names[:half], names[half:]))
    top, below = 0.35, 0.2 + _LANE * n_lanes
    height = top + below + _NAME * half
    ax = make_axes(ax, _BODY + left + right, height + 1.0)
    bare(ax, None)
    ax.set_yticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.spines["top"].set_position(("data", 0.0))
    ax.xaxis.tick_top()
    ax.xaxis.set_major_locator(matplotlib("matplotlib.ticker").MaxNLocator(8, integer=True))
    low, high = 1.0, float(n)
    span = high - low
    ax.set_xlim(low - span * left / _BODY, high + span * right / _BODY)
    ax.set_ylim(height - top, -top - 0.12)  # in inches downward from the axis of ranks
    ax.spines["top"].set_bounds(low, high)
    ax.set_xticks([t for t in ax.get_xticks() if low <= t <= high])
    for first, last, lane in lanes:
        y = 0.12 + _LANE * lane
        ax.plot(ranks[[first, last]] + np.array([-1, 1]) * 0.012 * span, [y, y], color="#404040", linewidth=3)
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        first = i < half
        y = below + _NAME * (i if first else n - 1 - i)
        end = low - 0.02 * span if first else high + 0.02 * span
        ax.plot([rank, rank, end], [0, y, y], color=MUTED, linewidth=0.8, solid_joinstyle="miter", zorder=1)
        side = {"ha": "right" if first else "left", "va": "center"}
        near = {"xytext": (-3 if first else 3, 0), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(f"{rank:.2f}", (end, y), fontsize=SMALL, color=MUTED, **near, **side)
        offset = (-72 if first else 72) * room
        style = {**side, **name_style(), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(name, (end, y), (offset, 0), **style)
    if np.isfinite(distance):
        ax.plot([low, low + distance], [-top, -top], color="#404040", linewidth=1.5, marker="|", clip_on=False)
        beside = {"xytext": (7, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
        ax.annotate("critical difference", (low + distance, -top), fontsize=SMALL, **beside)
    return ax


def _lanes(groups: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """First and last place of each bar, and the lane in which it overlaps no other."""
    ends: list[int] = []
    out = []
    for first, last in groups:
        lane = next((k for k, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        out.append((first, last, lane))
    return out


def _p(value: float) -> str:
    return "below 0.0001" if value < 1e-4 else f"{value:.2g}"
