"""Alpha-rank."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit, share_resolution
from jaxrank.models.options import number
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.solve.shortcut import shortcut
from jaxrank.numerics.solve.stationary import log_stationary_distribution
from jaxrank.numerics.status import Status


class AlphaRank(Ranker):
    """Logarithm of the time that an evolving population spends with each model.

    **Model** a population of m copies of model s is taken over by a mutant r with probability
    rho = (1 - e^-u) / (1 - e^-mu), u = alpha m/(m - 1) (P_rs - 1/2), 1/m at u = 0; the chain on models has rates
    rho/(L - 1) [omidshafiei2019; hariri2026ranking, eqs. 61-62].
    **Reads** pairs: P_ij = (wins + ties/2) / comparisons. A pair that was never compared has no transition.
    **Scores** natural logarithms of the stationary probabilities: at most 0, their exponentials have the sum 1.
    **Fields** ``alpha`` > 0: selection strength, default 1. ``population`` m >= 2, default 50. Both as published.
    **Params** ``mass`` (models,): the probabilities, which may underflow to 0.
    **Status** converged; disconnected where no chain of comparisons links some models.
    **Departs** in the scale: as probabilities the scores of weak models underflow, and models would tie that do not.
    The chain is solved by elimination. Where P_ij - 1/2 = s_i - s_j for all pairs, as on complete binary data, the
    chain is reversible and log mass_i = alpha m s_i + constant.
    """

    statistic: ClassVar[type] = Pairs
    alpha: Any = number(1.0, above=0)
    population: Any = number(50.0, 2)

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        total = stat.total
        n, dtype = total.shape[0], total.dtype
        alpha, m = jnp.asarray(self.alpha, dtype), jnp.asarray(self.population, dtype)
        edge = (total > 0) & ~jnp.eye(n, dtype=bool)
        # P - 1/2 from the difference of wins, so that it is exactly antisymmetric.
        lead = (stat.wins - stat.wins.T) / (2 * jnp.where(total > 0, total, 1))
        u = alpha * m / (m - 1) * lead.T  # [s, r]: a mutant r among s
        rates = jnp.where(edge, _log_fixation(u, m), -jnp.inf)
        level = jnp.mean(lead, axis=1)
        excess = jnp.abs(lead - (level[:, None] - level[None, :]))
        reversible = jnp.all(edge | jnp.eye(n, dtype=bool)) & jnp.all(excess <= 8 * jnp.finfo(dtype).eps)

        def closed_form(level: Array, rates: Array) -> Array:
            log_mass = alpha * m * level
            return log_mass - jax.nn.logsumexp(log_mass)

        solve = shortcut(closed_form, lambda level, rates: log_stationary_distribution(rates))
        scores = solve(reversible, level, rates)
        # Once more: before, the sum was good to the rounding of the largest logarithm only.
        scores = scores - jax.nn.logsumexp(scores)
        connected = jnp.all(reachability(edge))
        scores = jnp.where(connected, scores, jnp.nan)
        range_ = jnp.max(jnp.where(edge, jnp.abs(rates), 0)) + jnp.max(jnp.abs(scores))
        return Fit(
            scores=scores,
            status=jnp.where(connected, Status.CONVERGED, Status.DISCONNECTED).astype(jnp.int32),
            steps=jnp.asarray(0, jnp.int32),
            resolution=share_resolution(jnp.where(connected, range_, 0)),
            params={"mass": jnp.exp(scores)},
        )


def _log_fixation(u: Array, m: Array) -> Array:
    """log of (1 - e^-u) / (1 - e^-mu) without overflow or cancellation."""
    size = jnp.where(u == 0, 1, jnp.abs(u))
    ratio = jnp.log(-jnp.expm1(-size)) - jnp.log(-jnp.expm1(-m * size))
    # With u < 0 numerator and denominator are e^|u| - 1 and e^(m |u|) - 1.
    return jnp.where(u == 0, -jnp.log(m), jnp.where(u > 0, ratio, ratio - (m - 1) * size))


ENTRIES = (Entry("alpharank", AlphaRank, source="omidshafiei2019", published=True),)
