"""Rank distribution: how probable each rank of each model is."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.results.plots.canvas import SEQUENTIAL, SMALL, result_of, write_caption
from jaxrank.results.plots.heatmap import heatmap
from jaxrank.results.plots.views import chances_of, check_source, size_of
from jaxrank.results.posterior import Posterior
from jaxrank.results.replicates import Replicates
from jaxrank.results.study import Summary


def rank_distribution(source: Any, ax: Any = None, *, top: int | None = None, return_data: bool = False) -> Any:
    """Share of replicates, or posterior probability, of each rank of each model, in the order of the ranking.

    **source**: `Replicates`, `Summary` or a `Posterior`. **top**: draw only the best ones, and as many ranks as they
    take. The frame has a row a model and a column a rank.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a rank distribution", source, Replicates, Summary, Posterior)
    if top is not None:
        check_count("top", top)
    order = source.order[:top]
    shares = source.rank_probabilities()[order]
    used = int(np.flatnonzero(shares.sum(axis=0) > 0).max()) + 1
    shares = shares[:, :used]
    names, ranks = [source.models[i] for i in order], [str(r + 1) for r in range(used)]
    text = lambda p: "" if p < 0.005 else "1" if p > 0.995 else f"{p:.2f}".removeprefix("0")
    shown = np.where(shares > 0, shares, np.nan)
    unit = "probability of the rank" if isinstance(source, Posterior) else "share of replicates with the rank"
    ax, width = heatmap(
        ax,
        shown,
        names,
        ranks,
        colours=SEQUENTIAL,
        limits=(0, float(shares.max())),
        unit=unit,
        text=text,
        power=0.5,
    )
    ax.set_facecolor("white")
    if used > 30:
        marked = np.arange(4, used, 5)
        ax.set_xticks(marked, [str(r + 1) for r in marked], fontsize=SMALL)
    ax.set_xlabel("rank", fontsize=SMALL)
    note = f"{size_of(source)}; {chances_of(source)}, ties share the better rank"
    write_caption(ax, f"Rank distribution by {source.method}", note, width)
    return result_of(ax, pd.DataFrame(shares, index=names, columns=np.arange(1, used + 1)), return_data)
