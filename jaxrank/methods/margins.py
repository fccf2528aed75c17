"""Least squares of margins: by how much battles were won."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.margins import Margins
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.ranker import Entry, HasCovariance, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.solve.hodge import potentials
from jaxrank.numerics.solve.linear import solve_grounded
from jaxrank.numerics.status import Status


class MarginLeastSquares(Ranker, HasCovariance):
    """Strengths whose differences are the margins of battles, by weighted least squares.

    **Model** y = theta_i - theta_j + e, Var(e) = sigma^2 times the given variance [jiang2011].
    **Reads** battles: the column "margin", by how much the first won, else the points of both sides ("score_a" less
    "score_b"), else 1, -1 and 0 for who won; weights, and the column "variance" where there is one, of which only the
    proportions count.
    **Scores** theta in the unit of the margins, mean 0 over models.
    **Fields** none.
    **Params** ``scale``: sigma^2, the weighted sum of squares that is left over ``degrees``, the number of battles less
    L - 1; standard errors are from it, and intervals from Student's t with so many degrees of freedom.
    **Status** converged; disconnected where no chain of battles links some models.
    **Departs** the source takes the mean margin of each pair for one number; here each battle is one, which gives the
    same strengths, and their errors.
    """

    statistic: ClassVar[type] = Margins
    kinds: ClassVar[tuple[str, ...]] = ("comparisons",)

    def __call__(self, stat: Margins, *, key: None = None) -> Fit:
        met = stat.weight > 0
        mean = jnp.where(met, stat.pull / jnp.where(met, stat.weight, 1), 0)
        together = reachability(met)
        scores = potentials(mean, stat.weight, together)
        gap = scores[:, None] - scores[None, :]
        within = jnp.maximum(stat.square - stat.weight * mean**2, 0)
        left = jnp.sum(within + stat.weight * (mean - gap) ** 2) / 2
        degrees = jnp.sum(stat.number) / 2 - (scores.shape[0] - 1)
        scale = jnp.where(degrees > 0, left / jnp.where(degrees > 0, degrees, 1), jnp.nan)
        connected = jnp.all(together)
        status = jnp.where(connected, Status.CONVERGED, Status.DISCONNECTED)
        return exact_fit(jnp.where(connected, scores, jnp.nan), status, scale=scale, degrees=degrees)

    def covariance(self, stat: Margins, fit: Fit) -> Float[Array, "models models"]:
        """The scale times the inverse of the weighted Laplacian."""
        n = stat.weight.shape[0]
        laplacian = jnp.diag(jnp.sum(stat.weight, axis=1)) - stat.weight
        right = jnp.eye(n, dtype=laplacian.dtype) - 1 / n
        inverse = solve_grounded(laplacian, right, n)
        return jnp.where(jnp.isfinite(fit.scores[0]), inverse, jnp.nan) * fit.params["scale"]

    def degrees(self, fit: Fit) -> float:
        return float(fit.params["degrees"])


ENTRIES = (Entry("margin_least_squares", MarginLeastSquares, source="jiang2011"),)
