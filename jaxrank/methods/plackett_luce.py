"""Plackett-Luce strengths from wins by a fixed-point iteration: an independent path to Bradley-Terry's optimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.data.battle_statistic import Battles
from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit
from jaxrank.models.options import SEPARATION, choice, columns, flag, number, part
from jaxrank.models.pairs.battles import WithCovariates, check_design, fit_battles
from jaxrank.models.pairs.fit import Support, fit_paired
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood, log_odds
from jaxrank.models.pairs.unread import unread_pairs
from jaxrank.models.priors import PRIORS, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, LeavesUnread, Ranker
from jaxrank.numerics.solve.fixed_point import FixedPoint
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solution, Solver
from jaxrank.numerics.solvers import SOLVERS


class PlackettLuce(Ranker, WithCovariates, LeavesUnread):
    """Plackett-Luce strengths of pairwise wins by a minorise-maximise type of iteration.

    **Model** a win of i over j is a ranking of two: Pr(i > j) = pi_i / (pi_i + pi_j), pi = exp(theta)
    [plackett1975, luce1959]. Maximum likelihood by a fixed-point iteration; with a ``prior`` the maximum of the
    posterior, by Newton's method. Ties are dropped.
    **Reads** pairs.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``, ``separation`` as in `BradleyTerry`.  ``update``: "newman" (default), pi_i <- sum_j w_ij pi_j
    / (pi_i + pi_j) over sum_j w_ji / (pi_i + pi_j) [newman2023], or "hunter", the MM iteration pi_i <- w_i / sum_j
    n_ij / (pi_i + pi_j) [hunter2004], which has the same fixed point and needs 2 to 100 times the steps.  ``mm``: the
    fixed-point solver.  ``solver``: Newton, for a prior or covariates.  ``covariates``, ``side``, ``relative``,
    ``covariate_var`` as in `BradleyTerry`, whose fit it then is.
    **Status** as `BradleyTerry`; ``MAX_STEPS`` where the iteration is slow (nearly separated data).
    **Departs** the iteration runs on logarithms and is extrapolated, which leaves its fixed point. Scores are
    logarithms. Full rankings of several models go through ``plackett_luce_rankings``.
    """

    statistic: ClassVar[type] = Pairs
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", SEPARATION)
    update: str = choice("newman", ("newman", "hunter"))
    mm: FixedPoint = part(FixedPoint(), FixedPoint, {"fixed-point": FixedPoint})
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    @property
    def likelihood(self) -> BradleyTerryLikelihood:
        return BradleyTerryLikelihood()

    def observed(self, stat: Pairs) -> Pairs:
        return Pairs(stat.wins, jnp.zeros_like(stat.ties))

    def check(self, data: Any) -> None:
        check_design(self, data)

    def unread(self, stat: Any) -> str:
        pairs = stat.pairs() if isinstance(stat, Battles) else stat
        return unread_pairs(pairs, "bradley_terry_davidson reads them")

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        if isinstance(stat, Battles):
            return fit_battles(self, stat)
        return fit_paired(self, stat, None if self.prior.proper else self._iterate)

    def _iterate(self, inside: Pairs, known: Support) -> Solution:
        return self.mm.iterate(_update(inside, known.together, self.update), log_odds(inside.wins), known.alive)


def _update(stat: Pairs, together: Array, name: str) -> Callable[[Array], Array]:
    """theta -> theta' of one iteration, centred within each group."""
    total = stat.total
    size = jnp.sum(together, axis=1)

    def update(theta: Array) -> Array:
        chance = 1 / (1 + jnp.exp(theta[None, :] - theta[:, None]))  # Pr(i > j), cannot overflow
        lucky = jnp.sum(stat.wins * chance.T, axis=1)  # wins, each weighted by the chance that it had not happened
        unlucky = jnp.sum(stat.wins.T * chance, axis=1)
        if name == "newman":
            up, down = lucky, unlucky
        else:  # w_i / expected wins, written without the difference of large sums
            expected = jnp.sum(total * chance, axis=1)
            up, down = expected + lucky - unlucky, expected
        both = (up > 0) & (down > 0)
        moved = theta + jnp.where(both, jnp.log(jnp.where(both, up, 1)) - jnp.log(jnp.where(both, down, 1)), 0)
        return moved - jnp.sum(together * moved[None, :], axis=1) / size

    return update


ENTRIES = (
    Entry("plackett_luce", PlackettLuce, source="hunter2004", published=True),
    Entry("plackett_luce_map", PlackettLuce, source="hunter2004", options={"prior": 1.0}, published=True),
)
