"""A confidence sequence as it narrows."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.evaluation.sequential.betting import ConfidenceSequence
from jaxrank.models.options import check_flag, check_number
from jaxrank.results.plots.canvas import MUTED, SMALL, colour, make_axes, result_of, write_caption
from jaxrank.results.plots.views import check_source


def confidence_sequence(
    source: ConfidenceSequence, ax: Any = None, *, reference: float | None = None, return_data: bool = False
) -> Any:
    """The bounds of the mean after every value, and the mean so far.

    **source**: from `jaxrank.evaluation.sequential.confidence_sequence`. **reference**: a value of interest, such as 0
    for differences, with the time at which it is excluded. The frame has columns n, mean, lower, upper.
    """
    import pandas as pd

    check_source("a sequence", source, ConfidenceSequence)
    check_flag("return_data", return_data)
    if reference is not None:
        check_number("reference", reference, source.low, source.high)
    n = np.arange(1, len(source.mean) + 1)
    ax = make_axes(ax, 6.0, 3.6)
    ax.fill_between(n, source.lower, source.upper, color=colour(0), alpha=0.2, linewidth=0, step="post")
    ax.plot(n, source.mean, color=colour(0), linewidth=1.2)
    told = ""
    if reference is not None:
        ax.axhline(reference, color=MUTED, linewidth=0.8)
        first = source.first_excluding(reference)
        told = f"{reference:g} is not excluded"
        if first is not None:
            ax.axvline(first, color=colour(1), linewidth=1)
            told = f"{reference:g} is excluded after {first:,} values"
    ax.set_xlabel("values so far", fontsize=SMALL)
    ax.set_ylabel("mean", fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    drawn = f", {source.population:,} in all without replacement" if source.population else ""
    note = f"the band holds at all times at once with probability {1 - source.alpha:g}{drawn}"
    write_caption(ax, told or "Confidence sequence", note)
    frame = pd.DataFrame({"n": n, "mean": source.mean, "lower": source.lower, "upper": source.upper})
    return result_of(ax, frame, return_data)
