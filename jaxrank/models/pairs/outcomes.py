"""What outcomes a battle has, given the difference of the strengths and what else shifts it."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array

Limit = tuple[int, int, int]
"""(outcome, sign, threshold): along a direction in which the outcome becomes no less likely, sign * eta may not fall by
more than the threshold rises; threshold t > 0 is number t - 1 of the parameters behind the strengths, t < 0 is minus
number -t - 1, 0 is none."""


class OutcomeModel(eqx.Module):
    """Outcomes in the order of `Battles.counts`, and ``n_extra`` parameters behind the strengths.

    **tied**: whether a tie, the last outcome, is one; otherwise ties are not read.
    **untied**: where the first parameter behind the strengths is held when nothing tied at all.
    """

    tied: ClassVar[bool] = True
    untied: ClassVar[float] = 0.0

    @property
    @abc.abstractmethod
    def n_extra(self) -> int:
        """Number of parameters behind the strengths."""

    @abc.abstractmethod
    def of_counts(self, d: Array, extra: Array, counts: Sequence[Any] | Array) -> Array:
        """Log probability of so many battles of every outcome, elementwise: ``d`` the difference of strengths and what
        shifts it, ``extra`` (n_extra,) what `behind` gives."""

    @abc.abstractmethod
    def behind(self, extra: Array) -> Array:
        """What `of_counts` takes as ``extra``, from the parameters behind the strengths, which may be none."""

    @abc.abstractmethod
    def begin(self, stat: Any) -> Array:
        """Strengths and what is behind them, from which Newton's method converges on `Battles`."""

    @abc.abstractmethod
    def limits(self) -> tuple[Limit, ...]:
        """What bounds a direction in which no battle becomes less likely."""
