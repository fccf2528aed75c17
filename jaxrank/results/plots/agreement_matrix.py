"""Agreement of methods: whether the method matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.models.options import check_flag
from jaxrank.results.agreement import Agreement, FitTable
from jaxrank.results.plots.canvas import result_of, write_caption
from jaxrank.results.plots.heatmap import heatmap
from jaxrank.results.plots.views import check_source


def agreement(source: Any, ax: Any = None, *, merge: bool = True, return_data: bool = False) -> Any:
    """Kendall's tau-b between methods, those that agree most with the gold standard first.

    **source**: an `Agreement`, or a `FitTable`. **merge**: methods that give the same order share a row. The frame is
    the matrix.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_flag("merge", merge)
    check_source("an agreement of methods", source, Agreement, FitTable)
    found = source.agreement() if isinstance(source, FitTable) else source
    at = {name: i for i, name in enumerate(found.methods)}
    groups = found.groups if merge else [(name,) for name in found.methods]
    # a group is named after the gold standard where it holds it
    leaders = [at[found.gold if found.gold in group else group[0]] for group in groups]
    with_gold = found.tau[leaders, at[found.gold]]
    order = np.argsort(-np.nan_to_num(with_gold, nan=-2), kind="stable")
    picked = [leaders[k] for k in order]
    labels = [_label(found.methods[leaders[k]], len(groups[k])) for k in order]
    values = found.tau[np.ix_(picked, picked)]
    low = float(np.nanmin(values)) if np.isfinite(values).any() else 0.0
    limits = (0.0 if low >= 0 else -1.0, 1.0)
    text = lambda t: f"{t:.2f}".replace("0.", ".").replace("1.00", "1")
    shown = np.where(np.eye(len(values), dtype=bool), np.nan, values)  # each agrees with itself
    ax, width = heatmap(ax, shown, labels, labels, colours="Blues_r", limits=limits, unit="tau-b", text=text)
    ax.set_facecolor("none")
    note = f"{len(found.models)} models; {len(found.methods)} methods in {len(found.groups)} distinct orders" + (
        "; +n: further methods with the identical order" if merge and len(groups) < len(found.methods) else ""
    )
    write_caption(ax, "Agreement of methods, Kendall's tau-b", note, width)
    return result_of(ax, pd.DataFrame(values, index=labels, columns=labels), return_data)


def _label(name: str, size: int) -> str:
    return name if size == 1 else f"{name} +{size - 1}"
