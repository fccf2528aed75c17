"""Rankings of tables by means against a reference: a target, the ends of a scale, the best model of the question."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.moments import Moments, Samples
from jaxrank.models.fit import Fit
from jaxrank.models.options import number, reference
from jaxrank.models.preferences import votes_fit
from jaxrank.models.ranker import OWN_QUESTIONS, Bounded, ByQuestion, Entry, MeanOfQuestions, Ranker

_SAME = 1e-12  # of the largest term


def _mean_of(stat: Any, values: Float[Array, "models questions"]) -> Fit:
    """The fit of means over questions; they tie within the rounding of their largest term."""
    scores = stat.mean_over_questions(values)
    eps = jnp.finfo(scores.dtype).eps
    ulps = jnp.maximum((4 + stat.questions.shape[0] ** 0.5 / 2) * eps, jnp.minimum(_SAME, 8 * eps))
    return votes_fit(scores, jnp.isfinite(scores), ulps * jnp.max(jnp.where(stat.observed > 0, jnp.abs(values), 0)))


class OptimalityGap(Ranker, MeanOfQuestions):
    """Optimality gap: minus the amount by which a model stays below a target, scores above it counting as the target.

    **Model** s_l = -(gamma - 1/M sum_m 1/n_lm sum_n min(x_lmn, gamma)) [agarwal2021, section 4.3].
    **Reads** single trials.
    **Scores** at most 0, on the scale of the scores; not centred; tables and plots show the gap.
    **Fields** ``gamma``: the target, default 1, on the scale of the scores (of minus the scores where lower is better).
    **Standard errors** by question, from the spread of its values.
    **Status** undefined where a model has no score.
    **Departs** with unequal trials: questions weigh the same, and not trials.
    """

    statistic: ClassVar[type] = Samples
    gaps: ClassVar[str] = OWN_QUESTIONS
    column: ClassVar[str] = "optimality_gap"
    gamma: Any = number(1.0)

    def __call__(self, stat: Samples, *, key: None = None) -> Fit:
        return _mean_of(stat, self.question_values(stat))

    def question_values(self, stat: Samples) -> Float[Array, "models questions"]:
        gamma = jnp.asarray(self.gamma, stat.values.dtype)
        return stat.mean_of_cells(jnp.minimum(stat.values - gamma, 0))


class PerformanceProfile(Ranker, MeanOfQuestions, Bounded):
    """Performance profile at tau: the mean over questions of the share of trials whose score is above tau.

    **Model** s_l = 1/M sum_m 1/n_lm #{n : x_lmn > tau} [agarwal2021, section 4.2].
    **Reads** single trials.
    **Scores** in [0, 1]; not centred.
    **Fields** ``tau``: default 0.5, on the scale of the scores (of minus the scores where lower is better).
    **Standard errors** by question, from the spread of the shares.
    **Status** undefined where a model has no score.
    **Departs** with unequal trials: questions weigh the same, and not trials.
    """

    statistic: ClassVar[type] = Samples
    gaps: ClassVar[str] = OWN_QUESTIONS
    tau: Any = number(0.5)

    def __call__(self, stat: Samples, *, key: None = None) -> Fit:
        return _mean_of(stat, self.question_values(stat))

    def question_values(self, stat: Samples) -> Float[Array, "models questions"]:
        above = stat.values > jnp.asarray(self.tau, stat.values.dtype)
        return stat.mean_of_cells(above.astype(stat.values.dtype))

    def bounds(self, stat: Samples) -> tuple[Any, Any]:
        return 0.0, 1.0


class NormalizedMean(Ranker, MeanOfQuestions, ByQuestion):
    """Normalised mean: the mean over questions of where a score lies between a low and a high reference.

    **Model** s_l = 1/M sum_m (x_lm - low_m) / (high_m - low_m) [bellemare2013, section 4.4].
    **Reads** moments.
    **Scores** 0 at the low and 1 at the high reference; not centred.
    **Fields** ``low``, ``high``: a number, one for each question, the name of a column of the question table, "worst"
    or "best": the worst and the best mean of a model on the question. Default "worst" and "best". Numbers and columns
    are on the user's scale: where lower is better ``high`` is the smaller one. A question whose references are equal
    gives 0.
    **Standard errors** by question, from the spread of the places.
    **Status** undefined where a model has no score.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Moments
    gaps: ClassVar[str] = OWN_QUESTIONS
    low: Any = reference("worst")
    high: Any = reference("best")

    def __call__(self, stat: Moments, *, key: None = None) -> Fit:
        return _mean_of(stat, self.question_values(stat))

    def question_values(self, stat: Moments) -> Float[Array, "models questions"]:
        low, high = (_above_origin(stat, x) for x in (self.low, self.high))
        wide = high != low
        place = (stat.heights - low) / jnp.where(wide, high - low, 1)
        return jnp.where(wide & (stat.trials > 0), place, 0)

    @property
    def by_question(self) -> tuple[str, ...]:
        return ("low", "high")


class Improvability(Ranker, MeanOfQuestions, ByQuestion):
    """Improvability: minus the mean share of a model's error by which the best model of the question is better.

    **Model** e_lm = high_m - x_lm, e*_m the least error of a model on question m; s_l = -1/M sum_m (e_lm - e*_m)/e_lm,
    0 where e_lm = 0 [erickson2025].
    **Reads** moments.
    **Scores** in [-1, 0] where no score is above ``high``; not centred; tables and plots show the improvability. The
    score of a model depends on the others.
    **Fields** ``high``: the score without error, a number (default 1; 0 for errors), one for each question, or the name
    of a column of the question table, on the user's scale.
    **Standard errors** by question, from the spread of its values.
    **Status** undefined where a model has no score.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Moments
    gaps: ClassVar[str] = OWN_QUESTIONS
    column: ClassVar[str] = "improvability"
    high: Any = reference(1.0)

    def __call__(self, stat: Moments, *, key: None = None) -> Fit:
        return _mean_of(stat, self.question_values(stat))

    def question_values(self, stat: Moments) -> Float[Array, "models questions"]:
        seen = stat.trials > 0
        error = _above_origin(stat, self.high) - stat.heights
        least = jnp.min(jnp.where(seen, error, jnp.inf), axis=0, keepdims=True)
        some = seen & (jnp.abs(error) > stat.rounding)
        return jnp.where(some, -(error - least) / jnp.where(some, error, 1), 0)

    @property
    def by_question(self) -> tuple[str, ...]:
        return ("high",)


def _above_origin(stat: Moments, reference: Any) -> Array:
    """A reference of each question, less the origin: (1, M), or one number for all."""
    if isinstance(reference, str):
        worst = reference == "worst"
        seen = stat.trials > 0
        ends = jnp.where(seen, stat.heights, jnp.inf if worst else -jnp.inf)
        return (jnp.min(ends, axis=0) if worst else jnp.max(ends, axis=0))[None]
    value = jnp.asarray(reference, stat.total.dtype) - stat.origin
    return value[None] if value.ndim else value


_ABSOLUTE = {"levels": "compares scores with a number on their own scale"}

ENTRIES = (
    Entry("optimality_gap", OptimalityGap, source="agarwal2021", exempt=_ABSOLUTE),
    Entry("performance_profile", PerformanceProfile, source="agarwal2021", exempt=_ABSOLUTE),
    Entry("normalized_mean", NormalizedMean, source="bellemare2013"),
    Entry("improvability", Improvability, source="erickson2025", exempt=_ABSOLUTE),
)
