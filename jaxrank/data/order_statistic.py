"""``Orders``: what a method reads from ordered lists, the stages of choice that they are made of."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Int

from jaxrank.data.event_statistics import UnitRows
from jaxrank.data.kind import Data, check_kind, counted
from jaxrank.data.weights import Weights


class Orders(eqx.Module):
    """Stages of choice of ordered lists, equal stages merged.

    **outcomes**: int (S, L), 1 chosen (several: a tie), 0 left over, -1 not in the choice.  **weights**: (S,).
    **most_tied**: the largest tie, at least 1; a shape, as it decides how much a likelihood with ties has to do.
    """

    name: ClassVar[str] = "orders"
    kinds: ClassVar[tuple[str, ...]] = ("rankings",)
    outcomes: Int[Array, "stages models"]
    weights: Float[Array, " stages"]
    most_tied: int = eqx.field(static=True)

    @classmethod
    def of(cls, data: Data, **_: Any) -> Orders:
        check_kind(data, cls.kinds, "this method")
        return cls.reduce(UnitRows.of(counted(data)), Weights())

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> UnitRows:
        """The stages of every order apart: the unit that is drawn is an order."""
        check_kind(data, cls.kinds, "this method")
        return UnitRows.of(counted(data))

    @classmethod
    def reduce(cls, rows: UnitRows, weights: Weights) -> Orders:
        """``weights.trials`` (E,): how often each order was drawn; None: as often as it was given."""
        return cls(rows.outcomes, rows.merged(weights), rows.most_tied)

    def restricted(self, members: Int[Array, " size"]) -> Orders:
        """The same choices among some of the models; those whose chosen model is not among them say nothing."""
        return Orders(self.outcomes[:, members], self.weights, self.most_tied)
