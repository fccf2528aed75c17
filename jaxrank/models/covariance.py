"""Covariance of paired comparison strengths that holds when trials of one question are alike: a sandwich clustered by
question."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.kind import Data
from jaxrank.data.statistics import HIGHEST, Pairs
from jaxrank.data.weights import Weights
from jaxrank.errors import UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.fit import PairedModel, fitted_params, paired_covariance
from jaxrank.models.pairs.likelihoods import RaoKupperLikelihood


def sandwich(ranker: PairedModel, stat: Pairs, fit: Fit, data: Data) -> Float[Array, "models models"]:
    """Sandwich covariance of centred scores, clustered by question. ``stat``: what was fitted, of ``data``."""
    if not data.questions:
        raise UnsupportedDataError(f'covariance("sandwich") clusters by question; {data.content} have no questions')
    n_models = fit.scores.shape[-1]
    return _sandwich(ranker, _by_question(data, stat), stat, fit)[:n_models, :n_models]


def _by_question(data: Data, stat: Pairs) -> Pairs:
    """The pairs of each question, (M, L, L), paired in the way that gives ``stat`` as their sum."""
    n_models = len(data.models)
    if not data.counts_only:
        rows = Pairs.rows(data, "question")
        wins, ties = (x.flat.reshape(-1, n_models, n_models) for x in (rows.wins, rows.ties))
        if np.allclose(wins.sum(axis=0), stat.wins, rtol=1e-4):
            return Pairs(wins, ties)
    rows = Pairs.rows(data, "question", "all")
    return jax.lax.map(lambda one: Pairs.reduce(rows, Weights(None, one)), jnp.eye(data.shape[1]))


@eqx.filter_jit
def _sandwich(ranker: PairedModel, by_question: Pairs, stat: Pairs, fit: Fit) -> Array:
    """Bread times the sum over questions of outer products of their gradients, scaled by M / (M - 1), times bread.

    The gradients are those of the results alone, less their mean: pseudo-counts and a prior, whose gradient is minus
    their sum, are the same whatever the questions drawn.
    """
    params = fitted_params(ranker, fit)
    slopes = jax.vmap(jax.grad(lambda p, s: _log_prob(ranker.likelihood, p, ranker.observed(s))), (None, 0))(
        params, by_question
    )
    n_questions = slopes.shape[0]
    moved = jnp.matmul(
        slopes - jnp.mean(slopes, axis=0, keepdims=True), paired_covariance(ranker, stat, fit), precision=HIGHEST
    )
    return jnp.matmul(moved.T, moved, precision=HIGHEST) * n_questions / max(n_questions - 1, 1)


def _log_prob(likelihood: Any, params: Array, stat: Pairs) -> Array:
    """Log probability of one question's pairs; a tie parameter is that of all questions, also where none is tied."""
    n = stat.wins.shape[0]
    extra = jnp.maximum(params[n:], jnp.finfo(params.dtype).min / 4)  # log 0 where no tie occurred at all
    if isinstance(likelihood, RaoKupperLikelihood) and likelihood.n_extra == 0:
        extra = jnp.log(jnp.asarray(likelihood.kappa, params.dtype))[None]
    theta = params[:n]
    return jnp.sum(likelihood.pair(theta[:, None] - theta[None, :], extra, stat.wins, 0, stat.ties / 2))
