"""How far each question moves the strengths of paired comparison models: their errors hold when trials of one question
are alike (the sandwich by questions)."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.kind import Data
from jaxrank.data.responses import Responses, responses_of
from jaxrank.data.statistics import Pairs
from jaxrank.data.weights import Weights
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.clusters import held_share
from jaxrank.models.pairs.fit import PairedModel, fitted_params, paired_covariance
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood
from jaxrank.numerics.precision import matmul

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
    moved = matmul(slopes - jnp.mean(slopes, axis=0, keepdims=True), inverse)
    return np.asarray(moved, np.float64)[:, :n_models], held_share(ranker, np.asarray(shares), np.asarray(decided))


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
    return likelihood.behind(jnp.maximum(extra, jnp.finfo(extra.dtype).min / 4))  # log 0 where no tie occurred at all
