"""Rankings of tables by the place of a model on every question: the mean rank, the mean share of models beaten."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.ballots import Ballots, standing_of
from jaxrank.models.fit import Fit, rounding_resolution
from jaxrank.models.preferences import ballots, votes_fit
from jaxrank.models.ranker import Bounded, Entry, MeanOfQuestions, Ranker

_GAPS = "a question ranks only the models that have results on it"


def _mean(stat: Ballots, values: Float[Array, "models voters"]) -> Float[Array, " models"]:
    weight = jnp.where(stat.listed, stat.voters[None], 0)
    total = jnp.sum(weight, axis=-1)
    return jnp.sum(weight * values, axis=-1) / jnp.where(total > 0, total, 1)


class MeanRank(Ranker, MeanOfQuestions, Bounded):
    """Mean rank: minus the mean over questions of the rank of the model among those with results on the question.

    **Model** s_l = -sum_m w_m r_lm / sum_m w_m over the questions m that l has, r_lm = 1 + the models above l + half of
    those level with it [demsar2006].
    **Reads** ballots: each question orders the models by the mean value of their trials, each ordered list by places.
    **Scores** minus a mean rank, in [-L, -1]; not centred; tables and plots show the mean rank. The scores depend on
    which models take part.
    **Fields** none.
    **Standard errors** by question, from the spread of the ranks.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** on missing cells: a rank is among the models present, so that a question which few have weighs as any.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = _GAPS
    column: ClassVar[str] = "mean_rank"

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        stat = ballots(stat)
        scores = _mean(stat, self.question_values(stat))
        return votes_fit(scores, stat.seen, rounding_resolution(scores, stat.voters.shape[0]))

    def question_values(self, stat: Ballots) -> Float[Array, "models voters"]:
        won, lost, present = _against(stat)
        level = present - 1 - won - lost
        return -(1 + lost + level / 2)

    def question_weights(self, stat: Ballots) -> Float[Array, "models voters"]:
        return jnp.where(stat.listed, stat.voters[None], 0)

    def bounds(self, stat: Ballots) -> tuple[Any, Any]:
        return -float(stat.listed.shape[0]), -1.0


class MeanWinRate(Ranker, MeanOfQuestions, Bounded):
    """Mean win rate: the mean over questions of the share of the other models that a model beats, ties half.

    **Model** s_l = sum_m w_m (wins_lm + ties_lm / 2) / (L_m - 1) / sum_m w_m over the questions m that l has and that
    L_m > 1 models have [liang2022].
    **Reads** ballots: each question orders the models by the mean value of their trials, each ordered list by places.
    **Scores** in [0, 1]; not centred; on complete data (L - minus the mean rank) / (L - 1). `win_rate` leaves ties out
    and weighs a question by its decided pairs.
    **Fields** none.
    **Standard errors** by question, from the spread of the shares.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** on questions that one model has alone: they say nothing and are left out; a model with no others gets
    one half.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = _GAPS

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        stat = ballots(stat)
        weight = self.question_weights(stat)
        total = jnp.sum(weight, axis=-1)
        sums = jnp.sum(weight * self.question_values(stat), axis=-1)
        scores = jnp.where(total > 0, sums / jnp.where(total > 0, total, 1), 0.5)
        return votes_fit(scores, stat.seen, rounding_resolution(scores, stat.voters.shape[0]))

    def question_values(self, stat: Ballots) -> Float[Array, "models voters"]:
        won, lost, present = _against(stat)
        others = present - 1
        return (won + (others - won - lost) / 2) / jnp.maximum(others, 1)

    def question_weights(self, stat: Ballots) -> Float[Array, "models voters"]:
        _, _, present = _against(stat)
        return jnp.where(stat.listed & (present > 1), stat.voters[None], 0)

    def bounds(self, stat: Ballots) -> tuple[Any, Any]:
        return 0.0, 1.0


def _against(stat: Ballots) -> tuple[Array, Array, Array]:
    """Models beaten and not beaten (L, V), and how many each voter compares (1, V)."""
    standing = standing_of(stat)
    present = jnp.sum(stat.listed if stat.below is None else stat.listed | stat.below, axis=0)
    return standing.won, standing.lost, present.astype(standing.won.dtype)[None]


ENTRIES = (
    Entry("mean_rank", MeanRank, source="demsar2006"),
    Entry("mean_win_rate", MeanWinRate, source="liang2022"),
)
