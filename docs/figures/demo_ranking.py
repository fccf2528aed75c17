"""Draw demo_ranking.svg, the ranking that ``jaxrank demo`` prints: python docs/figures/demo_ranking.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import jaxrank as jr

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "jaxrank", "font.size": 7, "axes.spines.top": False, "axes.spines.right": False})

import matplotlib.pyplot as plt  # noqa: E402

LEVEL = 0.95
BLUE = "#0072B2"


def main() -> None:
    data = jr.datasets.load("misguided_attention")
    result = jr.fit(data, dtype="float64")
    low, high = result.interval(LEVEL)
    halves = np.array_split(result.order, 2)
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), sharex=True, layout="constrained")
    for panel, half in zip(panels, halves, strict=True):
        rows = np.arange(len(half))
        panel.hlines(rows, low[half], high[half], color=BLUE, alpha=0.45, linewidth=3)
        panel.plot(result.scores[half], rows, "o", color=BLUE, markersize=3.5)
        panel.set_yticks(rows, [f"{result.models[i]}  {result.ranks[i]}" for i in half])
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x", color="0.9")
        panel.set_axisbelow(True)
        panel.invert_yaxis()
        panel.margins(y=0.02)
    n_models, n_questions, n_trials = data.shape
    figure.supxlabel(
        f"accuracy of {n_models} models on {n_questions} trick prompts, {n_trials} trials; "
        f"bars are {LEVEL:.0%} intervals (prompts like these drawn again), numbers are ranks",
        fontsize=8,
    )
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
