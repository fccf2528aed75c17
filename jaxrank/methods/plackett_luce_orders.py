"""Plackett-Luce on ordered lists: each order is a sequence of choices from what is left; ties by Davidson-Luce."""

from __future__ import annotations

from typing import Any, ClassVar

from jaxtyping import Array, Float

from jaxrank.data.order_statistic import Orders
from jaxrank.data.slates import Slates
from jaxrank.models.fit import Fit
from jaxrank.models.options import columns, count, flag, number, part
from jaxrank.models.priors import PRIORS, WIDE, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.models.setwise.choices import Choices, SetTotals, choices, set_totals
from jaxrank.models.setwise.fit import davidson_luce_covariance, fit_davidson_luce, fit_luce, luce_covariance
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, LuceLikelihood
from jaxrank.models.setwise.model import SetwiseModel
from jaxrank.models.setwise.slates import fit_slates, slate_covariance
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solver
from jaxrank.numerics.solvers import SOLVERS


class PlackettLuceRankings(Ranker, SetwiseModel):
    """Plackett-Luce strengths of full or partial ordered lists, with ties.

    **Model** an order is a sequence of choices: the best of S is i with Pr = pi_i / sum_S pi, then the best of the
    rest, and so on [plackett1975, luce1959, hunter2004]. A group of t ties is chosen as one with Pr = delta_t g_t(U) /
    sum_t' delta_t' e_t'(pi_S^(1/t')), as in `DavidsonLuce` [firth2019], where the choice of everyone left is a possible
    outcome. Newton's method with closed-form curvature.
    **Reads** orders (`jaxrank.Rankings`).
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``: a `jaxrank.priors` prior on theta or a variance v for Gaussian(0, v); default flat.
    ``max_tied``: largest tie order; None (default) takes it from the data. Orders without ties are read exactly as
    Plackett-Luce.  ``solver``: one of `jaxrank.solvers`, default Newton.  ``covariates``: columns with a number for
    each model of each order (a price, the length of an answer, the position shown), which shifts its log-strength:
    theta_i + beta . x_ei in order e.  ``covariate_var``: variance of a normal prior on the coefficients, default none.
    ``side`` and ``relative`` are of battles: `BradleyTerryLuce`.
    **Params** ``theta``; without ties ``log_likelihood``; with ties ``tie_strengths`` and ``orders`` as `DavidsonLuce`;
    with covariates ``beta``.
    **Status** ``NO_FINITE_OPTIMUM`` where the models fall into two groups of which no member of one was ever chosen
    over a member of the other [hunter2004, assumption 1]; with ties and with covariates as `DavidsonLuce` and
    `BradleyTerryLuce`; ``DISCONNECTED``; ``UNDEFINED``
    where an order has larger ties than ``max_tied``; ``MAX_STEPS``. Where nothing tells the models apart they tie at 0.
    **Departs** in covariates, which the sources do not have; no pseudo-orders are added.
    """

    statistic: ClassVar[type] = Orders
    whole: ClassVar[bool] = True
    single: ClassVar[bool] = True
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    max_tied: int | None = count(None)
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    def problem(self, stat: Orders) -> tuple[LuceLikelihood, Choices] | tuple[DavidsonLuceLikelihood, SetTotals]:
        n_orders = self.tie_orders(stat)
        c = choices(stat.outcomes, stat.weights, True)
        if n_orders:
            return DavidsonLuceLikelihood(n_orders), set_totals(c, n_orders, True)
        return LuceLikelihood(), c

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        if isinstance(stat, Slates):
            return fit_slates(self, stat)
        n_orders = self.tie_orders(stat)
        if n_orders:
            return fit_davidson_luce(self, choices(stat.outcomes, stat.weights, True), n_orders, True)
        return fit_luce(self, choices(stat.outcomes, stat.weights, True), single=True)

    def covariance(self, stat: Any, fit: Fit) -> Float[Array, "models models"]:
        if isinstance(stat, Slates):
            return slate_covariance(self, stat, fit)[: stat.n_models, : stat.n_models]
        n_orders = self.tie_orders(stat)
        if n_orders:
            return davidson_luce_covariance(self, choices(stat.outcomes, stat.weights, True), fit, n_orders, True)
        return luce_covariance(self, choices(stat.outcomes, stat.weights), fit, single=True)

    def tie_orders(self, stat: Any) -> int:
        largest = stat.most_tied if self.max_tied is None else min(self.max_tied, stat.most_tied)
        return largest if largest > 1 else 0


ENTRIES = (
    Entry("plackett_luce_rankings", PlackettLuceRankings, source="plackett1975"),
    Entry("plackett_luce_rankings_map", PlackettLuceRankings, source="plackett1975", options={"prior": 1.0}),
    Entry("plackett_luce_rankings_wide", PlackettLuceRankings, source="plackett1975", options={"prior": WIDE}),
)
