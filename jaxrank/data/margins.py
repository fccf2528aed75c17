"""``Margins``: by how much battles were won, summed by pair."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.comparisons import A_WINS, B_WINS, Comparisons
from jaxrank.data.device import put, real
from jaxrank.data.kind import Data, check_kind
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError

MARGIN, VARIANCE = "margin", "variance"
_POINTS = ("score_a", "score_b")


class MarginRows(eqx.Module):
    """Battles (E,): the two models **a**, **b**, by how much a won, what that weighs, and how often it came."""

    a: Int[Array, " battles"]
    b: Int[Array, " battles"]
    margin: Float[Array, " battles"]
    weight: Float[Array, " battles"]
    count: Float[Array, " battles"]
    n_models: int = eqx.field(static=True)


class Margins(eqx.Module):
    """Margins of battles by pair.

    **weight** (L, L): sum of the weights of a pair's battles, symmetric.  **pull** (L, L): sum of weight times margin
    in favour of the row, antisymmetric.  **square** (L, L): sum of weight times squared margin, and **number** (L, L):
    battles with a weight, both symmetric.
    """

    name: ClassVar[str] = "margins"
    kinds: ClassVar[tuple[str, ...]] = ("comparisons",)
    by_row: ClassVar[bool] = True
    weight: Float[Array, "models models"]
    pull: Float[Array, "models models"]
    square: Float[Array, "models models"]
    number: Float[Array, "models models"]

    @classmethod
    def of(cls, data: Data, pairing: str = "aligned", **_: Any) -> Margins:
        return cls.reduce(cls.rows(data), Weights())

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> MarginRows:
        check_kind(data, cls.kinds, "a method of margins")
        assert isinstance(data, Comparisons)
        dtype = real()
        margin, weight = put(margins(data), dtype), put(data.weight / variances(data), dtype)
        ends = put(data.a, jnp.int32), put(data.b, jnp.int32)
        return MarginRows(*ends, margin, weight, put(data.count, dtype), len(data.models))

    @classmethod
    def reduce(cls, rows: MarginRows, weights: Weights) -> Margins:
        """``weights.trials`` (E,): how often each battle counts; None: as often as it was fought."""
        often = rows.count if weights.trials is None else weights.trials
        total, n = often * rows.weight, rows.n_models
        at = lambda v: jnp.zeros((n, n), total.dtype).at[rows.a, rows.b].add(v)
        weight, pull, square = at(total), at(total * rows.margin), at(total * rows.margin**2)
        number = at(jnp.where(rows.weight > 0, often, 0))
        return cls(weight + weight.T, pull - pull.T, square + square.T, number + number.T)

    def restricted(self, members: Int[Array, " size"]) -> Margins:
        """The battles among some of the models."""
        inside = lambda table: table[members[:, None], members[None, :]]
        return Margins(inside(self.weight), inside(self.pull), inside(self.square), inside(self.number))


def margins(data: Comparisons) -> np.ndarray:
    """By how much a won each battle, float64 (E,), below 0 where b did: the column "margin", else the points of both
    sides, else 1, -1 or 0 for a tie."""
    if MARGIN in data.columns:
        return _numbers(data, MARGIN)
    if all(name in data.columns for name in _POINTS):
        return _numbers(data, _POINTS[0]) - _numbers(data, _POINTS[1])
    return np.select([data.outcome == A_WINS, data.outcome == B_WINS], [1.0, -1.0], 0.0)


def variances(data: Comparisons) -> np.ndarray:
    """The variance of each margin up to a factor that all share: the column "variance", else 1."""
    if VARIANCE not in data.columns:
        return np.ones(len(data.a))
    given = _numbers(data, VARIANCE)
    if (bad := given <= 0).any():
        row = int(np.argmax(bad))
        raise DataError(f"column {VARIANCE!r} is {given[row]:g} in row {row}; a variance is above 0")
    return given


def _numbers(data: Comparisons, name: str) -> np.ndarray:
    given = data.columns[name]
    known = np.isfinite(given) if given.dtype.kind == "f" else np.zeros(len(given), bool)
    if not known.all():
        raise DataError(
            f"column {name!r} has no number in {int((~known).sum())} of {len(given)} battles, the first is row "
            f"{int(np.argmin(known))}; leave these out with select(battles=...)"
        )
    return given
