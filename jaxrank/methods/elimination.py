"""Voting rules that eliminate models one round after the other: Nanson, Baldwin, instant runoff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.data.ballots import Ballots
from jaxrank.models.fit import Fit, rounding_resolution
from jaxrank.models.options import choice, flag
from jaxrank.models.preferences import Preferences, ballots, first_choices, preferences, votes_fit
from jaxrank.models.ranker import Entry, Ranker

RANK_TIES = ("average", "max")


class Nanson(Ranker):
    """Nanson's rule: drop the models at or below the mean Borda score of those that remain, and repeat.

    **Model** rounds over the remaining set A: drop l in A with B_A(l) <= mean of B_A [nanson1882].
    **Reads** ballots: each question orders the models by the mean value of their trials, each ordered list by place.
    **Scores** minus the number of models that were dropped later; 0 at the top. Models of one round tie.
    **Fields** ``rank_ties``: how tied models share points on a question, "average" (default: half a point for each
    tie) or "max" (none). ``strict``: True drops only the models below the mean, Nanson's own text; where none is
    below, all remaining models tie. Default False, as in practice and as published.
    **Status** undefined where a model has no observed question or stands on no list.
    **Params** ``rounds``: number of rounds.
    **Departs** as `strict` says. Not monotone: more right answers can cost a model its place (as in the source).
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    rank_ties: str = choice("average", RANK_TIES)
    strict: bool = flag(False)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        pref = preferences(stat, ties=False)

        def drop(active: Array) -> Array:
            points = _points(pref, self.rank_ties, active)
            times, total = jnp.sum(active) * points, jnp.sum(points)
            return times < total if self.strict else times <= total

        return _eliminate(drop, pref.seen, pref.wins.dtype)


class Baldwin(Ranker):
    """Baldwin's rule: drop the models with the lowest Borda score among those that remain, and repeat.

    **Model** rounds over the remaining set A: drop the l in A with the smallest B_A(l), all of them if several
    [baldwin1926].
    **Reads** ballots: each question orders the models by the mean value of their trials, each ordered list by place.
    **Scores** minus the number of models that were dropped later; 0 at the top. Models of one round tie.
    **Fields** ``rank_ties``: how tied models share points on a question, "average" (default: half a point for each
    tie) or "max" (none).
    **Status** undefined where a model has no observed question or stands on no list.
    **Params** ``rounds``: number of rounds.
    **Departs** in dropping all models that share the lowest score, so that labels do not matter. Not monotone: more
    right answers can cost a model its place (as in the source).
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    rank_ties: str = choice("average", RANK_TIES)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        pref = preferences(stat, ties=False)

        def drop(active: Array) -> Array:
            points = _points(pref, self.rank_ties, active)
            return points <= jnp.min(jnp.where(active, points, jnp.inf))

        return _eliminate(drop, pref.seen, pref.wins.dtype)


class InstantRunoff(Ranker):
    """Instant runoff: drop the models that fewest voters put first among those that remain, and repeat.

    **Model** rounds over the remaining set A: every voter votes for the first of A on its ballot; drop the l in A with
    the fewest votes, all of them if several [hare1859, zwicker2016].
    **Reads** ballots: each question orders the models by the mean value of their trials, each ordered list by place.
    **Scores** minus the number of models that were dropped later; 0 at the top. Models of one round tie.
    **Fields** none.
    **Status** undefined where a model has no observed question or stands on no list.
    **Params** ``rounds``: number of rounds.
    **Departs** in dropping all models that share the lowest number of votes, so that labels do not matter, and in
    sharing a vote between models that tie for the first place. A ballot that lists none of the models left has no vote.
    Not monotone: more right answers can cost a model its place (as in the source).
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question gives its vote to one of the models that have results on it"

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        stat = ballots(stat)

        def drop(active: Array) -> Array:
            votes = first_choices(stat, active)
            return votes <= jnp.min(jnp.where(active, votes, jnp.inf)) + rounding_resolution(votes)

        return _eliminate(drop, stat.seen, stat.grades.dtype)


def _points(pref: Preferences, rank_ties: str, active: Array) -> Array:
    """Borda points of the active models among themselves, 0 for the others.

    With average ranks twice the points less their mean: wins minus losses, whose mean is exactly 0.
    """
    gain = pref.margins if rank_ties == "average" else pref.wins
    return jnp.where(active, jnp.sum(jnp.where(active[None, :], gain, 0), axis=-1), 0)


def _eliminate(drop: Callable[[Array], Array], seen: Array, dtype: Any) -> Fit:
    """Rounds until no model is left; where ``drop`` names nobody, all remaining models leave together."""

    def round_(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        active, left, count = state
        out = active & drop(active)
        out = jnp.where(jnp.any(out), out, active)
        return active & ~out, jnp.where(out, count, left), count + 1

    def unfinished(state: tuple[Array, Array, Array]) -> Any:
        return jnp.any(state[0])

    n = seen.shape[0]
    start = (jnp.ones(n, bool), jnp.zeros(n, jnp.int32), jnp.asarray(0, jnp.int32))
    _, left, count = jax.lax.while_loop(unfinished, round_, start)
    later = jnp.sum(left[None, :] > left[:, None], axis=-1)
    return votes_fit((-later).astype(dtype), seen, rounds=count)


ENTRIES = (
    Entry("nanson", Nanson, source="nanson1882"),
    *(
        Entry(f"nanson_rank_ties_{ties}", Nanson, source="nanson1882", options={"rank_ties": ties}, published=True)
        for ties in RANK_TIES
    ),
    Entry("baldwin", Baldwin, source="baldwin1926"),
    *(
        Entry(f"baldwin_rank_ties_{ties}", Baldwin, source="baldwin1926", options={"rank_ties": ties}, published=True)
        for ties in RANK_TIES
    ),
    Entry("instant_runoff", InstantRunoff, source="hare1859"),
)
