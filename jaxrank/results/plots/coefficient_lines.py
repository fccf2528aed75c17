"""Coefficients of covariates with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_flag
from jaxrank.results.coefficients import Coefficients
from jaxrank.results.plots.canvas import (
    MUTED,
    PALETTE,
    SMALL,
    bare,
    make_axes,
    name_rows,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source


def coefficients(source: Any, ax: Any = None, *, return_data: bool = False) -> Any:
    """Coefficients with intervals, one row a covariate, and a line at 0: what shifts the votes.

    **source**: `Coefficients`. The frame is that of `Coefficients.to_frame`.
    """
    check_flag("return_data", return_data)
    check_source("coefficients", source, Coefficients)
    frame = source.to_frame()
    names = list(source.names)
    ax = make_axes(ax, 5.0 + text_width(names), rows_height(len(names)))
    rows = np.arange(len(names))
    ax.axvline(0, color=MUTED, linewidth=1)
    ax.hlines(rows, source.lower, source.upper, color=PALETTE[0], alpha=0.45, linewidth=3)
    ax.plot(source.estimates, rows, "o", color=PALETTE[0], markersize=5)
    name_rows(ax, names)
    bare(ax)
    ax.set_xlabel("log-odds of winning by unit of the covariate", fontsize=SMALL)
    write_caption(
        ax, "What shifts the votes", f"Intervals: {source.kind}. Left of 0 it costs votes, right it wins them."
    )
    return result_of(ax, frame, return_data)
