"""What each question, or cluster, adds to the error of every score of a fit, for the methods where that is known in
closed form."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.clusters import clustering
from jaxrank.data.kind import Data
from jaxrank.data.statistics import Counts
from jaxrank.models.covariance import question_deviations
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.clusters import battle_deviations
from jaxrank.models.pairs.fit import PairedModel
from jaxrank.models.ranker import MeanOfCells, MeanOfQuestions, Ranker
from jaxrank.models.setwise.model import SetwiseModel
from jaxrank.models.setwise.slates import slate_deviations
from jaxrank.numerics.contributions import Contributions, contributions


def has_contributions(ranker: Ranker, data: Data, cluster: str | None = None) -> bool:
    """Whether the method and the data are of a kind that `of_questions` knows, or `of_clusters` where a column is
    given."""
    if cluster is not None and not data.questions:
        sets = isinstance(ranker, SetwiseModel) and ranker.reader is not None
        return sets or (isinstance(ranker, PairedModel) and data.form == "comparisons")
    known = isinstance(ranker, PairedModel | MeanOfQuestions) or (isinstance(ranker, MeanOfCells) and ranker.of_cells)
    return len(data.questions) > 1 and known


def of_questions(ranker: Ranker, stat: Any, fit: Fit, data: Data) -> Contributions | None:
    """Contributions (M, L) of the questions to the scores of a fit of ``data``.

    Of means over questions they are the deviations of the questions' own values; of paired comparison models the
    questions' gradients times the inverse information, grown by the share of it that the question holds: what leaving
    the question out would change.
    None for other methods, for data with fewer than two questions, and where a score is not finite.
    """
    if not has_contributions(ranker, data) or not np.isfinite(np.asarray(fit.scores)).all():
        return None
    if isinstance(ranker, PairedModel):
        moved, shares = question_deviations(ranker, stat, fit, data)
        return contributions(moved, shares=shares) if np.isfinite(moved).all() else None
    if isinstance(ranker, MeanOfQuestions):
        values, weights = (np.asarray(x, np.float64).T for x in _by_question(ranker, stat))
    elif isinstance(ranker, MeanOfCells):
        values = np.asarray(_values(ranker, stat), np.float64)
        weights = np.asarray(stat.observed, np.float64).T
        own = ranker.cell_weights(stat)
        weights = weights if own is None else np.asarray(own, np.float64).T
    else:
        return None
    seen = (weights > 0) & np.isfinite(values)
    weights = np.where(seen, weights, 0)
    weights = weights / weights.sum(axis=0)
    values = np.where(seen, values, 0)
    return contributions(weights * (values - (weights * values).sum(axis=0)), seen)


def of_clusters(ranker: Ranker, stat: Any, fit: Fit, data: Data, column: str) -> Contributions | None:
    """Contributions (G, L) of the clusters that a column makes of questions or battles; None as in `of_questions`."""
    if data.questions:
        single = of_questions(ranker, stat, fit, data)
        return None if single is None else single.grouped(clustering(data, column).index)
    return of_deviations(deviations(ranker, stat, fit, data, column), len(data.models))


def deviations(
    ranker: Ranker, stat: Any, fit: Fit, data: Data, column: str
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """`battle_deviations` or `slate_deviations` of the clusters that a column makes of battles or ordered lists; None
    as in `of_questions`."""
    if not has_contributions(ranker, data, column) or not np.isfinite(np.asarray(fit.scores)).all():
        return None
    if isinstance(ranker, SetwiseModel):
        return slate_deviations(ranker, stat, fit, data, clustering(data, column))
    assert isinstance(ranker, PairedModel)
    return battle_deviations(ranker, stat, fit, data, clustering(data, column))


def of_deviations(found: tuple[np.ndarray, np.ndarray | None] | None, n_models: int) -> Contributions | None:
    """Contributions to the scores from `deviations`; None where there are none, or where some are not finite."""
    if found is None or not np.isfinite(found[0][:, :n_models]).all():
        return None
    return contributions(found[0][:, :n_models], shares=found[1])


@eqx.filter_jit
def _by_question(ranker: Any, stat: Any) -> tuple[Array, Array]:
    return ranker.question_values(stat), ranker.question_weights(stat)


@eqx.filter_jit
def _values(ranker: Ranker, stat: Counts) -> Array:
    """The score that each question alone gives, (M, L); NaN where a model has nothing on it."""

    def one(categories: Array) -> Array:
        return ranker(Counts(categories[:, None], jnp.ones(1, categories.dtype), stat.levels)).scores

    return jax.lax.map(one, jnp.moveaxis(stat.categories, 1, 0), batch_size=64)
