"""Methods that score each model from its own outcomes: mean accuracy and its weighted forms."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.moments import Moments
from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, exact_fit, mean_fit
from jaxrank.models.options import flag, number
from jaxrank.models.ranker import (
    OWN_QUESTIONS,
    Bounded,
    Entry,
    HasInterval,
    HasStandardErrors,
    MeanOfCells,
    MeanOfQuestions,
    Ranker,
)
from jaxrank.numerics.proportion import Ends, effective_size, student, wilson
from jaxrank.numerics.status import Status


class Average(Ranker, HasStandardErrors, HasInterval, Bounded, MeanOfCells, MeanOfQuestions):
    """Mean grade: the mean over questions of the mean value of the trials, the accuracy where they are right or wrong.

    **Model** s_l = 1/M sum_m k_lm / n_lm, k_lm the sum of the values of the trials [hariri2026ranking, eq. 20].
    **Reads** counts, of real scores moments. With unequal numbers of trials every observed question still weighs the
    same, or what its weight says.
    **Scores** on the scale of the levels: [0, 1] for outcomes 0 and 1, [0, C] for categories 0..C; not centred.
    **Fields** ``pooled``: True gives the share of all trials, whatever the question; default False.
    **Standard errors** from the spread of the question means, s / sqrt(M); NaN with one question.
    **Interval** of outcomes 0 and 1: Wilson's at the effective number of trials p (1 - p) / v, v the estimated variance
    of the score (by question, or within the cells for unit "trials"), where v = 0 that of the questions, or of the
    trials; by question at most the number of trials, and times (z / t)^2. Of other levels Student's t, cut at the ends
    of the scale.
    **Status** always converged.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Counts
    gaps: ClassVar[str] = OWN_QUESTIONS
    reads_moments: ClassVar[bool] = True
    adds_scores: ClassVar[bool] = True
    pooled: bool = flag(False)

    def __call__(self, stat: Counts | Moments, *, key: None = None) -> Fit:
        if self.pooled:
            weight = stat.observed * stat.trials
            above = jnp.sum(weight * stat.heights, axis=-1) / jnp.sum(weight, axis=-1)
        else:
            above = stat.mean_over_questions(stat.heights)
        return mean_fit(stat, above)

    @property
    def of_cells(self) -> bool:
        return True

    def values(self, levels: np.ndarray) -> np.ndarray:
        return levels

    def bounds(self, stat: Counts | Moments) -> tuple[Any, Any]:
        if isinstance(stat, Moments):
            return -jnp.inf, jnp.inf
        return jnp.min(stat.levels), jnp.max(stat.levels)

    def question_values(self, stat: Counts | Moments) -> Float[Array, "models questions"]:
        return stat.means

    def question_weights(self, stat: Counts | Moments) -> Float[Array, "models questions"]:
        return stat.observed * stat.trials if self.pooled else stat.observed

    def cell_weights(self, stat: Counts) -> Array | None:
        return stat.observed * stat.trials if self.pooled else None

    def interval(self, stat: Counts | Moments, fit: Fit, level: float, unit: str) -> Ends:
        x, seen, n = np.asarray(stat.means, float), np.asarray(stat.trials > 0), np.asarray(stat.trials, float)
        weight = np.asarray(self.question_weights(stat), float)
        weight = weight / weight.sum(axis=1, keepdims=True)
        score = (weight * x).sum(axis=1)
        if unit == "questions":
            clusters = seen.sum(axis=1)
            bessel = clusters / np.maximum(clusters - 1, 1)
            variance = bessel * (weight**2 * np.where(seen, x - score[:, None], 0) ** 2).sum(axis=1)
        else:
            clusters = None
            variance = (weight**2 * within_variance(stat)).sum(axis=1)
        low, high = (float(x) for x in self.bounds(stat))
        if isinstance(stat, Moments) or stat.levels.shape[0] > 2:
            degrees = np.sum(np.where(seen, n - 1, 0), axis=1) if clusters is None else clusters - 1
            half = student(degrees, level) * np.sqrt(variance)
            return Ends(np.maximum(score - half, low), np.minimum(score + half, high))
        share, variance = (score - low) / (high - low), variance / (high - low) ** 2
        ends = wilson(share, effective_size(share, variance, n.sum(axis=1), clusters, level), level)
        return Ends(*(low + (high - low) * end for end in ends))

    def standard_errors(self, stat: Counts | Moments, fit: Fit) -> Float[Array, " models"]:
        seen = stat.trials > 0
        weight = self.question_weights(stat)
        n = jnp.sum(seen, axis=-1)
        off = jnp.where(seen, stat.means - fit.scores[:, None], 0)
        square = jnp.sum((weight * off) ** 2, axis=-1) / jnp.sum(weight, axis=-1) ** 2
        return jnp.sqrt(jnp.where(n > 1, square * n / jnp.maximum(n - 1, 1), jnp.nan))


def within_variance(stat: Counts | Moments) -> np.ndarray:
    """Estimated variance of the mean of each cell if its trials came out again, (L, M); NaN with a single trial, 0
    where nothing was observed."""
    if isinstance(stat, Moments):
        return np.asarray(stat.within_variance, float)
    levels, counts = np.asarray(stat.levels, float), np.asarray(stat.categories, float)
    n = counts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = counts @ levels / n
        square = (counts * (levels - mean[..., None]) ** 2).sum(axis=-1)
        return np.where(n > 0, square / (n - 1) / n, 0)


def _check_clip(name: str, value: Any) -> None:
    low, high = np.asarray(value).tolist()
    if not 0 < low <= high:
        raise OptionError(f"{name}=({low:g}, {high:g}); the bounds must be above 0 and in rising order")


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
    gaps: ClassVar[str] = OWN_QUESTIONS
    binary: ClassVar[bool] = True
    clip: Any = number((0.01, 0.99), 0, 1, ndim=1, length=2, check=_check_clip)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        low, high = jnp.asarray(self.clip, stat.categories.dtype)
        p, seen = stat.shares, (stat.trials > 0).astype(stat.categories.dtype)
        rate = jnp.sum(p, axis=0) / jnp.maximum(jnp.sum(seen, axis=0), 1)
        weight = stat.observed / jnp.clip(rate, low, high)[None, :]
        scores = jnp.sum(weight * p, axis=-1) / jnp.sum(weight, axis=-1)
        return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))


ENTRIES = (
    Entry("avg", Average, source="hariri2026ranking", published=True),
    Entry("inverse_difficulty", InverseDifficulty, source="hariri2026ranking", published=True),
)
