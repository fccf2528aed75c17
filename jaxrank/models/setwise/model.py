"""``SetwiseModel``: what the rankers of choices from sets share, with covariates and without."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.covariates import Design
from jaxrank.data.slates import SlateReader, Slates, check_slates
from jaxrank.models.fit import Fit
from jaxrank.models.likelihood import Likelihood, begin_near, covariance
from jaxrank.models.priors import Prior
from jaxrank.models.ranker import ChecksData, Explains, HasCoefficients, HasCovariance, Settles, StartsNear
from jaxrank.models.setwise.existence import has_finite_optimum
from jaxrank.models.setwise.fit import explanation
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood
from jaxrank.models.setwise.slates import explain_slates, near_slates, settle_slates, slate_covariance
from jaxrank.numerics.solve.linear import SMALL
from jaxrank.numerics.solve.near import Near
from jaxrank.numerics.solve.solver import Solver
from jaxrank.numerics.status import Status


class SetwiseModel(Explains, StartsNear, Settles, HasCovariance, ChecksData, HasCoefficients):
    """What the setwise rankers share: a likelihood, a prior on the log-strengths, a solver, and covariates.

    **whole** (class attribute): whether the choice of a whole slate is a possible outcome.  **single** (class
    attribute): whether only choices of one have a likelihood where there are no tie parameters.
    **covariates**: names of columns of battles, or of the models of ordered lists.  **side**: of battles, whether a,
    who was shown first, has a coefficient too.  **relative**: of battles, see `jaxrank.data.covariates.Design`.
    **covariate_var**: variance of a normal prior on every coefficient, None for none.
    """

    whole: ClassVar[bool] = False
    single: ClassVar[bool] = False

    prior: eqx.AbstractVar[Prior]
    solver: eqx.AbstractVar[Solver]
    covariates: eqx.AbstractVar[tuple[str, ...]]
    side: eqx.AbstractVar[bool]
    relative: eqx.AbstractVar[bool]
    covariate_var: eqx.AbstractVar[Any]

    @abc.abstractmethod
    def problem(self, stat: Any) -> tuple[Likelihood, Any]:
        """The likelihood that is maximised without covariates, and what it reads."""

    @abc.abstractmethod
    def tie_orders(self, stat: Any) -> int:
        """How many tie parameters there are; 0 for Luce's likelihood of each chosen model against those left over."""

    @property
    def design(self) -> Design:
        return Design(self.covariates, self.side, self.relative)

    @property
    def reader(self) -> SlateReader | None:
        return SlateReader(self.design) if self.design.names else None

    def check(self, data: Any) -> None:
        if self.design.names:
            check_slates(self.design, data, self.whole, identified=self.covariate_var is None)

    def parameter_covariance(self, stat: Any, fit: Fit) -> Float[Array, "n n"]:
        return slate_covariance(self, stat, fit)

    def near(self, stat: Any, fit: Fit) -> SetwiseModel:
        of = near_slates if isinstance(stat, Slates) else _near
        return begin_near(self, of(self, stat, fit), fit)

    def settle(self, stat: Any, fit: Fit) -> Fit:
        """Where the search for an optimum of Davidson-Luce, or with covariates, ended without one that is certain,
        whether there is one."""
        if isinstance(stat, Slates):
            return settle_slates(self, stat, fit)
        likelihood, _ = self.problem(stat)
        open_ = int(fit.status) in (Status.MAX_STEPS, Status.NO_FINITE_OPTIMUM)
        if self.prior.proper or not open_ or not isinstance(likelihood, DavidsonLuceLikelihood):
            return fit
        table = np.asarray(stat.outcomes), np.asarray(stat.weights)
        exists = has_finite_optimum(*table, likelihood.n_orders, self.whole)
        if exists is None:
            return fit
        status = Status.MAX_STEPS if exists else Status.NO_FINITE_OPTIMUM
        return eqx.tree_at(lambda f: f.status, fit, jnp.asarray(status, jnp.int32))

    def explain(self, stat: Any, fit: Fit, models: Sequence[str], questions: Sequence[str]) -> str:
        of = explain_slates if isinstance(stat, Slates) else _explain
        return of(self, stat, Status(int(fit.status)), models)


def _explain(model: SetwiseModel, stat: Any, status: Status, models: Sequence[str]) -> str:
    return explanation(stat, status, models, type(model).__name__)


@eqx.filter_jit
def _near(model: SetwiseModel, stat: Any, fit: Fit) -> Near:
    likelihood, data = model.problem(stat)
    if likelihood.n_extra == 0:
        everyone = jnp.ones((fit.scores.shape[0],) * 2, bool)
        inverse = covariance(likelihood, model.prior, fit.scores, data, everyone)
        return Near(fit.scores, inverse, ends=len(inverse) > SMALL)
    delta = fit.params["tie_strengths"]
    return Near(jnp.concatenate([fit.scores, jnp.log(jnp.where(delta > 0, delta, 1))]), None)
