"""Voting rules that turn pairwise majorities into an order without cycles: Schulze and ranked pairs."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.data.ballots import Ballots
from jaxrank.models.fit import Fit
from jaxrank.models.options import choice
from jaxrank.models.preferences import TIE_POLICIES, preferences, votes_fit
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.graph import levels, reachability, strong_components
from jaxrank.numerics.paths import widest_paths

STRENGTHS = ("margin", "winning_votes")


class Schulze(Ranker):
    """Schulze's beat-path order: i above j when the strongest chain of victories from i to j beats the one back.

    **Model** p = widest paths over the victories (Q_ij > Q_ji) with the winner's votes as strength; i above j iff
    p_ij > p_ji [schulze2011].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places.
    **Scores** minus the level of the model: 0 at the top, -1 for those with one model above them, ... (longest chain
    from the top of the relation, which is a strict partial order).
    **Fields** ``tie_policy``: "half" (default) adds half of the tied questions to the votes of both, "ignore" does not.
    **Status** undefined where a model has no observed question or stands on no list.
    **Params** ``paths``: (L, L) strengths of the widest paths in votes, 0 where there is none.
    **Departs** in nothing.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    tie_policy: str = choice("half", TIE_POLICIES)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        pref = preferences(stat, ties=self.tie_policy == "half")
        paths = widest_paths(jnp.where(pref.margins > 0, pref.votes(self.tie_policy), 0))
        return votes_fit((-levels(paths > paths.T)).astype(paths.dtype), pref.seen, paths=paths)


class RankedPairs(Ranker):
    """Ranked pairs (Tideman): lock the pairwise victories in falling strength unless one closes a cycle.

    **Model** victories Q_ij > Q_ji in falling strength; a victory is skipped when the loser already stands above the
    winner through locked ones [tideman1987].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places.
    **Scores** minus the level of the model in the locked order (longest chain from the top); 0 at the top.
    **Fields** ``strength``: "margin" (default) or "winning_votes". ``tie_policy``: "half" (default) adds half of the
    tied questions to the votes of both, "ignore" does not; margins are the same under both.
    **Status** undefined where a model has no observed question or stands on no list.
    **Params** ``above``: (L, L), i stands above j in the locked order.
    **Departs** where strengths are equal: the source breaks such ties by a chosen ballot and others by the order of
    labels. Here equal victories are locked together, each unless it closes a cycle with stronger ones; models on a
    cycle of equal victories tie. Labels cannot matter, and where every way to break the ties agrees, so does this.
    **Cost** one closure, L^3 / 32 word operations, for each distinct strength that still decides a pair inside a cycle
    of victories: at most M of them with whole votes (2 M with half votes), L (L - 1) / 2 with fractional weights. There
    is no time limit: 2,000 models in one cycle take seconds with whole votes, a day or more with fractional weights.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    strength: str = choice("margin", STRENGTHS)
    tie_policy: str = choice("half", TIE_POLICIES)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        by_votes = self.strength == "winning_votes"
        pref = preferences(stat, ties=by_votes and self.tie_policy == "half")
        margins = pref.margins
        reach = lock(margins > 0, pref.votes(self.tie_policy) if by_votes else margins)
        above = reach & ~reach.T
        return votes_fit((-levels(above)).astype(margins.dtype), pref.seen, above=above)


def lock(victory: Array, strength: Array) -> Array:
    """Reachability (L, L) over the locked victories; those of equal strength are locked as a group.

    A victory between different strong components of the victory graph never closes a cycle, so all of these are
    locked at the start, and only the strengths inside components are gone through one by one. A victory whose pair
    is linked already, either way, waits no longer: it would add nothing, or be skipped.
    """
    inside = victory & strong_components(reachability(victory))

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        reach, waiting = state
        group = waiting & (strength == jnp.max(jnp.where(waiting, strength, -jnp.inf)))
        reach = reachability(reach | group)
        return reach, waiting & ~(reach | reach.T)

    def unfinished(state: tuple[Array, Array]) -> Any:
        return jnp.any(state[1])

    reach = reachability(victory & ~inside)
    reach, _ = jax.lax.while_loop(unfinished, step, (reach, inside & ~(reach | reach.T)))
    return reach


ENTRIES = (
    Entry("schulze", Schulze, source="schulze2011"),
    *(
        Entry(f"schulze_tie_{policy}", Schulze, source="schulze2011", options={"tie_policy": policy}, published=True)
        for policy in TIE_POLICIES
    ),
    Entry("ranked_pairs", RankedPairs, source="tideman1987"),
    *(
        Entry(
            f"ranked_pairs_strength_{strength}_tie_{policy}",
            RankedPairs,
            source="tideman1987",
            options={"strength": strength, "tie_policy": policy},
            published=True,
        )
        for strength in STRENGTHS
        for policy in TIE_POLICIES
    ),
)
