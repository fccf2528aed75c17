"""``Orders``: what a method reads from ordered lists, the stages of choice that they are made of."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.rankings import Rankings
from jaxrank.data.weights import Weights
from jaxrank.errors import UnsupportedDataError


class Orders(eqx.Module):
    """Stages of choice of ordered lists, equal stages merged.

    **outcomes**: int (S, L), 1 chosen (several: a tie), 0 left over, -1 not in the choice.  **weights**: (S,).
    **most_tied**: the largest tie, at least 1; a shape, as it decides how much a likelihood with ties has to do.
    """

    name: ClassVar[str] = "orders"
    outcomes: Int[Array, "stages models"]
    weights: Float[Array, " stages"]
    most_tied: int = eqx.field(static=True)

    @classmethod
    def of(cls, data: Any, **_: Any) -> Orders:
        if not isinstance(data, Rankings):
            raise UnsupportedDataError(f"this method reads ordered lists (jaxrank.Rankings), not {type(data).__name__}")
        outcomes, weights = data.stages()
        return cls(jnp.asarray(outcomes, jnp.int32), jnp.asarray(weights, jnp.zeros(()).dtype), _most_tied(outcomes))

    @classmethod
    def rows(cls, data: Any, unit: str = "trial", **_: Any) -> OrderRows:
        """The stages of every order apart: the unit that is drawn is an order."""
        if not isinstance(data, Rankings):
            raise UnsupportedDataError(f"this method reads ordered lists (jaxrank.Rankings), not {type(data).__name__}")
        outcomes = data.stages()[0]
        place = {row.tobytes(): i for i, row in enumerate(outcomes)}
        stage, order = [], []
        for i in range(len(data.places)):
            own = data.select(orders=[i]).stages()[0]
            stage += [place[row.tobytes()] for row in own]
            order += [i] * len(own)
        dtype = jnp.zeros(()).dtype
        stages, orders = jnp.asarray(stage, jnp.int32), jnp.asarray(order, jnp.int32)
        count = jnp.asarray(data.count, dtype)
        return OrderRows(jnp.asarray(outcomes, jnp.int32), stages, orders, count, _most_tied(outcomes))

    @classmethod
    def reduce(cls, rows: OrderRows, weights: Weights) -> Orders:
        """``weights.trials`` (E,): how often each order was drawn; None: as often as it was given."""
        drawn = rows.counts if weights.trials is None else weights.trials
        merged = jnp.zeros(rows.outcomes.shape[0], rows.counts.dtype).at[rows.stage].add(drawn[rows.order])
        return cls(rows.outcomes, merged, rows.most_tied)


class OrderRows(eqx.Module):
    outcomes: Int[Array, "stages models"]
    stage: Int[Array, " units"]
    order: Int[Array, " units"]
    counts: Float[Array, " orders"]
    most_tied: int = eqx.field(static=True)


def _most_tied(outcomes: np.ndarray) -> int:
    return max(int((outcomes == 1).sum(axis=1).max(initial=0)), 1)
