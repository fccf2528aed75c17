"""Likelihoods of choices from slates whose alternatives have covariates: Luce and Davidson-Luce, each with log-strength
theta_i + beta . x."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.data.slates import Slates
from jaxrank.models.likelihood import Likelihood
from jaxrank.models.setwise.choices import SetTotals
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, allowed_orders, in_turns, slate_moments
from jaxrank.numerics.precision import einsum, matmul

_LOWEST = -80.0  # exp of it instead of an underflow to zero, as of models without covariates


class SlateProblem(NamedTuple):
    """What `SlateLikelihood` reads. **totals**: of Davidson-Luce, with the places of a slate where it has models."""

    slates: Slates
    totals: SetTotals | None


class SlateLikelihood(Likelihood):
    """Choices from slates where alternative i of slate e has log-strength theta_i + beta . x_ei.

    Parameters: theta (L,), beta (C,), with Davidson-Luce the logs (D,) of its tie parameters, of which those that are
    not free are read as 0.
    **n_orders**: D; 0 for Luce's likelihood of each chosen alternative against those left over, which is that of
    Plackett-Luce where one is chosen [luce1959, plackett1975].  **ridge**: 1 / variance of a normal prior on each
    coefficient; 0 for none.
    """

    statistic: ClassVar[type] = Slates
    n_covariates: int = eqx.field(static=True)
    n_orders: int = eqx.field(static=True, default=0)
    ridge: Any = 0.0

    @property
    def n_extra(self) -> int:
        return self.n_covariates + self.n_orders

    def log_strengths(self, params: Float[Array, " n"], stat: Slates) -> Float[Array, "slates places"]:
        """theta_i + beta . x of every place; of no meaning where there is no alternative."""
        slopes = params[stat.n_models :][: self.n_covariates]
        return params[: stat.n_models][stat.members] + matmul(stat.x, slopes)

    def log_prob(self, params: Float[Array, " n"], problem: SlateProblem) -> Float[Array, ""]:
        beta = params[problem.slates.n_models :][: self.n_covariates]
        of_slates = self.pointwise(params, problem)
        return jnp.sum(problem.slates.weights * of_slates) - self.ridge * jnp.sum(beta**2) / 2

    def pointwise(self, params: Float[Array, " n"], problem: SlateProblem) -> Float[Array, " slates"]:
        """Log probability of each choice, whatever its weight."""
        return -self._terms(params, problem)[0]

    def slopes(self, params: Float[Array, " n"], problem: SlateProblem) -> Float[Array, "slates n"]:
        """Gradient of `pointwise` by all parameters."""
        stat = problem.slates
        by_place = -self._terms(params, problem)[1]
        k, c = stat.members.shape[1], self.n_covariates
        rows = jnp.arange(stat.members.shape[0])[:, None]
        theta = jnp.zeros((stat.members.shape[0], stat.n_models), by_place.dtype)
        theta = theta.at[rows, stat.members].add(by_place[:, :k])
        beta = einsum("sk,skc->sc", by_place[:, :k], stat.x)
        free = () if problem.totals is None else (jnp.where(problem.totals.free[None], by_place[:, k:], 0),)
        return jnp.concatenate([theta, beta.reshape(-1, c), *free], axis=1)

    def information(self, params: Float[Array, " n"], problem: SlateProblem, spread: Array) -> Float[Array, " slates"]:
        """Of each choice the sum of its second derivatives of minus `pointwise` by theta and beta times the entries of
        ``spread`` (L + C, L + C)."""
        stat = problem.slates
        bend = self._terms(params, problem)[2]
        k, n = stat.members.shape[1], stat.n_models
        x = stat.x
        mixed = einsum("skc,slc->skl", x, spread[n:, :n].T[stat.members])
        among = einsum("skc,cd,sld->skl", x, spread[n:, n:], x)
        of_pairs = spread[stat.members[:, :, None], stat.members[:, None, :]]
        whole = of_pairs + mixed + jnp.swapaxes(mixed, 1, 2) + among
        return jnp.sum(bend[:, :k, :k] * whole, axis=(1, 2))

    def parts(self, params: Float[Array, " n"], problem: SlateProblem) -> tuple[Array, Array, Array]:
        stat, totals = problem
        n, c = stat.n_models, self.n_covariates
        beta = params[n : n + c]

        def add(sums: _Sums, some: tuple[Array, ...]) -> tuple[_Sums, Array]:
            members, outcomes, x, weights, allowed = some
            here = Slates(members, outcomes, x, stat.scale, weights, n, stat.most_tied)
            value, slope, bend = self._terms_of(params, here, totals, allowed)
            found = self._sums(here, weights[:, None] * slope, weights[:, None, None] * bend)
            return jax.tree.map(jnp.add, sums, found), weights * value

        allowed = _allowed(problem)
        sums, values = in_turns(
            add, _Sums.none(params, n, c), (stat.members, stat.outcomes, stat.x, stat.weights, allowed)
        )
        gradient = sums.gradient.at[n : n + c].add(self.ridge * beta)
        curvature = sums.curvature.at[jnp.arange(n, n + c), jnp.arange(n, n + c)].add(self.ridge)
        value = jnp.sum(values) + self.ridge * jnp.sum(beta**2) / 2
        if totals is None:
            return value, gradient, curvature
        moves = jnp.concatenate([jnp.ones(n + c, bool), totals.free])
        still = jnp.diag((~moves).astype(params.dtype))
        return value, jnp.where(moves, gradient, 0), jnp.where(moves[:, None] & moves[None, :], curvature, still)

    def start(self, problem: SlateProblem) -> Float[Array, " n"]:
        """As without covariates: log-odds of being chosen, or with ties equal strengths and the tie parameters that fit
        the counts of orders."""
        stat, totals = problem
        zeros = jnp.zeros(self.n_covariates, stat.weights.dtype)
        if totals is not None:
            begin = DavidsonLuceLikelihood(self.n_orders).start(totals)
            return jnp.concatenate([begin[: stat.n_models], zeros, begin[stat.n_models :]])
        total = lambda outcome: (
            jnp.zeros(stat.n_models, zeros.dtype)
            .at[stat.members]
            .add(stat.weights[:, None] * (stat.outcomes == outcome))
        )
        odds = jnp.log(total(1) + 0.5) - jnp.log(total(0) + 0.5)
        return jnp.concatenate([odds - jnp.mean(odds), zeros])

    def _terms(self, params: Array, problem: SlateProblem) -> tuple[Array, Array, Array]:
        return self._terms_of(params, problem.slates, problem.totals, _allowed(problem))

    def _terms_of(
        self, params: Array, stat: Slates, totals: SetTotals | None, allowed: Array
    ) -> tuple[Array, Array, Array]:
        """Minus the log probability of each choice, with its first and second derivatives by the log-strengths of the
        places and, behind them, the tie parameters: (S,), (S, K + D), (S, K + D, K + D)."""
        eta, chosen = self.log_strengths(params, stat), stat.outcomes == 1
        if totals is None:
            return _luce(eta, chosen, stat.outcomes == 0)
        ties = jnp.where(totals.free, params[stat.n_models + self.n_covariates :], 0)
        return jax.vmap(_davidson_luce, (0, None, 0, 0, 0))(eta, ties, chosen, stat.outcomes >= 0, allowed)

    def _sums(self, stat: Slates, slope: Array, bend: Array) -> _Sums:
        """Derivatives by the parameters from those by places and tie parameters, summed over the slates."""
        k, n = stat.members.shape[1], stat.n_models
        x, members, dtype = stat.x, stat.members, slope.dtype
        product = lambda text, *factors: einsum(text, *factors)
        at = lambda v: jnp.zeros((n, *v.shape[2:]), dtype).at[members].add(v)
        behind = slope[:, k:]
        gradient = [at(slope[:, :k]), product("sk,skc->c", slope[:, :k], x), jnp.sum(behind, axis=0)]
        square = jnp.zeros((n, n), dtype).at[members[:, :, None], members[:, None, :]].add(bend[:, :k, :k])
        pulled = product("skl,slc->skc", bend[:, :k, :k], x)
        with_x, mixed = at(pulled), at(bend[:, :k, k:])
        products = product("skc,skd->cd", x, pulled)
        x_mixed = product("skc,skt->ct", x, bend[:, :k, k:])
        rows = [
            [square, with_x, mixed],
            [with_x.T, products, x_mixed],
            [mixed.T, x_mixed.T, jnp.sum(bend[:, k:, k:], axis=0)],
        ]
        return _Sums(jnp.concatenate(gradient), jnp.block(rows))


class _Sums(NamedTuple):
    gradient: Array
    curvature: Array

    @classmethod
    def none(cls, params: Array, n_models: int, n_covariates: int) -> _Sums:
        return cls(jnp.zeros_like(params), jnp.zeros((params.shape[0],) * 2, params.dtype))


def _allowed(problem: SlateProblem) -> Bool[Array, "slates orders"]:
    """Which sizes can be chosen from each slate; none that matters where there are no tie parameters."""
    if problem.totals is None:
        return jnp.zeros((problem.slates.members.shape[0], 0), bool)
    return allowed_orders(problem.totals)


def _luce(eta: Array, chosen: Array, rejected: Array) -> tuple[Array, Array, Array]:
    """Each chosen alternative against all that were left over, of slates (S, K)."""
    present = chosen | rejected
    top = jax.lax.stop_gradient(jnp.max(jnp.where(present, eta, -jnp.inf), axis=1, keepdims=True))
    top = jnp.where(jnp.isfinite(top), top, 0)
    gap = jnp.where(present, eta - top, 0)
    weight = jnp.exp(jnp.maximum(gap, _LOWEST))
    left = jnp.where(rejected, weight, 0)
    rest = jnp.sum(left, axis=1, keepdims=True)
    inverse = jnp.where(chosen, 1 / (weight + rest), 0)
    own, missed = weight * inverse, rest * inverse  # chance of a chosen one, and of those left over
    value = jnp.sum(jnp.where(chosen, jnp.log(weight + rest) - gap, 0), axis=1)
    once, twice = jnp.sum(inverse, axis=1, keepdims=True), jnp.sum(inverse**2, axis=1)
    cross = (own * inverse)[:, :, None] * left[:, None, :]
    bend = -cross - jnp.swapaxes(cross, 1, 2) - twice[:, None, None] * left[:, :, None] * left[:, None, :]
    on = jnp.eye(eta.shape[1], dtype=bool)
    return value, left * once - missed, bend + jnp.where(on[None], (own * missed + left * once)[:, :, None], 0)


def _davidson_luce(
    eta: Float[Array, " places"], ties: Float[Array, " orders"], chosen: Array, present: Array, allowed: Array
) -> tuple[Array, Array, Array]:
    """The chosen set as a whole against all sets that could have been chosen, of one slate; 0 where it is none of
    these."""
    size = jnp.sum(chosen)
    order = jnp.arange(1, ties.shape[0] + 1)
    read = jnp.any((order == size) & allowed)
    share = jnp.where(chosen, 1 / jnp.maximum(size, 1), 0).astype(eta.dtype)
    own = jnp.concatenate([share, (order == size).astype(eta.dtype)])
    # A slate of nobody has no sums to take logarithms of.
    log_z, mean, spread = slate_moments(jnp.where(present, eta, 0), ties, present | ~read, allowed | ~read)
    at = jnp.concatenate([jnp.where(present, eta, 0), ties])
    value = log_z - matmul(own, at)
    return jnp.where(read, value, 0), jnp.where(read, mean - own, 0), jnp.where(read, spread, 0)
