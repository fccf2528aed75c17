"""How many trials suffice: agreement with the reference ranking against the number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxrank.numerics.interval import percent
from jaxrank.results.plots.canvas import (
    SMALL,
    bare,
    layered,
    legend,
    make_axes,
    result_of,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import size_of

REFERENCES = {"gold": "Bayes@N on all trials", "self": "each method on all trials", "given": "the given scores"}


def tau_curve(
    con: Any, ax: Any = None, *, methods: Sequence[str] | None = None, level: float = 0.95, return_data: bool = False
) -> Any:
    """Kendall's tau-b of the ranking after n trials with the reference: mean, and a band of the replicates.

    **con**: a `Convergence` with tau. **level**: share of the replicates in the band. The frame has columns method, n,
    tau, lower, upper.
    """
    import pandas as pd

    chosen = list(methods or con.methods)
    parts = []
    for name in chosen:
        low, high = con.tau_band(name, level)
        columns = {"method": name, "n": con.grid, "tau": con.tau(name), "lower": low, "upper": high}
        parts.append(pd.DataFrame(columns))
    frame = pd.concat(parts, ignore_index=True)
    ax = make_axes(ax, 5.6 + text_width(chosen) + 0.5, 3.6)
    for k, name in enumerate(chosen):
        rows = frame[frame["method"] == name]
        style = layered(k, len(rows))
        ax.fill_between(rows["n"], rows["lower"], rows["upper"], color=style["color"], alpha=0.15, linewidth=0)
        ax.plot(rows["n"], rows["tau"], label=name, **style)
    bare(ax, "both")
    ax.set_xlabel("trials of each question", fontsize=SMALL)
    ax.set_ylabel("tau-b with the reference", fontsize=SMALL)
    whole_numbers(ax)
    legend(ax)
    note = f"{size_of(con)}; reference: {REFERENCES[con.reference]}; bands: central {percent(level)} of the replicates"
    write_caption(ax, "Agreement with the reference ranking", note)
    return result_of(ax, frame, return_data)


def whole_numbers(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
