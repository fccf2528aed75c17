"""``Ballots``: voters that order models: questions by the results on them, ordered lists by their places."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxrank.data.device import put, real
from jaxrank.data.kind import Data, check_kind
from jaxrank.data.moments import MomentCodes, MomentRows, Moments
from jaxrank.data.rankings import Rankings
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import CountRows, Counts
from jaxrank.data.weights import Weights
from jaxrank.numerics.precision import matmul

_EVEN = 2**12  # steps up to which sums of whole numbers are exact in float32


class Grades(NamedTuple):
    """Mean value of the trials of each cell, to be compared.

    **steps**: (L, M), counted from the lowest level in units of ``unit``, the smallest distance of two levels; the
    share of successes of binary data; 0 where unobserved.  **slack**: grades that differ by this or less are equal.
    """

    steps: Float[Array, "models questions"]
    slack: Float[Array, ""]
    unit: Float[Array, ""]


def grades(stat: Counts) -> Grades:
    """Grade of each model on each question.

    Means and not totals, so that unequal numbers of trials compare. Evenly spaced levels count as whole numbers, whose
    means are equal to the last bit where they are equal; means of others are equal within rounding, 1e-12 of the range
    of the levels in float64. Shifting or stretching the levels thus changes no comparison.
    """
    eps = jnp.finfo(stat.levels.dtype).eps
    height = stat.levels - stat.levels[0]
    unit = jnp.min(jnp.diff(height))
    place = height / unit
    rounding = jnp.minimum(8 * eps * jnp.max(jnp.abs(stat.levels)) / unit, 2.0**-6)
    even = jnp.all(jnp.abs(place - jnp.round(place)) <= rounding) & (place[-1] <= _EVEN)
    place = jnp.where(even, jnp.round(place), place)
    n = stat.trials
    total = matmul(stat.categories, place)
    steps = jnp.where(n > 0, total / jnp.where(n > 0, n, 1), 0)
    return Grades(steps, jnp.where(even, 0, jnp.maximum(8 * eps, 1e-12) * place[-1]).astype(steps.dtype), unit)


class Standing(eqx.Module):
    """**won**, **lost**: (L, V), models that a voter puts below each model, and above it."""

    won: Float[Array, "models voters"]
    lost: Float[Array, "models voters"]


class Ballots(eqx.Module):
    """What voting rules read: V voters, each with its multiplicity.

    **grades**: (L, V), higher is better: the mean value of a model's trials on a question (see `grades`), or minus its
    place in an ordered list.  **slack**: grades that differ by this or less are equal.
    **listed**: (L, V), False where the voter says nothing of a model: no trial on the question, not in the list.
    **below**: (L, V), models that the voter puts below all listed ones in an unknown order (an open end); they are not
    listed; None where no voter has any.
    **voters**: (V,), multiplicities.  **standing**: of every voter how many models each beats, where that was worked
    out once for all replicates, else None.
    """

    name: ClassVar[str] = "ballots"
    kinds: ClassVar[tuple[str, ...]] = ("responses", "rankings")
    grades: Float[Array, "models voters"]
    slack: Float[Array, "*axes"]
    listed: Bool[Array, "models voters"]
    below: Bool[Array, "models voters"] | None
    voters: Float[Array, " voters"]
    standing: Standing | None = None

    @property
    def seen(self) -> Bool[Array, " models"]:
        """(L,): whether a voter of positive weight says anything of the model."""
        said = self.listed if self.below is None else self.listed | self.below
        return jnp.any(said & (self.voters > 0)[None, :], axis=-1)

    @classmethod
    def from_counts(cls, counts: Counts) -> Ballots:
        """Every question as a voter."""
        found = grades(counts)
        return cls(found.steps, found.slack, counts.trials > 0, None, counts.questions)

    @classmethod
    def from_moments(cls, moments: Moments) -> Ballots:
        """Every question as a voter, of scores that are numbers."""
        return cls(moments.places, moments.slack, moments.trials > 0, None, moments.questions)

    @classmethod
    def of(cls, data: Data, **_: Any) -> Ballots:
        check_kind(data, cls.kinds, "this method")
        if isinstance(data, Rankings):
            return cls.reduce(cls.rows(data), Weights())
        if data.kind == "real":
            return cls.from_moments(Moments.of(data))
        return _from_counts(Counts.of(data))

    @classmethod
    def rows(cls, data: Data, unit: str = "trial", **_: Any) -> CountRows | MomentRows | Ballots:
        check_kind(data, cls.kinds, "this method")
        if isinstance(data, Responses):
            if unit == "question":  # the trials stay as they are, so that the voters do
                whole = cls.of(data)
                return dataclasses.replace(whole, standing=_standing(whole))
            return Moments.rows(data, unit) if data.kind == "real" else Counts.rows(data, unit)
        assert isinstance(data, Rankings)
        places = data.places.T
        end = data.open_end & (places == places.max(axis=0))
        listed = (places > 0) & ~end
        below = put(end, bool) if end.any() else None
        grade = put(np.where(listed, -places.astype(float), 0), real())
        return cls(grade, jnp.zeros((), real()), put(listed, bool), below, put(data.count, real()))

    @classmethod
    def reduce(cls, rows: CountRows | MomentRows | Ballots, weights: Weights) -> Ballots:
        """``weights`` of trials and questions, or, of ordered lists, ``weights.trials``: how often each was drawn."""
        if isinstance(rows, CountRows):
            return cls.from_counts(Counts.reduce(rows, weights))
        if isinstance(rows, MomentRows):
            return cls.from_moments(Moments.reduce(rows, weights))
        drawn = rows.voters if weights.trials is None else weights.trials
        drawn = drawn if weights.questions is None else drawn * weights.questions
        return cls(rows.grades, rows.slack, rows.listed, rows.below, drawn, rows.standing)

    @classmethod
    def gather(
        cls,
        outcomes: Int[Array, "models questions trials"],
        like: Counts | MomentCodes,
        order: Any = None,
        questions: Any = None,
    ) -> Ballots:
        if isinstance(like, MomentCodes):
            return cls.from_moments(Moments.gather(outcomes, like, order, questions))
        return cls.from_counts(Counts.gather(outcomes, like, order, questions))

    def restricted(self, members: Int[Array, " size"]) -> Ballots:
        """The same ballots with some of the models struck off."""
        below = None if self.below is None else self.below[members]
        return Ballots(self.grades[members], self.slack, self.listed[members], below, self.voters)


def bounds(stat: Ballots) -> tuple[Float[Array, "models voters"], Float[Array, "models voters"]]:
    """The grade with which a model beats others, and that with which it is beaten, (L, V) both.

    They differ where a voter does not list the model: it is then neither above nor below nor level with anyone, or,
    where it stands below all that are listed, beaten by each of them.
    """
    high = jnp.where(stat.listed, stat.grades, -jnp.inf)
    low = jnp.where(stat.listed, stat.grades + stat.slack, jnp.inf)
    if stat.below is not None:
        low = jnp.where(stat.below, jnp.finfo(low.dtype).min, low)
    return high, low


def standing_of(stat: Ballots) -> Standing:
    """How many models each model beats, and is beaten by, of every voter."""
    if stat.standing is not None:
        return stat.standing
    high, low = bounds(stat)

    def one(voter: tuple[Array, Array]) -> tuple[Array, Array]:
        beats = voter[0][:, None] > voter[1][None, :]
        count = lambda axis: jnp.sum(beats, axis=axis).astype(high.dtype)
        return count(1), count(0)

    won, lost = jax.lax.map(one, (high.T, low.T))
    return Standing(won.T, lost.T)


_from_counts = jax.jit(Ballots.from_counts)
_standing = jax.jit(standing_of)
