"""From choices to a `Fit`: existence of the optimum, the optimum, and who is to blame where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxrank.data.names import name_list
from jaxrank.models.fit import Fit, precise, rounding_error, solver_resolution
from jaxrank.models.likelihood import gradient_and_inverse, maximise
from jaxrank.models.priors import Prior
from jaxrank.models.setwise.choices import Choices, SetTotals, choices, gate, joint, orders_connected, set_totals
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, LuceLikelihood
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.solver import Solution, Solver
from jaxrank.numerics.status import Status

_TERMS = 2.0  # roundings, in units of eps, of one event's term of a gradient


class Searched(Protocol):
    """What a fit takes of a set model: its prior on the log-strengths, and its solver."""

    @property
    def prior(self) -> Prior: ...

    @property
    def solver(self) -> Solver: ...


def fit_luce(model: Searched, c: Choices, single: bool = False) -> Fit:
    """Strengths under `LuceLikelihood`, with every failure as a status. ``single``: choices of several are
    undefined."""
    likelihood = LuceLikelihood()
    known = gate(c)
    several = jnp.any((c.weights > 0) & (jnp.sum(c.chosen, axis=1) > 1)) & single
    tied = known.tied & ~several
    alive = ~known.tied & (known.connected | model.prior.proper) & ~several
    solution = maximise(likelihood, model.prior, model.solver, c, alive)
    theta = jnp.where(tied, 0, solution.params)
    lost = jnp.where(several, Status.UNDEFINED, known.status)
    status = jnp.where(tied, Status.CONVERGED, jnp.where(alive, solution.status, lost))
    return _fit(theta, status, solution, alive | tied, {"log_likelihood": likelihood.log_prob(theta, c)})


def fit_davidson_luce(model: Searched, c: Choices, n_orders: int, whole: bool = False) -> Fit:
    """Strengths and tie parameters under `DavidsonLuceLikelihood`, with every failure as a status.

    Strong connectivity of the choices and of the tie orders is sufficient for a finite optimum, and necessary when all
    events have one slate or one size of choice (each chosen set is then a top set of the direction in which the
    strengths run off, and the tie parameters can follow). Otherwise the tie parameters may hold the strengths back: the
    search runs, and where it ends `certified` tells an optimum from a slope too flat to be seen.
    """
    likelihood = DavidsonLuceLikelihood(n_orders)
    totals = set_totals(c, n_orders, whole)
    known = gate(c, whole)
    everyone = jnp.ones_like(c.met)
    proper = model.prior.proper
    orders_hold = orders_connected(c, n_orders, whole)
    exact = (jnp.sum(totals.slate_weights > 0) <= 1) | (jnp.sum(totals.active) <= 1)
    strengths_hold = known.connected | proper | (~exact & (known.status != Status.DISCONNECTED))
    possible = (totals.outside <= 0) & orders_hold & strengths_hold
    alive = ~known.tied & possible
    solution = maximise(likelihood, model.prior, model.solver, totals, alive)
    gradient, inverse, _ = gradient_and_inverse(likelihood, model.prior, solution.params, totals, everyone)
    error, certain = certified(likelihood, totals, gradient, inverse)
    n_models = c.met.shape[0]
    theta = jnp.where(known.tied, 0, solution.params[:n_models])
    sure = known.connected | proper
    found = (solution.status == Status.CONVERGED) & (sure | certain)
    ran_off = ~found & ~sure
    status = jnp.where(ran_off, Status.NO_FINITE_OPTIMUM, precise(solution.status, error))
    lost = jnp.where(known.status == Status.DISCONNECTED, known.status, Status.NO_FINITE_OPTIMUM)
    lost = jnp.where(orders_hold & (known.status == Status.DISCONNECTED), Status.DISCONNECTED, lost)
    lost = jnp.where(totals.outside > 0, Status.UNDEFINED, lost)
    status = jnp.where(known.tied, Status.CONVERGED, jnp.where(alive, status, lost))
    eta = jnp.where(totals.free, solution.params[n_models:], 0)
    delta = jnp.where(totals.active, jnp.exp(eta), 0)
    good = (alive & ~ran_off) | known.tied
    # With nothing but ties of everyone no order was ever chosen from a slate, and there is no tie parameter to speak
    # of.
    params = {"tie_strengths": jnp.where(good & ~known.tied, delta, jnp.nan), "orders": totals.orders}
    return _fit(theta, status, solution, good, params, jnp.where(alive, error, 0))


def certified(
    likelihood: DavidsonLuceLikelihood, totals: SetTotals, gradient: Array, inverse: Array
) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """How far rounding may have moved the strengths, and whether a finite optimum is proved to lie near this point.

    Along a direction d the curvature q of this objective shrinks by no more than exp(-r t), r the range of the events'
    linear predictors along d (its third derivative is at most r times its second), so that the slope rises by q / r at
    least: if that is more than minus the slope here in every direction, the objective rises in every direction in the
    end. r is at most S sqrt(q), S the standard deviations of the widest differences of strengths and of tie parameters
    together, and minus the slope at most the Newton decrement times sqrt(q) and the rounding of a sum over all events
    times r.
    """
    n_models = totals.mean_choice.shape[0]
    free = totals.free.astype(inverse.dtype)
    n_events = jnp.sum(totals.slate_weights)
    took_part = matmul(totals.slate_weights, totals.slates.astype(inverse.dtype))
    counts = _TERMS * jnp.concatenate([took_part, free * n_events])
    error = rounding_error(inverse, counts, n_models)
    variance = jnp.diagonal(inverse)
    own, ties = variance[:n_models], variance[n_models:] * free
    widest = jnp.max(own[:, None] + own[None, :] - 2 * inverse[:n_models, :n_models])
    reach = jnp.sqrt(widest) + 2 * jnp.sqrt(jnp.max(ties))
    decrement = jnp.sqrt(matmul(gradient, matmul(inverse, gradient)))
    rounding = _TERMS * jnp.finfo(inverse.dtype).eps * n_events * reach
    return error, (decrement + rounding) * reach < 0.5


def luce_covariance(model: Searched, c: Choices, fit: Fit, single: bool = False) -> Float[Array, "models models"]:
    """Covariance of centred log-strengths: the inverse information for single choices, and for the composite likelihood
    the sandwich of the scores of whole events, which counts the winners of one event as one observation."""
    theta = fit.scores
    everyone = jnp.ones_like(c.met)
    _, inverse, known = gradient_and_inverse(LuceLikelihood(), model.prior, theta, c, everyone)
    if not single:
        pi = jnp.exp(theta - jnp.max(theta))
        total = pi[None, :] + matmul(c.rejected, pi)[:, None]
        share = c.chosen / total
        score = c.chosen - pi[None, :] * (share + jnp.sum(share, axis=1, keepdims=True) * c.rejected)
        # What each event moves: the inverse times the sum of squares would cancel where models met unequally often.
        moved = matmul(score, inverse)
        inverse = joint(moved, moved, c.weights)
    return where_known(inverse, known & (jnp.sum(c.weights) > 0))


def davidson_luce_covariance(
    model: Searched, c: Choices, fit: Fit, n_orders: int, whole: bool = False
) -> Float[Array, "models models"]:
    """Covariance of centred log-strengths from the observed information."""
    totals = set_totals(c, n_orders, whole)
    delta = fit.params["tie_strengths"]
    params = jnp.concatenate([fit.scores, jnp.log(jnp.where(delta > 0, delta, 1))])
    everyone = jnp.ones_like(c.met)
    _, inverse, known = gradient_and_inverse(DavidsonLuceLikelihood(n_orders), model.prior, params, totals, everyone)
    n_models = fit.scores.shape[0]
    return where_known(inverse[:n_models, :n_models], known[:n_models])


def where_known(matrix: Array, known: Array) -> Array:
    return jnp.where(known[:, None] & known[None, :], matrix, jnp.nan)


def explanation(stat: Any, status: Status, models: Sequence[str], name: str) -> str:
    """The models that make an optimum infinite, and the remedy."""
    remedy = "use a prior (the identifier that ends in _map)"
    outcomes, weights = np.asarray(stat.outcomes), np.asarray(stat.weights)
    c = choices(outcomes, weights)
    if status == Status.UNDEFINED:
        return f"some events choose more models at once than {name} allows; raise max_tied"
    if status not in (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED):
        return ""
    edges = np.asarray(joint(c.chosen, c.rejected, c.weights)) > 0
    if status == Status.DISCONNECTED:
        reach = np.asarray(reachability(edges | edges.T))
        groups = [np.flatnonzero(row) for row in np.unique(reach, axis=0)]
        listed = "; ".join("{" + name_list(models, g, 4) + "}" for g in groups[:6])
        return f"groups of models that no event tells apart: {listed}. Leave all but one group out, or {remedy}"
    reach = np.asarray(reachability(edges))
    if reach.all():
        return "a tie order is never seen beside the others, so its parameter runs off; leave these events out"
    strict = reach & ~reach.T
    tops = name_list(models, np.flatnonzero(~strict.any(axis=0)), 4)
    ends = name_list(models, np.flatnonzero(~strict.any(axis=1)), 4)
    return f"nobody outside their group is ever chosen over {tops}, and {ends} never outside their group; {remedy}"


def _fit(theta: Array, status: Array, solution: Solution, good: Array, params: dict[str, Any], error: Any = 0.0) -> Fit:
    scores = jnp.where(good, theta - jnp.mean(theta), jnp.nan)
    params = {"theta": scores, **{k: jnp.where(good, v, jnp.nan) for k, v in params.items()}}
    resolution = solver_resolution(scores, error + solution.error)
    return Fit(scores, status.astype(jnp.int32), solution.steps, resolution, params)
