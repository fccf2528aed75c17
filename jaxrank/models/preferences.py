"""Preferences of voters: a question orders the models by the mean value of their trials, an ordered list by place."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.data.ballots import Ballots, bounds
from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status

TIE_POLICIES = ("ignore", "half")
_BITS = 17  # kept of fractional multiplicities, counted from their total
_UNROLL = 32  # voters compared in one fused pass over the (L, L) totals


class Preferences(eqx.Module):
    """Pairwise votes of the voters, each with its multiplicity.

    **wins**: (L, L), ``wins[i, j]`` = weight of the voters that list i and put it above j.
    **losses**: (L, L), ``wins`` transposed; of few voters summed on its own, which is faster than the transpose.
    **ties**: (L, L), weight of the voters that list both and put them level; 0 on the diagonal.
    **total**: weight of all voters.
    **unit**: all of these are whole multiples of it, so that sums and differences are exact and equal votes compare
    equal: 1 where the multiplicities are whole; fractional ones are rounded to it, the power of two between 2^-17 and
    2^-16 of their total.
    **seen**: (L,), at least one voter of positive weight says something of the model.
    """

    wins: Float[Array, "models models"]
    losses: Float[Array, "models models"]
    ties: Float[Array, "models models"]
    total: Float[Array, ""]
    unit: Float[Array, ""]
    seen: Bool[Array, " models"]

    @property
    def margins(self) -> Float[Array, "models models"]:
        """``wins[i, j] - wins[j, i]``: positive where a majority of the deciding voters prefers i."""
        return self.wins - self.losses

    def votes(self, tie_policy: str) -> Float[Array, "models models"]:
        """Support of i against j: wins, and with "half" also half of the ties."""
        return self.wins + self.ties / 2 if tie_policy == "half" else self.wins


def ballots(stat: Ballots | Counts) -> Ballots:
    """The voters; of counts, every question is one."""
    return stat if isinstance(stat, Ballots) else Ballots.from_counts(stat)


def preferences(stat: Ballots | Counts, *, ties: bool = True) -> Preferences:
    """Compare all pairs of models by all voters; ``ties=False`` leaves ``ties`` zero, and saves a product.

    Voters are read in chunks, so memory is a few (L, L) arrays whatever their number.
    """
    stat = ballots(stat)
    n_models, n_questions = stat.grades.shape
    dtype = stat.grades.dtype
    high, low = bounds(stat)
    high, low = high.T, low.T
    n_chunks = -(-n_questions // _UNROLL)
    size = -(-n_questions // n_chunks)
    pad = n_chunks * size - n_questions
    questions, unit = _exact(stat.voters)
    rows = [jnp.pad(x, ((0, pad),) + ((0, 0),) * (x.ndim - 1)) for x in (high, low, questions)]

    def add(start: Any, votes: Array, lost: bool = False) -> Array:
        a, b, weight = (jax.lax.dynamic_slice_in_dim(x, start * size, size) for x in rows)
        for m in range(size):  # unrolled: one fused elementwise pass, which vectorises where a reduction does not
            above = a[m][None, :] > b[m][:, None] if lost else a[m][:, None] > b[m][None, :]
            votes = votes + jnp.where(above, weight[m], 0)
        return votes

    zero = jnp.zeros((n_models, n_models), dtype)
    if n_chunks == 1:
        wins, losses = add(0, zero), add(0, zero, lost=True)
    else:
        wins = jax.lax.fori_loop(0, n_chunks, add, zero)
        losses = wins.T
    level = zero
    if ties:  # weight of the voters that compare the two, less that of those who put one above the other
        level = _together(stat.listed, stat.listed, questions) - wins - losses
        if stat.below is not None:
            apart = _together(stat.listed, stat.below, questions)
            level = level + apart + apart.T
    off = ~jnp.eye(n_models, dtype=bool)
    return Preferences(
        wins=wins,
        losses=losses,
        ties=jnp.where(off, level, 0),
        total=jnp.sum(questions),
        unit=unit,
        seen=stat.seen,
    )


def votes_won_and_lost(stat: Ballots) -> tuple[Float[Array, " models"], Float[Array, " models"], Array]:
    """Sums over the other models of the votes for each model, and against it, and the weight of all voters."""
    if stat.standing is None:
        pref = preferences(stat, ties=False)
        return jnp.sum(pref.wins, axis=-1), jnp.sum(pref.wins, axis=-2), pref.total
    voters, _ = _exact(stat.voters)
    product = lambda x: matmul(x, voters)
    return product(stat.standing.won), product(stat.standing.lost), jnp.sum(voters)


def first_choices(stat: Ballots, active: Bool[Array, " models"]) -> Float[Array, " models"]:
    """Votes of every model where each voter gives its vote to the best of the ``active`` models that it lists, in equal
    parts where several share that place; a voter that lists none of them has none."""
    here = stat.listed & active[:, None]
    grade = jnp.where(here, stat.grades, -jnp.inf)
    top = here & (grade + stat.slack >= jnp.max(grade, axis=0, keepdims=True))
    sharing = jnp.maximum(jnp.sum(top, axis=0), 1)
    return matmul(top.astype(stat.voters.dtype), stat.voters / sharing)


def _together(a: Array, b: Array, weight: Array) -> Float[Array, "models models"]:
    a, b = a.astype(weight.dtype), b.astype(weight.dtype)
    return matmul(a * weight[None, :], b.T)


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
