"""Chains of a sampler: whether its draws can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.names import model_index
from jaxrank.models.options import check_count, check_flag
from jaxrank.results.plots.canvas import (
    PALETTE,
    SMALL,
    bare,
    colour,
    legend,
    make_axes,
    name_rows,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source, size_of
from jaxrank.results.posterior import MIN_ESS, Posterior


def trace(post: Any, ax: Any = None, *, model: str | int | None = None, return_data: bool = False) -> Any:
    """Draws of one model's strength, chain by chain, in the order drawn; chains that agree lie on one another.

    **post**: a `Posterior`. **model**: name or index; by default the one with the highest R-hat. The frame has columns
    chain, draw, value.
    """
    check_flag("return_data", return_data)
    check_source("a trace", post, Posterior)
    i = _pick(post, model)
    draws = post.draws["theta"][:, :, i]
    ax = make_axes(ax, 6.6, 2.8)
    for chain, values in enumerate(draws):
        ax.plot(
            np.arange(len(values)), values, color=colour(chain), linewidth=0.5, alpha=0.8, label=f"chain {chain + 1}"
        )
    bare(ax, "y")
    ax.set_xlabel("draw", fontsize=SMALL)
    ax.set_ylabel("strength", fontsize=SMALL)
    legend(ax)
    write_caption(ax, f"Trace of {post.models[i]}", _note(post, i))
    return result_of(ax, _long(draws), return_data)


def chain_ranks(
    post: Any, ax: Any = None, *, model: str | int | None = None, bins: int = 20, return_data: bool = False
) -> Any:
    """How the ranks of one model's draws among all chains spread over each chain; level lines mean chains that agree.

    Arguments as `trace`. The frame has columns chain, bin, count.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a plot of chains", post, Posterior)
    check_count("bins", bins)
    i = _pick(post, model)
    draws = post.draws["theta"][:, :, i]
    n_chains, n_draws = draws.shape
    ranks = np.argsort(np.argsort(draws.ravel(), kind="stable"), kind="stable").reshape(draws.shape)
    bins = min(bins, n_draws)
    counts = np.stack([np.histogram(r, bins=bins, range=(0, draws.size))[0] for r in ranks])
    ax = make_axes(ax, 6.6, 2.8)
    edges = np.linspace(0, draws.size, bins + 1)
    for chain in range(n_chains):
        ax.stairs(counts[chain], edges, color=colour(chain), linewidth=1.4, label=f"chain {chain + 1}")
    ax.axhline(n_draws / bins, color="#8C8C8C", linewidth=1, linestyle="--", label="expected")
    bare(ax, "y")
    ax.set_ylim(0, max(1.25 * counts.max(), 1))
    ax.set_xlabel("rank of the draw among all chains", fontsize=SMALL)
    ax.set_ylabel("draws", fontsize=SMALL)
    legend(ax)
    write_caption(ax, f"Ranks of the draws of {post.models[i]}", _note(post, i))
    numbers = np.indices(counts.shape).reshape(2, -1)
    frame = pd.DataFrame({"chain": numbers[0] + 1, "bin": numbers[1] + 1, "count": counts.ravel()})
    return result_of(ax, frame, return_data)


def effective_size(post: Any, ax: Any = None, *, return_data: bool = False) -> Any:
    """Effective number of draws of every model, of the bulk and of the tails, beside the least that is wanted.

    The frame has columns model, ess_bulk, ess_tail, r_hat.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a plot of chains", post, Posterior)
    frame = pd.DataFrame({"model": list(post.models), **post.diagnose()}).drop(columns="ess_mean")
    frame = frame.iloc[np.argsort(post.ranks, kind="stable")].reset_index(drop=True)
    names = list(frame["model"])
    ax = make_axes(ax, 5.6 + text_width(names), rows_height(len(names), 1.5))
    rows = np.arange(len(names))
    ax.plot(frame["ess_bulk"], rows, "o", color=PALETTE[0], markersize=4, label="bulk")
    ax.plot(frame["ess_tail"], rows, "D", color=PALETTE[1], markersize=3.5, label="tails")
    ax.axvline(MIN_ESS, color="#8C8C8C", linestyle="--", linewidth=1, label=f"least wanted, {MIN_ESS:.0f}")
    name_rows(ax, names)
    bare(ax)
    ax.set_xlim(left=0)
    ax.set_xlabel("effective draws", fontsize=SMALL)
    legend(ax)
    worst = f"largest R-hat {np.nanmax(frame['r_hat']):.3f}"
    note = f"{size_of(post)}; {worst}; {post.divergences} divergences"
    write_caption(ax, f"Effective sample size, {post.model}", note)
    return result_of(ax, frame, return_data)


def _pick(post: Any, model: str | int | None) -> int:
    if model is None:
        return int(np.argmax(np.nan_to_num(post.diagnose()["r_hat"], nan=np.inf)))
    return model_index(post.models, model, "model")


def _note(post: Any, i: int) -> str:
    d = post.diagnose()
    return (
        f"{post.model}: {size_of(post)}; R-hat {d['r_hat'][i]:.3f}, effective draws {d['ess_bulk'][i]:.0f} (bulk) and "
        f"{d['ess_tail'][i]:.0f} (tails)"
    )


def _long(draws: np.ndarray) -> Any:
    import pandas as pd

    chain, draw = np.indices(draws.shape).reshape(2, -1)
    return pd.DataFrame({"chain": chain + 1, "draw": draw, "value": draws.ravel()})
