"""Glicko ratings."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.statistics import Sequence
from jaxrank.models.fit import Fit
from jaxrank.models.options import by_model, choice, count, number
from jaxrank.models.ranker import ByModel, Entry, HasStandardErrors, LeavesUnread, Ranker
from jaxrank.models.stream import (
    ORDERS,
    READS_ORDER,
    TIES,
    RatingSystem,
    ahead,
    matched,
    rate,
    rated,
    square,
    sum_over_opponents,
    unread_matches,
)

_Q = np.log(10) / 400


class Glicko(RatingSystem, Ranker, HasStandardErrors, ByModel, LeavesUnread):
    """Glicko ratings after a stream of rating periods, one period for each event.

    **Model** q = ln 10 / 400, g(RD) = 1 / sqrt(1 + 3 q^2 RD^2 / pi^2), E_ij = 1 / (1 + 10^(-g(RD_j) (r_i - r_j) /
    400)), 1/d_i^2 = q^2 sum_j g_j^2 E_ij (1 - E_ij), RD' = (1/RD^2 + 1/d^2)^(-1/2), r' = r + q RD'^2 sum_j g_j (S_ij
    - E_ij) [glickman1999]. Before a period RD = min(sqrt(RD^2 + c^2), rd_max).
    **Reads** the stream: trials outer, questions inner. An event is one question in one trial and one rating period:
    every two models observed in it meet. A battle or an ordered list is an event, as in `Elo`.
    **Scores** the final ratings, on the Elo scale.
    **Fields** ``initial``: rating at the start, default 1500. ``rd`` > 0: deviation at the start, default 350; both for
    all models or for each, as in `Elo`. ``c`` >= 0: growth of the deviation before a period, default 0. ``rd_max``: its
    limit, default 350. ``ties``, ``order``, ``n_orders``: as in `Elo`. All defaults are the published ones.
    **Params** ``rd`` (models,): the final deviations. ``offset``: rating less ``initial``, before ties were joined.
    **Standard errors** the final deviations RD.
    **Status** converged: a model that never played keeps ``initial`` and ``rd``.
    **Departs** in taking an event for a rating period, so that the order of the models does not matter.
    """

    statistic: ClassVar[type] = Sequence
    binary: ClassVar[bool] = True
    initial: Any = by_model(1500.0)
    rd: Any = by_model(350.0, above=0)
    c: Any = number(0.0, 0)
    rd_max: Any = number(350.0, above=0)
    ties: str = choice("skip", TIES)
    order: str = choice("stream", ORDERS)
    n_orders: int = count(100, high=10**6)

    def __call__(self, stat: Sequence, *, key: Any = None) -> Fit:
        found = rate(self, stat, key)
        return rated(found, rd=jnp.sqrt(found.state[1]))

    @property
    def by_model(self) -> tuple[str, ...]:
        return ("initial", "rd")

    def standard_errors(self, stat: Sequence, fit: Fit) -> Array:
        return fit.params["rd"]

    def unread(self, stat: Sequence) -> str:
        return unread_matches(self.ties, stat)

    def options(self) -> tuple[Any, ...]:
        return (self.c, self.rd_max)

    def start(self) -> tuple[Any, ...]:
        return self.initial, square(self.rd)

    def play(
        self,
        state: tuple[Array, ...],
        outcome: Array,
        options: tuple[Array, ...],
        careful: bool = False,
        graded: bool = False,
    ) -> tuple[Array, ...]:
        (rating, variance), (growth, limit) = state, options
        variance = jnp.minimum(variance + growth**2, limit**2)
        g = 1 / jnp.sqrt(1 + (3 * _Q**2 / np.pi**2) * variance)

        def meet(own: Any, other: Any) -> tuple[Array, Array]:
            weight = jnp.where(matched(self.ties, own[0], other[0], graded), other[2], 0)
            expected = jax.nn.sigmoid(_Q * other[2] * (own[1] - other[1]))
            score = (1 + ahead(own[0], other[0], graded)) / 2
            return weight * (score - expected), weight**2 * expected * (1 - expected)

        surprise, information = sum_over_opponents(meet, outcome, rating, g)
        if self.ties != "skip":  # where equals draw, the sums include the meeting with oneself
            information = information - jnp.where(matched(self.ties, outcome, outcome, graded), g**2 / 4, 0)
        variance = 1 / (1 / variance + _Q**2 * jnp.maximum(information, 0))
        return rating + _Q * variance * surprise, variance

    def after_trial(self, state: tuple[Array, ...], played: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        return state


ENTRIES = (
    Entry("glicko", Glicko, source="glickman1999", options={"ties": "draw"}, exempt=READS_ORDER),
    *(
        Entry(
            f"glicko_tie_{rule}",
            Glicko,
            source="glickman1999",
            options={"ties": rule},
            published=True,
            exempt=READS_ORDER,
        )
        for rule in TIES
    ),
)
