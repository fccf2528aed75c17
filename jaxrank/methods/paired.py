"""Paired comparison models fitted by Newton's method: Bradley-Terry, Davidson, Rao-Kupper, ML and MAP."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from jaxrank.data.battle_statistic import Battles
from jaxrank.data.statistics import Pairs
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit
from jaxrank.models.options import SEPARATION, choice, columns, flag, number, part
from jaxrank.models.pairs.battles import WithCovariates, check_design, fit_battles
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood, DavidsonLikelihood, RaoKupperLikelihood
from jaxrank.models.pairs.unread import unread_pairs
from jaxrank.models.priors import PRIORS, WIDE, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, LeavesUnread, Ranker
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solver
from jaxrank.numerics.solvers import SOLVERS


class BradleyTerry(Ranker, WithCovariates, LeavesUnread):
    """Bradley-Terry strengths from wins; ties are dropped, or count half a win to each side.

    **Model** Pr(i > j) = sigmoid(theta_i - theta_j) [bradleyterry1952]; maximum likelihood, or with ``prior`` the
    maximum of the posterior [hunter2004].
    **Reads** pairs.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``: a `jaxrank.priors` prior on theta or a variance v for Gaussian(0, v); default flat.
    ``ties``: "drop" (default) or "half".  ``pseudo``: draws added to every compared pair, half a win to each side;
    default none.  ``separation``: what scores are where no finite optimum exists: "raise" (default; NaN in a batch),
    "nan", or "extend" (strong components in their order of dominance, maximum likelihood inside each; distances between
    components are then arbitrary, their order is not, but where two components have no order: ``NOT_UNIQUE``, one of
    the possible orders; `fit` still raises where models were never compared at all).  ``solver``: one of
    `jaxrank.solvers`, default Newton.
    ``covariates``: columns of battles whose differences shift the odds, theta_i - theta_j + beta . x; a pair of columns
    NAME_a, NAME_b is (a - b) / (a + b) over its root mean square, or with ``relative=False`` a - b, a column NAME is
    the difference.  ``side``: whether being shown first (being a) has a coefficient delta.  ``covariate_var``: variance
    of a normal prior on the coefficients, default none. Scores are then strengths where all covariates are 0.
    **Status** ``NO_FINITE_OPTIMUM`` where the graph of wins is not strongly connected [ford1957], and with covariates
    where some direction of strengths and coefficients makes no battle less likely [albert1984]; ``DISCONNECTED``
    where it falls apart, ``MAX_STEPS``. With no decisive comparison at all every model ties at 0. A proper prior
    always has an optimum.
    **Params** with covariates ``beta`` and ``delta``.
    **Departs** scores are logarithms; the source papers use strengths exp(theta).
    """

    statistic: ClassVar[type] = Pairs
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    ties: str = choice("drop", ("drop", "half"))
    pseudo: Any = number(None, 0)
    separation: str = choice("raise", SEPARATION)
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    @property
    def likelihood(self) -> BradleyTerryLikelihood:
        return BradleyTerryLikelihood()

    def observed(self, stat: Pairs) -> Pairs:
        wins = stat.wins + stat.ties / 2 if self.ties == "half" else stat.wins
        return Pairs(wins, jnp.zeros_like(wins))

    def check(self, data: Any) -> None:
        check_design(self, data)

    def unread(self, stat: Any) -> str:
        if self.ties == "half":
            return ""
        return unread_pairs(
            stat.pairs() if isinstance(stat, Battles) else stat, 'ties="half" or bradley_terry_davidson reads them'
        )

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        return fit_battles(self, stat)


class Davidson(Ranker, WithCovariates):
    """Bradley-Terry strengths with ties: Davidson's model, tie parameter estimated.

    **Model** Pr(i > j) : Pr(j > i) : Pr(tie) = pi_i : pi_j : nu sqrt(pi_i pi_j), pi = exp(theta) [davidson1970].
    **Reads** pairs.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``, ``separation``, ``solver`` as in `BradleyTerry`; the prior is on theta, nu has none. "extend"
    gives NaN where a tie parameter that runs off is the reason.  ``covariates``, ``side``, ``relative``,
    ``covariate_var`` as there: pi_i / pi_j is multiplied by exp(beta . x).
    **Status** ``NO_FINITE_OPTIMUM`` where the graph of wins and ties is not strongly connected, or where potentials
    exist that put every win at a distance of at least 1 and every tie within 1 (nu and the strengths then run off
    together);
    ``DISCONNECTED``; ``MAX_STEPS``. Without ties nu is 0, and the model is Bradley-Terry's. With nothing but ties every
    model ties at 0 and nu is infinite.
    **Params** ``nu``, with covariates ``beta`` and ``delta``.
    **Departs** where models have equal sufficient statistics: here they tie exactly, while the published code separates
    them by the noise of its optimiser.
    """

    statistic: ClassVar[type] = Pairs
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", SEPARATION)
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    @property
    def likelihood(self) -> DavidsonLikelihood:
        return DavidsonLikelihood()

    def check(self, data: Any) -> None:
        check_design(self, data)

    def observed(self, stat: Pairs) -> Pairs:
        return stat

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        return fit_battles(self, stat)


class RaoKupper(Ranker, WithCovariates):
    """Bradley-Terry strengths with ties: the Rao-Kupper threshold model.

    **Model** Pr(i > j) = pi_i / (pi_i + kappa pi_j), Pr(tie) = the rest, kappa >= 1 [raokupper1967].
    **Reads** pairs.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``tie_strength``: kappa, >= 1, default 1.1 as published; None estimates it.  ``prior``, ``separation``,
    ``solver``, ``covariates``, ``side``, ``relative``, ``covariate_var`` as in `BradleyTerry`.
    **Status** as `BradleyTerry` for a fixed kappa (a tie links both ways), as `Davidson` for an estimated one. Without
    ties an estimated kappa is 1.
    **Params** ``kappa``, with covariates ``beta`` and ``delta``.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Pairs
    tie_strength: Any = number(1.1, 1, optional=True)
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", SEPARATION)
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    @property
    def likelihood(self) -> RaoKupperLikelihood:
        return RaoKupperLikelihood(self.tie_strength)

    def check(self, data: Any) -> None:
        check_design(self, data)
        fixed = self.tie_strength is not None and bool(np.all(np.asarray(self.tie_strength) == 1))
        if fixed and np.any(np.asarray(Pairs.of(data).ties) > 0):
            raise OptionError("tie_strength=1 says that nothing ever ties, and the data hold ties; use more, or None")

    def observed(self, stat: Pairs) -> Pairs:
        return stat

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        return fit_battles(self, stat)


ENTRIES = (
    Entry("bradley_terry", BradleyTerry, source="bradleyterry1952", published=True),
    Entry("bradley_terry_map", BradleyTerry, source="hunter2004", options={"prior": 1.0}, published=True),
    Entry("bradley_terry_davidson", Davidson, source="davidson1970", published=True),
    Entry("bradley_terry_davidson_map", Davidson, source="davidson1970", options={"prior": 1.0}, published=True),
    Entry("bradley_terry_davidson_wide", Davidson, source="davidson1970", options={"prior": WIDE}),
    Entry("rao_kupper", RaoKupper, source="raokupper1967", published=True),
    Entry("rao_kupper_map", RaoKupper, source="raokupper1967", options={"prior": 1.0}, published=True),
)
