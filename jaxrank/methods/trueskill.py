"""TrueSkill beliefs."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
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
from jaxrank.numerics.solve.gaussian import draw_moments, win_moments


class TrueSkill(RatingSystem, Ranker, HasStandardErrors, ByModel, LeavesUnread):
    """TrueSkill mean skills after a stream of two-player matches, all matches of one event at once.

    **Model** skill_i ~ N(mu_i, sigma_i^2), performance ~ N(skill, beta^2), i beats j when its performance is larger
    by more than the draw margin. With c^2 = 2 beta^2 + sigma_i^2 + sigma_j^2, t = (mu_i - mu_j)/c, eps =
    draw_margin/c a win gives mu_i += sigma_i^2/c v(t - eps), sigma_i^2 *= 1 - sigma_i^2/c^2 w(t - eps); draws use the
    doubly truncated moments [herbrich2006]. The matches of an event give one factor each, from the beliefs before it;
    factors multiply. After each trial sigma = sqrt(sigma^2 + tau^2) for the models that took part in it; of battles,
    each of which is a trial, these are the two that met.
    **Reads** the stream: trials outer, questions inner. An event is one question in one trial, one battle, or one
    ordered list, as in `Elo`.
    **Scores** the final mean skills mu.
    **Fields** ``mu``, ``sigma`` > 0, ``beta`` > 0, ``tau`` >= 0, ``draw_margin`` >= 0: defaults 25, 25/3, 25/6, 25/300,
    0 as in the source; the first two for all models or for each, as ``initial`` of `Elo`. ``ties``: "skip" (default),
    "draw", "correct_draw_only", as in `Elo`; a draw with margin 0 says that the performances were equal. ``order``,
    ``n_orders``: as in `Elo`.
    **Params** ``sigma`` (models,): the final standard deviations. ``offset``: mean skill less ``mu``, before ties
    were joined.
    **Standard errors** the final sigma.
    **Status** converged: a model that never played keeps ``mu``.
    **Departs** from match-by-match updating, which depends on the order of the models within an event. The moments
    keep their precision however unlikely the outcome was. The published setting has tau = 1/300.
    """

    statistic: ClassVar[type] = Sequence
    binary: ClassVar[bool] = True
    mu: Any = by_model(25.0)
    sigma: Any = by_model(25 / 3, above=0)
    beta: Any = number(25 / 6, above=0)
    tau: Any = number(25 / 300, 0)
    draw_margin: Any = number(0.0, 0)
    ties: str = choice("skip", TIES)
    order: str = choice("stream", ORDERS)
    n_orders: int = count(100, high=10**6)

    def __call__(self, stat: Sequence, *, key: Any = None) -> Fit:
        found = rate(self, stat, key)
        return rated(found, sigma=jnp.sqrt(found.state[1]))

    @property
    def by_model(self) -> tuple[str, ...]:
        return ("mu", "sigma")

    def standard_errors(self, stat: Sequence, fit: Fit) -> Array:
        return fit.params["sigma"]

    def unread(self, stat: Sequence) -> str:
        return unread_matches(self.ties, stat)

    def options(self) -> tuple[Any, ...]:
        return (self.beta, self.tau, self.draw_margin)

    def start(self) -> tuple[Any, ...]:
        return self.mu, square(self.sigma)

    def play(
        self,
        state: tuple[Array, ...],
        outcome: Array,
        options: tuple[Array, ...],
        careful: bool = False,
        graded: bool = False,
    ) -> tuple[Array, ...]:
        (mean, variance), (beta, _, margin) = state, options

        def meet(own: Any, other: Any) -> tuple[Array, Array]:
            noise = 2 * beta**2 + own[2] + other[2]
            scale = jnp.sqrt(noise)
            side = ahead(own[0], other[0], graded)  # 1 won, -1 lost
            gap = (own[1] - other[1]) / scale
            v, w = win_moments(side * gap - margin / scale)
            v = side * v
            if self.ties != "skip":
                v_draw, w_draw = draw_moments(gap, jnp.broadcast_to(margin / scale, gap.shape))
                v, w = jnp.where(side == 0, v_draw, v), jnp.where(side == 0, w_draw, w)
            met = matched(self.ties, own[0], other[0], graded) & (own[3] != other[3])
            left = 1 - own[2] * w / noise
            return jnp.where(met, v / (scale * left), 0), jnp.where(met, w / (noise * left), 0)

        self_code = jnp.arange(mean.shape[0], dtype=mean.dtype)[:, None]
        pull, precision = sum_over_opponents(meet, outcome, mean, variance, self_code)
        variance = 1 / (1 / variance + precision)
        return mean + variance * pull, variance

    def after_trial(self, state: tuple[Array, ...], played: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        return state[0], state[1] + jnp.where(played, options[1] ** 2, 0)


ENTRIES = (
    Entry(
        "trueskill",
        TrueSkill,
        source="herbrich2006",
        options={"tau": 0.00333333333},
        published=True,
        exempt=READS_ORDER,
    ),
)
