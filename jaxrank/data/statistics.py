"""What a method can read: ``Counts``, ``Pairs``, ``Events``, ``Sequence`` (and ``Ballots``, ``Orders``).

A statistic is a pytree of device arrays. It is made in one of two ways that agree to the last bit:

* ``S.of(data, ...)``: from whole data, on the host, exactly;
* ``S.reduce(S.rows(data, ...), weights)``: from per-unit contributions ``rows`` (made once) and weights, by one
  matrix product. Under ``vmap`` over the weights a whole chunk of replicates is one product.

Weights count how often a unit was drawn (or a Dirichlet weight). Trials and questions are weighted apart, since the
mean over questions needs the multiplicity of a question beside the counts in it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxrank.data.comparisons import TIE, Comparisons
from jaxrank.data.device import ones_if_none, put, real
from jaxrank.data.event_statistics import Events, Sequence, tensor_of
from jaxrank.data.kind import KINDS, Data, check_kind
from jaxrank.data.pairing import all_pairs, pair_blocks, real_pair_blocks
from jaxrank.data.rankings import Rankings
from jaxrank.data.responses import Responses
from jaxrank.data.weights import OfQuestions, Rows, Weights, observed_weights
from jaxrank.errors import UnsupportedDataError
from jaxrank.numerics.precision import einsum, matmul

__all__ = ["BattleRows", "CountRows", "Counts", "Events", "PairRows", "Pairs", "Sequence"]


class Counts(OfQuestions):
    """Category counts of every cell.

    **categories**: (L, M, C+1) observed (weighted) trials of each category.  **questions**: (M,) multiplicity of each
    question.  **levels**: (C+1,) value of each category, 0..C unless the user gave others.  **groups**: (M, G) which
    group a question is of, where groups weigh the same, else None.
    """

    name: ClassVar[str] = "counts"
    kinds: ClassVar[tuple[str, ...]] = ("responses",)
    categories: Float[Array, "models questions categories"]
    questions: Float[Array, " questions"]
    levels: Float[Array, " categories"]
    groups: Float[Array, "questions groups"] | None = None

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
        return observed_weights(self.trials > 0, self.questions, self.groups)

    @property
    def origin(self) -> Float[Array, ""]:
        """Where ``heights`` begin."""
        return self.levels[0]

    @property
    def rounding(self) -> float:
        """How far means over questions may be off by rounding, beyond that of sums."""
        return 0.0

    @property
    def means(self) -> Float[Array, "models questions"]:
        """Mean value of the trials of each cell, on the scale of ``levels``; 0 where nothing was observed."""
        return jnp.where(self.trials > 0, self.levels[0] + self.heights, 0)

    @property
    def heights(self) -> Float[Array, "models questions"]:
        """Mean value of the trials of each cell above the lowest level, so that no common part of the levels costs
        digits; 0 where nothing was observed."""
        n = self.trials
        above = matmul(self.categories, self.levels - self.levels[0])
        return jnp.where(n > 0, above / jnp.where(n > 0, n, 1), 0)

    @property
    def shares(self) -> Float[Array, "models questions"]:
        """Share of the trials of each cell with outcome 1 of binary data; 0 where nothing was observed."""
        n = self.trials
        return self.successes / jnp.where(n > 0, n, 1)

    @classmethod
    def of(cls, data: Data, **_: Any) -> Counts:
        r = _responses(data)
        dtype = real()
        return cls(put(r.counts, dtype), put(r.weights, dtype), put(r.levels, dtype), one_hot_groups(r))

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> CountRows:
        r = _responses(data)
        shape = r.counts.shape
        levels = put(r.levels, real())
        if unit == "question":
            flat = r.counts.reshape(1, -1)
        else:
            hot = _one_hot(r, "per-trial counts")  # (C+1, L, M, N)
            if unit == "trial":
                flat = np.transpose(hot, (3, 1, 2, 0)).reshape(hot.shape[3], -1)
            else:
                flat = np.transpose(hot, (2, 3, 1, 0)).reshape(hot.shape[2] * hot.shape[3], -1)
        return CountRows(Rows(put(flat, real()), shape, unit), levels, put(r.weights, real()), one_hot_groups(r))

    @classmethod
    def reduce(cls, rows: CountRows, weights: Weights) -> Counts:
        r, (n_models, n_questions, n_categories) = rows.rows, rows.rows.shape
        questions = rows.questions if weights.questions is None else rows.questions * weights.questions
        if r.unit == "question":
            categories = r.flat.reshape(r.shape)
        elif r.unit == "trial":
            trials = ones_if_none(weights.trials, r.flat.shape[:1])
            categories = matmul(trials, r.flat).reshape(r.shape)
        else:
            by_question = r.flat.reshape(n_questions, -1, n_models * n_categories)
            trials = jnp.broadcast_to(ones_if_none(weights.trials, by_question.shape[:2]), by_question.shape[:2])
            sums = einsum("mn,mnd->md", trials, by_question)
            categories = jnp.moveaxis(sums.reshape(n_questions, n_models, n_categories), 0, 1)
        return cls(categories, questions, rows.levels, rows.groups)

    @classmethod
    def gather(
        cls, outcomes: Int[Array, "models questions trials"], like: Counts, order: Any = None, questions: Any = None
    ) -> Counts:
        """From a tensor of outcomes on device (-1 missing); ``like`` gives the number of categories and the levels.

        ``order``: which question of the data each is, and ``questions`` (M,) its weight, where they have different
        ones; None for those of the data and the weights of ``like``."""
        grades = jnp.arange(like.categories.shape[-1], dtype=outcomes.dtype)
        categories = jnp.sum(outcomes[:, :, None, :] == grades[None, None, :, None], axis=-1).astype(
            like.categories.dtype
        )
        groups = like.groups if like.groups is None or order is None else like.groups[order]
        return cls(categories, like.questions if questions is None else questions, like.levels, groups)

    @classmethod
    def from_counts(cls, counts: Counts) -> Counts:
        """The counts themselves; what else can be made from counts has this too."""
        return counts

    def restricted(self, members: Int[Array, " size"]) -> Counts:
        """The counts of some of the models."""
        return Counts(self.categories[members], self.questions, self.levels, self.groups)


class CountRows(eqx.Module):
    rows: Rows
    levels: Float[Array, " categories"]
    questions: Float[Array, " questions"]
    groups: Float[Array, "questions groups"] | None = None


class Aligned(eqx.Module):
    """What `Pairs.gather` must know of the data: how many categories there are, 0 for real scores, the type of the
    totals, and where scores within ``tie_within`` tie, what they are: **grid** (M, K), the score of each outcome."""

    n_categories: int = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)
    grid: Float[Array, "questions codes"] | None = None
    tie_within: Float[Array, ""] | None = None

    @classmethod
    def of(cls, data: Responses, dtype: Any) -> Aligned:
        if data.kind != "real" or not data.tie_within:
            return cls(0 if data.kind == "real" else data.n_categories, dtype)
        return cls(0, dtype, put(data.question_grid, real()), put(data.tie_within, real()))


class Pairs(eqx.Module):
    """Totals of pairwise comparisons.

    **wins**: (L, L), ``wins[i, j]`` times i was better than j.  **ties**: (L, L) symmetric.
    """

    name: ClassVar[str] = "pairs"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    wins: Float[Array, "models models"]
    ties: Float[Array, "models models"]

    @property
    def total(self) -> Float[Array, "models models *lanes"]:
        """Comparisons of each pair; of each lane, where fits are stacked behind the models."""
        return self.wins + jnp.swapaxes(self.wins, 0, 1) + self.ties

    @property
    def preference(self) -> Float[Array, "models models"]:
        """(wins + ties / 2) / total; 1/2 on the diagonal and where a pair was never compared."""
        total = self.total
        share = (self.wins + self.ties / 2) / jnp.where(total > 0, total, 1)
        seen = (total > 0) & ~jnp.eye(total.shape[0], dtype=bool)
        return jnp.where(seen, share, 0.5)

    @classmethod
    def of(cls, data: Data, pairing: str = "aligned", **_: Any) -> Pairs:
        dtype = real()
        if isinstance(data, Comparisons | Rankings):
            return cls(put(data.wins, dtype), put(data.ties, dtype))
        assert isinstance(data, Responses)
        if pairing == "all":
            check_categories(data, 'pairing="all"')
            wins, ties = all_pairs(data.counts.astype(float), data.weights, np.einsum)
        else:
            wins, ties = (x.sum(axis=0, dtype=float) for x in _pair_blocks(data, "trial"))
        return cls(put(wins, dtype), put(ties, dtype))

    @classmethod
    def from_counts(cls, counts: Counts) -> Pairs:
        """Every trial of a model against every trial of another (``pairing="all"``), from counts on device."""
        contract = einsum
        return cls(*all_pairs(counts.categories, counts.questions, contract))

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", pairing: str = "aligned", **_: Any) -> Any:
        if isinstance(data, Comparisons):
            tie = put(data.outcome == TIE, bool)
            swap = data.outcome == 1
            a, b = np.where(swap, data.b, data.a), np.where(swap, data.a, data.b)
            sides = put(a, jnp.int32), put(b, jnp.int32)
            return BattleRows(*sides, tie, put(data.count, real()), put(data.weight, real()), len(data.models))
        if isinstance(data, Rankings):
            wins, ties, unit = *data.pairs(), "trial"
        elif pairing == "all":
            check_categories(data, 'pairing="all"')
            return Counts.rows(data, unit)
        else:
            assert isinstance(data, Responses)
            wins, ties = _pair_blocks(data, unit)
        made = lambda x: Rows(put(x.reshape(len(x), -1), real()), x.shape[1:], unit)
        return PairRows(made(wins), made(ties))

    @classmethod
    def reduce(cls, rows: Any, weights: Weights) -> Pairs:
        if isinstance(rows, CountRows):
            return cls.from_counts(Counts.reduce(rows, weights))
        if isinstance(rows, BattleRows):
            return rows.totals(weights)
        n_units, unit = rows.wins.flat.shape[0], rows.wins.unit
        if unit == "trial":
            w = ones_if_none(weights.trials, (n_units,))
        elif unit == "question":
            w = ones_if_none(weights.questions, (n_units,))
        else:
            given = weights.trials if weights.questions is None else weights.questions
            n_questions = n_units if given is None else given.shape[0]
            grid = (n_questions, n_units // n_questions)
            trials = jnp.broadcast_to(ones_if_none(weights.trials, grid), grid)
            w = (trials * ones_if_none(weights.questions, grid[:1])[:, None]).reshape(-1)
        product = lambda x: matmul(w, x.flat).reshape(x.shape)
        return cls(product(rows.wins), product(rows.ties))

    @classmethod
    def gather(
        cls,
        outcomes: Int[Array, "models questions trials"],
        like: Aligned | Counts,
        order: Any = None,
        questions: Any = None,
    ) -> Pairs:
        """From a tensor of outcomes on device (-1 missing), pairing trial n with trial n; where ``like`` are counts,
        every trial with every trial. ``order`` and ``questions``: as for `Counts.gather`."""
        if isinstance(like, Counts):
            return cls.from_counts(Counts.gather(outcomes, like, order, questions))
        flat = outcomes.reshape(outcomes.shape[0], -1)
        weight = jnp.ones((), like.dtype)
        if questions is not None:
            weight = jnp.repeat(questions.astype(like.dtype), outcomes.shape[2])
        weight = jnp.broadcast_to(weight, (1, flat.shape[1]))
        product = lambda a, b: matmul(a.astype(like.dtype) * weight, b.astype(like.dtype).T)
        if like.n_categories == 0:
            return cls(*scored_pairs(outcomes, like, order, weight, product(flat >= 0, flat >= 0)))
        better = lambda c: product(flat == c, (flat >= 0) & (flat < c))
        wins = better(1)
        if like.n_categories > 2:
            wins = jax.lax.fori_loop(2, like.n_categories, lambda c, total: total + better(c), wins)
        ties = product(flat >= 0, flat >= 0) - wins - wins.T
        return cls(wins, jnp.where(jnp.eye(len(flat), dtype=bool), 0, ties))

    def restricted(self, members: Int[Array, " size"]) -> Pairs:
        """The comparisons among some of the models."""
        pick = lambda x: x[members][:, members]
        return Pairs(pick(self.wins), pick(self.ties))


class PairRows(eqx.Module):
    """Apart, so that the product with the ties is left out where a method does not read them."""

    wins: Rows
    ties: Rows


class BattleRows(eqx.Module):
    """Battles one by one: adding them up takes less than a product with (L, L) for each.

    **first** (E,) beat **second** (E,), or they tied where **tie**. **count**: how often each was fought. **weight**:
    what each counts.
    """

    first: Int[Array, " battles"]
    second: Int[Array, " battles"]
    tie: Bool[Array, " battles"]
    count: Float[Array, " battles"]
    weight: Float[Array, " battles"]
    n_models: int = eqx.field(static=True)

    def totals(self, weights: Weights) -> Pairs:
        """``weights.trials`` (E,): how often each battle was drawn; None: as often as it was fought."""
        count = self.weight * (self.count if weights.trials is None else weights.trials)
        zero = jnp.zeros((self.n_models,) * 2, count.dtype)
        wins = zero.at[self.first, self.second].add(jnp.where(self.tie, 0, count))
        ties = zero.at[self.first, self.second].add(jnp.where(self.tie, count, 0))
        return Pairs(wins, ties + ties.T)


def scored_pairs(outcomes: Array, like: Aligned, order: Any, weight: Array, both: Array) -> tuple[Array, Array]:
    """Wins and ties (L, L) of real scores, from outcomes (L, M, N) on device; ``both``: comparisons of each pair."""
    scores, tie = outcomes, jnp.zeros((), outcomes.dtype)
    if like.grid is not None and like.tie_within is not None:
        grid = like.grid if order is None else like.grid[order]
        scores, tie = jnp.take_along_axis(grid[None], jnp.maximum(outcomes, 0), axis=2), like.tie_within
    flat, seen = scores.reshape(len(scores), -1), outcomes.reshape(len(scores), -1) >= 0

    def add(u: Any, wins: Array) -> Array:
        won = (flat[:, None, u] > flat[None, :, u] + tie) & seen[:, None, u] & seen[None, :, u]
        return wins + jnp.where(won, weight[0, u], 0)

    wins = jax.lax.fori_loop(0, flat.shape[1], add, jnp.zeros_like(both))
    return wins, jnp.where(jnp.eye(len(flat), dtype=bool), 0, both - wins - wins.T)


def one_hot_groups(data: Responses) -> Any:
    """(M, G) which group each question is of, where groups weigh the same (`Responses.balanced`), else None."""
    if not data.balance or data.groups is None:
        return None
    names, index = np.unique(data.groups.astype(str), return_inverse=True)
    return put(np.eye(len(names))[index], real())


def check_categories(data: Data, who: str) -> None:
    """`UnsupportedDataError` for real scores, which ``who`` cannot read."""
    if data.kind == "real":
        raise UnsupportedDataError(
            f"{who} reads categories, and these scores are real numbers; turn them into right and wrong (R >= "
            "threshold, or threshold= where a file is read), or name the categories with levels="
        )


def _responses(data: Data) -> Responses:
    check_kind(data, Counts.kinds, "this method")
    assert isinstance(data, Responses)
    check_categories(data, "this method")
    return data


def _one_hot(data: Responses, what: str) -> np.ndarray:
    """float32 (C+1, L, M, N): 1 where the outcome is category c."""
    tensor = tensor_of(data, what)
    return np.stack([tensor == c for c in range(data.n_categories)]).astype(np.float32)


def _pair_blocks(data: Responses, unit: str) -> tuple[np.ndarray, np.ndarray]:
    weights = data.weights if data.question_columns else None
    if data.real is not None:
        return real_pair_blocks(data.real, unit, data.tie_within, weights)
    return pair_blocks(_one_hot(data, "trials paired by their index"), unit, weights)
