"""``Moments`` and ``Samples``: what methods read of scores that are numbers, summed by cell or trial by trial."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.device import ones_if_none, put, real
from jaxrank.data.kind import Data, check_kind
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Counts, one_hot_groups
from jaxrank.data.weights import OfQuestions, Weights, observed_weights
from jaxrank.errors import UnsupportedDataError
from jaxrank.numerics.precision import einsum, matmul

_SAME = 1e-12  # means within this part of the scale of their question are equal


class Moments(OfQuestions):
    """Weight, sum and sum of squares of the scores of every cell, higher is better.

    Scores are centred and scaled question by question, so that large ones lose no digits and do not overflow.

    **trials**, **total**, **square**: (L, M).  **questions**: (M,) multiplicity of each question.
    **centre**: (M,) above ``origin``, and **scale** (M,): a score is origin + centre + scale times what was summed.
    **groups**: (M, G) which group a question is of, where groups weigh the same, else None.
    **tie_within**: means that differ by no more are level.
    """

    name: ClassVar[str] = "moments"
    kinds: ClassVar[tuple[str, ...]] = ("responses",)
    trials: Float[Array, "models questions"]
    total: Float[Array, "models questions"]
    square: Float[Array, "models questions"]
    questions: Float[Array, " questions"]
    centre: Float[Array, " questions"]
    scale: Float[Array, " questions"]
    origin: Float[Array, ""]
    groups: Float[Array, "questions groups"] | None
    tie_within: Float[Array, ""]

    @property
    def observed(self) -> Float[Array, "models questions"]:
        """Weight of each cell in a mean over questions: that of the question, 0 where nothing was observed."""
        return observed_weights(self.trials > 0, self.questions, self.groups)

    @property
    def places(self) -> Float[Array, "models questions"]:
        """Mean of each cell on the question's own scale, within [-1, 1]; 0 where nothing was observed."""
        return jnp.where(self.trials > 0, self.total / jnp.where(self.trials > 0, self.trials, 1), 0)

    @property
    def slack(self) -> Float[Array, "1 questions"]:
        """Means of a question, in ``places``, that differ by no more are level."""
        eps = jnp.finfo(self.total.dtype).eps
        return (jnp.maximum(8 * eps, _SAME) + self.tie_within / self.scale)[None]

    @property
    def heights(self) -> Float[Array, "models questions"]:
        """Mean score of each cell above ``origin``; 0 where nothing was observed."""
        return jnp.where(self.trials > 0, self.centre[None] + self.scale[None] * self.places, 0)

    @property
    def means(self) -> Float[Array, "models questions"]:
        """Mean score of each cell; 0 where nothing was observed."""
        return jnp.where(self.trials > 0, self.origin + self.heights, 0)

    @property
    def within_variance(self) -> Float[Array, "models questions"]:
        """Estimated variance of the mean of each cell if its trials came out again; NaN with a single trial, 0 where
        nothing was observed."""
        n = self.trials
        spread = jnp.maximum(self.square - self.total * self.places, 0) / jnp.where(n > 1, n - 1, jnp.nan)
        return jnp.where(n > 0, self.scale[None] ** 2 * spread / jnp.where(n > 0, n, 1), 0)

    @property
    def rounding(self) -> Float[Array, ""]:
        """How far means over questions may be off by rounding."""
        size = jnp.abs(self.centre) + self.scale
        return jnp.maximum(_SAME, 8 * jnp.finfo(size.dtype).eps) * jnp.max(jnp.where(self.questions > 0, size, 0))

    @classmethod
    def of(cls, data: Data, **_: Any) -> Moments:
        r = _responses(data)
        if r.counts_only:
            return cls.from_counts(Counts.of(r))
        return cls.reduce(cls.rows(r, "question"), Weights())

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> MomentRows:
        r = _responses(data)
        if r.counts_only:
            if unit != "question":
                raise UnsupportedDataError("these results are counts only: the scores of single trials are unknown")
            whole = cls.of(r)
            flat = np.stack([np.asarray(x) for x in (whole.trials, whole.total, whole.square)])[None]
            return MomentRows(put(flat, real()), whole, unit)
        x, like = _scaled(r)
        seen = ~np.isnan(x)
        x = np.where(seen, x, 0)
        if unit == "question":
            table = np.stack([seen.sum(axis=2), x.sum(axis=2), (x**2).sum(axis=2)])[None]  # (1, 3, L, M)
        else:
            single = np.stack([seen, x, x**2])  # (3, L, M, N)
            table = np.moveaxis(single, -1, 0) if unit == "trial" else np.moveaxis(single, (2, 3), (0, 1))
        return MomentRows(put(table, real()), like, unit)

    @classmethod
    def reduce(cls, rows: MomentRows, weights: Weights) -> Moments:
        table, like = rows.table, rows.like
        if rows.unit == "question":
            sums = table[0]
        elif rows.unit == "trial":
            trials = ones_if_none(weights.trials, table.shape[:1])
            flat = matmul(trials, table.reshape(len(table), -1))
            sums = flat.reshape(table.shape[1:])
        else:
            grid = table.shape[:2]
            trials = jnp.broadcast_to(ones_if_none(weights.trials, grid), grid)
            sums = einsum("mn,mnsl->slm", trials, table)
        questions = like.questions if weights.questions is None else like.questions * weights.questions
        return like.summing(sums[0], sums[1], sums[2], questions)

    def summing(self, trials: Array, total: Array, square: Array, questions: Array) -> Moments:
        """The same scales with other sums."""
        fixed = (self.centre, self.scale, self.origin, self.groups, self.tie_within)
        return Moments(trials, total, square, questions, *fixed)

    @classmethod
    def gather(
        cls,
        outcomes: Int[Array, "models questions trials"],
        like: MomentCodes,
        order: Any = None,
        questions: Any = None,
    ) -> Moments:
        """From outcomes on device (-1 missing) whose scores ``like`` knows; ``order``: which question each is."""
        whole = like.moments if order is None else like.moments.reordered(order)
        seen = outcomes >= 0
        table = like.places if order is None else like.places[order]
        x = jnp.where(seen, jnp.take_along_axis(table[None], jnp.maximum(outcomes, 0), axis=2), 0)
        return whole.summing(
            jnp.sum(seen, axis=2).astype(x.dtype), jnp.sum(x, axis=2), jnp.sum(x * x, axis=2), whole.questions
        )

    def reordered(self, order: Array) -> Moments:
        """Other questions in other places; the sums are those of the questions named."""
        pick = lambda x: x[:, order]
        groups = None if self.groups is None else self.groups[order]
        tables = (pick(self.trials), pick(self.total), pick(self.square))
        rest = (self.questions[order], self.centre[order], self.scale[order])
        return Moments(*tables, *rest, self.origin, groups, self.tie_within)

    @classmethod
    def from_counts(cls, counts: Counts) -> Moments:
        """Of categories, each with its level."""
        low, high = counts.levels[0], counts.levels[-1]
        middle, half = (low + high) / 2, (high - low) / 2
        place = (counts.levels - middle) / half
        ones = jnp.ones_like(counts.questions)
        sums = (matmul(counts.categories, x) for x in (jnp.ones_like(place), place, place**2))
        zero = jnp.zeros((), half.dtype)
        trials, total, square = sums
        return cls(trials, total, square, counts.questions, ones * 0, ones * half, middle, counts.groups, zero)

    def restricted(self, members: Int[Array, " size"]) -> Moments:
        """The moments of some of the models."""
        return self.summing(self.trials[members], self.total[members], self.square[members], self.questions)


class MomentRows(eqx.Module):
    """**table**: (1, 3, L, M) by question, (N, 3, L, M) by trial, (M, N, 3, L) by cell: weight, score, square."""

    table: Float[Array, "..."]
    like: Moments
    unit: str = eqx.field(static=True)


class MomentCodes(eqx.Module):
    """**places**: (M, K), the score of each outcome on the scale of each question: outcomes gathered become scores."""

    moments: Moments
    places: Float[Array, "questions codes"]

    @classmethod
    def of(cls, data: Responses) -> MomentCodes:
        _, like = _scaled(data)
        lookup, scales = data.question_grid, np.asarray(like.scale, float)
        centre = np.asarray(like.centre, float) + float(like.origin)
        return cls(like, put((lookup - centre[:, None]) / scales[:, None], real()))


class Samples(OfQuestions):
    """Every score apart, higher is better.

    **values**: (L, M, N), NaN where missing.  **trials**: (M, N) and **questions**: (M,) multiplicities.
    **groups**: as in `Moments`.
    """

    name: ClassVar[str] = "samples"
    kinds: ClassVar[tuple[str, ...]] = ("responses",)
    values: Float[Array, "models questions trials"]
    trials: Float[Array, "questions trials"]
    questions: Float[Array, " questions"]
    groups: Float[Array, "questions groups"] | None

    @property
    def seen(self) -> Any:
        """bool (L, M, N)"""
        return ~jnp.isnan(self.values)

    @property
    def weights(self) -> Float[Array, "models questions trials"]:
        """Weight of every trial within its cell, 0 where missing."""
        return jnp.where(self.seen, self.trials[None], 0)

    @property
    def observed(self) -> Float[Array, "models questions"]:
        """Weight of each cell in a mean over questions: that of the question, 0 where nothing was observed."""
        return observed_weights(jnp.sum(self.weights, axis=-1) > 0, self.questions, self.groups)

    def mean_of_cells(self, values: Float[Array, "models questions trials"]) -> Float[Array, "models questions"]:
        """Mean of ``values`` over the trials of each cell; 0 where nothing was observed."""
        w = self.weights
        n = jnp.sum(w, axis=-1)
        return jnp.sum(jnp.where(self.seen, values, 0) * w, axis=-1) / jnp.where(n > 0, n, 1)

    @classmethod
    def of(cls, data: Data, **_: Any) -> Samples:
        r = _responses(data)
        if r.counts_only:
            raise UnsupportedDataError(
                "this method reads the score of every trial; these results are counts only; use avg or bayes"
            )
        dtype = real()
        shape = r.shape[1:]
        groups = one_hot_groups(r)
        return cls(put(r.oriented, dtype), put(np.ones(shape), dtype), put(r.weights, dtype), groups)

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> Samples:
        return cls.of(data)

    @classmethod
    def reduce(cls, rows: Samples, weights: Weights) -> Samples:
        trials = rows.trials if weights.trials is None else jnp.broadcast_to(weights.trials, rows.trials.shape)
        questions = rows.questions if weights.questions is None else rows.questions * weights.questions
        return cls(rows.values, trials, questions, rows.groups)

    @classmethod
    def gather(
        cls,
        outcomes: Int[Array, "models questions trials"],
        like: SampleCodes,
        order: Any = None,
        questions: Any = None,
    ) -> Samples:
        pick = (lambda x: x) if order is None else (lambda x: x[order])
        whole, table = like.samples, pick(like.grid)
        values = jnp.take_along_axis(table[None], jnp.maximum(outcomes, 0), axis=2)
        values = jnp.where(outcomes >= 0, values, jnp.nan)
        groups = None if whole.groups is None else pick(whole.groups)
        return cls(values, jnp.ones(outcomes.shape[1:], values.dtype), pick(whole.questions), groups)

    def restricted(self, members: Int[Array, " size"]) -> Samples:
        """The scores of some of the models."""
        return Samples(self.values[members], self.trials, self.questions, self.groups)


class SampleCodes(eqx.Module):
    """**grid**: (M, K), the score of each outcome of each question."""

    samples: Samples
    grid: Float[Array, "questions codes"]

    @classmethod
    def of(cls, data: Responses) -> SampleCodes:
        return cls(Samples.of(data), put(data.question_grid, real()))


def _responses(data: Data) -> Responses:
    check_kind(data, ("responses",), "this method")
    assert isinstance(data, Responses)
    return data


def _scaled(data: Responses) -> tuple[np.ndarray, Moments]:
    """Scores (L, M, N) on the scale of their question, within [-1, 1], and the scales, with nothing summed."""
    x = data.oriented
    seen = ~np.isnan(x)
    high = np.max(x, axis=(0, 2), initial=-np.inf, where=seen)
    low = np.min(x, axis=(0, 2), initial=np.inf, where=seen)
    if data.real is None:
        high, low = np.full_like(high, data.levels[-1]), np.full_like(low, data.levels[0])
    none = ~np.isfinite(high)
    high, low = np.where(none, 0, high), np.where(none, 0, low)
    middle, half = high / 2 + low / 2, high / 2 - low / 2
    tiny = np.finfo(real()).tiny
    scale = np.where(half > tiny, half, np.maximum(np.abs(middle), 1.0 if np.all(half <= tiny) else tiny * 4))
    scale = np.where(scale > tiny, scale, 1.0)
    origin = float(middle[0] + np.sum((middle - middle[0]) / len(middle)))
    dtype = real()
    none_yet = put(np.zeros(x.shape[:2]), dtype)
    like = Moments(
        none_yet,
        none_yet,
        none_yet,
        put(data.weights, dtype),
        put(middle - origin, dtype),
        put(scale, dtype),
        put(origin, dtype),
        one_hot_groups(data),
        put(data.tie_within, dtype),
    )
    with np.errstate(invalid="ignore"):
        return (x - middle[:, None]) / scale[:, None], like
