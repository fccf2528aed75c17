"""Wright map: whether the questions are on target for the models."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.results.plots.canvas import (
    PALETTE,
    SMALL,
    TINY,
    bare,
    labels_of,
    make_axes,
    name_style,
    result_of,
    spread,
    text_width,
    write_caption,
)
from jaxrank.results.plots.items import item_parameters
from jaxrank.results.plots.views import size_of

_NAME_ROW = 0.17
MOST_BINS = 1000
"""Each bar is drawn by itself; more cannot be told apart."""


def wright_map(result: Any, ax: Any = None, *, bins: int = 24, return_data: bool = False) -> Any:
    """Abilities of the models at the left and difficulties of the questions at the right, on one scale.

    **result**: a `Result` of a Rasch, 2PL or 3PL method. A model succeeds half of the time (without guessing) on a
    question at its own height. **bins**: bars of the difficulties, 1 to 1,000. The frame has columns kind ("model" or
    "question"), name, value.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_count("bins", bins, 1, MOST_BINS)
    difficulty, ability = item_parameters(result)[0], result.scores
    data = result.data
    columns = {
        "kind": ["model"] * len(ability) + ["question"] * len(difficulty),
        "name": [*data.models, *data.questions],
        "value": np.concatenate([ability, difficulty]),
    }
    known = np.flatnonzero(np.isfinite(ability))
    items = difficulty[np.isfinite(difficulty)]
    names = labels_of([data.models[i] for i in known])
    height = max(4.5, _NAME_ROW * len(names) + 1.3)
    ax = make_axes(ax, 4.6 + text_width(names, TINY), height)
    everything = np.concatenate([ability[known], items])
    low, high = everything.min(), everything.max()
    pad = 0.04 * (high - low) + 0.1
    low, high = low - pad, high + pad
    counts, edges = np.histogram(items, bins=bins, range=(low, high))
    ax.barh(edges[:-1], counts, np.diff(edges), align="edge", color=PALETTE[1], alpha=0.6, label="questions")
    # names at the left, pushed apart, each with a line to its own height
    gap = (high - low) / (height - 1.3) * 0.14
    places = spread(ability[known], gap, low + gap / 2, high - gap / 2)
    top = max(int(counts.max()), 1)
    for value, place in zip(ability[known], places, strict=True):
        ax.plot([0, -0.06 * top, -0.14 * top], [value, value, place], color=PALETTE[0], linewidth=0.7)
    ax.plot(np.zeros(len(known)), ability[known], "o", color=PALETTE[0], markersize=4, clip_on=False, label="models")
    ax.set_xlim(-0.14 * top, top * 1.05)
    ax.set_ylim(low, high)
    side = ax.secondary_yaxis("left")
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.set_ylabel("ability and difficulty (logits)", fontsize=SMALL)
    side.set_yticks(places, names, **name_style(TINY))
    side.tick_params(length=0)
    side.spines[:].set_visible(False)
    bare(ax, None)
    ax.spines["left"].set_visible(False)
    ax.spines["right"].set_visible(True)
    ax.axvline(0, color=PALETTE[0], linewidth=0.8)
    ax.set_xticks([x for x in ax.get_xticks() if 0 <= x <= top and x == int(x)])
    ax.set_xlabel("number of questions", fontsize=SMALL)
    hidden = len(difficulty) - len(items)
    note = f"{size_of(data)}; dots: models, bars: questions" + (
        f"; {hidden} questions without a value" if hidden else ""
    )
    write_caption(ax, f"Abilities and difficulties by {result.method}", note, 4.2)
    return result_of(ax, pd.DataFrame(columns), return_data)
