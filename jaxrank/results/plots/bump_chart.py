"""Ranks against the number of trials: who swaps with whom, and when."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.errors import OptionError
from jaxrank.models.options import check_count, check_flag, shown
from jaxrank.results.convergence import Convergence
from jaxrank.results.plots.canvas import (
    MUTED,
    SMALL,
    bare,
    labels_of,
    line_style,
    make_axes,
    name_style,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.tau_by_n import whole_numbers
from jaxrank.results.plots.views import check_source, size_of

COLOURED = 8


def bump(
    con: Any,
    ax: Any = None,
    *,
    method: str | None = None,
    replicate: int | str = "typical",
    coloured: int = COLOURED,
    return_data: bool = False,
) -> Any:
    """The ranking after each number of trials in one replicate of a `Convergence`; ties stand in the last order.

    **method**: the first one by default. **replicate**: a number, "worst" (the longest to settle) or "typical" (the
    median). **coloured**: how many of the models that end best are drawn in colour. The frame has competition ranks:
    a row a number of trials, a column a model.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a bump chart", con, Convergence)
    check_count("coloured", coloured, 0)
    first: str = con.methods[0]
    method = first if method is None else method
    number = _number(con, method, replicate)
    ranks = con.trajectory(method, number)
    if (ranks[-1] == 0).any():
        raise OptionError(f"{method} does not rank all models in replicate {number}; choose another replicate")
    final = np.argsort(ranks[-1], kind="stable")
    # 0 means no rank yet: after the ranked ones
    keys = np.where(ranks > 0, ranks, ranks.shape[1] + 1)[:, final]
    places = np.empty_like(keys)
    for row, key in zip(places, keys, strict=True):
        row[np.argsort(key, kind="stable")] = np.arange(1, len(key) + 1)
    names = labels_of([con.models[i] for i in final])
    ax = make_axes(ax, 5.4 + text_width(names), rows_height(len(names)))
    dot = "o" if len(con.grid) <= 30 else ""
    for i in reversed(range(len(names))):
        style = line_style(i) if i < coloured else {"color": MUTED, "linestyle": "-", "alpha": 0.45}
        ax.plot(con.grid, places[:, i], linewidth=1.8 if i < coloured else 1, marker=dot, markersize=3, **style)
    bare(ax, None)
    ax.set_ylim(len(names) + 0.6, 0.4)
    ax.set_yticks(np.arange(1, len(names) + 1) if len(names) <= 30 else [1, *range(5, len(names) + 1, 5)])
    ax.set_ylabel("rank", fontsize=SMALL)
    ax.set_xlabel("trials of each question", fontsize=SMALL)
    whole_numbers(ax)
    side = ax.secondary_yaxis("right")
    side.set_yticks(np.arange(1, len(names) + 1), names, **name_style())
    side.tick_params(length=0)
    side.spines[:].set_visible(False)
    settled = int(con.converged_at(method)[number])
    ended = f"settled at n = {settled}" if settled else "never settled"
    note = f"{size_of(con)}; replicate {number:,} ({ended}); names in the order after all trials"
    write_caption(ax, f"Ranks by {method} as trials come in", note)
    columns = [con.models[i] for i in final]
    return result_of(
        ax, pd.DataFrame(ranks[:, final], index=pd.Index(con.grid, name="n"), columns=columns), return_data
    )


def _number(con: Any, method: str, replicate: int | str) -> int:
    if isinstance(replicate, str):
        places = {"worst": 0, "typical": (con.n_replicates - 1) // 2}
        if replicate not in places:
            raise OptionError(f'replicate={shown(replicate)}; it must be a number, "worst" or "typical"')
        return int(con.worst(method, con.n_replicates)[places[replicate]])
    check_count("replicate", replicate, 0, con.n_replicates - 1)
    return int(replicate)
