"""Voting rules that score each model by its votes: Borda, Copeland, win rate, minimax, plurality."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from jaxrank.data.ballots import Ballots
from jaxrank.models.fit import Fit, rounding_resolution
from jaxrank.models.options import choice
from jaxrank.models.preferences import TIE_POLICIES, ballots, first_choices, preferences, votes_fit, votes_won_and_lost
from jaxrank.models.ranker import Entry, Ranker


class Borda(Ranker):
    """Borda count: over the questions, the number of models that a model beats, ties counting one half.

    **Model** s_l = sum_m (L - average rank of l on question m) = sum_j (V + Q_lj - Q_jl) / 2, with V questions
    [borda1781].
    **Reads** ballots: each question orders the models by the mean value of their trials, each ordered list by place.
    **Scores** points in [0, V (L - 1)]; not centred.
    **Fields** none.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** on missing cells, of which the source knows nothing: a pair of models that a question does not compare
    shares its point, as if tied, so an absent model is neither favoured nor punished.
    The scores depend on which models take part (as in the source); restrict the data to a subset to recompute.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a pair of models that a question does not compare shares its point"

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        stat = ballots(stat)
        won, lost, total = votes_won_and_lost(stat)
        others = won.shape[0] - 1
        return votes_fit((total * others + (won - lost)) / 2, stat.seen)


class Copeland(Ranker):
    """Copeland score: pairwise majorities won minus pairwise majorities lost.

    **Model** s_l = sum_j sign(Q_lj - Q_jl) [copeland1951].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places; ties abstain.
    **Scores** whole numbers in [-(L - 1), L - 1] that sum to 0.
    **Fields** none.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** in nothing; a pair that no question compares counts as a tie.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        pref = preferences(stat, ties=False)
        # Not `margins`: the sum of signs of a transpose is one pass, that of two sums twice as slow.
        return votes_fit(jnp.sum(jnp.sign(pref.wins - pref.wins.T), axis=-1), pref.seen)


class WinRate(Ranker):
    """Win rate: the share of a model's deciding pairwise votes that it won.

    **Model** s_l = sum_j Q_lj / sum_j (Q_lj + Q_jl), 0.5 where no vote decides [hariri2026ranking, eq. 35].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places.
    **Scores** in [0, 1]; a half means as many wins as losses. Ties do not count.
    **Fields** none.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        stat = ballots(stat)
        won, lost, _ = votes_won_and_lost(stat)
        decided = won + lost
        scores = jnp.where(decided > 0, won / jnp.where(decided > 0, decided, 1), 0.5)
        return votes_fit(scores, stat.seen, jnp.finfo(scores.dtype).eps)  # of one quotient up to 1


class Minimax(Ranker):
    """Minimax (Simpson-Kramer): minus the strength of a model's worst pairwise defeat.

    **Model** s_l = -max_j strength(j over l) over the j with Q_jl > Q_lj; 0 for an undefeated model [simpson1969].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places.
    **Scores** votes, at most 0; not centred.
    **Fields** ``variant``: "margin" (default) takes Q_jl - Q_lj as strength, "winning_votes" the winner's votes.
    ``tie_policy``: "half" (default) adds half of the tied questions to the votes of both, "ignore" does not; margins
    are the same under both.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    variant: str = choice("margin", ("margin", "winning_votes"))
    tie_policy: str = choice("half", TIE_POLICIES)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        by_votes = self.variant == "winning_votes"
        pref = preferences(stat, ties=by_votes and self.tie_policy == "half")
        margins = pref.margins
        strength = pref.votes(self.tie_policy) if by_votes else margins
        return votes_fit(jnp.min(jnp.where(margins > 0, -strength, 0), axis=-2), pref.seen)


class Plurality(Ranker):
    """Plurality: the number of voters that put a model first.

    **Model** s_l = sum_v w_v [l is among the T_v first of v] / |T_v| [zwicker2016].
    **Reads** ballots: the model with the highest mean value of its trials is the first of a question, the best placed
    that of an ordered list.
    **Scores** votes in [0, V], V voters; not centred.
    **Fields** none.
    **Status** undefined where a model has no observed question or stands on no list.
    **Departs** on ties for the first place, of which the source knows nothing: they share the vote. An ordered list
    gives its vote whatever models it leaves out.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question gives its vote to one of the models that have results on it"

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        stat = ballots(stat)
        votes = first_choices(stat, jnp.ones(stat.grades.shape[0], bool))
        return votes_fit(votes, stat.seen, rounding_resolution(votes))


ENTRIES = (
    Entry("borda", Borda, source="borda1781", published=True),
    Entry("copeland", Copeland, source="copeland1951", published=True),
    Entry("win_rate", WinRate, source="hariri2026ranking", published=True),
    Entry("minimax", Minimax, source="simpson1969"),
    *(
        Entry(
            f"minimax_variant_{variant}_tie_{policy}",
            Minimax,
            source="simpson1969",
            options={"variant": variant, "tie_policy": policy},
            published=True,
        )
        for variant in ("margin", "winning_votes")
        for policy in TIE_POLICIES
    ),
    Entry("plurality", Plurality, source="zwicker2016"),
)
