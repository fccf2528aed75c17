"""How far each question moves the strengths of paired comparison models: their errors hold when trials of one question
are alike (the sandwich clustered by question)."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.kind import Data
from jaxrank.data.responses import Responses, responses_of
from jaxrank.data.statistics import HIGHEST, Pairs
from jaxrank.data.weights import Weights
from jaxrank.errors import UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.fit import PairedModel, fitted_params, paired_covariance
from jaxrank.models.pairs.likelihoods import RaoKupperLikelihood

_PAIRS_AT_ONCE = 2**25  # pairs of models times questions whose results are on the device together


def question_deviations(ranker: PairedModel, stat: Pairs, fit: Fit, data: Data) -> np.ndarray:
    """How far each question moves each score, float64 (M, L): its gradient times the inverse information.

    The gradients are those of the results alone, less their mean: pseudo-counts and a prior, whose gradient is minus
    their sum, are the same whatever the questions drawn. ``stat``: what was fitted, of ``data``.
    """
    if not data.questions:
        raise UnsupportedDataError(f'covariance("sandwich") clusters by question; {data.content} have no questions')
    n_models = fit.scores.shape[-1]
    moved = _moved(ranker, jnp.asarray(_slopes(ranker, stat, fit, data)), stat, fit)
    return np.asarray(moved, np.float64)[:, :n_models]


def _slopes(ranker: PairedModel, stat: Pairs, fit: Fit, data: Data) -> np.ndarray:
    """Gradient of the log probability of each question's pairs, (M, parameters), some questions at a time."""
    data = responses_of(data, "the sandwich")
    n_models, n_questions, _ = data.shape
    params, pairing = fitted_params(ranker, fit), _pairing(data, stat)
    size = min(max(_PAIRS_AT_ONCE // n_models**2, 1), n_questions)
    parts = []
    for start in range(0, n_questions, size):
        some = data if size == n_questions else data.select(questions=np.arange(start, min(start + size, n_questions)))
        parts.append(np.asarray(_gradients(ranker, params, _by_question(some, pairing))))
    return np.concatenate(parts)


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
def _gradients(ranker: PairedModel, params: Array, by_question: Pairs) -> Array:
    return jax.vmap(jax.grad(lambda p, s: _log_prob(ranker.likelihood, p, ranker.observed(s))), (None, 0))(
        params, by_question
    )


@eqx.filter_jit
def _moved(ranker: PairedModel, slopes: Array, stat: Pairs, fit: Fit) -> Array:
    centred = slopes - jnp.mean(slopes, axis=0, keepdims=True)
    return jnp.matmul(centred, paired_covariance(ranker, stat, fit), precision=HIGHEST)


def _log_prob(likelihood: Any, params: Array, stat: Pairs) -> Array:
    """Log probability of one question's pairs; a tie parameter is that of all questions, also where none is tied."""
    n = stat.wins.shape[0]
    extra = jnp.maximum(params[n:], jnp.finfo(params.dtype).min / 4)  # log 0 where no tie occurred at all
    if isinstance(likelihood, RaoKupperLikelihood) and likelihood.n_extra == 0:
        extra = jnp.log(jnp.asarray(likelihood.kappa, params.dtype))[None]
    theta = params[:n]
    return jnp.sum(likelihood.pair(theta[:, None] - theta[None, :], extra, stat.wins, 0, stat.ties / 2))
