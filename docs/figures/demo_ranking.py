"""Draw demo_ranking.svg, the best thirty of what ``jaxrank demo`` prints: python docs/figures/demo_ranking.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import jaxrank as jr

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "jaxrank", "svg.fonttype": "none", "savefig.facecolor": "white"})


def main() -> None:
    fit = jr.fit(jr.datasets.load("misguided_attention"), dtype="float64")
    fit.plot(top=30).figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
