"""Graded battles: how much better, by a cumulative link with symmetric thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.models.pairs.likelihoods import log_odds
from jaxrank.models.pairs.outcomes import Limit, OutcomeModel

_SURE = 1e-6  # a share of battles above 1 less this puts no threshold further out at the start


class GradedOutcomes(OutcomeModel):
    """Pr(y <= c) = sigmoid(k_c - d) for grades y in -C..C, k_{-c-1} = -k_c; behind the strengths are
    k_0 < ... < k_{C-1}, k_0 >= 0 [agresti1992].

    **n_grades**: C. Outcomes: won by 1 .. C, lost by 1 .. C, tied.
    """

    n_grades: int = eqx.field(static=True, default=1)

    @property
    def n_extra(self) -> int:
        return self.n_grades

    def behind(self, extra: Array) -> Array:
        return extra

    def of_counts(self, d: Array, extra: Array, counts: Sequence[Any] | Array) -> Array:
        n = self.n_grades
        total = counts[2 * n] * _between(-extra[0], extra[0], d, counts[2 * n])
        for r in range(n):
            for sign, count in ((1, counts[r]), (-1, counts[n + r])):
                own = sign * d
                inner = _between(extra[r], extra[r + 1], own, count) if r + 1 < n else None
                total = total + count * (jax.nn.log_sigmoid(own - extra[r]) if inner is None else inner)
        return total

    def begin(self, stat: Any) -> Array:
        """Thresholds of equal strengths, exact for these."""
        n = self.n_grades
        each = jnp.sum(stat.counts, axis=(1, 2))
        by_size = jnp.concatenate([each[2 * n :], each[: n - 1] + each[n : 2 * n - 1]])
        share = jnp.cumsum(by_size) / jnp.maximum(jnp.sum(each), 1)
        within = jnp.clip((1 + share) / 2, 0.5, 1 - _SURE)
        pairs = stat.pairs()
        return jnp.concatenate([log_odds(pairs.wins + pairs.ties / 2), jnp.log(within) - jnp.log1p(-within)])

    def limits(self) -> tuple[Limit, ...]:
        n = self.n_grades
        won = [(r, 1, -(r + 1)) for r in range(n)] + [(r, -1, r + 2) for r in range(n - 1)]
        lost = [(n + r, -sign, threshold) for r, sign, threshold in won]
        return (*won, *lost, (2 * n, 1, 1), (2 * n, -1, 1))


def _between(low: Any, high: Any, d: Array, count: Array) -> Array:
    """log(sigmoid(high - d) - sigmoid(low - d)); 0 where nothing was counted."""
    gap = high - low
    inside = jnp.where(gap > 0, jnp.log(-jnp.expm1(-jnp.where(gap > 0, gap, 1))), -jnp.inf)
    value = jax.nn.log_sigmoid(high - d) + jax.nn.log_sigmoid(d - low) + inside
    return jnp.where(count > 0, value, 0)
