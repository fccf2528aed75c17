"""Likelihoods of battles with covariates: the same outcomes of a difference that has further terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.battle_statistic import Battles
from jaxrank.models.likelihood import Likelihood
from jaxrank.models.pairs.outcomes import OutcomeModel
from jaxrank.numerics.blocks import on_cpu
from jaxrank.numerics.precision import HIGHEST, matmul

_PIECE = 2**16  # places that are worked on at once

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
        f, eta = self._of(stat), self.differences(params, stat)
        slopes = [_along(f, i)(eta, extra) for i in range(k + 1)]
        at = lambda v: jnp.zeros(n, v.dtype).at[stat.first].add(v).at[stat.second].add(-v)
        gradient = jnp.concatenate(
            [
                at(of_blocks(slopes[0])),
                with_covariates(slopes[0], stat) - self.ridge * beta,
                *(jnp.where(held[i], 0, jnp.sum(of_blocks(s)))[None] for i, s in enumerate(slopes[1:])),
            ]
        )
        bends = self._bends(params, extra, stat)
        square = jnp.zeros((n, n), beta.dtype)
        square = square.at[stat.first, stat.second].add(-bends.by_block[0])
        square = square + square.T
        square = square - jnp.diag(jnp.sum(square, axis=1))
        cross = jax.vmap(at)(bends.by_block[1 : c + 1])
        products = bends.products[:c] - self.ridge * jnp.eye(c, dtype=beta.dtype)
        rows = [jnp.concatenate([square, cross.T], axis=1), jnp.concatenate([cross, products], axis=1)]
        curvature = jnp.concatenate(rows)
        for i in range(k):
            border = jnp.concatenate([at(bends.by_block[1 + c + i]), bends.products[c + i], bends.behind[i, :i]])
            still = jnp.concatenate([jnp.zeros(n + c, bool), held[:i]]) | held[i]
            border = jnp.where(still, 0, border)
            corner = jnp.where(held[i], -1, bends.behind[i, i])[None]
            curvature = jnp.concatenate([curvature, border[:, None]], axis=1)
            curvature = jnp.concatenate([curvature, jnp.concatenate([border, corner])[None]])
        value = jnp.sum(of_blocks(f(eta, extra))) - self.ridge * jnp.sum(beta**2) / 2
        return -value, -gradient, -curvature

    def _bends(self, params: Array, extra: Array, stat: Battles) -> _Bends:
        """Second derivatives summed; on a CPU over some blocks after the others, so that what is in hand stays in the
        cache: half the time for a million battles."""
        n_blocks, length = stat.x.shape[1:]
        size = math.gcd(n_blocks, max(_PIECE // length, 1)) if on_cpu() else n_blocks
        if n_blocks * length <= 2 * _PIECE or size * length < _PIECE // 8:
            return self._bends_of(params, extra, stat)

        def add(i: Any, whole: _Bends) -> _Bends:
            cut = lambda v, axis: jax.lax.dynamic_slice_in_dim(v, i * size, size, axis)
            ends = cut(stat.first, 0), cut(stat.second, 0)
            some = Battles(*ends, cut(stat.counts, 1), cut(stat.x, 1), stat.scale, stat.n_models)
            found = self._bends_of(params, extra, some)
            by_block = jax.lax.dynamic_update_slice_in_dim(whole.by_block, found.by_block, i * size, 1)
            return _Bends(by_block, whole.products + found.products, whole.behind + found.behind)

        shapes = jax.eval_shape(self._bends_of, params, extra, stat)
        zeros = jax.tree.map(lambda v: jnp.zeros(v.shape, v.dtype), shapes)
        return jax.lax.fori_loop(0, n_blocks // size, add, zeros)

    def _bends_of(self, params: Array, extra: Array, stat: Battles) -> _Bends:
        c, k = self.n_covariates, self.outcomes.n_extra
        eta, f = self.differences(params, stat), self._of(stat)
        first = [_along(f, i) for i in range(k + 1)]
        bends = {(i, j): _along(first[i], j)(eta, extra) for i in range(k + 1) for j in range(i + 1)}
        bent, mixed = bends[0, 0], [bends[i, 0] for i in range(1, k + 1)]
        times_x = [bent * row / unit for row, unit in zip(stat.x, stat.scale, strict=True)]
        total = lambda i, j: jnp.sum(of_blocks(bends[max(i, j), min(i, j)]))
        behind = [total(i, j) for i in range(1, k + 1) for j in range(1, k + 1)]
        return _Bends(
            jnp.stack([of_blocks(v) for v in (bent, *times_x, *mixed)]),
            jnp.array([with_covariates(v, stat) for v in (*times_x, *mixed)], eta.dtype).reshape(c + k, c),
            jnp.array(behind, eta.dtype).reshape(k, k),
        )

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


class _Bends(NamedTuple):
    """Second derivatives of the log probability, summed: **by_block** by eta, by eta times each covariate, by eta and
    each parameter behind the strengths; **products** of the last two with the covariates; by two **behind**."""

    by_block: Float[Array, "rows blocks"]
    products: Float[Array, "rows covariates"]
    behind: Float[Array, "extra extra"]


def with_covariates(values: Float[Array, "blocks places"], stat: Battles) -> Float[Array, " covariates"]:
    """Sums of values times each covariate."""
    x = stat.x.reshape(stat.x.shape[0], values.size)
    return matmul(x, values.reshape(-1)) / stat.scale


def of_blocks(values: Float[Array, "blocks places"]) -> Float[Array, " blocks"]:
    """Sums over places, as a product: on a CPU a fifth of the time of a sum over a last axis."""
    return matmul(values, jnp.ones(values.shape[1], values.dtype))


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
