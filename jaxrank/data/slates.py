"""``Slates``: choices from sets whose alternatives have covariates, of battles and of ordered lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.comparisons import A_WINS, B_WINS, Comparisons
from jaxrank.data.covariates import Design, flat_combination
from jaxrank.data.device import put, real
from jaxrank.data.kind import Counted, Data, check_kind, counted
from jaxrank.data.rankings import Rankings
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError, OptionError


class Slates(eqx.Module):
    """Choices (S,) from slates of at most K alternatives, none of them merged.

    **members** (S, K): the model of each alternative.  **outcomes** (S, K): 1 chosen, 0 left over, -1 no alternative.
    **x** (S, K, C): covariates in their units ``scale`` (C,), mean 0 over the alternatives of a row of the data.
    **weights** (S,).  **most_tied**: the most that are chosen at once, at least 1.
    """

    name: ClassVar[str] = "slates"
    kinds: ClassVar[tuple[str, ...]] = ("comparisons", "rankings")
    members: Int[Array, "slates places"]
    outcomes: Int[Array, "slates places"]
    x: Float[Array, "slates places covariates"]
    scale: Float[Array, " covariates"]
    weights: Float[Array, " slates"]
    n_models: int = eqx.field(static=True)
    most_tied: int = eqx.field(static=True)

    def by_model(self) -> Int[Array, "slates models"]:
        """The outcomes with a column for each model, -1 where it was no alternative."""
        table = jnp.full((self.members.shape[0], self.n_models), -1, self.outcomes.dtype)
        return table.at[jnp.arange(self.members.shape[0])[:, None], self.members].max(self.outcomes)

    def restricted(self, members: Int[Array, " size"]) -> Slates:
        """The same choices among some of the models; those whose chosen model is not among them say nothing."""
        new = jnp.full(self.n_models, -1).at[members].set(jnp.arange(members.shape[0]))[self.members]
        outcomes = jnp.where(new >= 0, self.outcomes, -1)
        fields = jnp.maximum(new, 0), outcomes, self.x, self.scale, self.weights
        return Slates(*fields, members.shape[0], self.most_tied)


class SlateRows(eqx.Module):
    """The slates of battles or ordered lists: the unit that is drawn is a battle or a list.

    ``members`` .. ``scale`` as of `Slates`.  **unit** (S,): which row of the data each slate is of.  **count**,
    **weight** (E,): how often each row was given, and what it counts.
    """

    members: Int[Array, "slates places"]
    outcomes: Int[Array, "slates places"]
    x: Float[Array, "slates places covariates"]
    scale: Float[Array, " covariates"]
    unit: Int[Array, " slates"]
    count: Float[Array, " units"]
    weight: Float[Array, " units"]
    n_models: int = eqx.field(static=True)
    most_tied: int = eqx.field(static=True)


class Stages(NamedTuple):
    """What `SlateRows` are made of, on the host, float64 and int."""

    members: np.ndarray
    outcomes: np.ndarray
    x: np.ndarray
    scale: np.ndarray
    unit: np.ndarray


@dataclass(frozen=True)
class SlateReader:
    """`Slates` of one design: what a set model with covariates names as its statistic.

    ``of``, ``rows`` and ``reduce`` as of every statistic. **by_row**: a row is a battle or a list, columns and all.
    """

    design: Design
    name: ClassVar[str] = "slates"
    kinds: ClassVar[tuple[str, ...]] = ("comparisons", "rankings")
    by_row: ClassVar[bool] = True

    def of(self, data: Data, pairing: str = "aligned", **_: Any) -> Slates:
        return self.reduce(self.rows(data), Weights())

    def rows(self, data: Data, unit: str = "trial", **_: Any) -> SlateRows:
        check_kind(data, self.kinds, "a set model with covariates")
        data = counted(data)
        stages, dtype = stages_of(data, self.design), real()
        most_tied = max(int((stages.outcomes == 1).sum(axis=1).max(initial=0)), 1)
        return SlateRows(
            put(stages.members, jnp.int32),
            put(stages.outcomes, jnp.int32),
            put(stages.x, dtype),
            put(stages.scale, dtype),
            put(stages.unit, jnp.int32),
            put(data.count, dtype),
            put(data.weight, dtype),
            len(data.models),
            most_tied,
        )

    def reduce(self, rows: SlateRows, weights: Weights) -> Slates:
        """``weights.trials`` (E,): how often each row counts; None: as often as it was given."""
        drawn = rows.weight * (rows.count if weights.trials is None else weights.trials)
        fields = rows.members, rows.outcomes, rows.x, rows.scale, drawn[rows.unit]
        return Slates(*fields, rows.n_models, rows.most_tied)


def stages_of(data: Counted, design: Design) -> Stages:
    """The choices that battles or ordered lists are made of, with the covariates of their alternatives: of a battle the
    winner, both where they tied; of a list the best of all, the best of the rest, and so on."""
    if isinstance(data, Comparisons):
        x, scale = design.values(data)
        members = np.stack([data.a, data.b], axis=1)
        outcomes = np.stack([data.outcome != B_WINS, data.outcome != A_WINS], axis=1).astype(int)
        x = x / (2 * scale[:, None])
        return Stages(members, outcomes, np.stack([x, -x]).transpose(2, 0, 1), scale, np.arange(len(members)))
    assert isinstance(data, Rankings)
    seen = data.places > 0
    members = np.argsort(~seen, axis=1, kind="stable")[:, : seen.sum(axis=1).max()]
    at = lambda table: np.take_along_axis(table, members, axis=1)
    inside, place = at(seen), at(data.places)
    x = np.zeros((*members.shape, len(design.columns)))
    for k, name in enumerate(design.columns):
        x[..., k] = at(data.columns[name])
    x = _centred(x, inside)
    units, outcomes = [np.zeros(0, int)], [np.zeros((0, members.shape[1]), int)]
    n_places = data.places.max(axis=1)
    for p in range(1, int(n_places.max()) + 1):
        rows = np.flatnonzero((n_places > p) | ((n_places == p) & ~data.open_end))
        stage = np.where(place[rows] == p, 1, np.where(place[rows] > p, 0, -1))
        choice = (stage >= 0).sum(axis=1) > 1
        units.append(rows[choice])
        outcomes.append(stage[choice])
    unit = np.concatenate(units)
    return Stages(members[unit], np.concatenate(outcomes), x[unit], np.ones(len(design.columns)), unit)


def _centred(x: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Covariates (S, K, C) less their mean over the alternatives that are present (S, K), 0 at others; exactly 0 where
    all are equal."""
    first = np.take_along_axis(x, np.argmax(present, axis=1)[:, None, None], axis=1)
    x = np.where(present[..., None], x - first, 0)
    mean = x.sum(axis=1, keepdims=True) / np.maximum(present.sum(axis=1), 1)[:, None, None]
    return np.where(present[..., None], x - mean, 0)


def check_slates(design: Design, data: object, whole: bool, identified: bool) -> None:
    """`OptionError` or `DataError` for data without these covariates, and, where they must be ``identified`` without a
    prior, for covariates that say nothing beside the models. ``whole``: whether a tie of a whole slate is read."""
    if not isinstance(data, Comparisons | Rankings):
        raise OptionError(
            f"{design.given}: covariates are columns of battles (jaxrank.Comparisons) or ordered lists "
            "(jaxrank.Rankings), and these data are neither; leave covariates and side out"
        )
    if isinstance(data, Rankings):
        _check_columns(design, data)
    stages = stages_of(data, design)
    if identified and len(stages.members):
        design.refuse(_unidentified(stages, len(data.models), whole), data.unit)


def _check_columns(design: Design, data: Rankings) -> None:
    if design.side:
        raise OptionError(
            "side=True: which of two was shown first is known of battles; of ordered lists name a column with the "
            "position of each model in covariates"
        )
    of_models = [name for name, column in data.columns.items() if column.ndim == 2]
    for name in design.columns:
        if name not in of_models:
            alike = "holds one value for a whole order" if name in data.columns else "is not there"
            raise OptionError(
                f"covariates: a column {name!r} {alike}; the columns with a number for each model of an order are "
                f"{', '.join(map(repr, of_models)) or 'none'}. Choose among these"
            )
        if (bad := (data.places > 0) & ~np.isfinite(data.columns[name])).any():
            row, i = np.argwhere(bad)[0]
            raise DataError(
                f"covariates: column {name!r} has no number for a model in {int(bad.any(axis=1).sum())} of {len(bad)} "
                f"orders, the first is {data.models[i]!r} in row {row}; leave these out with select(orders=...), or "
                "fill them in"
            )


def _unidentified(stages: Stages, n_models: int, whole: bool) -> np.ndarray | None:
    """A combination (C,) of covariates that is, within every slate that says anything, a difference of something that
    each model has; None where there is none."""
    present = stages.outcomes >= 0
    size = present.sum(axis=1)
    n_chosen = (stages.outcomes == 1).sum(axis=1)
    used = (n_chosen > 0) & (size > 1) & (whole | (n_chosen < size))
    members, present, size = stages.members[used], present[used], size[used]
    x = _centred(stages.x[used], present)
    laplacian = np.diag(np.bincount(members.ravel(), present.ravel(), n_models))
    share = present / np.maximum(size, 1)[:, None]
    for k in range(members.shape[1]):
        cell = members[:, k, None] * n_models + members
        laplacian -= np.bincount(cell.ravel(), (present[:, k, None] * share).ravel(), n_models**2).reshape(n_models, -1)
    pull = np.stack([np.bincount(members.ravel(), v.ravel(), n_models) for v in np.moveaxis(x, 2, 0)])
    flat = x.reshape(-1, x.shape[2])
    return flat_combination(laplacian, pull, flat.T @ flat)
