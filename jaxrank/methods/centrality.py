"""Rank centrality."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit
from jaxrank.models.options import choice, number
from jaxrank.models.pairs.unread import unread_pairs
from jaxrank.models.ranker import Entry, LeavesUnread, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.solve.stationary import join_ties, mass_resolution, stationary_distribution
from jaxrank.numerics.status import Status

TIES = ("ignore", "half")


class RankCentrality(Ranker, LeavesUnread):
    """Stationary distribution of a walk that moves from a model to those that beat it.

    **Model** P_ij = P^(j beats i) / d_max for i != j, the rest of the row stays at i; d_max the largest number of
    opponents of a model [negahban2017; hariri2026ranking, eq. 60]. Under Bradley-Terry probabilities the distribution
    is proportional to the strengths.
    **Reads** pairs. A pair that was never compared has no edge.
    **Scores** probabilities, sum 1, proportional to Bradley-Terry strengths.
    **Fields** ``ties``: "half" (default) counts a tie as half a win for each, "ignore" drops ties. ``smoothing`` >=
    0: wins added to both sides of every compared pair, default 0. ``teleport`` in [0, 1]: probability of a uniform
    jump in each step, default 0.
    **Params** ``closed`` (models,): whether a model is in a closed class of the walk; the others score exactly 0.
    **Status** converged; not unique where the walk has several closed classes, with the limit of small ``teleport`` as
    scores; disconnected where in addition there are models between which no chain of comparisons leads; undefined
    without comparisons.
    **Departs** in solving by elimination: no walk is too slow. Where some models never lost to the others all the
    mass is theirs, and the others tie at 0; ``smoothing`` or ``teleport`` above 0 ranks them too.
    """

    statistic: ClassVar[type] = Pairs
    ties: str = choice("half", TIES)
    smoothing: Any = number(0.0, 0)
    teleport: Any = number(0.0, 0, 1)

    def unread(self, stat: Pairs) -> str:
        if self.ties == "half":
            return ""
        return unread_pairs(stat, 'ties="half" reads them')

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        dtype = stat.wins.dtype
        teleport, smoothing = jnp.asarray(self.teleport, dtype), jnp.asarray(self.smoothing, dtype)
        points = stat.wins + stat.ties / 2 if self.ties == "half" else stat.wins
        total = points + points.T
        edge = total > 0
        points = jnp.where(edge, points + smoothing, 0)
        total = jnp.where(edge, total + 2 * smoothing, 1)
        n = points.shape[0]
        degree = jnp.maximum(jnp.max(jnp.sum(edge, axis=1)), 1).astype(dtype)
        walk = (1 - teleport) * points.T / (total * degree) + teleport / n
        mass, n_closed = stationary_distribution(walk)
        connected = jnp.all(reachability(edge | (teleport > 0)))
        several = jnp.where(connected, Status.NOT_UNIQUE, Status.DISCONNECTED)
        status = jnp.where(n_closed == 1, Status.CONVERGED, several)
        scores = join_ties(mass)
        return Fit(
            scores=scores,
            status=jnp.where(jnp.any(edge), status, Status.UNDEFINED).astype(jnp.int32),
            steps=jnp.asarray(0, jnp.int32),
            resolution=mass_resolution(scores),
            params={"closed": mass > 0},
        )


ENTRIES = (
    Entry("rank_centrality", RankCentrality, source="negahban2017"),
    Entry(
        "rank_centrality_tie_ignore", RankCentrality, source="negahban2017", options={"ties": "ignore"}, published=True
    ),
    Entry("rank_centrality_tie_half", RankCentrality, source="negahban2017", options={"ties": "half"}, published=True),
)
