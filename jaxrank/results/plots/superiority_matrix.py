"""Pairwise superiority: which pairs are settled."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_flag
from jaxrank.results.fit import Result
from jaxrank.results.plots.canvas import result_of, write_caption
from jaxrank.results.plots.heatmap import heatmap
from jaxrank.results.plots.views import chances_of, check_source, size_of
from jaxrank.results.posterior import Posterior
from jaxrank.results.replicates import Replicates
from jaxrank.results.study import Summary

SETTLED = 0.975


def superiority(source: Any, ax: Any = None, *, return_data: bool = False) -> Any:
    """For each two models how probable it is that the one in the row is better, in the order of the ranking. Pairs with
    a probability above `SETTLED` are grey; colours show those that are open.

    **source**: `Replicates` or `Summary` (share of replicates in which it ranks above, ties half), a `Posterior`
    (probability), or a `Result` with standard errors (normal approximation). The frame is the matrix, NaN on the
    diagonal.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("superiority", source, Result, Replicates, Summary, Posterior)
    above, tied = source.superiority()
    order = source.order
    names = [source.models[i] for i in order]
    values = (above + tied / 2)[np.ix_(order, order)]
    np.fill_diagonal(values, np.nan)
    text = lambda p: ">.99" if p > 0.99 else "<.01" if p < 0.01 else f"{p:.2f}".removeprefix("0")
    with np.errstate(invalid="ignore"):
        half = np.where(np.triu(np.ones(values.shape, bool), 1), values, np.nan)  # the other says the same
        settled = np.abs(half - 0.5) > SETTLED - 0.5
    ax, width = heatmap(
        ax,
        half,
        names,
        names,
        colours="Oranges_r",
        limits=(0.5, 1),
        unit=f"{'probability' if isinstance(source, Result | Posterior) else 'share of replicates'}: the row is better",
        text=text,
        plain=settled,
    )
    n_pairs = np.isfinite(half).sum()
    note = (
        f"{size_of(source)}; {chances_of(source)}, ties half; grey: {settled.sum()} of {n_pairs} pairs settled, above "
        f"{SETTLED:g}, each for itself"
    )
    write_caption(ax, f"Who is better than whom, by {source.method}", note, width)
    return result_of(ax, pd.DataFrame(values, index=names, columns=names), return_data)
