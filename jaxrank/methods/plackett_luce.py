"""Plackett-Luce strengths from wins, by the minorise-maximise iteration: an independent path to Bradley-Terry's optimum."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.fit import Fit
from jaxrank.pair_likelihoods import BradleyTerryLikelihood, log_odds
from jaxrank.paired_fit import PairedModel, assemble, determined, fit_paired, paired_covariance, support
from jaxrank.priors import Flat, Prior, as_prior
from jaxrank.ranker import Entry, HasStandardErrors, Ranker, choice
from jaxrank.solve.fixed_point import FixedPoint
from jaxrank.solve.newton import Newton
from jaxrank.statistics import Pairs


class PlackettLuce(Ranker, HasStandardErrors, PairedModel):
    """Plackett-Luce strengths of pairwise wins by the MM iteration.

    **Model** a win of i over j is a ranking of two: Pr(i > j) = pi_i / (pi_i + pi_j), pi = exp(theta)
    [plackett1975, luce1959]. Maximum likelihood by pi_i <- w_i / sum_j n_ij / (pi_i + pi_j) [hunter2004, eq. 3]; with a
    ``prior`` the maximum of the posterior, by Newton's method. Ties are dropped.
    **Reads** pairs.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``, ``separation`` as in `BradleyTerry`.  ``mm``: the fixed-point solver of the maximum likelihood fit.
    ``solver``: Newton, for a prior.
    **Status** as `BradleyTerry`; ``MAX_STEPS`` where the iteration is slow (nearly separated data).
    **Departs** the iteration runs on logarithms and is extrapolated; its fixed point is the same. Scores are logarithms.
    Full rankings of several models go through ``plackett_luce_rankings``.
    """

    statistic: ClassVar[type] = Pairs
    prior: Prior = eqx.field(default=Flat(), converter=as_prior)
    separation: str = choice("raise")
    mm: FixedPoint = eqx.field(default=FixedPoint())
    solver: Newton = eqx.field(default=Newton())

    @property
    def likelihood(self) -> BradleyTerryLikelihood:
        return BradleyTerryLikelihood()

    def read(self, stat: Pairs) -> Pairs:
        return Pairs(stat.wins, jnp.zeros_like(stat.ties))

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        if self.prior.proper:
            return fit_paired(self, stat)
        stat = self.read(stat)
        known = support(self, stat)
        inside = determined(self, stat, known)
        solution = self.mm(_minorise(inside, known.together), log_odds(inside.wins), known.alive)
        return assemble(self, stat, known, solution)

    def standard_errors(self, stat: Pairs, fit: Fit) -> Float[Array, " models"]:
        return jnp.sqrt(jnp.diagonal(paired_covariance(self, stat, fit)))


def _minorise(stat: Pairs, together: Array) -> Any:
    """theta -> theta': the exact maximum of Hunter's minorising function, centred within each group."""
    total = stat.total
    won = jnp.sum(stat.wins, axis=1)
    size = jnp.sum(together, axis=1)

    def update(theta: Array) -> Array:
        # exp(theta_i) sum_j n_ij / (pi_i + pi_j) = sum_j n_ij sigmoid(theta_i - theta_j), which cannot overflow.
        expected = jnp.sum(total / (1 + jnp.exp(theta[None, :] - theta[:, None])), axis=1)
        both = (won > 0) & (expected > 0)
        moved = theta + jnp.where(both, jnp.log(jnp.where(both, won, 1)) - jnp.log(jnp.where(both, expected, 1)), 0)
        return moved - jnp.sum(together * moved[None, :], axis=1) / size

    return update


ENTRIES = (
    Entry("plackett_luce", PlackettLuce, source="hunter2004", published=True),
    Entry("plackett_luce_map", PlackettLuce, source="hunter2004", options={"prior": 1.0}, published=True),
)
