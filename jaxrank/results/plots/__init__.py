"""Plots: each takes what it draws and ``ax=``, and returns Axes; ``return_data=True`` gives the data frame as well.

``ax`` is Axes of yours, an empty ``matplotlib.figure.Figure`` (which gets a size that fits), or None for a new pyplot
figure. Nothing is shown, saved or set globally. Results draw themselves by `Result.plot`, `Replicates.plot`,
`Convergence.plot`, `Posterior.plot` and `FitTable.plot`, with ``kind=`` one of `KINDS`. matplotlib is the extra
``jaxrank[plot]``, imported when the first plot is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxrank.errors import OptionError
from jaxrank.results.plots.agreement_matrix import agreement
from jaxrank.results.plots.bump_chart import bump
from jaxrank.results.plots.chains import chain_ranks, effective_size, trace
from jaxrank.results.plots.convergence_at_n import convergence
from jaxrank.results.plots.hodge_parts import hodge
from jaxrank.results.plots.items import item_curves
from jaxrank.results.plots.pass_by_k import pass_curves
from jaxrank.results.plots.rank_shares import rank_distribution
from jaxrank.results.plots.ranking_chart import leaderboard
from jaxrank.results.plots.responses import response_matrix
from jaxrank.results.plots.superiority_matrix import superiority
from jaxrank.results.plots.tau_by_n import tau_curve
from jaxrank.results.plots.tier_lines import tiers
from jaxrank.results.plots.wins import win_matrix
from jaxrank.results.plots.wright import wright_map

__all__ = [
    "KINDS",
    "agreement",
    "bump",
    "chain_ranks",
    "convergence",
    "draw",
    "effective_size",
    "hodge",
    "item_curves",
    "leaderboard",
    "pass_curves",
    "rank_distribution",
    "response_matrix",
    "superiority",
    "tau_curve",
    "tiers",
    "trace",
    "win_matrix",
    "wright_map",
]

_RANKING: dict[str, Callable[..., Any]] = {"leaderboard": leaderboard, "tiers": tiers, "superiority": superiority}

KINDS: dict[str, dict[str, Callable[..., Any]]] = {
    "Result": {
        **_RANKING,
        "wins": win_matrix,
        "responses": response_matrix,
        "pass": pass_curves,
        "items": item_curves,
        "wright": wright_map,
        "hodge": hodge,
    },
    "Replicates": {"ranks": rank_distribution, **_RANKING},
    "Convergence": {"tau": tau_curve, "convergence": convergence, "bump": bump},
    "Posterior": {
        **_RANKING,
        "ranks": rank_distribution,
        "trace": trace,
        "chain_ranks": chain_ranks,
        "ess": effective_size,
    },
    "FitTable": {"agreement": agreement},
}
"""The plots of each class by ``kind``; the first is the default."""


def draw(source: Any, of: str, kind: str | None, ax: Any, options: dict[str, Any]) -> Any:
    """The plot ``kind`` (None: the default) of a source, by the table ``KINDS[of]``."""
    kinds = KINDS[of]
    kind = next(iter(kinds)) if kind is None else kind
    if kind not in kinds:
        raise OptionError(f"kind={kind!r}; a {of} has the plots {', '.join(map(repr, kinds))}")
    return kinds[kind](source, ax, **options)
