"""Set models with covariates: their fit, its errors, and whether an optimum exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.clusters import Clustering
from jaxrank.data.covariates import Design
from jaxrank.data.kind import counted
from jaxrank.data.slates import SlateReader, SlateRows, Slates
from jaxrank.data.statistics import Events
from jaxrank.models.fit import Fit, solver_resolution
from jaxrank.models.likelihood import gradient_and_inverse, maximise
from jaxrank.models.pairs.existence import direction_of, grows
from jaxrank.models.pairs.fit import slopes_of
from jaxrank.models.setwise.choices import SetTotals, choices, gate, joint, orders_connected
from jaxrank.models.setwise.existence import direction_of_sets
from jaxrank.models.setwise.fit import Searched, explanation, where_known
from jaxrank.models.setwise.slate_likelihood import SlateLikelihood, SlateProblem
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.linear import SMALL
from jaxrank.numerics.solve.near import Near
from jaxrank.numerics.status import Status

_FAR = 30.0  # a difference of log-strengths that no finite optimum of real data comes near
_NEAR = 15.0  # up to here a point where Newton's step vanishes is an optimum: probabilities are not rounded away


class ChoosesFromSlates(Searched, Protocol):
    """What a fit takes of a set model with covariates; see `jaxrank.models.setwise.model.SetwiseModel`."""

    whole: ClassVar[bool]
    single: ClassVar[bool]

    @property
    def design(self) -> Design: ...

    @property
    def reader(self) -> SlateReader | None: ...

    @property
    def covariate_var(self) -> Any: ...

    def tie_orders(self, stat: Any) -> int: ...


def slate_totals(stat: Slates, n_orders: int, whole: bool) -> SetTotals:
    """`SetTotals` of slates none of which are merged, with a column for each place in the stead of models."""
    c = choices(stat.outcomes, stat.weights, whole)
    size, order = jnp.sum(c.chosen, axis=1), jnp.arange(1, n_orders + 1)
    inside = jnp.where((size >= 1) & (size <= n_orders), c.weights, 0)
    shares = (inside / jnp.maximum(size, 1))[:, None] * c.chosen
    mean_choice = jnp.zeros(stat.n_models, inside.dtype).at[stat.members].add(shares)
    orders = matmul(inside, (size[:, None] == order[None]).astype(inside.dtype))
    present = stat.outcomes >= 0
    top = jnp.sum(present, axis=1).astype(inside.dtype) - (0 if whole else 1)
    n_slates = jnp.asarray(present.shape[0])
    return SetTotals(mean_choice, orders, present, inside, top, n_slates, jnp.sum(c.weights) - jnp.sum(inside))


def slate_problem(model: ChoosesFromSlates, stat: Slates) -> tuple[SlateLikelihood, SlateProblem]:
    """The likelihood, and what it reads."""
    n_orders = model.tie_orders(stat)
    ridge = 0.0 if model.covariate_var is None else 1 / model.covariate_var
    totals = slate_totals(stat, n_orders, model.whole) if n_orders else None
    return SlateLikelihood(len(model.design.names), n_orders, ridge), SlateProblem(stat, totals)


def fit_slates(model: ChoosesFromSlates, stat: Slates) -> Fit:
    """Strengths, coefficients and tie parameters, with every failure as a status.

    The graph of choices decides where strengths run off alone, whatever the coefficients. Where coefficients can run
    off too, the search ends far away at the step limit: `settle_slates` decides that for a single fit.
    """
    likelihood, problem = slate_problem(model, stat)
    totals, n, c = problem.totals, stat.n_models, likelihood.n_covariates
    proper = model.prior.proper
    by_model = choices(stat.by_model(), stat.weights, model.whole)
    known = gate(by_model, model.whole)
    sure = known.connected | proper
    if totals is None:
        several = (by_model.weights > 0) & (jnp.sum(by_model.chosen, axis=1) > 1)
        undefined, possible = jnp.any(several) & model.single, sure
    else:
        undefined = totals.outside > 0
        places = choices(stat.outcomes, stat.weights, model.whole)
        # Choices of several sizes may hold strengths back that the graph would let go.
        mixed = (jnp.sum(totals.active) > 1) & (known.status != Status.DISCONNECTED)
        possible = orders_connected(places, likelihood.n_orders, model.whole) & (sure | mixed)
    tied = known.tied & ~undefined
    alive = ~known.tied & possible & ~undefined
    solution = maximise(likelihood, model.prior, model.solver, problem, alive)
    params = jnp.where(alive, solution.params, 0)
    far = _widest(likelihood, params, stat) > _FAR
    lost = jnp.where(known.status == Status.DISCONNECTED, known.status, Status.NO_FINITE_OPTIMUM)
    ran_off = alive & (~jnp.all(jnp.isfinite(params)) | (far & ((solution.status == Status.MAX_STEPS) | ~sure)))
    status = jnp.where(alive, jnp.where(ran_off, Status.NO_FINITE_OPTIMUM, solution.status), lost)
    status = jnp.where(tied, Status.CONVERGED, jnp.where(undefined, Status.UNDEFINED, status)).astype(jnp.int32)
    good = (alive & ~ran_off) | tied
    held = lambda v: jnp.where(good, v, jnp.nan)
    scores = held(params[:n] - jnp.mean(params[:n]))
    names = model.design.names
    named: dict[str, Any] = {"theta": scores, "beta": held(params[n : n + len(model.design.columns)])}
    if len(names) > len(model.design.columns):
        named["delta"] = held(params[n + c - 1])
    if totals is None:
        named["log_likelihood"] = held(jnp.sum(stat.weights * likelihood.pointwise(params, problem)))
    else:
        delta = jnp.where(totals.active, jnp.exp(jnp.where(totals.free, params[n + c :], 0)), 0)
        named |= {"tie_strengths": jnp.where(good & ~tied, delta, jnp.nan), "orders": totals.orders}
    return Fit(scores, status, solution.steps, solver_resolution(scores, solution.error), named)


def _widest(likelihood: SlateLikelihood, params: Array, stat: Slates) -> Float[Array, ""]:
    """The largest difference of log-strengths within a slate."""
    eta, present = likelihood.log_strengths(params, stat), (stat.outcomes >= 0) & (stat.weights > 0)[:, None]
    gap = jnp.max(jnp.where(present, eta, -jnp.inf), axis=1) - jnp.min(jnp.where(present, eta, jnp.inf), axis=1)
    return jnp.max(jnp.where(jnp.any(present, axis=1), gap, 0))


def slate_params(fit: Fit) -> Float[Array, " n"]:
    """The flat parameter vector of a fit, as `SlateLikelihood` takes it."""
    delta = [fit.params["tie_strengths"]] if "tie_strengths" in fit.params else []
    return jnp.concatenate([fit.scores, *slopes_of(fit), *(jnp.log(jnp.where(d > 0, d, 1)) for d in delta)])


@eqx.filter_jit
def slate_covariance(model: Any, stat: Slates, fit: Fit) -> Float[Array, "n n"]:
    """Covariance of centred log-strengths, coefficients and tie parameters: the inverse information, and of Luce's
    composite likelihood of several winners the sandwich of the scores of whole choices."""
    likelihood, problem, inverse, known = _inverse(model, stat, fit)
    if problem.totals is None and not model.single:
        moved = matmul(likelihood.slopes(slate_params(fit), problem), inverse)
        inverse = joint(moved, moved, stat.weights)
    return where_known(inverse, known & (jnp.sum(stat.weights) > 0))


def _inverse(model: Any, stat: Slates, fit: Fit) -> tuple[SlateLikelihood, SlateProblem, Array, Array]:
    """The likelihood, what it reads, the inverse information at a fit, and where that means anything."""
    likelihood, problem = slate_problem(model, stat)
    everyone = jnp.ones((stat.n_models,) * 2, bool)
    _, inverse, known = gradient_and_inverse(likelihood, model.prior, slate_params(fit), problem, everyone)
    return likelihood, problem, inverse, known


@eqx.filter_jit
def near_slates(model: Any, stat: Slates, fit: Fit) -> Near:
    """Where the search of similar data may begin."""
    likelihood, _, inverse, _ = _inverse(model, stat, fit)
    many = stat.n_models + likelihood.n_covariates > SMALL
    return Near(slate_params(fit), inverse, ends=many)


def settle_slates(model: ChoosesFromSlates, stat: Slates, fit: Fit) -> Fit:
    """Whether the optimum is finite, by a linear program where Newton's steps alone are no proof."""
    status = int(fit.status)
    if status not in (Status.CONVERGED, Status.MAX_STEPS, Status.NO_FINITE_OPTIMUM):
        return fit
    if status == Status.CONVERGED and float(_width(model, stat, fit)) < _NEAR:
        return fit
    found = separating(model, stat)
    if found is None:
        return fit
    if found.any():
        lost = {k: v if k == "orders" else jnp.full_like(v, jnp.nan) for k, v in fit.params.items()}
        status = jnp.asarray(Status.NO_FINITE_OPTIMUM, jnp.int32)
        return Fit(jnp.full_like(fit.scores, jnp.nan), status, fit.steps, fit.resolution, lost)
    ended = jnp.where(fit.status == Status.NO_FINITE_OPTIMUM, Status.MAX_STEPS, fit.status)
    return eqx.tree_at(lambda f: f.status, fit, ended.astype(jnp.int32))


@eqx.filter_jit
def _width(model: Any, stat: Slates, fit: Fit) -> Array:
    return _widest(slate_problem(model, stat)[0], slate_params(fit), stat)


def separating(model: ChoosesFromSlates, stat: Slates) -> Float[np.ndarray, " n"] | None:
    """A direction of strengths and coefficients (and more, where sizes of choices have parameters) along which no
    choice becomes less likely; 0 where the optimum is finite; None where the data are too large to tell."""
    held, free = model.prior.proper, model.covariate_var is None
    outcomes, weights = np.asarray(stat.outcomes), np.asarray(stat.weights, np.float64)
    x = np.asarray(stat.x if free else stat.x[..., :0], np.float64)
    members, n_orders = np.asarray(stat.members), model.tie_orders(stat)
    if n_orders:
        return direction_of_sets(members, outcomes, x, weights, stat.n_models, n_orders, model.whole, held)
    if held and not x.shape[2]:
        return np.zeros(stat.n_models)
    of, chosen = np.nonzero((outcomes == 1) & (weights > 0)[:, None])
    which, left = np.nonzero(outcomes[of] == 0)
    of, chosen = of[which], chosen[which]
    # Strengths with a prior stay where they are: a model against itself is a difference of 0.
    first, second = (np.zeros(len(of), int) if held else members[of, at] for at in (chosen, left))
    gap = (x[of, chosen] - x[of, left]).T
    seen = np.stack([np.ones(len(of), bool), np.zeros(len(of), bool)])
    found = direction_of(first, second, gap, seen, ((0, 1, 0),), stat.n_models)
    return np.zeros(stat.n_models) if found is None else np.concatenate([found.theta, found.beta])


def explain_slates(model: ChoosesFromSlates, stat: Slates, status: Status, models: Sequence[str]) -> str:
    events = Events(stat.by_model(), stat.weights)
    name = type(model).__name__
    if status != Status.NO_FINITE_OPTIMUM:
        return explanation(events, status, models, name)
    linked = bool(gate(choices(events.outcomes, events.weights, model.whole), model.whole).connected)
    found = separating(model, stat) if linked or model.prior.proper or model.tie_orders(stat) else None
    beta = np.zeros(0) if found is None else found[stat.n_models :][: len(model.design.names)]
    free = model.covariate_var is None
    return (free and grows(model.design.names, beta, "choice")) or explanation(events, status, models, name)


def slate_deviations(
    model: ChoosesFromSlates, stat: Slates, fit: Fit, data: Any, clusters: Clustering
) -> tuple[np.ndarray, np.ndarray]:
    """How far each cluster of battles or lists moves each strength, coefficient and tie parameter, float64 (G, n): its
    gradient times the inverse information; and the share (G,) of the information about strengths and coefficients that
    it holds, the tie parameters known, sum 1 without a prior.

    The gradients are those of the choices alone, less their mean, as `jaxrank.models.pairs.clusters` has them. Clusters
    without a choice that says anything are left out. ``stat``: what was fitted, of ``data``.
    """
    assert model.reader is not None
    rows = cast(SlateRows, model.reader.rows(counted(data)))
    slopes, held, inverse = (np.asarray(v, np.float64) for v in _pulls(model, stat, fit))
    weights, of = np.asarray(stat.weights, np.float64), clusters.index[np.asarray(rows.unit)]
    informative = np.asarray(choices(stat.outcomes, stat.weights, model.whole).weights) > 0
    gradients = np.zeros((clusters.size, slopes.shape[1]))
    np.add.at(gradients, of, weights[:, None] * slopes)
    read = np.bincount(of, informative, clusters.size) > 0
    gradients = gradients[read] - gradients[read].mean(axis=0)
    return np.matmul(gradients, inverse), np.bincount(of, weights * held, clusters.size)[read]


@eqx.filter_jit
def _pulls(model: Any, stat: Slates, fit: Fit) -> tuple[Array, Array, Array]:
    """Of each choice the gradient (S, n) and the share of the information about strengths and coefficients (S,), tie
    parameters known; and the inverse information."""
    likelihood, problem, inverse, _ = _inverse(model, stat, fit)
    params, moving = slate_params(fit), stat.n_models + likelihood.n_covariates
    known = inverse[:moving, :moving]
    if problem.totals is not None:
        cross = inverse[:moving, moving:]
        known = known - matmul(cross, jnp.linalg.solve(inverse[moving:, moving:], cross.T))
    held = likelihood.information(params, problem, known) / (moving - 1)
    return likelihood.slopes(params, problem), held, inverse
