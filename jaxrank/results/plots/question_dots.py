"""Two models, question by question, and their difference with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.results.comparison import Comparison
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


def paired_dots(source: Comparison, ax: Any = None, *, top: int = 30, return_data: bool = False) -> Any:
    """The mean score of either model on the questions on which they differ most, joined by a line.

    **source**: from `jaxrank.compare`. **top**: so many questions; those on which they are equal are counted below. The
    frame has columns question, new, old, difference, weight.
    """
    check_source("a comparison", source, Comparison)
    check_flag("return_data", return_data)
    check_count("top", top)
    everything = source.flips(None)
    frame = source.flips(top)
    frame = frame.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)
    names = list(frame["question"])
    ax = make_axes(
        ax, 5.0 + text_width(names) + text_width([source.new, source.old]), rows_height(max(len(names), 1)) + 0.3
    )
    for row, (new, old) in enumerate(zip(frame["new"].tolist(), frame["old"].tolist(), strict=True)):
        ax.plot([old, new], [row, row], color=colour(0) if new > old else colour(1), linewidth=2, alpha=0.5, zorder=1)
        ax.plot(old, row, "o", color="white", markeredgecolor=MUTED, markersize=5, zorder=2)
        ax.plot(new, row, "o", color=colour(0) if new > old else colour(1), markersize=5, zorder=3)
    name_rows(ax, names)
    bare(ax)
    ax.set_xlabel("mean score of the question", fontsize=SMALL)
    ax.plot([], [], "o", color=colour(0), label=f"{source.new} (new)", markersize=5)
    ax.plot([], [], "o", color="white", markeredgecolor=MUTED, label=f"{source.old} (old)", markersize=5)
    legend(ax)
    d = np.asarray(everything["difference"])
    counts = (
        f"{int((d > 0).sum())} questions for the new, {int((d < 0).sum())} for the old, {int((d == 0).sum())} equal"
    )
    shown = f"; the {len(frame)} largest differences" if len(frame) < int(np.count_nonzero(d)) else ""
    write_caption(ax, source.sentence.split(" (")[0], f"{source.interval().words}; {counts}{shown}", 4.0)
    return result_of(ax, frame, return_data)
