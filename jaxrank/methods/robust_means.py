"""Rankings of tables that few scores cannot turn: trimmed means of all scores, the median of the questions."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.moments import Moments, Samples
from jaxrank.models.fit import Fit, rounding_resolution
from jaxrank.models.options import flag, number
from jaxrank.models.preferences import votes_fit
from jaxrank.models.ranker import OWN_QUESTIONS, Entry, MeanOfQuestions, Ranker


class TrimmedMean(Ranker, MeanOfQuestions):
    """Trimmed mean: the mean of all scores of a model, over questions and trials, without the share p at either end.

    **Model** the scores of l in rising order x_1 <= x_2 <= ..., with weights w_i that add up to 1: s_l = 1/(1 - 2p)
    times the integral of x over the cumulated weights from p to 1 - p; p = 1/4 is the interquartile mean
    [agarwal2021, section 4.3].
    **Reads** single trials; a question's weight counts for each of its trials.
    **Scores** on the scale of the scores, higher is better; not centred.
    **Fields** ``p``: the share cut at each end, in [0, 0.5), default 0.25. ``floor``: True cuts floor(p n) whole scores
    of n at each end, as rliable does; the same where p n is whole.
    **Standard errors** by question, from the influence of its scores, those that were cut held at the ends.
    **Status** undefined where a model has no score.
    **Departs** in weights, which the source does not have.
    """

    statistic: ClassVar[type] = Samples
    gaps: ClassVar[str] = OWN_QUESTIONS
    adds_scores: ClassVar[bool] = True
    p: Any = number(0.25, 0, below=0.5)
    floor: bool = flag(False)

    def __call__(self, stat: Samples, *, key: None = None) -> Fit:
        x, kept, share = self._kept(stat)
        total = jnp.sum(kept, axis=-1)
        scores = jnp.sum(kept * x, axis=-1) / jnp.where(total > 0, total, 1)
        return votes_fit(scores, share > 0, rounding_resolution(jnp.max(jnp.abs(x), axis=-1), x.shape[1]))

    def _kept(self, stat: Samples) -> tuple[Array, Array, Array]:
        """Scores in rising order (L, M N), the weight that is left of each, and the total weight (L,)."""
        weight = (stat.weights * stat.questions[None, :, None]).reshape(len(stat.values), -1)
        values = stat.values.reshape(len(stat.values), -1)
        order = jnp.argsort(jnp.where(jnp.isnan(values), jnp.inf, values), axis=-1)
        x = jnp.take_along_axis(jnp.nan_to_num(values), order, axis=-1)
        w = jnp.take_along_axis(weight, order, axis=-1)
        upto = jnp.cumsum(w, axis=-1)
        total = upto[:, -1:]
        cut = self._cut(total, w.dtype)
        kept = jnp.maximum(jnp.minimum(upto, total - cut) - jnp.maximum(upto - w, cut), 0)
        return x, kept, total[:, 0]

    def _cut(self, total: Array, dtype: Any) -> Array:
        cut = jnp.asarray(self.p, dtype) * total
        return jnp.floor(cut + 8 * jnp.finfo(dtype).eps * total) if self.floor else cut

    def question_values(self, stat: Samples) -> Float[Array, "models questions"]:
        x, kept, total = self._kept(stat)
        low = jnp.min(jnp.where(kept > 0, x, jnp.inf), axis=-1)[:, None, None]
        high = jnp.max(jnp.where(kept > 0, x, -jnp.inf), axis=-1)[:, None, None]
        share = jnp.sum(kept, axis=-1) / jnp.where(total > 0, total, 1)
        return stat.mean_of_cells(jnp.clip(stat.values, low, high)) / share[:, None]

    def question_weights(self, stat: Samples) -> Float[Array, "models questions"]:
        return jnp.sum(stat.weights, axis=-1) * stat.questions[None]


class MedianScore(Ranker):
    """Median score: the median over questions of the mean of the trials.

    **Model** s_l = the median over the questions m that l has of x_lm; with weights the middle of the questions, each
    repeated as often as it weighs: the mean of the lower and the upper one where the middle falls between two.
    **Reads** moments.
    **Scores** on the scale of the scores, higher is better; not centred.
    **Fields** none.
    **Status** undefined where a model has no score.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Moments
    gaps: ClassVar[str] = OWN_QUESTIONS

    def __call__(self, stat: Moments, *, key: None = None) -> Fit:
        weight = stat.observed
        order = jnp.argsort(jnp.where(weight > 0, stat.heights, jnp.inf), axis=-1)
        x, w = (jnp.take_along_axis(a, order, axis=-1) for a in (stat.heights, weight))
        upto = jnp.cumsum(w, axis=-1)
        total = upto[:, -1]
        slack = 32 * jnp.finfo(w.dtype).eps * total[:, None]
        half = total[:, None] / 2
        first = jnp.take_along_axis(x, jnp.argmax(upto >= half - slack, axis=-1)[:, None], axis=-1)[:, 0]
        second = jnp.take_along_axis(x, jnp.argmax(upto > half + slack, axis=-1)[:, None], axis=-1)[:, 0]
        return votes_fit(stat.origin + (first + second) / 2, total > 0, stat.rounding)


ENTRIES = (
    Entry("trimmed_mean", TrimmedMean, source="agarwal2021"),
    Entry("iqm", TrimmedMean, source="agarwal2021", options={"p": 0.25}),
    Entry("median_score", MedianScore, source="agarwal2021"),
)
