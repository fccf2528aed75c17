"""SerialRank: ranking by seriation."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit, share_resolution
from jaxrank.models.options import choice
from jaxrank.models.pairs.unread import unread_pairs
from jaxrank.models.ranker import Entry, LeavesUnread, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status

COMPARISONS = ("prob_diff", "sign")


class SerialRank(Ranker, LeavesUnread):
    """Order in which neighbours have similar results against all others: a Fiedler vector.

    **Model** C_ij = (W_ij - W_ji) / comparisons, S = (L 11' + C C')/2, v the eigenvector of the Laplacian
    diag(S 1) - S to the second smallest eigenvalue, its sign such that the better of two models tends to have beaten
    the other [fogel2016; hariri2026ranking, eqs. 66-67].
    **Reads** pairs; C_ij = 0 for a pair that was never compared.
    **Scores** the vector, length 1, sum 0; all 0 where the data give no order.
    **Fields** ``comparison``: "prob_diff" (default) is C above, "sign" its sign.
    **Params** ``eigenvalue``: the second smallest. ``gap``: how far the next lies above it. ``agreement``: sum over
    pairs of C_ij sign(v_i - v_j), which fixed the sign.
    **Status** converged; not unique where further eigenvalues equal the second or no sign agrees better with the data:
    the score is then the projection of the row sums of C on the eigenspace; disconnected where no chain of comparisons
    links some models.
    **Departs** in that: an eigensolver returns any vector of such a space, which depends on labels. Equal models, for
    which a solver may return noise, get equal scores.
    """

    statistic: ClassVar[type] = Pairs
    comparison: str = choice("prob_diff", COMPARISONS)

    def unread(self, stat: Pairs) -> str:
        if self.comparison != "sign":
            return ""
        return unread_pairs(stat, 'comparison="prob_diff" reads them')

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        total = stat.total
        n, dtype = total.shape[0], total.dtype
        eps = jnp.finfo(dtype).eps
        lead = stat.wins - stat.wins.T
        c = jnp.sign(lead) if self.comparison == "sign" else lead / jnp.where(total > 0, total, 1)
        common = matmul(c, c.T)
        # Twice the Laplacian less L (L I - 11'), which has the same eigenvectors: no large common part to cancel.
        table = jnp.diag(jnp.sum(common, axis=1)) - common
        size = jnp.sqrt(jnp.sum(table**2))
        top = jnp.where(size > 0, 2 * size, 1) / n  # moves the vector of ones above all others
        values, vectors = jnp.linalg.eigh(table + top)
        second = values[0]
        equal = (values <= second + 64 * n**0.5 * eps * size) & (jnp.arange(n) < n - 1)
        single = jnp.sum(equal) == 1

        vector = vectors[:, 0] - jnp.mean(vectors[:, 0])
        # How far the vector turns for a relative change of the shares: the size of the matrix over the gap beside it.
        condition = size / jnp.where(single, values[1] - second, 1) if n > 2 else jnp.ones((), dtype)
        tolerance = jnp.minimum(share_resolution(jnp.maximum(condition, 1)), 1)
        apart = vector[:, None] - vector[None, :]
        order = jnp.where(jnp.abs(apart) > tolerance, jnp.sign(apart), 0)
        agreement = jnp.sum(c * order) / 2
        oriented = jnp.sign(jnp.where(jnp.abs(agreement) > 64 * eps * n, agreement, 0)) * vector

        level = jnp.sum(c, axis=1)
        inside = jnp.where(equal[None, :], vectors, 0)
        shadow = matmul(inside, matmul(inside.T, level))
        length = jnp.sqrt(jnp.sum(shadow**2))
        clear = length > 64 * n * eps * jnp.sqrt(jnp.sum(level**2))
        projected = jnp.where(clear, shadow / jnp.where(clear, length, 1), 0)

        decided = single & jnp.any(oriented != 0)
        connected = jnp.all(reachability(total > 0))
        status = jnp.where(decided, Status.CONVERGED, Status.NOT_UNIQUE)
        following = values[1] if n > 2 else second
        return Fit(
            scores=jnp.where(decided, oriented, projected),
            status=jnp.where(connected, status, Status.DISCONNECTED).astype(jnp.int32),
            steps=jnp.asarray(0, jnp.int32),
            resolution=jnp.where(decided, tolerance, 64 * n * eps).astype(dtype),
            params={
                "eigenvalue": (second + n**2) / 2,
                "gap": jnp.where(single, following - second, 0) / 2,
                "agreement": jnp.abs(agreement),
            },
        )


ENTRIES = (
    Entry("serial_rank", SerialRank, source="fogel2016"),
    Entry("serial_rank_prob_diff", SerialRank, source="fogel2016", options={"comparison": "prob_diff"}, published=True),
    Entry("serial_rank_sign", SerialRank, source="fogel2016", options={"comparison": "sign"}, published=True),
)
