"""Judges and candidates: scores, their triangle for three levels, and ranks under several priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrank.data.names import check_names
from jaxrank.errors import OptionError
from jaxrank.evaluation.judges import JudgePosterior
from jaxrank.models.options import check_flag, shown
from jaxrank.numerics.interval import check_level, percent
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    band_note,
    bare,
    colour,
    draw_band,
    labels_of,
    legend,
    line_style,
    make_axes,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.ranking_chart import draw_rows
from jaxrank.results.plots.views import check_source

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])


def judge_scores(
    source: Any, ax: Any = None, *, candidates: Any = None, level: float = 0.95, return_data: bool = False
) -> Any:
    """Scores of the candidates with credible intervals, best first, and at the right the intervals of their ranks.

    **source**: a `JudgePosterior`. **candidates**: their names, by default numbers. The frame is that of its
    ``to_frame``.
    """
    check_flag("return_data", return_data)
    check_level(level)
    check_source("scores of candidates", source, JudgePosterior)
    frame = source.to_frame(candidates, level)
    names = list(frame["candidate"])
    ax = make_axes(ax, 5.2 + text_width(names), rows_height(len(names)))
    draw_rows(ax, frame, names, "score", "expected true score")
    write_caption(ax, "Candidates by their judges", f"{percent(level)} credible intervals, {source.prior} prior")
    return result_of(ax, frame, return_data)


def judge_triangle(
    source: Any, ax: Any = None, *, candidates: Any = None, judges: Any = None, return_data: bool = False
) -> Any:
    """Candidates as points of the triangle of three levels, and every judge as the triangle of its rows: where it puts
    answers of level 0, 1 and 2. A judge that is always right is the whole triangle; a small one tells little apart.

    **source**: a `JudgePosterior` of three levels. **candidates**, **judges**: their names, by default numbers. The
    frame has columns kind, number, level, p0, p1, p2.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a triangle of judges", source, JudgePosterior)
    if source.pi.shape[-1] != 3:
        raise OptionError(f"a triangle has three levels; this posterior has {source.pi.shape[-1]}")
    n_candidates, n_judges = len(source.pi), len(source.theta)
    named = range(n_candidates) if candidates is None else check_names(candidates, n_candidates, "candidate")
    named = labels_of(list(map(str, named)))
    called = labels_of(check_names(judges, n_judges, "judge"))
    rows = [("candidate", k, -1, *p) for k, p in enumerate(source.pi)]
    rows += [("judge", j, t, *row) for j, theta in enumerate(source.theta) for t, row in enumerate(theta)]
    frame = pd.DataFrame(rows, columns=["kind", "number", "level", "p0", "p1", "p2"])
    ax = make_axes(ax, 5.2, 4.4)
    ax.plot(*_CORNERS[[0, 1, 2, 0]].T, color=MUTED, linewidth=1)
    for j, theta in enumerate(source.theta):
        ax.plot(*(theta[[0, 1, 2, 0]] @ _CORNERS).T, label=called[j], **line_style(j))
    ax.plot(*(source.pi @ _CORNERS).T, "o", color="black", markersize=4, label="candidates")
    for k, point in enumerate(source.pi @ _CORNERS):
        ax.annotate(named[k], point, (3, 3), textcoords="offset points", fontsize=SMALL)
    for level, corner in enumerate(_CORNERS):
        ax.annotate(f"level {level}", corner, (0, -10 if level < 2 else 5), textcoords="offset points", ha="center")
    ax.set_aspect("equal")
    ax.axis("off")
    legend(ax)
    write_caption(ax, "Judges and candidates on the simplex", f"posterior means, {source.prior} prior", 4.0)
    return result_of(ax, frame, return_data)


def judge_ranks(
    source: Any, ax: Any = None, *, candidates: Any = None, level: float = 0.95, return_data: bool = False
) -> Any:
    """Ranks of the candidates under every prior, with their intervals: what of the order hangs on the trust in judges
    (with bands for four candidates at most).

    **source**: what `jaxrank.judges.sensitivity` returns. **candidates**: their names, by default numbers. The frame
    has columns prior, candidate, rank, lower, upper.
    """
    import pandas as pd
    from matplotlib.ticker import MaxNLocator

    check_flag("return_data", return_data)
    check_level(level)
    posteriors = source.values() if isinstance(source, Mapping) else ()
    if not posteriors or not all(isinstance(p, JudgePosterior) for p in posteriors):
        raise OptionError(f"source={shown(source)}; it must be what jaxrank.judges.sensitivity returns")
    parts = []
    for name, found in source.items():
        low, high = found.rank_intervals(level)
        columns = {"prior": name, "candidate": np.arange(len(low)), "rank": found.ranks, "lower": low, "upper": high}
        parts.append(pd.DataFrame(columns))
    frame = pd.concat(parts, ignore_index=True)
    names = list(source)
    n = len(parts[0])
    called = labels_of(check_names(candidates, n, "candidate"))
    ax = make_axes(ax, 1.5 + 1.1 * len(names), 1.6 + 0.3 * n)
    for k in range(n):
        rows = frame[frame["candidate"] == k]
        draw_band(ax, n, range(len(names)), rows["lower"], rows["upper"], colour(k))
        ax.plot(range(len(names)), rows["rank"], marker="o", markersize=4, label=called[k], **line_style(k))
    ax.set_xticks(range(len(names)), names, fontsize=SMALL)
    ax.set_ylim(n + 0.5, 0.5)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    bare(ax, "y")
    ax.set_ylabel("rank", fontsize=SMALL)
    legend(ax)
    write_caption(
        ax, "Ranks under every prior", band_note(n, f"bands: {percent(level)} intervals of the ranks"), 1.1 * len(names)
    )
    return result_of(ax, frame, return_data)
