"""Draw demo_ranking.svg, the best thirty of what ``jaxrank demo`` prints, and demo_ranking_narrow.svg, the best twelve
for a phone: python docs/figures/demo_ranking.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import jaxrank as jr
from jaxrank.results.plots.canvas import PALETTE, rows_height, write_caption
from jaxrank.results.plots.ranking_chart import draw_rows
from jaxrank.results.plots.views import view_of

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "jaxrank", "svg.fonttype": "none", "savefig.facecolor": "white"})
HERE = Path(__file__).resolve()
ON_A_PHONE = 4.4
"""Inches in which letters can be read at 390 pixels."""


def main() -> None:
    fit = jr.fit(jr.datasets.load("misguided_attention"), dtype="float64")
    fit.plot(top=30).figure.savefig(HERE.with_suffix(".svg"), metadata={"Date": None})
    narrow(fit, 12).savefig(HERE.with_name("demo_ranking_narrow.svg"), metadata={"Date": None})


def narrow(fit: jr.Result, top: int) -> Figure:
    """The leaderboard with its names, points and ranks in the width of a phone."""
    view = view_of(fit, 0.95)
    frame = view.frame.head(top)
    figure = Figure((ON_A_PHONE, rows_height(top)), layout="constrained")
    ax = figure.add_subplot()
    for row in np.flatnonzero(view.near[:top]):
        ax.axhspan(row - 0.5, row + 0.5, color=PALETTE[0], alpha=0.08, linewidth=0)
    draw_rows(ax, frame, list(frame["model"]), view.column, view.label)
    caption = "58 models, 52 questions; 95 % intervals; shaded: not separated from the first"
    write_caption(ax, f"Leaderboard by {view.spoken}, best {top}", caption, width=1.9)
    return figure


if __name__ == "__main__":
    main()
