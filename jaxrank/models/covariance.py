"""How far each question, or cluster of battles, moves the strengths of paired comparison models: their errors hold when
results of one cluster are alike (the sandwich by clusters)."""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.clusters import Clustering
from jaxrank.data.comparisons import A_WINS, B_WINS, TIE, Comparisons
from jaxrank.data.kind import Data, check_kind
from jaxrank.data.responses import Responses, responses_of
from jaxrank.data.statistics import Pairs
from jaxrank.data.weights import Weights
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.fit import PairedModel, fitted_params, paired_covariance
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood, DavidsonLikelihood, RaoKupperLikelihood
from jaxrank.numerics.precision import HIGHEST

_PAIRS_AT_ONCE = 2**25  # pairs of models times questions whose results are on the device together


def question_deviations(ranker: PairedModel, stat: Pairs, fit: Fit, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """How far each question moves each score, float64 (M, L): its gradient times the inverse information; and the share
    (M,) of the information about differences that it holds, sum 1 without a prior.

    The gradients are those of the results alone, less their mean: pseudo-counts and a prior, whose gradient is minus
    their sum, are the same whatever the questions drawn. ``stat``: what was fitted, of ``data``.
    """
    n_models = fit.scores.shape[-1]
    inverse = _inverse(ranker, stat, fit)
    slopes, shares, decided = _slopes(ranker, inverse, stat, fit, data)
    moved = jnp.matmul(slopes - jnp.mean(slopes, axis=0, keepdims=True), inverse, precision=HIGHEST)
    return np.asarray(moved, np.float64)[:, :n_models], _share(ranker, np.asarray(shares), np.asarray(decided))


def _share(ranker: PairedModel, shares: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """The share of the information, float64, from those by the model and by Bradley-Terry of the decided pairs."""
    shares, decided = shares.astype(np.float64), decided.astype(np.float64)
    if isinstance(ranker.likelihood, DavidsonLikelihood) and decided.sum() > 0:
        # Given that a comparison is decided the model is Bradley-Terry's, and ties tell of the tie parameter.
        return decided * (shares.sum() / decided.sum())
    return shares


def battle_deviations(
    ranker: PairedModel, stat: Pairs, fit: Fit, data: Data, clusters: Clustering
) -> tuple[np.ndarray, np.ndarray]:
    """How far each cluster of battles moves each score, float64 (G, L), and the share (G,) of the information that it
    holds; as `question_deviations`."""
    from scipy.sparse import coo_array

    check_kind(data, ("comparisons",), "the sandwich by clusters")
    data = cast(Comparisons, data)
    n_models, weight = len(data.models), data.count * data.weight
    kinds, row = np.unique(np.stack([data.a, data.b, data.outcome], axis=1), axis=0, return_inverse=True)
    row = row.reshape(-1)
    inverse = np.asarray(_inverse(ranker, stat, fit), np.float64)
    found = _pulls(ranker, fitted_params(ranker, fit), *kinds.T)
    by_gap, by_extra, bent, bent_decided = (np.asarray(x, np.float64)[row] for x in found)
    places = [data.a, data.b, *(np.full(len(row), n_models + k) for k in range(by_extra.shape[1]))]
    values = np.concatenate([weight * pull for pull in (by_gap, -by_gap, *by_extra.T)])
    at = np.tile(clusters.index, len(places)), np.concatenate(places)
    slopes = coo_array((values, at), (clusters.size, len(inverse))).toarray()
    variance = np.diag(inverse)
    spread = weight * (variance[data.a] + variance[data.b] - 2 * inverse[data.a, data.b]) / (n_models - 1)
    held = (np.bincount(clusters.index, -bend * spread, clusters.size) for bend in (bent, bent_decided))
    moved = np.matmul(slopes - slopes.mean(axis=0), inverse)
    return moved[:, :n_models], _share(ranker, *held)


@eqx.filter_jit
def _pulls(ranker: PairedModel, params: Array, a: Array, b: Array, outcome: Array) -> tuple[Array, ...]:
    """Of the log probability of each of K battles: derivatives by the gap of the strengths (K,) and by the parameters
    behind them (K, n_extra), the second derivative by the gap (K,), and that of Bradley-Terry."""
    likelihood = ranker.likelihood
    n_models = params.shape[0] - likelihood.n_extra
    won, lost, tied = ((outcome == code).astype(params.dtype) for code in (A_WINS, B_WINS, TIE))
    none = jnp.zeros_like(won)
    battle = Pairs(jnp.array([[none, won], [lost, none]]), jnp.array([[none, tied], [tied, none]]))
    read = jax.vmap(ranker.observed, in_axes=-1)(battle)
    seen = params[a] - params[b], read.wins[:, 0, 1], read.wins[:, 1, 0], read.ties[:, 0, 1]

    def one(gap: Array, *ends: Array) -> tuple[Array, ...]:
        pull = lambda of: jax.grad(lambda g, e: of.pair(g, e, *ends), (0, 1))
        bend = lambda of: jax.grad(lambda g: pull(of)(g, extra)[0])(gap)
        return (*pull(likelihood)(gap, extra), bend(likelihood), bend(BradleyTerryLikelihood()))

    extra = _extra(likelihood, params[n_models:])
    by_gap, by_extra, bent, bent_decided = jax.vmap(one)(*seen)
    return by_gap, by_extra[:, : likelihood.n_extra], bent, bent_decided


def _slopes(ranker: PairedModel, inverse: Array, stat: Pairs, fit: Fit, data: Data) -> list[Array]:
    """Gradient of the log probability of each question's pairs, (M, parameters), and two shares of the information that
    it holds (M,): by the model, and of its decided pairs by Bradley-Terry. Some questions at a time."""
    data = responses_of(data, "the sandwich")
    n_models, n_questions, _ = data.shape
    params, pairing = fitted_params(ranker, fit), _pairing(data, stat)
    size = min(max(_PAIRS_AT_ONCE // n_models**2, 1), n_questions)
    parts = []
    for start in range(0, n_questions, size):
        some = data if size == n_questions else data.select(questions=np.arange(start, min(start + size, n_questions)))
        parts.append(_gradients(ranker, params, inverse, _by_question(some, pairing)))
    return [jnp.concatenate(part) for part in zip(*parts, strict=True)]


def _pairing(data: Responses, stat: Pairs) -> str:
    """The pairing that gives ``stat``."""
    if data.counts_only:
        return "all"
    aligned = data.statistic(Pairs, "aligned")
    return "aligned" if np.allclose(aligned.wins, stat.wins, rtol=1e-4) else "all"


def _by_question(data: Responses, pairing: str) -> Pairs:
    """The pairs of each question, (M, L, L)."""
    n_models = len(data.models)
    rows = Pairs.rows(data, "question", pairing)
    if pairing == "aligned":
        return Pairs(*(x.flat.reshape(-1, n_models, n_models) for x in (rows.wins, rows.ties)))
    return jax.lax.map(lambda one: Pairs.reduce(rows, Weights(None, one)), jnp.eye(data.shape[1]))


@eqx.filter_jit
def _inverse(ranker: PairedModel, stat: Pairs, fit: Fit) -> Array:
    return paired_covariance(ranker, stat, fit)


@eqx.filter_jit
def _gradients(ranker: PairedModel, params: Array, inverse: Array, by_question: Pairs) -> tuple[Array, Array, Array]:
    likelihood, n = ranker.likelihood, by_question.wins.shape[-1]
    gap, extra = params[:n, None] - params[None, :n], _extra(likelihood, params[n:])
    variance = jnp.diagonal(inverse)[:n]
    spread = variance[:, None] + variance[None, :] - 2 * inverse[:n, :n]

    def held(likelihood: Any, seen: Pairs) -> Array:
        """The share of the information about differences, the tie parameter known."""
        of_gaps = lambda g: jnp.sum(likelihood.pair(g, extra, seen.wins, 0, seen.ties / 2))
        _, bend = jax.jvp(jax.grad(of_gaps), (gap,), (jnp.ones_like(gap),))  # each pair has its own gap
        return -jnp.sum(bend * spread) / (n - 1)

    def one(stat: Pairs) -> tuple[Array, Array, Array]:
        seen = ranker.observed(stat)
        slope = jax.grad(lambda p: _log_prob(likelihood, p, seen))(params)
        return slope, held(likelihood, seen), held(BradleyTerryLikelihood(), seen)

    return jax.vmap(one)(by_question)


def _log_prob(likelihood: Any, params: Array, stat: Pairs) -> Array:
    """Log probability of one question's pairs; a tie parameter is that of all questions, also where none is tied."""
    n = stat.wins.shape[0]
    theta, extra = params[:n], _extra(likelihood, params[n:])
    return jnp.sum(likelihood.pair(theta[:, None] - theta[None, :], extra, stat.wins, 0, stat.ties / 2))


def _extra(likelihood: Any, extra: Array) -> Array:
    """The tie parameter as pairs take it."""
    if isinstance(likelihood, RaoKupperLikelihood) and likelihood.n_extra == 0:
        return jnp.log(jnp.asarray(likelihood.kappa, extra.dtype))[None]
    return jnp.maximum(extra, jnp.finfo(extra.dtype).min / 4)  # log 0 where no tie occurred at all
