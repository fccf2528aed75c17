"""Methods that score each model from its own outcomes: mean accuracy and its weighted forms."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.statistics import HIGHEST, Counts
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.ranker import Entry, HasStandardErrors, Ranker, choice, number
from jaxrank.numerics.status import Status


class Average(Ranker, HasStandardErrors):
    """Mean accuracy: the mean over questions of the share of successful trials.

    **Model** s_l = 1/M sum_m k_lm / n_lm [hariri2026ranking, eq. 20].
    **Reads** counts. With unequal numbers of trials every observed question still weighs the same.
    **Scores** in [0, 1] for binary outcomes, [0, C] for categories 0..C; not centred.
    **Fields** ``pooled``: True gives the share of all trials, whatever the question; default False.
    **Standard errors** (1 + C + N)/N times the posterior standard deviation of Bayes@N with a uniform prior
    [hariri2026dont], question by question.
    **Status** always converged.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Counts
    pooled: bool = choice(False)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        if self.pooled:
            weight = stat.observed * stat.trials
            scores = jnp.sum(weight * stat.means, axis=-1) / jnp.sum(weight, axis=-1)
        else:
            scores = stat.mean_over_questions(stat.means)
        return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))

    def standard_errors(self, stat: Counts, fit: Fit) -> Float[Array, " models"]:
        n_categories = stat.categories.shape[-1]
        grade = jnp.arange(n_categories, dtype=stat.categories.dtype)
        n = stat.trials
        total = n + n_categories
        share = (stat.categories + 1) / total[..., None]
        mean = jnp.matmul(share, grade, precision=HIGHEST)
        variance = (jnp.matmul(share, grade**2, precision=HIGHEST) - mean**2) / (total + 1)
        scale = jnp.where(n > 0, total / jnp.where(n > 0, n, 1), 0)
        weight = n if self.pooled else jnp.ones_like(n)  # of one copy of a question
        total_variance = jnp.sum(stat.observed * (weight * scale) ** 2 * variance, axis=-1)
        return jnp.sqrt(total_variance) / jnp.sum(stat.observed * weight, axis=-1)


class InverseDifficulty(Ranker):
    """Accuracy with each question weighted by the inverse of its pooled success rate.

    **Model** w_m proportional to 1 / clip(mean_l p_lm, clip), sum_m w_m = 1; s_l = sum_m w_m p_lm
    [hariri2026ranking, appendix I.1.1].
    **Reads** counts. A model is scored over the questions that it has results on, with their weights renormalised; the
    mean over models is over those with results on the question.
    **Scores** in [0, 1], not centred. The score of a model depends on the others.
    **Fields** ``clip``: (low, high) bounds of a question's success rate, default (0.01, 0.99) as published.
    **Status** always converged.
    **Departs** in nothing on complete data.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    clip: Any = number((0.01, 0.99))

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        low, high = jnp.asarray(self.clip, stat.categories.dtype)
        p, seen = stat.means, (stat.trials > 0).astype(stat.categories.dtype)
        rate = jnp.sum(p, axis=0) / jnp.maximum(jnp.sum(seen, axis=0), 1)
        weight = stat.observed / jnp.clip(rate, low, high)[None, :]
        scores = jnp.sum(weight * p, axis=-1) / jnp.sum(weight, axis=-1)
        return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))


ENTRIES = (
    Entry("avg", Average, source="hariri2026ranking", published=True),
    Entry("inverse_difficulty", InverseDifficulty, source="hariri2026ranking", published=True),
)
