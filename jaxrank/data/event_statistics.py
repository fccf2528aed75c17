"""``Events`` and ``Sequence``: who did better than whom in one event, as a bag or as a stream."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.device import ones_if_none, put, real
from jaxrank.data.kind import KINDS, Counted, Data, counted
from jaxrank.data.responses import Responses
from jaxrank.data.weights import Weights
from jaxrank.errors import UnsupportedDataError
from jaxrank.numerics.precision import matmul

_DENSE = 2**23  # entries of a dense table


class Events(eqx.Module):
    """Setwise events: on one question in one trial some models succeed and others fail.

    A battle is an event of two models, both successful where they tied; an ordered list is one event for each choice
    that it is made of: the best of all against the rest, the best of the rest, and so on.

    **outcomes**: int (E, L), -1 where a model took no part.  **weights**: (E,).  Equal events may be merged.
    """

    name: ClassVar[str] = "events"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    outcomes: Int[Array, "events models"]
    weights: Float[Array, " events"]

    @classmethod
    def of(cls, data: Data, **_: Any) -> Events:
        if isinstance(data, Responses):
            rows = cls.rows(data, "cell")
            assert isinstance(rows, EventRows)
            return cls(rows.outcomes, rows.multiplicity)
        return cls.reduce(cls.rows(counted(data).distinct()), Weights())

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> EventRows | UnitRows:
        """Distinct events once, and for every unit the events that it contributes."""
        if not isinstance(data, Responses):
            return UnitRows.of(counted(data))
        if data.kind == "real":
            raise UnsupportedDataError(
                "setwise events have winners and losers, and real scores have none; turn them into right and wrong "
                "(R >= threshold), or use a method that reads pairs or ballots (bradley_terry, borda)"
            )
        cells = _cells(data, "setwise events")  # (M * N, L)
        outcomes, index = np.unique(cells, axis=0, return_inverse=True)
        index = index.reshape(-1)
        outcomes = _padded(outcomes, len(cells))
        weights = data.weights
        count = np.bincount(index, np.repeat(weights, data.shape[2]), minlength=len(outcomes))
        grid, dense = (data.shape[1], data.shape[2]), None
        n_units = {"question": grid[0], "trial": grid[1]}.get(unit, 0)
        if 0 < n_units * len(outcomes) <= _DENSE:
            of_cell = np.indices(grid).reshape(2, -1)[0 if unit == "question" else 1]
            each = np.repeat(weights, grid[1])
            flat = np.bincount(of_cell * len(outcomes) + index, each, minlength=n_units * len(outcomes))
            dense = put(flat.reshape(n_units, -1), real())
        known = put(outcomes, jnp.int32), put(count, real()), put(index, jnp.int32)
        return EventRows(*known, dense, grid, put(weights, real()))

    @classmethod
    def reduce(cls, rows: EventRows | UnitRows, weights: Weights) -> Events:
        if isinstance(rows, UnitRows):
            return cls(rows.outcomes, rows.merged(weights))
        if rows.dense is not None:
            w = weights.questions if weights.trials is None else weights.trials
            w = ones_if_none(w, rows.dense.shape[:1])
            return cls(rows.outcomes, matmul(w, rows.dense))
        w = jnp.broadcast_to(ones_if_none(weights.trials, rows.grid), rows.grid) * rows.questions[:, None]
        if weights.questions is not None:
            w = w * weights.questions[:, None]
        merged = jnp.zeros_like(rows.multiplicity).at[rows.index].add(w.reshape(-1))
        return cls(rows.outcomes, merged)

    @classmethod
    def gather(
        cls, outcomes: Int[Array, "models questions trials"], like: Events, order: Any = None, questions: Any = None
    ) -> Events:
        cells = jnp.moveaxis(outcomes, 0, -1).reshape(-1, outcomes.shape[0])
        times = jnp.ones(cells.shape[0], like.weights.dtype)
        if questions is not None:
            times = jnp.repeat(questions.astype(times.dtype), outcomes.shape[2])
        return cls(cells.astype(like.outcomes.dtype), times)

    def restricted(self, members: Int[Array, " size"]) -> Events:
        """The same events among some of the models."""
        return Events(self.outcomes[:, members], self.weights)


class EventRows(eqx.Module):
    """**index**: the event of every cell.  **dense**: how often every event occurs in each trial, or in each question,
    where weights are by these and the table is small: a product takes a tenth of the time of adding cells up."""

    outcomes: Int[Array, "events models"]
    multiplicity: Float[Array, " events"]
    index: Int[Array, " cells"]
    dense: Float[Array, "units events"] | None
    grid: tuple[int, int] = eqx.field(static=True)
    questions: Float[Array, " questions"]


class UnitRows(eqx.Module):
    """Events of battles or ordered lists: the unit that is drawn is a battle or a list, row of the data.

    **outcomes**: distinct events (S, L).  **event**, **unit**: which event (P,) is of which unit (P,).  **count**: how
    often each unit was given (E,).  **weight**: what each counts (E,).  **most_tied**: the most models that are chosen
    in one event, at least 1.
    """

    outcomes: Int[Array, "events models"]
    event: Int[Array, " places"]
    unit: Int[Array, " places"]
    count: Float[Array, " units"]
    weight: Float[Array, " units"]
    most_tied: int = eqx.field(static=True)

    @classmethod
    def of(cls, data: Counted) -> UnitRows:
        outcomes, event, unit = data.choices()
        most_tied = max(int((outcomes == 1).sum(axis=1).max(initial=0)), 1)
        rows = (put(outcomes, jnp.int32), put(event, jnp.int32), put(unit, jnp.int32))
        return cls(*rows, put(data.count, real()), put(data.weight, real()), most_tied)

    def merged(self, weights: Weights) -> Float[Array, " events"]:
        """Weight of every event where ``weights.trials`` (E,) says how often each unit was drawn; None: as given."""
        drawn = self.count if weights.trials is None else weights.trials
        return _merged(drawn * self.weight, self.unit, self.event, self.outcomes.shape[0])


@partial(jax.jit, static_argnames="n")
def _merged(drawn: Array, unit: Array, event: Array, n: int) -> Array:
    return jnp.zeros(n, drawn.dtype).at[event].add(drawn[unit])


class Sequence(eqx.Module):
    """Events in the order they happened, trials outer and questions inner.

    **outcomes**: int (T, M, L), -1 where a model took no part: T trials of M questions each. Battles and ordered lists
    are trials of one question.
    **graded**: False where outcomes are 1 for success and 0 for failure, and two equal failures are a tie as two equal
    successes are. True for ordered lists: a higher outcome is a better place, equal ones tie, and the models at 0 are
    below all others in an unknown order.
    """

    name: ClassVar[str] = "sequence"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    outcomes: Int[Array, "trials questions models"]
    graded: bool = eqx.field(static=True, default=False)

    @classmethod
    def of(cls, data: Data, **_: Any) -> Sequence:
        if isinstance(data, Responses):
            tensor = tensor_of(data, "an ordered sequence")
            if data.kind == "real":
                return cls.gather(put(tensor, jnp.int32), cls(jnp.zeros((0, 0, 0), jnp.int32), True))
            return cls.gather(put(tensor, jnp.int8), None)
        if not np.all(counted(data).weight == 1):
            raise UnsupportedDataError(
                f"rating systems read {data.content} one by one and have no weights; use a method that reads pairs, or "
                'leave the column "weight" out'
            )
        if not np.all(counted(data).count == 1):
            raise UnsupportedDataError(
                f"rating systems read {data.content} in the order given; these have counts other than 1, so their "
                "order is unknown: give every one of them a row of its own, or use a method that reads pairs"
            )
        return cls.of_units(counted(data))

    @classmethod
    def of_units(cls, data: Counted) -> Sequence:
        """Battles or ordered lists row by row, whatever their counts."""
        events = data.events()
        narrow = jnp.int8 if events.max() < 128 else jnp.int16
        return cls(put(events, narrow)[:, None, :], data.form == "rankings")

    @classmethod
    def gather(
        cls, outcomes: Int[Array, "models questions trials"], like: Any, order: Any = None, questions: Any = None
    ) -> Sequence:
        graded = like is not None and like.graded
        if graded:  # of real scores the lowest is a place as any other
            outcomes = jnp.where(outcomes >= 0, outcomes + 1, -1)
        return cls(jnp.transpose(outcomes, (2, 1, 0)), graded)

    def restricted(self, members: Int[Array, " size"]) -> Sequence:
        """The same events among some of the models."""
        return Sequence(self.outcomes[..., members], self.graded)


def tensor_of(data: Responses, what: str) -> np.ndarray:
    """Outcomes (L, M, N); `UnsupportedDataError` where only counts are known."""
    if data.outcomes is None:
        raise UnsupportedDataError(
            f"this method reads {what}: which trial succeeded. These results are counts only; "
            'use a method that reads counts (avg, bayes, borda, rasch), or, where it reads pairs, pairing="all"'
        )
    return data.outcomes


def _cells(data: Responses, what: str) -> np.ndarray:
    tensor = tensor_of(data, what)
    return np.moveaxis(tensor, 0, -1).reshape(-1, tensor.shape[0])


def _padded(outcomes: np.ndarray, most: int) -> np.ndarray:
    """Distinct events padded with empty ones to a power of two (at least 64, at most ``most``), so that data of one
    shape share a compilation."""
    size = min(most, max(64, 1 << (len(outcomes) - 1).bit_length()))
    return np.pad(outcomes, ((0, size - len(outcomes)), (0, 0)), constant_values=-1)
