"""Eigenvector centrality of the preference matrix."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit, share_resolution
from jaxrank.models.options import flag
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.solve.stationary import join_ties, mass_resolution, perron_vector, stationary_distribution
from jaxrank.numerics.status import Status


class Spectral(Ranker):
    """Principal eigenvector of the preference matrix: wins over strong models count more.

    **Model** A v = lambda v with the largest lambda, A_ij = P_ij for i != j, A_ii = sum_{j != i} P_ij
    [hariri2026ranking, I.1.9]. With ``keener``: A_ij = (wins + ties/2 + 1) / (comparisons + 2), A_ii = 0 [keener1993].
    **Reads** pairs: P_ij = (wins + ties/2) / comparisons. A pair that was never compared has no edge.
    **Scores** the eigenvector, not negative, sum 1.
    **Fields** ``keener``: default False, the published formula.
    **Params** ``eigenvalue``: lambda.
    **Status** converged; stopped at the step limit; not unique where several groups of models were never beaten from
    outside; disconnected where no chain of comparisons links some models.
    **Departs** in the solver. Where every pair was compared, all columns of the published matrix have the sum L - 1,
    so that the vector is the stationary distribution of a walk to the winners (rank centrality with half ties) and
    comes from one elimination; models outside the group that was never beaten then score exactly 0. Otherwise inverse
    iteration starts from that. The published code computes the ``keener`` variant, its text the default.
    """

    statistic: ClassVar[type] = Pairs
    keener: bool = flag(False)

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        total = stat.total
        n = total.shape[0]
        edge = (total > 0) & ~jnp.eye(n, dtype=bool)
        if self.keener:
            shares = jnp.where(edge, (stat.wins + stat.ties / 2 + 1) / (total + 2), 0)
            matrix = shares
        else:
            shares = jnp.where(edge, stat.preference, 0)
            matrix = shares + jnp.diag(jnp.sum(shares, axis=1))
        start, n_closed = stationary_distribution(shares.T)
        connected = jnp.all(reachability(edge))
        vector, reached, steps = perron_vector(matrix, start, connected)
        value = jnp.sum(matrix * vector[None, :])
        status = jnp.select(
            [~connected, ~reached, n_closed > 1],
            [Status.DISCONNECTED, Status.MAX_STEPS, Status.NOT_UNIQUE],
            Status.CONVERGED,
        )
        scores = join_ties(vector)
        # A vector of the gap between two eigenvalues: 87 ulp of the largest entry were the most in 480 tables.
        rounding = share_resolution(8 * jnp.max(vector))
        return Fit(
            scores=scores,
            status=status.astype(jnp.int32),
            steps=steps,
            resolution=jnp.where(steps > 0, rounding, mass_resolution(scores)),
            params={"eigenvalue": value},
        )


ENTRIES = (
    Entry("spectral", Spectral, source="hariri2026ranking", published=True),
    Entry("spectral_keener", Spectral, source="keener1993", options={"keener": True}),
)
