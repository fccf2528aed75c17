"""Hodge decomposition: whether one order can be meaningful at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.errors import OptionError
from jaxrank.models.options import check_flag
from jaxrank.results.plots.canvas import SMALL, bare, colour, make_axes, name_rows, result_of, write_caption
from jaxrank.results.plots.views import size_of

PARTS = {
    "gradient": "scores explain",
    "curl": "cycles of three",
    "harmonic": "longer cycles",
}


def hodge(result: Any, ax: Any = None, *, return_data: bool = False) -> Any:
    """Shares of the pairwise differences that scores explain, that run in triangles, and that run in longer cycles.

    **result**: a `Result` of one of the hodge_rank methods. The caption counts the triples of models in which each
    beats the next by majority, among the triples that all met without a draw. The frame has columns part, share.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    params = getattr(result, "params", {})
    if "harmonic" not in params:
        name = getattr(result, "method", type(result).__name__)
        raise OptionError(f"{name} has no Hodge decomposition; fit hodge_rank")
    total = float(params["total_flow"])
    shares = np.array([float(params[part]) / total if total > 0 else 0.0 for part in PARTS])
    shares = np.maximum(shares, 0)
    words = [f"{part}: {PARTS[part]}" for part in PARTS]
    ax = make_axes(ax, 6.4, 2.2)
    ax.barh(np.arange(3), shares, color=[colour(0), colour(1), colour(3)], height=0.6)
    for row, share in enumerate(shares):
        ax.annotate(f"{share:.1%}", (share, row), (4, 0), textcoords="offset points", va="center", fontsize=SMALL)
    name_rows(ax, words)
    bare(ax)
    ax.set_xlim(0, 1.12)
    ax.set_xticks(np.linspace(0, 1, 6), [f"{x:.0%}" for x in np.linspace(0, 1, 6)])
    ax.set_xlabel("share of the squared pairwise differences", fontsize=SMALL)
    cyclic, triads = cyclic_triads(np.asarray(result.stat.wins, float))
    found = f"{cyclic:,} of {triads:,} triples of models run in a circle" if triads else "no triple met in full"
    write_caption(ax, f"Is one order meaningful? {result.method}", f"{size_of(result)}; {found}", 4.6)
    return result_of(ax, pd.DataFrame({"part": list(PARTS), "share": shares}), return_data)


def cyclic_triads(wins: np.ndarray) -> tuple[int, int]:
    """Triples in which i beats j, j beats k and k beats i by majority, and triples with a majority in each pair."""
    beats = (wins > wins.T).astype(float)
    decided = beats + beats.T
    return round(np.trace(beats @ beats @ beats) / 3), round(np.trace(decided @ decided @ decided) / 6)
