"""Likelihoods of battles with covariates: the same outcomes of a difference that has further terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.battle_statistic import Battles
from jaxrank.models.likelihood import Likelihood
from jaxrank.models.pairs.outcomes import OutcomeModel
from jaxrank.numerics.precision import HIGHEST

Elementwise = Callable[[Array, Array], Array]


class CovariateLikelihood(Likelihood):
    """A likelihood of battles by eta = theta_a - theta_b + beta . x.

    Parameters: theta (L,), beta (C,), what the outcomes have behind the strengths.
    **ridge**: 1 / variance of a normal prior on each coefficient; 0 for none.
    """

    statistic: ClassVar[type] = Battles
    outcomes: OutcomeModel
    n_covariates: int = eqx.field(static=True)
    ridge: Any = 0.0

    @property
    def n_extra(self) -> int:
        return self.n_covariates + self.outcomes.n_extra

    def differences(self, params: Float[Array, " n"], stat: Battles) -> Float[Array, "blocks places"]:
        """eta of every place."""
        theta, slopes = params[: stat.n_models], params[stat.n_models :][: self.n_covariates] / stat.scale
        return (theta[stat.first] - theta[stat.second])[:, None] + jnp.tensordot(
            slopes, stat.x, axes=1, precision=HIGHEST
        )

    def log_prob(self, params: Float[Array, " n"], stat: Battles) -> Float[Array, ""]:
        beta, extra, _ = self._behind(params, stat)
        eta = self.differences(params, stat)
        return jnp.sum(self._of(stat)(eta, extra)) - self.ridge * jnp.sum(beta**2) / 2

    def parts(self, params: Float[Array, " n"], stat: Battles) -> tuple[Array, Array, Array]:
        n, c, k = stat.n_models, self.n_covariates, self.outcomes.n_extra
        beta, extra, held = self._behind(params, stat)
        eta, f = self.differences(params, stat), self._of(stat)
        first = [_along(f, i) for i in range(k + 1)]
        slopes = [g(eta, extra) for g in first]
        bends = {(i, j): _along(first[i], j)(eta, extra) for i in range(k + 1) for j in range(i + 1)}
        x = stat.x / stat.scale[:, None, None]
        at = lambda v: jnp.zeros(n, v.dtype).at[stat.first].add(v).at[stat.second].add(-v)
        of_blocks = lambda v: jnp.sum(v, axis=1)
        with_x = lambda v: jnp.einsum("bk,cbk->cb", v, x, precision=HIGHEST)
        gradient = jnp.concatenate(
            [
                at(of_blocks(slopes[0])),
                jnp.sum(with_x(slopes[0]), axis=1) - self.ridge * beta,
                *(jnp.where(held[i], 0, jnp.sum(s))[None] for i, s in enumerate(slopes[1:])),
            ]
        )
        bent = bends[0, 0]
        by_pair, by_x = of_blocks(bent), with_x(bent)
        square = jnp.zeros((n, n), bent.dtype)
        square = square.at[stat.first, stat.second].add(-by_pair)
        square = square + square.T
        square = square - jnp.diag(jnp.sum(square, axis=1))
        cross = jax.vmap(at)(by_x)
        products = jnp.einsum("cbk,dbk->cd", bent[None] * x, x, precision=HIGHEST)
        rows = [
            jnp.concatenate([square, cross.T], axis=1),
            jnp.concatenate([cross, products - self.ridge * jnp.eye(c, dtype=bent.dtype)], axis=1),
        ]
        curvature = jnp.concatenate(rows)
        for i in range(1, k + 1):
            mixed = bends[i, 0]
            border = [at(of_blocks(mixed)), jnp.sum(with_x(mixed), axis=1)]
            border += [jnp.sum(bends[i, j])[None] for j in range(1, i)]
            still = jnp.concatenate([jnp.zeros(n + c, bool), held[: i - 1]]) | held[i - 1]
            border = jnp.where(still, 0, jnp.concatenate(border))
            corner = jnp.where(held[i - 1], -1, jnp.sum(bends[i, i]))[None]
            curvature = jnp.concatenate([curvature, border[:, None]], axis=1)
            curvature = jnp.concatenate([curvature, jnp.concatenate([border, corner])[None]])
        value = jnp.sum(f(eta, extra)) - self.ridge * jnp.sum(beta**2) / 2
        return -value, -gradient, -curvature

    def start(self, stat: Battles) -> Float[Array, " n"]:
        begin = self.outcomes.begin(stat)
        zeros = jnp.zeros(self.n_covariates, begin.dtype)
        return jnp.concatenate([begin[: stat.n_models], zeros, begin[stat.n_models :]])

    def _behind(self, params: Array, stat: Battles) -> tuple[Array, Array, Array]:
        """Coefficients, what the outcomes take beside eta, and which of that (n_extra,) is held."""
        beta, extra = jnp.split(params[stat.n_models :], [self.n_covariates])
        extra, held = settled(self.outcomes, extra, stat.counts[-1])
        return beta, extra, held

    def _of(self, stat: Battles) -> Elementwise:
        return lambda eta, extra: self.outcomes.of_counts(eta, extra, stat.counts)


def settled(outcomes: OutcomeModel, extra: Array, ties: Array) -> tuple[Array, Array]:
    """What outcomes take beside eta, from the parameters behind the strengths (n_extra,), and which of these are held:
    the first where nothing tied, which then says nothing of it."""
    untied = outcomes.tied & ~jnp.any(ties > 0)
    held = untied & (jnp.arange(extra.shape[0]) == 0)
    return outcomes.behind(jnp.where(held, outcomes.untied, extra)), held


def _along(f: Elementwise, i: int) -> Elementwise:
    """The derivative of an elementwise function of eta and of what is behind the strengths: by eta (i = 0), or by
    number i - 1 of the others."""

    def derivative(eta: Array, extra: Array) -> Array:
        by_extra = jnp.zeros_like(extra) if i == 0 else jnp.zeros_like(extra).at[i - 1].set(1)
        tangents = jnp.ones_like(eta) if i == 0 else jnp.zeros_like(eta), by_extra
        return jax.jvp(f, (eta, extra), tangents)[1]

    return derivative
