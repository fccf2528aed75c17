"""Question-level preferences: every question is a voter that orders the models by the mean value of their trials."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.data.statistics import HIGHEST, Counts
from jaxrank.models.fit import Fit
from jaxrank.numerics.status import Status

TIE_POLICIES = ("ignore", "half")
_BITS = 17  # kept of fractional multiplicities, counted from their total
_EVEN = 2**12  # steps up to which sums of whole numbers are exact in float32
_UNROLL = 32  # questions compared in one fused pass over the (L, L) totals


class Preferences(eqx.Module):
    """Pairwise votes of the questions, each with its multiplicity.

    **wins**: (L, L), ``wins[i, j]`` = weight of the questions on which both were observed and i did better.
    **ties**: (L, L), weight of the questions on which both did equally well; 0 on the diagonal.
    **total**: weight of all questions.
    **unit**: all of these are whole multiples of it, so that sums and differences are exact and equal votes compare
    equal: 1 where the multiplicities are whole; fractional ones are rounded to it, the power of two between 2^-17 and
    2^-16 of their total.
    **seen**: (L,), the model was observed on at least one question of positive weight.
    """

    wins: Float[Array, "models models"]
    ties: Float[Array, "models models"]
    total: Float[Array, ""]
    unit: Float[Array, ""]
    seen: Bool[Array, " models"]

    @property
    def margins(self) -> Float[Array, "models models"]:
        """``wins[i, j] - wins[j, i]``: positive where a majority of the deciding questions prefers i."""
        return self.wins - self.wins.T

    def votes(self, tie_policy: str) -> Float[Array, "models models"]:
        """Support of i against j: wins, and with "half" also half of the ties."""
        return self.wins + self.ties / 2 if tie_policy == "half" else self.wins


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
    total = jnp.matmul(stat.categories, place, precision=HIGHEST)
    steps = jnp.where(n > 0, total / jnp.where(n > 0, n, 1), 0)
    return Grades(steps, jnp.where(even, 0, jnp.maximum(8 * eps, 1e-12) * place[-1]).astype(steps.dtype), unit)


def preferences(stat: Counts, *, ties: bool = True) -> Preferences:
    """Compare all pairs of models on all questions; ``ties=False`` leaves ``ties`` zero, and saves a product.

    Questions are read in chunks, so memory is a few (L, L) arrays whatever their number.
    """
    n_models, n_questions = stat.trials.shape
    dtype = stat.categories.dtype
    grade, slack, _ = grades(stat)
    seen = stat.trials > 0
    high = jnp.where(seen, grade, -jnp.inf).T  # an unobserved model is neither above
    low = jnp.where(seen, grade + slack, jnp.inf).T  # nor below anyone
    n_chunks = -(-n_questions // _UNROLL)
    size = -(-n_questions // n_chunks)
    pad = n_chunks * size - n_questions
    questions, unit = _exact(stat.questions)
    rows = [jnp.pad(x, ((0, pad),) + ((0, 0),) * (x.ndim - 1)) for x in (high, low, questions)]

    def add(start: Any, wins: Array) -> Array:
        a, b, weight = (jax.lax.dynamic_slice_in_dim(x, start * size, size) for x in rows)
        for m in range(size):  # unrolled: one fused elementwise pass, which vectorises where a reduction does not
            wins = wins + jnp.where(a[m][:, None] > b[m][None, :], weight[m], 0)
        return wins

    zero = jnp.zeros((n_models, n_models), dtype)
    wins = add(0, zero) if n_chunks == 1 else jax.lax.fori_loop(0, n_chunks, add, zero)
    level = zero
    if ties:  # questions that compared the two and that neither won
        both = seen.astype(dtype)
        level = jnp.matmul(both * questions[None, :], both.T, precision=HIGHEST) - wins - wins.T
    off = ~jnp.eye(n_models, dtype=bool)
    return Preferences(
        wins=wins,
        ties=jnp.where(off, level, 0),
        total=jnp.sum(questions),
        unit=unit,
        seen=jnp.any(stat.observed > 0, axis=-1),
    )


def _exact(questions: Float[Array, " questions"]) -> tuple[Float[Array, " questions"], Float[Array, ""]]:
    """Multiplicities as multiples of the unit, and the unit."""
    whole = jnp.all(questions == jnp.round(questions))
    exponent = jnp.frexp(jnp.sum(questions))[1] - _BITS
    unit = jnp.where(whole, 1, jnp.ldexp(jnp.ones((), questions.dtype), exponent)).astype(questions.dtype)
    return jnp.round(questions / unit) * unit, unit


def votes_fit(
    scores: Float[Array, " models"], seen: Bool[Array, " models"], resolution: Any = 0.0, **params: Any
) -> Fit:
    """A `Fit` from scores exact to ``resolution``; a model not ``seen`` on any question has no score, and the fit is
    undefined."""
    return Fit(
        scores=jnp.where(seen, scores, jnp.nan),
        status=jnp.where(jnp.all(seen), Status.CONVERGED, Status.UNDEFINED).astype(jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=jnp.asarray(resolution, scores.dtype),
        params=params,
    )
