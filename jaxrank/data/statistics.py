"""The four things a method can read: ``Counts``, ``Pairs``, ``Events``, ``Sequence``.

A statistic is a pytree of device arrays. It is made in one of two ways that agree to the last bit:

* ``S.of(data, ...)``: from whole data, on the host, exactly;
* ``S.reduce(S.rows(data, ...), weights)``: from per-unit contributions ``rows`` (made once) and weights, by one
  matrix product. Under ``vmap`` over the weights a whole chunk of replicates is one product.

Weights count how often a unit was drawn (or a Dirichlet weight). Trials and questions are weighted apart, since the
mean over questions needs the multiplicity of a question beside the counts in it.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.pairing import all_pairs, pair_blocks
from jaxrank.data.rankings import Rankings
from jaxrank.data.responses import Responses
from jaxrank.data.weights import Rows, Weights
from jaxrank.errors import UnsupportedDataError

HIGHEST = jax.lax.Precision.HIGHEST
_DENSE = 2**23  # entries of a dense table


class Counts(eqx.Module):
    """Category counts of every cell.

    **categories**: (L, M, C+1) observed (weighted) trials of each category.  **questions**: (M,) multiplicity of each
    question.  **levels**: (C+1,) value of each category, 0..C unless the user gave others.
    """

    name: ClassVar[str] = "counts"
    categories: Float[Array, "models questions categories"]
    questions: Float[Array, " questions"]
    levels: Float[Array, " categories"]

    @property
    def trials(self) -> Float[Array, "models questions"]:
        return jnp.sum(self.categories, axis=-1)

    @property
    def successes(self) -> Float[Array, "models questions"]:
        """Trials with outcome 1 of binary data."""
        return self.categories[..., 1]

    @property
    def observed(self) -> Float[Array, "models questions"]:
        """Weight of each cell in a mean over questions: the question's multiplicity, 0 where nothing was observed."""
        return jnp.where(self.trials > 0, self.questions, 0)

    @property
    def means(self) -> Float[Array, "models questions"]:
        """Mean value of the trials of each cell, on the scale of ``levels``; 0 where nothing was observed."""
        return jnp.where(self.trials > 0, self.levels[0] + self.heights, 0)

    @property
    def heights(self) -> Float[Array, "models questions"]:
        """Mean value of the trials of each cell above the lowest level, so that no common part of the levels costs
        digits; 0 where nothing was observed."""
        n = self.trials
        above = jnp.matmul(self.categories, self.levels - self.levels[0], precision=HIGHEST)
        return jnp.where(n > 0, above / jnp.where(n > 0, n, 1), 0)

    @property
    def shares(self) -> Float[Array, "models questions"]:
        """Share of the trials of each cell with outcome 1 of binary data; 0 where nothing was observed."""
        n = self.trials
        return self.successes / jnp.where(n > 0, n, 1)

    def mean_over_questions(self, values: Float[Array, "models questions"]) -> Float[Array, " models"]:
        """Mean of ``values`` over the observed questions of each model; NaN where a model has none."""
        w = self.observed
        return jnp.sum(w * values, axis=-1) / jnp.sum(w, axis=-1)

    @classmethod
    def of(cls, data: Responses | Comparisons, **_: Any) -> Counts:
        r = _responses(data, "counts of a response tensor")
        dtype = _float()
        return cls(_put(r.counts, dtype), _put(np.ones(r.counts.shape[1]), dtype), _put(r.levels, dtype))

    @classmethod
    def rows(cls, data: Responses, unit: str = "trial", **_: Any) -> CountRows:
        r = _responses(data, "counts of a response tensor")
        shape = r.counts.shape
        levels = _put(r.levels, _float())
        if unit == "question":
            flat = r.counts.reshape(1, -1)
        else:
            hot = _one_hot(r, "per-trial counts")  # (C+1, L, M, N)
            if unit == "trial":
                flat = np.transpose(hot, (3, 1, 2, 0)).reshape(hot.shape[3], -1)
            else:
                flat = np.transpose(hot, (2, 3, 1, 0)).reshape(hot.shape[2] * hot.shape[3], -1)
        return CountRows(Rows(_put(flat, _float()), shape, unit), levels)

    @classmethod
    def reduce(cls, rows: CountRows, weights: Weights) -> Counts:
        r, (n_models, n_questions, n_categories) = rows.rows, rows.rows.shape
        questions = jnp.ones(n_questions, r.flat.dtype) if weights.questions is None else weights.questions
        if r.unit == "question":
            categories = r.flat.reshape(r.shape)
        elif r.unit == "trial":
            trials = _ones_if_none(weights.trials, r.flat.shape[:1])
            categories = jnp.matmul(trials, r.flat, precision=HIGHEST).reshape(r.shape)
        else:
            by_question = r.flat.reshape(n_questions, -1, n_models * n_categories)
            trials = jnp.broadcast_to(_ones_if_none(weights.trials, by_question.shape[:2]), by_question.shape[:2])
            sums = jnp.einsum("mn,mnd->md", trials, by_question, precision=HIGHEST)
            categories = jnp.moveaxis(sums.reshape(n_questions, n_models, n_categories), 0, 1)
        return cls(categories, questions, rows.levels)

    @classmethod
    def gather(cls, outcomes: Int[Array, "models questions trials"], like: Counts) -> Counts:
        """From a tensor of outcomes on device (-1 missing); ``like`` gives the number of categories and the levels."""
        grades = jnp.arange(like.categories.shape[-1], dtype=outcomes.dtype)
        categories = jnp.sum(outcomes[:, :, None, :] == grades[None, None, :, None], axis=-1).astype(
            like.categories.dtype
        )
        return cls(categories, like.questions, like.levels)


class CountRows(eqx.Module):
    rows: Rows
    levels: Float[Array, " categories"]


class Pairs(eqx.Module):
    """Totals of pairwise comparisons.

    **wins**: (L, L), ``wins[i, j]`` times i was better than j.  **ties**: (L, L) symmetric.
    """

    name: ClassVar[str] = "pairs"
    wins: Float[Array, "models models"]
    ties: Float[Array, "models models"]

    @property
    def total(self) -> Float[Array, "models models"]:
        """Comparisons of each pair."""
        return self.wins + jnp.swapaxes(self.wins, 0, 1) + self.ties

    @property
    def preference(self) -> Float[Array, "models models"]:
        """(wins + ties / 2) / total; 1/2 on the diagonal and where a pair was never compared."""
        total = self.total
        share = (self.wins + self.ties / 2) / jnp.where(total > 0, total, 1)
        seen = (total > 0) & ~jnp.eye(total.shape[0], dtype=bool)
        return jnp.where(seen, share, 0.5)

    @classmethod
    def of(cls, data: Responses | Comparisons, pairing: str = "aligned", **_: Any) -> Pairs:
        dtype = _float()
        if isinstance(data, Comparisons | Rankings):
            return cls(_put(data.wins, dtype), _put(data.ties, dtype))
        if pairing == "all":
            wins, ties = all_pairs(data.counts.astype(float), np.ones(data.counts.shape[1]), np.einsum)
        else:
            wins, ties = (x.sum(axis=0, dtype=float) for x in _pair_blocks(data, "trial"))
        return cls(_put(wins, dtype), _put(ties, dtype))

    @classmethod
    def rows(cls, data: Responses, unit: str = "trial", pairing: str = "aligned", **_: Any) -> Any:
        if pairing == "all":
            return Counts.rows(data, unit)
        wins, ties = _pair_blocks(data, unit)
        put = lambda x: Rows(_put(x.reshape(len(x), -1), _float()), x.shape[1:], unit)
        return PairRows(put(wins), put(ties))

    @classmethod
    def reduce(cls, rows: Any, weights: Weights) -> Pairs:
        if isinstance(rows, CountRows):
            counts = Counts.reduce(rows, weights)
            contract = functools.partial(jnp.einsum, precision=HIGHEST)
            return cls(*all_pairs(counts.categories, counts.questions, contract))
        n_units, unit = rows.wins.flat.shape[0], rows.wins.unit
        if unit == "trial":
            w = _ones_if_none(weights.trials, (n_units,))
        elif unit == "question":
            w = _ones_if_none(weights.questions, (n_units,))
        else:
            given = weights.trials if weights.questions is None else weights.questions
            n_questions = n_units if given is None else given.shape[0]
            grid = (n_questions, n_units // n_questions)
            trials = jnp.broadcast_to(_ones_if_none(weights.trials, grid), grid)
            w = (trials * _ones_if_none(weights.questions, grid[:1])[:, None]).reshape(-1)
        product = lambda x: jnp.matmul(w, x.flat, precision=HIGHEST).reshape(x.shape)
        return cls(product(rows.wins), product(rows.ties))

    @classmethod
    def gather(cls, outcomes: Int[Array, "models questions trials"], like: Pairs) -> Pairs:
        """From a tensor of outcomes on device (-1 missing), pairing trial n with trial n."""
        flat = outcomes.reshape(outcomes.shape[0], -1)
        a, b = flat[:, None, :], flat[None, :, :]
        both = (a >= 0) & (b >= 0)
        off = ~jnp.eye(flat.shape[0], dtype=bool)
        wins = jnp.sum(both & (a > b), axis=-1).astype(like.wins.dtype)
        ties = jnp.where(off, jnp.sum(both & (a == b), axis=-1), 0).astype(like.wins.dtype)
        return cls(wins, ties)


class PairRows(eqx.Module):
    """Apart, so that the product with the ties is left out where a method does not read them."""

    wins: Rows
    ties: Rows


class Events(eqx.Module):
    """Setwise events: on one question in one trial some models succeed and others fail.

    **outcomes**: int (E, L), -1 where a model took no part.  **weights**: (E,).  Equal events may be merged.
    """

    name: ClassVar[str] = "events"
    outcomes: Int[Array, "events models"]
    weights: Float[Array, " events"]

    @classmethod
    def of(cls, data: Responses | Comparisons, **_: Any) -> Events:
        rows = cls.rows(data, "cell")
        return cls(rows.outcomes, rows.multiplicity)

    @classmethod
    def rows(cls, data: Responses | Comparisons, unit: str = "trial", **_: Any) -> EventRows:
        """Distinct events once, and for every unit the events that it contributes."""
        if isinstance(data, Comparisons):
            outcomes, count = _battle_events(data.distinct())
            grid = (1, len(outcomes))
            return EventRows(_put(outcomes, jnp.int32), _put(count, _float()), jnp.arange(grid[1]), None, grid)
        cells = _cells(data, "setwise events")  # (M * N, L)
        outcomes, index = np.unique(cells, axis=0, return_inverse=True)
        index = index.reshape(-1)
        outcomes = _padded(outcomes, len(cells))
        count = np.bincount(index, minlength=len(outcomes))
        grid, dense = (data.shape[1], data.shape[2]), None
        n_units = {"question": grid[0], "trial": grid[1]}.get(unit, 0)
        if 0 < n_units * len(outcomes) <= _DENSE:
            of_cell = np.indices(grid).reshape(2, -1)[0 if unit == "question" else 1]
            flat = np.bincount(of_cell * len(outcomes) + index, minlength=n_units * len(outcomes))
            dense = _put(flat.reshape(n_units, -1), _float())
        return EventRows(_put(outcomes, jnp.int32), _put(count, _float()), _put(index, jnp.int32), dense, grid)

    @classmethod
    def reduce(cls, rows: EventRows, weights: Weights) -> Events:
        if rows.dense is not None:
            w = weights.questions if weights.trials is None else weights.trials
            w = _ones_if_none(w, rows.dense.shape[:1])
            return cls(rows.outcomes, jnp.matmul(w, rows.dense, precision=HIGHEST))
        w = jnp.broadcast_to(_ones_if_none(weights.trials, rows.grid), rows.grid).astype(rows.multiplicity.dtype)
        if weights.questions is not None:
            w = w * weights.questions[:, None]
        merged = jnp.zeros_like(rows.multiplicity).at[rows.index].add(w.reshape(-1))
        return cls(rows.outcomes, merged)

    @classmethod
    def gather(cls, outcomes: Int[Array, "models questions trials"], like: Events) -> Events:
        cells = jnp.moveaxis(outcomes, 0, -1).reshape(-1, outcomes.shape[0])
        return cls(cells.astype(like.outcomes.dtype), jnp.ones(cells.shape[0], like.weights.dtype))


class EventRows(eqx.Module):
    """**index**: the event of every cell.  **dense**: how often every event occurs in each trial, or in each question,
    where weights are by these and the table is small: a product takes a tenth of the time of adding cells up."""

    outcomes: Int[Array, "events models"]
    multiplicity: Float[Array, " events"]
    index: Int[Array, " cells"]
    dense: Float[Array, "units events"] | None
    grid: tuple[int, int] = eqx.field(static=True)


class Sequence(eqx.Module):
    """Events in the order they happened, trials outer and questions inner.

    **outcomes**: int (T, M, L), -1 where a model took no part: T trials of M questions each.
    """

    name: ClassVar[str] = "sequence"
    outcomes: Int[Array, "trials questions models"]

    @classmethod
    def of(cls, data: Responses | Comparisons, **_: Any) -> Sequence:
        if isinstance(data, Comparisons):
            outcomes, count = _battle_events(data)
            if not np.all(count == 1):
                raise UnsupportedDataError(
                    "rating systems read battles in order; these have counts, so their order is unknown"
                )
            return cls(_put(outcomes, jnp.int8)[:, None, :])
        return cls.gather(jnp.asarray(_tensor(_responses(data, "events in order"), "events in order"), jnp.int8), None)

    @classmethod
    def gather(cls, outcomes: Int[Array, "models questions trials"], like: Any) -> Sequence:
        return cls(jnp.transpose(outcomes, (2, 1, 0)))


def _float() -> Any:
    return jnp.zeros(()).dtype  # float64 inside jax.enable_x64(True), else float32


def _put(x: Any, dtype: Any) -> Array:
    """A host array on the device. NumPy changes its type: JAX would compile a program to do that."""
    return jnp.asarray(np.asarray(x, dtype))


def _ones_if_none(x: Any, shape: tuple[int, ...]) -> Any:
    return jnp.ones(shape) if x is None else x


def _responses(data: Any, what: str) -> Responses:
    if isinstance(data, Responses):
        return data
    raise UnsupportedDataError(f"this method reads {what}; battles (Comparisons) do not have them")


def _tensor(data: Responses, what: str) -> np.ndarray:
    if data.outcomes is None:
        raise UnsupportedDataError(
            f"this method reads {what}: which trial succeeded. These results are counts only; "
            'use a method that reads counts, or pairing="all"'
        )
    return data.outcomes


def _one_hot(data: Responses, what: str) -> np.ndarray:
    """float32 (C+1, L, M, N): 1 where the outcome is category c."""
    tensor = _tensor(data, what)
    return np.stack([tensor == c for c in range(data.n_categories)]).astype(np.float32)


def _pair_blocks(data: Responses, unit: str) -> tuple[np.ndarray, np.ndarray]:
    return pair_blocks(_one_hot(_responses(data, "pairs"), "trials paired by their index"), unit)


def _cells(data: Responses, what: str) -> np.ndarray:
    tensor = _tensor(_responses(data, what), what)
    return np.moveaxis(tensor, 0, -1).reshape(-1, tensor.shape[0])


def _padded(outcomes: np.ndarray, most: int) -> np.ndarray:
    """Distinct events padded with empty ones to a power of two (at least 64, at most ``most``), so that data of one
    shape share a compilation."""
    size = min(most, max(64, 1 << (len(outcomes) - 1).bit_length()))
    return np.pad(outcomes, ((0, size - len(outcomes)), (0, 0)), constant_values=-1)


def _battle_events(data: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """(E, L) outcomes with -1 for models that took no part; a tie is 1 and 1."""
    outcomes = np.full((len(data.a), len(data.models)), -1, np.int8)
    rows = np.arange(len(data.a))
    outcomes[rows, data.a] = (data.outcome != 1).astype(np.int8)
    outcomes[rows, data.b] = (data.outcome != 0).astype(np.int8)
    return outcomes, data.count
