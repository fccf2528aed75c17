"""Covariance of fitted scores: from the observed information, or a sandwich clustered by question."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import HIGHEST, Pairs
from jaxrank.errors import UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.fit import PairedModel, fitted_params, paired_covariance

COVARIANCES = ("information", "sandwich")


def score_covariance(
    ranker: PairedModel, stat: Pairs, fit: Fit, data: Responses | Comparisons, kind: str
) -> Float[Array, "models models"]:
    """Covariance of centred scores; ``kind`` "information" or "sandwich"."""
    n_models = fit.scores.shape[-1]
    bread = _information(ranker, stat, fit)
    if kind == "information":
        return bread[:n_models, :n_models]
    if not isinstance(data, Responses):
        raise UnsupportedDataError('covariance("sandwich") clusters by question; battles have no questions')
    rows = Pairs.rows(data, "question")
    by_question = Pairs(*(x.flat.reshape(-1, n_models, n_models) for x in (rows.wins, rows.ties)))
    return _sandwich(ranker, by_question, fit, bread)[:n_models, :n_models]


@eqx.filter_jit
def _information(ranker: PairedModel, stat: Pairs, fit: Fit) -> Array:
    return paired_covariance(ranker, stat, fit)


@eqx.filter_jit
def _sandwich(ranker: PairedModel, by_question: Pairs, fit: Fit, bread: Array) -> Array:
    """Bread times the sum over questions of outer products of their gradients, scaled by M / (M - 1), times bread."""
    params = fitted_params(ranker, fit)
    slopes = jax.vmap(lambda s: ranker.likelihood.parts(params, ranker.read(s))[1])(by_question)
    n_questions = slopes.shape[0]
    meat = jnp.matmul(slopes.T, slopes, precision=HIGHEST) * n_questions / max(n_questions - 1, 1)
    return jnp.matmul(jnp.matmul(bread, meat, precision=HIGHEST), bread, precision=HIGHEST)
