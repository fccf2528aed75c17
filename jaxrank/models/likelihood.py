"""``Likelihood``: a model of the data, written once and read three ways (ML, MAP, posterior sampling)."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxrank.models.fit import Fit
from jaxrank.models.priors import Prior
from jaxrank.numerics.lanes import lanes
from jaxrank.numerics.solve.linear import onto, solve_grounded
from jaxrank.numerics.solve.near import Near
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solution, Solver
from jaxrank.numerics.status import Status


class Likelihood(eqx.Module):
    """A likelihood of one strength per model, theta (L,), and ``n_extra`` further parameters, as one flat vector.

    Theta enters through differences only: it is kept at mean zero within each group of models that the data compare.

    **laned**: True where ``parts`` and ``start`` also take arrays with lanes in their last axis
    (`jaxrank.numerics.lanes`).
    """

    statistic: ClassVar[type]
    laned: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def n_extra(self) -> int:
        """Number of parameters behind the L strengths."""

    @abc.abstractmethod
    def log_prob(self, params: Float[Array, " n"], stat: Any) -> Float[Array, ""]:
        """Log probability of the data, without constants that hold no parameter."""

    @abc.abstractmethod
    def parts(self, params: Float[Array, " n"], stat: Any) -> tuple[Array, Array, Array]:
        """Minus ``log_prob`` with its gradient (n,) and second derivative (n, n), in closed form."""

    def slope(self, params: Float[Array, " n"], stat: Any) -> Float[Array, " n"]:
        """The gradient of ``parts``, for steps that only lead near the optimum: as quickly as it can be had, the
        rounding of a pair with very many comparisons may fall on others too."""
        return self.parts(params, stat)[1]

    @abc.abstractmethod
    def start(self, stat: Any) -> Float[Array, " n"]:
        """A point from which Newton's method converges."""


def maximise(
    likelihood: Likelihood,
    prior: Prior,
    solver: Solver,
    stat: Any,
    alive: Any,
    together: Bool[Array, "models models"] | None = None,
) -> Solution:
    """Maximum of the likelihood, or of the posterior: the prior is on theta centred over all models.

    ``together[i, j]``: the models whose differences the data determine; theta has mean zero in each such group. None:
    all models, wherever ``alive``, which is faster. ``alive`` False: no finite optimum, nothing is done.
    """
    problem = (likelihood, prior, stat, jnp.asarray(alive), together)
    if not (likelihood.laned and solver.laned):
        return _maximise(solver, *problem)
    is_array = lambda x: isinstance(x, jax.Array | np.ndarray)
    common, how = eqx.partition(solver, is_array)
    arrays, rest = eqx.partition(problem, is_array)
    solve = lambda common, arrays: _maximise(eqx.combine(common, how), *eqx.combine(arrays, rest))
    return lanes(solve, n_common=1, alone=solve)(common, arrays)


def _maximise(
    solver: Solver, likelihood: Likelihood, prior: Prior, stat: Any, alive: Array, together: Array | None
) -> Solution:
    """`maximise` for single arrays, or for arrays with lanes in their last axis."""
    begin = lambda: likelihood.start(stat)
    n_models = jax.eval_shape(begin).shape[0] - likelihood.n_extra

    centred = lambda x: x[:n_models] - jnp.mean(x[:n_models], axis=0, keepdims=True)

    def held(gradient: Array, x: Array, smoothing: Any) -> Array:
        """A gradient with that of the prior."""
        if not prior.proper:
            return gradient
        slope = prior.slope(centred(x), smoothing)
        return onto(gradient, slope - jnp.mean(slope, axis=0, keepdims=True))

    def objective_at(smoothing: Any):
        def objective(x: Array) -> tuple[Array, Array, Array]:
            value, gradient, curvature = likelihood.parts(x, stat)
            if prior.proper:
                value = value + prior.penalty(centred(x), smoothing)
                curvature = onto(curvature, _centred(prior.bend(centred(x), smoothing)))
            return value, held(gradient, x, smoothing), curvature

        return objective

    def solve(curvature: Array, gradient: Array) -> Array:
        return solve_grounded(curvature, gradient[:, None], n_models, together)[:, 0]

    if len(prior.smoothings) == 1:
        smoothing = prior.smoothings[0]
        objective = objective_at(smoothing)
        if isinstance(solver, Newton):  # whose steps have mean zero
            return solver(objective, begin, alive, solve, lambda x: held(likelihood.slope(x, stat), x, smoothing))
        found = solver(objective, begin(), alive, solve)
        return found._replace(params=_centred_groups(found.params, n_models, together))

    def stage(x: Array, smoothing: Array) -> tuple[Array, tuple[Array, Array, Array]]:
        solution = solver(objective_at(smoothing), x, alive, solve)
        x = solution.params if isinstance(solver, Newton) else _centred_groups(solution.params, n_models, together)
        return x, (solution.status, solution.steps, solution.error)

    start = begin()
    params, (status, steps, error) = jax.lax.scan(stage, start, jnp.asarray(prior.smoothings, start.dtype))
    return Solution(params, status[-1], jnp.sum(steps, axis=0), error[-1])


def _centred_groups(x: Array, n_models: int, together: Array | None) -> Array:
    theta = x[:n_models]
    if together is None:
        return x.at[:n_models].add(-jnp.mean(theta))
    return x.at[:n_models].add(-jnp.sum(together * theta[None, :], axis=1) / jnp.sum(together, axis=1))


def covariance(
    likelihood: Likelihood, prior: Prior, params: Float[Array, " n"], stat: Any, together: Bool[Array, "models models"]
) -> Float[Array, "n n"]:
    """Inverse observed information at ``params``, of theta centred within each group that the data compare.

    NaN between groups; for a model that is a group of its own, of which nothing is known; and for a model that the kink
    of a prior holds in its place, where the information is infinite and says nothing (the others then have theirs
    given that it stays).
    """
    _, inverse, known = gradient_and_inverse(likelihood, prior, params, stat, together)
    n_models = together.shape[0]
    pad = (0, inverse.shape[0] - n_models)
    same = jnp.pad(together, pad, constant_values=True)
    return jnp.where(same & known[:, None] & known[None, :], inverse, jnp.nan)


def gradient_and_inverse(
    likelihood: Likelihood, prior: Prior, params: Float[Array, " n"], stat: Any, together: Bool[Array, "models models"]
) -> tuple[Float[Array, " n"], Float[Array, "n n"], Bool[Array, " n"]]:
    """Gradient of minus the log-likelihood, without the prior; the inverse observed information, with it; and for which
    parameters that means anything (see `covariance`)."""
    n_models = together.shape[0]
    _, gradient, curvature = likelihood.parts(params, stat)
    known = jnp.sum(together, axis=1) > 1
    if prior.proper:
        t = params[:n_models] - jnp.mean(params[:n_models])
        bend = prior.curvature(t)
        held = jnp.isnan(bend)
        bend = jnp.where(held, prior.bend(t, prior.smoothings[-1]), bend)
        curvature = onto(curvature, _centred(bend))
        known = known & ~held
    n = curvature.shape[0]
    means = jnp.pad(together / jnp.sum(together, axis=1, keepdims=True), (0, n - n_models))
    inverse = solve_grounded(curvature, jnp.eye(n, dtype=curvature.dtype) - means, n_models, together)
    return gradient, inverse, jnp.pad(known, (0, n - n_models), constant_values=True)


def begin_near(model: Any, near: Near, fit: Fit) -> Any:
    """``model`` whose ``solver`` begins at an optimum; the model itself where the fit found none, for priors whose
    stages have optima of their own or that allow several, and for solvers that always begin anew."""
    finite = all(bool(np.isfinite(x).all()) for x in jax.tree.leaves(near))
    able = isinstance(model.solver, Newton) and len(model.prior.smoothings) == 1 and model.prior.convex
    if not (able and finite) or int(fit.status) != Status.CONVERGED:
        return model
    return eqx.tree_at(lambda m: m.solver.near, model, near, is_leaf=lambda x: x is None)


def _centred(bend: Array) -> Array:
    """Curvature of a penalty with second derivatives ``bend`` at centred parameters: P diag(bend) P."""
    n = bend.shape[0]
    mean = jnp.mean(bend, axis=0, keepdims=True)
    return diagonal_matrix(bend) - (bend[:, None] + bend[None, :] - mean[None]) / n


def diagonal_matrix(entries: Float[Array, "n *lanes"]) -> Float[Array, "n n *lanes"]:
    on = identity(entries.shape[0], entries.ndim + 1)
    return jnp.where(on, entries[:, None], 0)


def identity(n: int, ndim: int) -> Bool[Array, "n n ..."]:
    """True on the diagonal of the first two axes."""
    return jnp.eye(n, dtype=bool).reshape(n, n, *(1,) * (ndim - 2))
