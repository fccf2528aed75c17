"""PageRank of the graph on which losers point to winners."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit
from jaxrank.models.options import flag, number
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.solve.stationary import join_ties, mass_resolution, stationary_distribution
from jaxrank.numerics.status import Status


class PageRank(Ranker):
    """Share of time that a surfer who moves from losers to winners spends on each model.

    **Model** r = d T r + (1 - d)/L, T_ij = P_ij / sum_{k != j} P_kj for i != j, the uniform column where j never lost
    or tied [hariri2026ranking, eqs. 58-59; page1999]. With ``self_loops`` the column keeps T_jj proportional to
    sum_{k != j} P_jk, so that every column is divided by the number of opponents of j.
    **Reads** pairs: P_ij = (wins + ties/2) / comparisons. A pair that was never compared has no edge.
    **Scores** probabilities, sum 1.
    **Fields** ``damping`` d in [0, 1), default 0.85 as published. ``self_loops``: default False, the published
    formula.
    **Params** ``self_loops``: which of the two it was (0 or 1).
    **Status** converged; undefined where there are no comparisons at all.
    **Departs** in solving for r by elimination instead of iterating. The published code has the self-loops, which its
    formula has not.
    **Warning** In the published formula a model's column says where its losses go but not how many they are: with two
    models both always score 1/2, and the order can disagree with the win rates. ``pagerank_self_loops`` has neither
    fault; on complete binary data its order is that of the accuracies.
    """

    statistic: ClassVar[type] = Pairs
    damping: Any = number(0.85, 0, below=1)
    self_loops: bool = flag(False)

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        preference = stat.preference
        n, dtype = preference.shape[0], preference.dtype
        damping = jnp.asarray(self.damping, dtype)
        edge = (stat.total > 0) & ~jnp.eye(n, dtype=bool)
        to_winner = jnp.where(edge, preference.T, 0)  # [j, i]: from j to i
        leaving = jnp.sum(to_winner, axis=1)
        if self.self_loops:
            leaving = leaving + jnp.sum(jnp.where(edge, preference, 0), axis=1)
        stuck = leaving == 0
        move = jnp.where(stuck[:, None], 1 / n, to_winner / jnp.where(stuck, 1, leaving)[:, None])
        mass, _ = stationary_distribution(damping * move + (1 - damping) / n)
        scores = join_ties(mass)
        return Fit(
            scores=scores,
            status=jnp.where(jnp.any(edge), Status.CONVERGED, Status.UNDEFINED).astype(jnp.int32),
            steps=jnp.asarray(0, jnp.int32),
            resolution=mass_resolution(scores),
            params={"self_loops": jnp.asarray(self.self_loops, jnp.int32)},
        )


ENTRIES = (
    Entry("pagerank", PageRank, source="page1999", published=True),
    Entry("pagerank_self_loops", PageRank, source="page1999", options={"self_loops": True}),
)
