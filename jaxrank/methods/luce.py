"""Setwise choice: every event is a choice of the models that succeed over those that fail."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.slates import Slates
from jaxrank.data.statistics import Events
from jaxrank.models.fit import Fit
from jaxrank.models.options import columns, count, flag, number, part
from jaxrank.models.priors import PRIORS, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, LeavesUnread, Ranker
from jaxrank.models.setwise.choices import Choices, SetTotals, choices, set_totals
from jaxrank.models.setwise.fit import davidson_luce_covariance, fit_davidson_luce, fit_luce, luce_covariance
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, LuceLikelihood
from jaxrank.models.setwise.model import SetwiseModel
from jaxrank.models.setwise.slates import fit_slates, slate_covariance
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solver
from jaxrank.numerics.solvers import SOLVERS


class _LeavesTies(LeavesUnread):
    """Events in which all did the same say nothing; the last stage of a list is always one, and no loss."""

    def unread(self, stat: Any) -> str:
        outcomes, weights = np.asarray(stat.outcomes), np.asarray(stat.weights, float)
        several = np.sum(outcomes >= 0, axis=1) > 1
        equal = several & (np.all(outcomes != 0, axis=1) | np.all(outcomes != 1, axis=1))
        n_unread, n_all = weights[equal].sum(), weights[several].sum()
        if n_unread == 0:
            return ""
        return (
            f"{n_unread:,.10g} of {n_all:,.10g} events, in which all models did the same, were not read; "
            "bradley_terry_davidson reads ties"
        )

    def unread_of(self, stat: Any, data: Any) -> str:
        if data.all_alike is None:
            return self.unread(stat)
        return f"{data.all_alike}, were not read; plackett_luce_rankings reads ties" if data.all_alike else ""


class BradleyTerryLuce(Ranker, SetwiseModel, _LeavesTies):
    """Luce strengths from events: each model that succeeds is chosen over all that fail.

    **Model** composite likelihood prod over events, i in U, of pi_i / (pi_i + sum_{j in V} pi_j), pi = exp(theta), U
    the models right and V those wrong in one trial of one question [luce1959]; maximum likelihood, or with ``prior``
    the maximum of the posterior. Newton's method with closed-form curvature.
    **Reads** events; a model that took no part in an event is in neither set. Events with U or V empty say nothing.
    With covariates battles or ordered lists, of which each set of winners is two places.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``: a `jaxrank.priors` prior on theta or a variance v for Gaussian(0, v); default flat.
    ``solver``: one of `jaxrank.solvers`, default Newton.  ``covariates``: columns whose values shift log-strengths,
    theta_i + beta . x_ei in event e: of ordered lists columns with a number for each model, as it is (a price, the
    position shown), of battles as in `BradleyTerry`, with ``side`` and ``relative``, which are of battles alone.
    ``covariate_var``: variance of a normal prior on the coefficients, default none. Scores are then strengths where
    covariates are equal.
    **Params** ``theta``; ``log_likelihood`` (composite, without the prior); with covariates ``beta`` and, with
    ``side``, ``delta``.
    **Standard errors** the sandwich of event scores, since the winners of one event share its losers.
    **Status** ``NO_FINITE_OPTIMUM`` where the graph with an edge from i to j when i was chosen over j is not strongly
    connected [ford1957], and with covariates where some direction of strengths and coefficients makes no choice less
    likely [albert1984] (a single fit decides by a linear program); ``DISCONNECTED`` where it falls apart,
    ``MAX_STEPS``. With no informative event every model ties at 0. A proper prior always has an optimum.
    **Departs** scores are logarithms; the source papers use strengths exp(theta). Models with the same data tie
    exactly, while the published code separates them by the noise of its optimiser. Covariates are not in the sources.
    """

    statistic: ClassVar[type] = Events
    binary: ClassVar[bool] = True
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    def problem(self, stat: Events) -> tuple[LuceLikelihood, Choices]:
        return LuceLikelihood(), choices(stat.outcomes, stat.weights)

    def tie_orders(self, stat: Any) -> int:
        return 0

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        if isinstance(stat, Slates):
            return fit_slates(self, stat)
        return fit_luce(self, choices(stat.outcomes, stat.weights))

    def covariance(self, stat: Any, fit: Fit) -> Float[Array, "models models"]:
        if isinstance(stat, Slates):
            return slate_covariance(self, stat, fit)[: stat.n_models, : stat.n_models]
        return luce_covariance(self, choices(stat.outcomes, stat.weights), fit)


class DavidsonLuce(Ranker, SetwiseModel, _LeavesTies):
    """Davidson-Luce strengths: the set of models that succeed is chosen as a whole, as a tie of its size.

    **Model** Pr(U | S) = delta_t g_t(U) / sum_{t'=1..D} delta_t' e_t'(pi_S^(1/t')), t = |U|, g_t(U) = prod_U pi^(1/t),
    e the elementary symmetric polynomial over the slate S [firth2019, eq. 2]; maximum likelihood, or with ``prior`` (on
    theta; the tie parameters have none) the maximum of the posterior. Newton's method: the model is an exponential
    family, so gradient and curvature are the inclusion probabilities of `jaxrank.numerics.symmetric`.
    **Reads** events. Events with all right or all wrong are left out, and the likelihood conditions on that: a slate of
    m models has the orders 1 to min(D, m - 1).
    **Scores** log-strengths theta, mean 0 over models.
    With covariates battles or ordered lists.
    **Fields** ``prior``, ``solver``, ``covariates``, ``side``, ``relative``, ``covariate_var`` as in
    `BradleyTerryLuce`: pi_i is multiplied by exp(beta . x_ei).  ``max_tied``: D, the largest tie order; default L - 1,
    with covariates one less than the largest slate.
    **Params** ``theta``; ``tie_strengths``: delta of the orders 1..D, 0 for an order that never occurs and 1 for the
    lowest that does (delta_1 whenever a model ever was the only one right); ``orders``: events of each order; with
    covariates ``beta`` and ``delta``.
    **Status** ``NO_FINITE_OPTIMUM`` where the graph of choices is not strongly connected and all events have one slate
    or one number of winners; or with several where the search runs off (a single fit decides these by a linear program,
    in a batch an optimum must be proved by the curvature where the search ends); with covariates also where they can
    run off with the strengths; or where a tie order occurs only on slates that allow no other; ``DISCONNECTED``;
    ``MAX_STEPS`` also where the rounding of sums over so many events may move a score by half a unit (millions of
    events in float32, of models that met very unequally often: use dtype="float64"); ``UNDEFINED`` where an event has
    more winners than ``max_tied``. With no informative event every model ties at 0.
    **Departs** the normaliser is evaluated by a discrete Fourier transform instead of a recursion: the same sum and
    cost, with its derivatives. An order that never occurs is left out instead of letting log delta drift to minus
    infinity. Models with equal shares of the winning sets tie exactly, while the published code separates them by the
    noise of its optimiser. Covariates are not in the source.
    """

    statistic: ClassVar[type] = Events
    binary: ClassVar[bool] = True
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    max_tied: int | None = count(None)
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    def problem(self, stat: Events) -> tuple[DavidsonLuceLikelihood, SetTotals]:
        n_orders = self.tie_orders(stat)
        return DavidsonLuceLikelihood(n_orders), set_totals(choices(stat.outcomes, stat.weights), n_orders)

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        if isinstance(stat, Slates):
            return fit_slates(self, stat)
        return fit_davidson_luce(self, choices(stat.outcomes, stat.weights), self.tie_orders(stat))

    def covariance(self, stat: Any, fit: Fit) -> Float[Array, "models models"]:
        if isinstance(stat, Slates):
            return slate_covariance(self, stat, fit)[: stat.n_models, : stat.n_models]
        return davidson_luce_covariance(self, choices(stat.outcomes, stat.weights), fit, self.tie_orders(stat))

    def tie_orders(self, stat: Any) -> int:
        most = max(stat.outcomes.shape[1] - 1, 1)
        return most if self.max_tied is None else min(self.max_tied, most)


ENTRIES = (
    Entry("bradley_terry_luce", BradleyTerryLuce, source="luce1959", published=True),
    Entry("bradley_terry_luce_map", BradleyTerryLuce, source="luce1959", options={"prior": 1.0}, published=True),
    Entry("davidson_luce", DavidsonLuce, source="firth2019", published=False),
    Entry("davidson_luce_map", DavidsonLuce, source="firth2019", options={"prior": 1.0}, published=False),
)
