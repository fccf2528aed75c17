"""``Fit``: what every method returns, for one data set or for a hundred thousand; ``Status``: how it ended."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Status(IntEnum):
    """How a fit ended. The integer is what a batch stores; ``sentence`` is what a person reads."""

    CONVERGED = 0
    MAX_STEPS = 1
    NO_FINITE_OPTIMUM = 2
    DISCONNECTED = 3
    UNDEFINED = 4
    HOST_LIMIT = 5
    NOT_UNIQUE = 6

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    def __str__(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.CONVERGED: "converged",
    Status.MAX_STEPS: "stopped at the step limit before the criterion was met",
    Status.NO_FINITE_OPTIMUM: "no finite optimum: some models or questions are separated from the rest",
    Status.DISCONNECTED: "disconnected: some models were never compared, directly or through others",
    Status.UNDEFINED: "undefined: the data do not determine this score",
    Status.HOST_LIMIT: "the host solver reached its limit before it proved the optimum",
    Status.NOT_UNIQUE: "the optimum is not unique: the scores are one of several equally good solutions",
}


class Fit(eqx.Module):
    """Scores and how they came about.

    One fit has no leading axes; a batch of B replicates has a leading axis B on every array.

    **scores**: higher is better; NaN only together with a status other than ``CONVERGED``.
    **status**: a `Status` value.  **steps**: iterations of the solver (0 for closed forms).
    **resolution**: sorted neighbours whose scores differ by this or less are tied; 0 where scores are exact.
    **params**: everything else the method estimates, by name (a dict of arrays).
    """

    scores: Float[Array, "*batch models"]
    status: Int[Array, "*batch"]
    steps: Int[Array, "*batch"]
    resolution: Float[Array, "*batch"]
    params: dict[str, Any]


def exact_fit(scores: Float[Array, " models"], status: Any = Status.CONVERGED, **params: Any) -> Fit:
    """A `Fit` of a closed form whose scores are exact up to the rounding of one division and a short sum."""
    scores = jnp.asarray(scores)
    return Fit(
        scores=scores,
        status=jnp.asarray(status, jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=rounding_resolution(scores),
        params=params,
    )


def rounding_resolution(scores: Float[Array, "*batch models"]) -> Float[Array, "*batch"]:
    """Resolution of scores that differ from exact arithmetic by summation order only: 64 ulp of the largest."""
    finite = jnp.where(jnp.isfinite(scores), jnp.abs(scores), 0)
    return 64 * jnp.finfo(scores.dtype).eps * jnp.max(finite, axis=-1)


def solver_resolution(scores: Float[Array, "*batch models"]) -> Float[Array, "*batch"]:
    """Resolution of scores from an iterative solver: eps^(2/3) on the scale of the largest score."""
    finite = jnp.where(jnp.isfinite(scores), jnp.abs(scores), 0)
    return jnp.finfo(scores.dtype).eps ** (2 / 3) * (1 + jnp.max(finite, axis=-1))
