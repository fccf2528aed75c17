"""HodgeRank."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import choice, number
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.solve.hodge import harmonic_part, potentials
from jaxrank.numerics.status import Status

STATS = ("binary", "log_odds")
WEIGHTS = ("total", "decisive", "uniform")


class HodgeRank(Ranker):
    """Scores whose differences fit the observed pairwise differences best, by weighted least squares.

    **Model** minimise sum_{i<j} w_ij (s_i - s_j - Y_ij)^2, minimum norm [jiang2011]. "binary": Y_ij = (W_ij - W_ji) /
    comparisons, P(i above j) - P(j above i) [hariri2026ranking, eqs. 68-69 with Y of the opposite sign]. "log_odds":
    Y_ij = log((W_ij + T_ij + eps) / (W_ji + T_ij + eps)), the logarithm of P(i not below j) / P(j not below i)
    [jiang2011, section 2.2.1, of the opposite sign].
    **Reads** pairs. A pair that was never compared, or has weight 0, has no edge.
    **Scores** differences of win probabilities or log-odds; their sum is 0 in every component.
    **Fields** ``stat``: "binary" (default) or "log_odds". ``weights``: "total" (default) comparisons, "decisive" those
    with a winner, "uniform" 1. ``epsilon`` > 0: added to both sides of the log-odds, default 0.5.
    **Params** the squared weighted lengths ``total_flow`` = ``gradient`` + ``curl`` + ``harmonic``: what the scores
    explain, what is inconsistent within triangles, and around longer cycles; ``inconsistency``: the share not
    explained by the scores, 0 to 1. ``residual`` (models, models): Y_ij - (s_i - s_j) on the edges, ``harmonic_flow``
    the harmonic part.
    **Status** converged; disconnected where no chain of edges links some models: scores compare within components
    only.
    **Departs** in epsilon only, which the source of "log_odds" does not have: without it a pair in which one model is
    never below the other would be an infinite difference. On complete binary data "binary" with weights "total" gives
    accuracy less mean accuracy.
    """

    statistic: ClassVar[type] = Pairs
    stat: str = choice("binary", STATS)
    weights: str = choice("total", WEIGHTS)
    epsilon: Any = number(0.5, above=0)

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        total = stat.total
        n, dtype = total.shape[0], total.dtype
        off = ~jnp.eye(n, dtype=bool)
        if self.weights == "total":
            weight = total
        elif self.weights == "decisive":
            weight = stat.wins + stat.wins.T
        else:
            weight = (total > 0).astype(dtype)
        weight = jnp.where(off, weight, 0)
        edge = weight > 0
        if self.stat == "binary":
            flow = (stat.wins - stat.wins.T) / jnp.where(total > 0, total, 1)
        else:
            points = stat.wins + stat.ties + jnp.asarray(self.epsilon, dtype)
            flow = jnp.log(points) - jnp.log(points.T)
        flow = jnp.where(edge, flow, 0)
        together = reachability(edge)
        scores = potentials(flow, weight, together)
        residual = jnp.where(edge, flow - (scores[:, None] - scores[None, :]), 0)
        harmonic = harmonic_part(residual, weight)

        def square(x: Array) -> Array:
            return jnp.sum(weight * x**2) / 2

        all_flow, left, around = square(flow), square(residual), square(harmonic)
        return exact_fit(
            scores,
            jnp.where(jnp.all(together), Status.CONVERGED, Status.DISCONNECTED),
            total_flow=all_flow,
            gradient=all_flow - left,
            curl=left - around,
            harmonic=around,
            inconsistency=left / jnp.where(all_flow > 0, all_flow, 1),
            residual=residual,
            harmonic_flow=harmonic,
        )


ENTRIES = (
    Entry("hodge_rank", HodgeRank, source="jiang2011"),
    *(
        Entry(
            f"hodge_rank_{stat}_{weights}",
            HodgeRank,
            source="jiang2011",
            options={"stat": stat, "weights": weights},
            published=True,
        )
        for stat in STATS
        for weights in WEIGHTS
    ),
)
