"""Question-level preferences: every question is a voter that orders the models by their share of successful trials."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit
from jaxrank.numerics.status import Status

TIE_POLICIES = ("ignore", "half")
_BITS = 17  # kept of fractional multiplicities, counted from their total
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


def shares(stat: Counts) -> Float[Array, "models questions"]:
    """Grade of each model on each question: mean category of its trials (share of successes); 0 where unobserved.

    Shares and not counts, so that unequal numbers of trials compare; with equal numbers the order is that of counts.
    """
    return stat.means


def preferences(stat: Counts, *, ties: bool = True) -> Preferences:
    """Compare all pairs of models on all questions; ``ties=False`` leaves ``ties`` zero, in half the time.

    Questions are read in chunks, so memory is a few (L, L) arrays whatever their number.
    """
    n_models, n_questions = stat.trials.shape
    dtype = stat.categories.dtype
    grade = shares(stat)
    seen = stat.trials > 0
    high = jnp.where(seen, grade, -jnp.inf).T  # an unobserved model is neither above
    low = jnp.where(seen, grade, jnp.inf).T  # nor below nor level with anyone
    n_chunks = -(-n_questions // _UNROLL)
    size = -(-n_questions // n_chunks)
    pad = n_chunks * size - n_questions
    questions, unit = _exact(stat.questions)
    rows = [jnp.pad(x, ((0, pad),) + ((0, 0),) * (x.ndim - 1)) for x in (high, low, questions)]

    def add(start: Any, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b, weight = (jax.lax.dynamic_slice_in_dim(x, start * size, size) for x in rows)
        wins, level = sums
        for m in range(size):  # unrolled: one fused elementwise pass, which vectorises where a reduction does not
            wins = wins + jnp.where(a[m][:, None] > b[m][None, :], weight[m], 0)
            if ties:
                level = level + jnp.where(a[m][:, None] == b[m][None, :], weight[m], 0)
        return wins, level

    zero = jnp.zeros((n_models, n_models), dtype)
    wins, level = add(0, (zero, zero)) if n_chunks == 1 else jax.lax.fori_loop(0, n_chunks, add, (zero, zero))
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


def votes_fit(scores: Float[Array, " models"], seen: Bool[Array, " models"], **params: Any) -> Fit:
    """A `Fit` from exact scores; a model not ``seen`` on any question has no score, and the fit is undefined."""
    return Fit(
        scores=jnp.where(seen, scores, jnp.nan),
        status=jnp.where(jnp.all(seen), Status.CONVERGED, Status.UNDEFINED).astype(jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=jnp.zeros((), scores.dtype),
        params=params,
    )


def check_option(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """`OptionError` unless ``value`` is one of the allowed words."""
    if value not in allowed:
        raise OptionError(f"{name}={value!r}; it must be one of {', '.join(map(repr, allowed))}")
