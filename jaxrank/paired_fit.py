"""From a pair likelihood to a `Fit`: existence of the optimum, the optimum, and what to do where there is none."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxrank.errors import OptionError
from jaxrank.fit import Fit, Status, solver_resolution
from jaxrank.graph import dominance_levels, reachability, strong_components
from jaxrank.likelihood import Likelihood, covariance, maximise
from jaxrank.pair_likelihoods import BradleyTerryLikelihood, RaoKupperLikelihood, recession_exists
from jaxrank.priors import Prior
from jaxrank.statistics import Pairs

SEPARATION = ("raise", "nan", "extend")


class PairedModel(eqx.Module):
    """What the paired comparison rankers share: a likelihood, a prior, a solver, and a policy for separated data."""

    prior: eqx.AbstractVar[Prior]
    separation: eqx.AbstractVar[str]
    solver: eqx.AbstractVar[Any]

    @property
    @abc.abstractmethod
    def likelihood(self) -> Likelihood:
        """The likelihood that is maximised."""

    @abc.abstractmethod
    def read(self, stat: Pairs) -> Pairs:
        """The statistic as the likelihood takes it (ties dropped or split, pseudo-counts added)."""

    def __check_init__(self) -> None:
        if self.separation not in SEPARATION:
            raise OptionError(f"separation={self.separation!r}; it must be one of {', '.join(SEPARATION)}")


class Support(eqx.Module):
    """What the data determine. **reach** (L, L) chains of results, **together** (L, L) models whose differences have a
    finite optimum, **status** whether there is one for all, **alive** whether the solver has anything to do."""

    reach: Bool[Array, "models models"]
    together: Bool[Array, "models models"]
    status: Int[Array, ""]
    alive: Bool[Array, ""]


def support(model: PairedModel, stat: Pairs) -> Support:
    """Existence of the optimum, decided before the solver runs. ``stat`` is what ``model.read`` returned."""
    n = stat.wins.shape[0]
    everyone = jnp.ones((n, n), bool)
    likelihood = model.likelihood
    free_tie = likelihood.n_extra > 0
    reads_ties = not isinstance(likelihood, BradleyTerryLikelihood)
    beats = stat.wins > 0
    edges = beats | (stat.ties > 0) if reads_ties else beats
    some_ties = jnp.any(stat.ties > 0)
    # All the same: any common strength is as good; equal strengths are the symmetric choice.
    indifferent = ~jnp.any(beats) & (~some_ties if not reads_ties or model.prior.proper else True)
    if free_tie and model.prior.proper:
        # A tie parameter without a prior of its own still needs a decisive result beside the ties.
        indifferent = ~jnp.any(beats)
    if model.prior.proper:
        status = jnp.asarray(Status.CONVERGED, jnp.int32)
        return Support(everyone, everyone, status, ~indifferent)
    reach = reachability(edges)
    together = strong_components(reach)
    connected = jnp.all(together)
    linked = jnp.all(reachability(edges | edges.T))
    runs_off = some_ties & recession_exists(stat) if free_tie else jnp.array(False)
    status = jnp.where(
        connected & ~runs_off, Status.CONVERGED, jnp.where(linked, Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)
    )
    status = jnp.where(indifferent & (connected | ~some_ties), Status.CONVERGED, status).astype(jnp.int32)
    solvable = model.separation == "extend" or status == Status.CONVERGED
    return Support(reach, together, status, solvable & ~runs_off & ~indifferent)


def fit_paired(model: PairedModel, stat: Pairs) -> Fit:
    """Maximum likelihood or a posteriori strengths with every failure as a status."""
    stat = model.read(stat)
    likelihood = model.likelihood
    n = stat.wins.shape[0]
    known = support(model, stat)
    solution = maximise(likelihood, model.prior, model.solver, stat, known.together, known.alive)
    theta = solution.params[:n]
    theta = jnp.where(known.alive, theta, 0)
    status = jnp.where(known.status == Status.CONVERGED, jnp.where(known.alive, solution.status, Status.CONVERGED), known.status)
    status = status.astype(jnp.int32)
    scores = theta
    if model.separation == "extend" and not model.prior.proper:
        scores = _extended(theta, known)
    lost = (status == Status.NO_FINITE_OPTIMUM) | (status == Status.DISCONNECTED)
    if model.separation == "extend":
        lost = lost & ~known.alive
    scores = jnp.where(lost, jnp.nan, scores)
    params: dict[str, Any] = {"theta": jnp.where(lost, jnp.nan, theta)}
    if likelihood.n_extra:
        params.update(_tie_parameter(likelihood, solution.params[n], stat, lost, known.alive))
    return Fit(scores, status, solution.steps, solver_resolution(scores), params)


def paired_covariance(model: PairedModel, stat: Pairs, fit: Fit) -> Float[Array, "n n"]:
    """Inverse observed information of centred theta (and, last, of log nu or log kappa) at a fit."""
    stat = model.read(stat)
    params = fitted_params(model, fit)
    known = support(model, stat)
    return covariance(model.likelihood, model.prior, params, stat, known.together)


def fitted_params(model: PairedModel, fit: Fit) -> Float[Array, " n"]:
    """The flat parameter vector of a fit, as the likelihood takes it."""
    theta = fit.params["theta"]
    if model.likelihood.n_extra == 0:
        return theta
    extra = fit.params["kappa"] if isinstance(model.likelihood, RaoKupperLikelihood) else fit.params["nu"]
    return jnp.append(theta, jnp.log(extra))


def _extended(theta: Array, known: Support) -> Array:
    """Strong components below each other in their order of dominance; inside a component its own optimum."""
    level = dominance_levels(known.reach).astype(theta.dtype)
    gap = 1 + 2 * jnp.max(jnp.abs(theta))
    scores = theta - gap * level
    return jnp.where(jnp.max(level) > 0, scores - jnp.mean(scores), theta)


def _tie_parameter(likelihood: Likelihood, raw: Array, stat: Pairs, lost: Array, alive: Array) -> dict[str, Array]:
    no_ties = ~jnp.any(stat.ties > 0)
    if isinstance(likelihood, RaoKupperLikelihood):
        value = jnp.where(no_ties, 1, jnp.where(alive, jnp.exp(raw), jnp.inf))
        return {"kappa": jnp.where(lost, jnp.nan, value)}
    value = jnp.where(no_ties, 0, jnp.where(alive, jnp.exp(raw), jnp.inf))
    return {"nu": jnp.where(lost, jnp.nan, value)}
