"""Elo ratings."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.statistics import Sequence
from jaxrank.models.fit import Fit
from jaxrank.models.options import by_model, choice, count, number
from jaxrank.models.ranker import ByModel, Entry, LeavesUnread, Ranker
from jaxrank.models.stream import (
    ORDERS,
    READS_ORDER,
    TIES,
    RatingSystem,
    ahead,
    matched,
    rate,
    rated,
    sum_over_opponents,
    unread_matches,
)

_SCALE = np.log(10) / 400
PER_EVENT = ("mean", "sum")


class Elo(RatingSystem, Ranker, ByModel, LeavesUnread):
    """Elo ratings after a stream of matches, all matches of one event at once.

    **Model** E_ij = 1 / (1 + 10^((r_j - r_i)/400)), r_i += K (S_ij - E_ij) [elo1978].
    **Reads** the stream: trials outer, questions inner. An event is one question in one trial; every two models that
    were observed in it meet, and all meetings are computed from the ratings before the event. A battle is an event of
    two. An ordered list is one event, in the order given: the better placed of two wins, and where ties are played
    equal places draw; the models of an open end do not meet each other.
    **Scores** the final ratings, on the Elo scale (400 points are odds of 10 to 1).
    **Fields** ``K`` > 0: step, default 4. ``initial``: rating at the start, default 1500; one for all, an array (L,),
    or a mapping from names, which leaves the default to the others, so that earlier ratings go on from where they
    stood. ``ties``: what two models with the same outcome do: "skip" no match (default), "draw" half a point each,
    "correct_draw_only" a draw where both are right and no match where both are wrong. ``per_event``: "mean" (default)
    divides K by the number of matches of a model in the event, "sum" adds all of them up as published. ``order``:
    "stream" (default) as the data come, "shuffled" the mean over ``n_orders`` (default 100) random orders of all
    events, with the spread in ``params["order_sd"]``.
    **Params** ``offset``: rating less ``initial``, before ties were joined.
    **Status** converged: a model that never played keeps ``initial``.
    **Departs** from match-by-match updating, which depends on the order of the models within an event. With "sum" and
    K = 32 the ratings of a full benchmark are near noise, as each event moves a model by up to K times the number of
    its opponents; hence the defaults "mean" and K = 4. In a single order the last 700/K events weigh most; "shuffled"
    averages that out and says how much it mattered.
    """

    statistic: ClassVar[type] = Sequence
    binary: ClassVar[bool] = True
    overflows: ClassVar[bool] = True  # where ratings are 15,000 points apart in float32
    fewest_lanes: ClassVar[int] = 16  # they fill the registers
    K: Any = number(4.0, above=0)
    initial: Any = by_model(1500.0)
    ties: str = choice("skip", TIES)
    per_event: str = choice("mean", PER_EVENT)
    order: str = choice("stream", ORDERS)
    n_orders: int = count(100, high=10**6)

    def __call__(self, stat: Sequence, *, key: Any = None) -> Fit:
        return rated(rate(self, stat, key))

    @property
    def by_model(self) -> tuple[str, ...]:
        return ("initial",)

    def unread(self, stat: Sequence) -> str:
        return unread_matches(self.ties, stat)

    def options(self) -> tuple[Any, ...]:
        return (self.K,)

    def start(self) -> tuple[Any, ...]:
        return (self.initial,)

    def play(
        self,
        state: tuple[Array, ...],
        outcome: Array,
        options: tuple[Array, ...],
        careful: bool = False,
        graded: bool = False,
    ) -> tuple[Array, ...]:
        (rating,), (step,) = state, options
        if careful:

            def expect(own: Any, other: Any) -> tuple[Array]:
                chance = jax.nn.sigmoid(_SCALE * (own[1] - other[1]))
                return (jnp.where(matched(self.ties, own[0], other[0], graded), chance, 0),)

            (expected,) = sum_over_opponents(expect, outcome, rating)
        else:
            # 10^(r/400): then E_ij = x_i / (x_i + x_j), one division and no exponential for a pair.
            strength = jnp.exp(_SCALE * rating)

            def meet(own: Any, other: Any) -> tuple[Array]:
                return (jnp.where(matched(self.ties, own[0], other[0], graded), 1 / (own[1] + other[1]), 0),)

            (faced,) = sum_over_opponents(meet, outcome, strength, written_out=True)
            expected = strength * faced
        won, matches = self._graded_score(outcome) if graded else self._score(outcome)
        gain = won - expected
        if self.per_event == "mean":
            gain = gain / jnp.maximum(matches, 1)
        return (rating + step * gain,)

    def _score(self, outcome: Array) -> tuple[Array, Array]:
        """Points and matches of every model. Where equals draw, half a point of the meeting with oneself is among the
        points, as it is among those expected."""
        right, wrong = (outcome == 1).astype(outcome.dtype), (outcome == 0).astype(outcome.dtype)
        n_right, n_wrong = (jnp.sum(x, axis=0, keepdims=True) for x in (right, wrong))
        won = right * n_wrong
        matches = won + wrong * n_right
        if self.ties != "skip":
            won = won + right * n_right / 2
            matches = matches + right * (n_right - 1)
        if self.ties == "draw":
            won = won + wrong * n_wrong / 2
            matches = matches + wrong * (n_wrong - 1)
        return won, matches

    def _graded_score(self, outcome: Array) -> tuple[Array, Array]:
        """The same from places in an ordered list."""

        def meet(own: Any, other: Any) -> tuple[Array, Array]:
            met = matched(self.ties, own[0], other[0], True)
            return jnp.where(met, (1 + ahead(own[0], other[0], True)) / 2, 0), met.astype(outcome.dtype)

        won, matches = sum_over_opponents(meet, outcome)
        itself = matched(self.ties, outcome, outcome, True).astype(outcome.dtype)
        return won, matches - itself

    def after_trial(self, state: tuple[Array, ...], played: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        return state


_PUBLISHED = {"K": 0.05, "per_event": "sum"}

ENTRIES = (
    Entry("elo", Elo, source="elo1978", exempt=READS_ORDER),
    *(
        Entry(
            f"elo_tie_{rule}",
            Elo,
            source="elo1978",
            options={**_PUBLISHED, "ties": rule},
            published=True,
            exempt=READS_ORDER,
        )
        for rule in TIES
    ),
)
