"""Wins and numbers of comparisons: who met whom, and how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.statistics import Pairs
from jaxrank.errors import OptionError
from jaxrank.models.options import check_choice, check_flag
from jaxrank.results.plots.canvas import DIVERGING, SEQUENTIAL, result_of, write_caption
from jaxrank.results.plots.heatmap import heatmap
from jaxrank.results.plots.views import size_of

SHOWS = ("wins", "counts")


def win_matrix(source: Any, ax: Any = None, *, show: str = "wins", return_data: bool = False) -> Any:
    """Share of comparisons that the model in the row won (ties half), or how many there were; empty where none.

    **source**: `Comparisons`, `Rankings` (a model above each that it precedes), `Responses` (trial against trial of a
    question), or a `Result` on such data, whose ranking then orders the models; without one the share of all
    comparisons won does. **show**: "wins" or "counts".
    The frame is the matrix.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_choice("show", show, SHOWS)
    data = getattr(source, "data", source)
    wins, ties = _totals(data)
    met = wins + wins.T + ties
    points = wins + ties / 2
    order = getattr(source, "order", None)
    if order is None:
        order = np.argsort(-points.sum(axis=1) / np.maximum(met.sum(axis=1), 1), kind="stable")
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(met > 0, points / met, np.nan)
    values = share if show == "wins" else np.where(met > 0, met, np.nan)
    np.fill_diagonal(values, np.nan)
    values = values[np.ix_(order, order)]
    names = [data.models[i] for i in order]
    pairs = int((np.triu(met, 1) > 0).sum())
    all_pairs = len(names) * (len(names) - 1) // 2
    note = f"{size_of(data)}; {pairs:,} of {all_pairs:,} pairs met; ties count half; grey: never met"
    if show == "wins":
        unit, limits, colours, text = "share won by the row", (0.0, 1.0), DIVERGING, lambda p: f"{p:.2f}"
        title = "Wins of the row over the column"
    else:
        drawn, unit = np.log10(values), "comparisons (log10)"
        limits, colours = (0.0, max(float(np.nanmax(drawn)), 1.0)), SEQUENTIAL
        text = lambda v: f"{10**v:.0f}" if v < 4 else f"{10**v:.0e}"
        title = "How often models met"
    drawn = values if show == "wins" else np.log10(values)
    ax, width = heatmap(ax, drawn, names, names, colours=colours, limits=limits, unit=unit, text=text)
    write_caption(ax, title, note, width)
    return result_of(ax, pd.DataFrame(values, index=names, columns=names), return_data)


def _totals(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Wins (L, L) and ties (L, L) of every pair."""
    if not isinstance(data, Data):
        raise OptionError(f"a win matrix is drawn from data or a result on them, not from {type(data).__name__}")
    pairs = data.statistic(Pairs, data.pairing)
    wins, ties = np.array(pairs.wins, float), np.array(pairs.ties, float)
    np.fill_diagonal(wins, 0)
    np.fill_diagonal(ties, 0)
    return wins, ties
