"""Convergence@n: the number of trials from which on the ranking stays right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.models.options import check_choice, check_flag
from jaxrank.results.convergence import Convergence
from jaxrank.results.plots.canvas import SMALL, bare, layered, legend, make_axes, result_of, text_width, write_caption
from jaxrank.results.plots.tau_by_n import REFERENCES, methods_of, whole_numbers
from jaxrank.results.plots.views import check_source, size_of

SHOWS = ("both", "cdf", "pmf")


def convergence(
    con: Any, ax: Any = None, *, methods: Sequence[str] | None = None, show: str = "cdf", return_data: bool = False
) -> Any:
    """Distribution of convergence@n over the replicates: steps for the share settled by n, bars for that settled at n.

    **con**: a `Convergence`. **show**: "cdf" (steps), "pmf" (bars) or "both". The frame has columns method, n, pmf,
    cdf.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("convergence@n", con, Convergence)
    check_choice("show", show, SHOWS)
    chosen = methods_of(con, methods)
    n = np.arange(con.n_trials)
    parts = [pd.DataFrame({"method": m, "n": n, "pmf": con.pmf(m), "cdf": con.cdf(m)})[1:] for m in chosen]
    frame = pd.concat(parts, ignore_index=True)
    labels = [f"{m}: {con.not_converged(m):.0%} never" for m in chosen]
    ax = make_axes(ax, 5.6 + text_width(labels) + 0.5, 3.6)
    wide = 0.8 / len(chosen)
    for k, (name, label) in enumerate(zip(chosen, labels, strict=True)):
        rows = frame[frame["method"] == name]
        style = layered(k, len(rows))
        if show != "cdf":
            at = rows["n"] + (k - (len(chosen) - 1) / 2) * wide
            ax.bar(at, rows["pmf"], wide, color=style["color"], alpha=0.45, label=label if show == "pmf" else None)
        if show != "pmf":
            ax.step(rows["n"], rows["cdf"], where="post", label=label, **style)
    bare(ax, "y")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("trials of each question, n", fontsize=SMALL)
    words = {"both": "settled by n (steps), at n (bars)", "cdf": "settled by n", "pmf": "settled at n"}
    ax.set_ylabel(f"share of replicates {words[show]}", fontsize=SMALL)
    whole_numbers(ax)
    legend(ax)
    note = f"{size_of(con)}; reference: {REFERENCES[con.reference]}; never: not within {con.n_trials - 1} trials"
    write_caption(ax, "From how many trials on the ranking stays", note)
    return result_of(ax, frame, return_data)
