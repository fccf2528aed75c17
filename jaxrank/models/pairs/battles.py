"""Paired comparison models of battles with covariates: what they read, their fit, and whether an optimum exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.battle_statistic import BattleReader, Battles
from jaxrank.data.covariates import Design
from jaxrank.data.statistics import Pairs
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, solver_resolution
from jaxrank.models.likelihood import begin_near, covariance, maximise
from jaxrank.models.pairs.covariates import CovariateLikelihood
from jaxrank.models.pairs.existence import Direction, direction_of, grows
from jaxrank.models.pairs.fit import (
    PairedModel,
    Support,
    explanation,
    fit_paired,
    fitted_params,
    near_pairs,
    paired_covariance,
    slopes_of,
    support,
    tie_parameter,
)
from jaxrank.models.pairs.grades import GradedOutcomes
from jaxrank.models.pairs.outcomes import OutcomeModel
from jaxrank.models.ranker import ChecksData, HasCoefficients, Settles
from jaxrank.numerics.graph import connectivity
from jaxrank.numerics.solve.linear import SMALL
from jaxrank.numerics.solve.near import Near
from jaxrank.numerics.status import Status

_FAR = 30.0  # a difference of strengths that no finite optimum of real data comes near
_MANY = 2**16  # covariates of all battles from which the curvature costs many times what the gradient does
_NEAR = 15.0  # up to here a point where Newton's step vanishes is an optimum: probabilities are not rounded away


class WithCovariates(PairedModel, ChecksData, HasCoefficients, Settles):
    """What Bradley-Terry, Davidson and Rao-Kupper share where battles have covariates.

    **covariates**: names of columns of the battles.  **side**: whether a, who was shown first, has a coefficient too.
    **relative**: see `jaxrank.data.covariates.Design`.  **covariate_var**: variance of a normal prior on every
    coefficient, None for none.
    """

    covariates: eqx.AbstractVar[tuple[str, ...]]
    side: eqx.AbstractVar[bool]
    relative: eqx.AbstractVar[bool]
    covariate_var: eqx.AbstractVar[Any]

    @property
    def design(self) -> Design:
        return Design(self.covariates, self.side, self.relative)

    @property
    def reader(self) -> BattleReader | None:
        return BattleReader(self.design) if self.design.names else None

    def parameter_covariance(self, stat: Any, fit: Fit) -> Float[Array, "n n"]:
        return inverse_information(self, stat, fit)

    def covariance(self, stat: Any, fit: Fit) -> Float[Array, "models models"]:
        """From the observed information, coefficients and tie parameter estimated beside the strengths."""
        n = fit.scores.shape[-1]
        of: Any = battle_covariance if isinstance(stat, Battles) else paired_covariance
        return of(self, stat, fit)[:n, :n]

    def near(self, stat: Any, fit: Fit) -> WithCovariates:
        """With "extend", where groups of models have optima of their own, this model."""
        if self.separation == "extend":
            return self
        many = isinstance(stat, Battles) and (stat.x.size > _MANY or stat.n_models > SMALL)
        near = _near_battles(self, stat, fit, many) if isinstance(stat, Battles) else near_pairs(self, stat, fit)
        return begin_near(self, near, fit)

    def explain(self, stat: Any, fit: Fit, models: Sequence[str], questions: Sequence[str]) -> str:
        status = Status(int(fit.status))
        if not isinstance(stat, Battles):
            return explanation(self, self.read(stat), status, models)
        pairs = observed(self, stat).pairs()
        if status == Status.DISCONNECTED or not (graded(self) or int(support(self, pairs).status) == Status.CONVERGED):
            return explanation(self, pairs, status, models)
        found = separating(self, stat) if status == Status.NO_FINITE_OPTIMUM else None
        if found is None:
            return ""
        said = grows(self.design.names, found.beta, "battle")
        return said or (
            "strengths and thresholds can grow for ever together, and no battle becomes less likely; use a prior"
        )

    def settle(self, stat: Any, fit: Fit) -> Fit:
        """Whether the optimum is finite, by a linear program where Newton's steps alone are no proof."""
        if not isinstance(stat, Battles) or self.prior.proper or int(fit.status) == Status.DISCONNECTED:
            return fit
        if int(fit.status) == Status.CONVERGED and float(_largest_difference(self, stat, fit)) < _NEAR:
            return fit
        found = separating(self, stat)
        if found is None:
            return fit
        lost = {name: jnp.full_like(v, jnp.nan) for name, v in fit.params.items()}
        status = jnp.asarray(Status.NO_FINITE_OPTIMUM, jnp.int32)
        return Fit(jnp.full_like(fit.scores, jnp.nan), status, fit.steps, fit.resolution, lost)


def check_design(model: WithCovariates, data: Any) -> None:
    """Raises where the data have no such covariates, or these say nothing, and where an option does not go with
    them."""
    if not model.design.names:
        return
    if model.separation == "extend":
        raise OptionError('separation="extend" is for models without covariates; use a prior')
    if getattr(model, "pseudo", None) is not None:
        raise OptionError("pseudo= is for models without covariates; use a prior")
    model.design.check(data, identified=model.covariate_var is None)


def likelihood_of(model: WithCovariates, stat: Battles) -> CovariateLikelihood:
    ridge = 0.0 if model.covariate_var is None else 1 / model.covariate_var
    return CovariateLikelihood(outcomes_of(model, stat), len(model.design.names), ridge)


def outcomes_of(model: PairedModel, stat: Any) -> OutcomeModel:
    """The outcomes of the model; of graded battles for as many grades as there are."""
    return GradedOutcomes(stat.counts.shape[0] // 2) if graded(model) else model.likelihood


def graded(model: PairedModel) -> bool:
    """Whether the model reads how much better one was, not only which."""
    return isinstance(model.likelihood, GradedOutcomes)


def observed(model: WithCovariates, stat: Battles) -> Battles:
    """The battles as the likelihood takes them (ties dropped or split)."""
    return stat.with_counts(jnp.stack(read_counts(model, *stat.counts)))


def read_counts(model: PairedModel, *counts: Array) -> tuple[Array, ...]:
    """Battles of every outcome, of any shape, as the likelihood takes them."""
    if graded(model):
        return counts
    won, lost, tied = counts
    first, second = model.observed(Pairs(won, tied)), model.observed(Pairs(lost, tied))
    return first.wins, second.wins, first.ties


def fit_battles(model: WithCovariates, stat: Any) -> Fit:
    """`fit_paired`, of battles with or without covariates."""
    if not isinstance(stat, Battles):
        return fit_paired(model, stat)
    stat = observed(model, stat)
    pairs, likelihood, n = stat.pairs(), likelihood_of(model, stat), stat.n_models
    known = _compared(model, pairs) if graded(model) else support(model, pairs)
    solution = maximise(likelihood, model.prior, model.solver, stat, known.alive)
    params = jnp.where(known.alive, solution.params, likelihood.start(stat) * 0)
    far = jnp.max(jnp.abs(likelihood.differences(params, stat) * jnp.any(stat.counts > 0, axis=0))) > _FAR
    runs_off = (solution.status == Status.MAX_STEPS) & (far | ~jnp.all(jnp.isfinite(params)))
    status = jnp.where(runs_off, Status.NO_FINITE_OPTIMUM, solution.status)
    status = jnp.where(
        known.status == Status.CONVERGED, jnp.where(known.alive, status, Status.CONVERGED), known.status
    ).astype(jnp.int32)
    lost = (status == Status.NO_FINITE_OPTIMUM) | (status == Status.DISCONNECTED)
    params = jnp.where(lost, jnp.nan, params)
    named: dict[str, Any] = {"theta": params[:n], "beta": params[n : n + len(model.covariates)]}
    if model.side:
        named["delta"] = params[n + len(model.covariates)]
    if graded(model):
        named["thresholds"] = _thresholds(params[n + len(model.design.names) :], stat)
    elif model.likelihood.n_extra:
        named |= tie_parameter(model.likelihood, solution.params[-1], pairs, lost, known.alive)
    scores = params[:n]
    return Fit(scores, status, solution.steps, solver_resolution(scores, solution.error), named)


def _compared(model: WithCovariates, pairs: Pairs) -> Support:
    """What graded battles determine, but for strengths that run off, which the steps of the solver show."""
    reach, connected, _ = connectivity(pairs.total > 0)
    connected = connected | model.prior.proper
    status = jnp.where(connected, Status.CONVERGED, Status.DISCONNECTED).astype(jnp.int32)
    return Support(reach, jnp.ones_like(reach), status, connected)


def _thresholds(params: Array, stat: Battles) -> Array:
    """Thresholds (C,), of which the first is 0 where nothing tied."""
    return jnp.where(jnp.any(stat.counts[-1] > 0), params, params.at[0].set(0))


def battle_params(model: PairedModel, fit: Fit) -> Float[Array, " n"]:
    """The flat parameter vector of a fit: theta, coefficients where there are any, what the likelihood has behind the
    strengths."""
    flat, n = fitted_params(model, fit), jnp.shape(fit.params["theta"])[0]
    return jnp.concatenate([flat[:n], *slopes_of(fit), flat[n:]])


def battle_covariance(model: WithCovariates, stat: Battles, fit: Fit) -> Float[Array, "n n"]:
    """Inverse observed information of `battle_params`, theta centred."""
    everyone = jnp.ones((stat.n_models,) * 2, bool)
    likelihood = likelihood_of(model, stat)
    return covariance(likelihood, model.prior, battle_params(model, fit), observed(model, stat), everyone)


def inverse_information(model: PairedModel, stat: Any, fit: Fit) -> Array:
    """Inverse observed information of strengths, coefficients and what the likelihood has behind them."""
    of = battle_covariance if isinstance(stat, Battles) else paired_covariance
    return _inverse(model, stat, fit, of)


@eqx.filter_jit
def _inverse(model: Any, stat: Any, fit: Fit, of: Any) -> Array:
    return of(model, stat, fit)


@eqx.filter_jit
def _near_battles(model: WithCovariates, stat: Battles, fit: Fit, many: bool) -> Near:
    return Near(battle_params(model, fit), battle_covariance(model, stat, fit), ends=many)


@eqx.filter_jit
def log_likelihood(model: WithCovariates, stat: Any, fit: Fit) -> Array:
    """Log probability of the outcomes at a fit, without priors."""
    if isinstance(stat, Battles):
        likelihood = CovariateLikelihood(outcomes_of(model, stat), len(model.design.names))
        return likelihood.log_prob(battle_params(model, fit), observed(model, stat))
    return model.likelihood.log_prob(fitted_params(model, fit), model.observed(stat))


def separating(model: WithCovariates, stat: Battles) -> Direction | None:
    """A direction along which the likelihood rises for ever; None where the optimum is finite."""
    seen = observed(model, stat)
    used = np.asarray(jnp.any(seen.counts > 0, axis=0))
    block = np.nonzero(used)[0]
    rows = np.asarray(seen.first)[block], np.asarray(seen.second)[block]
    x = np.asarray(seen.x)[:, used] if model.covariate_var is None else np.zeros((0, len(block)))
    counts = np.asarray(seen.counts)[:, used]
    return direction_of(*rows, x, counts > 0, outcomes_of(model, stat).limits(), stat.n_models)


@eqx.filter_jit
def _largest_difference(model: WithCovariates, stat: Battles, fit: Fit) -> Array:
    eta = likelihood_of(model, stat).differences(battle_params(model, fit), stat)
    return jnp.max(jnp.abs(eta) * jnp.any(stat.counts > 0, axis=0))


def begun_at(model: Any, old: Any, stat: Any, fit: Fit) -> Any:
    """``model`` whose search begins at a ``fit`` of ``old``, which ``stat`` holds with further battles."""
    if isinstance(stat, Battles) and model.separation != "extend":
        if stat.counts.shape[0] != old.counts.shape[0]:
            return model  # grades that nobody had given before
        params, n = battle_params(model, fit), stat.n_models
        c = len(model.design.names)
        params = jnp.concatenate([params[:n], params[n : n + c] * (stat.scale / old.scale), params[n + c :]])
        return begin_near(model, Near(params, None), fit)
    return model.near(old, fit)
