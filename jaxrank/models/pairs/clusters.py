"""How far each cluster of battles (a voter, a prompt) moves strengths and coefficients: their errors hold when battles
of one cluster are alike (the sandwich by clusters)."""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.battle_statistic import outcomes
from jaxrank.data.clusters import Clustering
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.covariates import Design
from jaxrank.data.kind import Data, check_kind
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.battles import (
    WithCovariates,
    battle_params,
    graded,
    inverse_information,
    outcomes_of,
    read_counts,
)
from jaxrank.models.pairs.covariates import settled
from jaxrank.models.pairs.fit import PairedModel
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood, DavidsonLikelihood


def battle_deviations(
    ranker: PairedModel, stat: Any, fit: Fit, data: Data, clusters: Clustering
) -> tuple[np.ndarray, np.ndarray]:
    """How far each cluster of battles moves each strength, coefficient and what the likelihood has behind them, float64
    (G, n): its gradient times the inverse information; and the share (G,) of the information about strengths and
    coefficients that it holds, sum 1 without a prior.

    The gradients are those of the battles alone, less their mean: pseudo-counts and a prior, whose gradient is minus
    their sum, are the same whatever the clusters drawn. Clusters without a battle that the model reads (ties that are
    dropped) are left out. ``stat``: what was fitted, of ``data``.
    """
    check_kind(data, ("comparisons",), "the sandwich by clusters")
    data = cast(Comparisons, data)
    x = _covariates(ranker, data)
    inverse = np.asarray(inverse_information(ranker, stat, fit), np.float64)
    params = battle_params(ranker, fit)
    n, behind = len(data.models), len(data.models) + len(x)
    theta, slopes = (np.asarray(p, np.float64) for p in (params[:n], params[n:behind]))
    a, b, weight, index, size = data.a, data.b, data.count * data.weight, clusters.index, clusters.size
    outcome, n_outcomes = outcomes(data, graded(ranker))
    if not len(x) and not weight.all():  # what has no weight is left out: of parts of millions of battles a long way
        some = np.flatnonzero(weight)
        a, b, outcome, weight, index = (v[some] for v in (a, b, outcome, weight, index))
        inside = np.bincount(index, minlength=size) > 0
        index, size = (np.cumsum(inside) - 1)[index], int(inside.sum())
    pair = a * np.int64(n) + b
    gap = (theta[:, None] - theta).ravel()
    dtype = params.dtype
    if len(x):
        eta, counts = gap[pair] + slopes @ x, [np.where(outcome == k, weight, 0) for k in range(n_outcomes)]
        found = _pulls(ranker, stat, jnp.asarray(eta, dtype), params[behind:], *(jnp.asarray(c, dtype) for c in counts))
        by_eta, by_extra, bent, decided, seen = (np.asarray(v, np.float64) for v in found)
    else:  # battles differ by their pair and outcome alone
        came = np.bincount(outcome, weight, n_outcomes) > 0
        one = np.repeat(np.diag(came), n * n, axis=1)
        eta = jnp.asarray(np.tile(gap, n_outcomes), dtype)
        found = _pulls(ranker, stat, eta, params[behind:], *jnp.asarray(one, dtype))
        kind = outcome * np.int64(n * n) + pair
        by_eta, by_extra, bent, decided, seen = (np.asarray(v, np.float64)[..., kind] * weight for v in found)
    cell = index * np.int64(n)
    gradients = np.empty((size, behind + len(by_extra)))
    gradients[:, :n] = np.bincount(cell + a, by_eta, size * n).reshape(size, n)
    gradients[:, :n] -= np.bincount(cell + b, by_eta, size * n).reshape(size, n)
    for k, v in enumerate((*(by_eta * row for row in x), *by_extra)):
        gradients[:, n + k] = np.bincount(index, v, size)
    spread = _spread(inverse, n, pair, x)
    held, of_decided = (np.bincount(index, -bend * spread, size) for bend in (bent, decided))
    read = np.bincount(index, seen, size) > 0
    gradients = gradients if read.all() else gradients[read]
    gradients -= gradients.mean(axis=0)
    moved = np.matmul(gradients, inverse)
    return moved, held_share(ranker, held[read], of_decided[read])


def held_share(ranker: PairedModel, shares: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """The share of the information, float64, from those by the model and by Bradley-Terry of the decided pairs."""
    shares, decided = shares.astype(np.float64), decided.astype(np.float64)
    if isinstance(ranker.likelihood, DavidsonLikelihood) and decided.sum() > 0:
        # Given that a comparison is decided the model is Bradley-Terry's, and ties tell of the tie parameter.
        return decided * (shares.sum() / decided.sum())
    return shares


def _covariates(ranker: PairedModel, data: Comparisons) -> np.ndarray:
    """The covariates that a ranker reads, in their units, (C, E)."""
    design = ranker.design if isinstance(ranker, WithCovariates) else Design()
    x, scale = design.values(data)
    return x / scale[:, None]


def _spread(inverse: np.ndarray, n: int, pair: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Variance of each battle's eta over the number of strengths and coefficients that are free, (E,). ``pair``: (E,)
    a * n + b.  ``x``: (C, E)."""
    c, own = len(x), np.diag(inverse)[:n]
    by_pair = (own[:, None] + own - 2 * inverse[:n, :n]).ravel()
    spread = by_pair[pair]
    mixed, square = inverse[:n, n : n + c], inverse[n : n + c, n : n + c]
    for k, row in enumerate(x):
        crossed = (mixed[:, None, k] - mixed[:, k]).ravel()[pair]
        spread += row * (2 * crossed + square[k] @ x)
    return spread / (n - 1 + c)


@eqx.filter_jit
def _pulls(ranker: PairedModel, stat: Any, eta: Array, extra: Array, *counts: Array) -> tuple[Array, ...]:
    """Of the log probability of each of E battles: derivatives by eta (E,) and by the parameters behind the strengths
    (n_extra, E), the second derivative by eta (E,), and that of Bradley-Terry; and how often it is read (E,)."""
    likelihood: Any = outcomes_of(ranker, stat)
    counts = read_counts(ranker, *counts)
    n_grades, one = len(counts) // 2, jnp.ones_like(eta)
    value = lambda e, p: likelihood.of_counts(e, settled(likelihood, p, counts[-1])[0], counts)

    def twice(of: Any) -> tuple[Array, Array]:
        return jax.jvp(lambda e: jax.jvp(of, (e,), (one,))[1], (eta,), (one,))

    by_eta, bent = twice(lambda e: value(e, extra))
    each = jnp.eye(extra.shape[0], dtype=eta.dtype)
    by_extra = [jax.jvp(lambda p: value(eta, p), (extra,), (direction,))[1] for direction in each]
    won, lost = sum(counts[:n_grades]), sum(counts[n_grades:-1])
    _, decided = twice(lambda e: BradleyTerryLikelihood().pair(e, extra, won, lost, 0))
    seen = jnp.sum(jnp.stack(counts), axis=0)
    return by_eta, jnp.array(by_extra).reshape(-1, len(eta)), bent, decided, seen
