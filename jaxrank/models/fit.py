"""``Fit``: what every method returns, for one data set or for a hundred thousand."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.numerics.status import Status


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


def exact_fit(scores: Float[Array, " models"], status: Any = Status.CONVERGED, origin: Any = 0.0, **params: Any) -> Fit:
    """A `Fit` of a closed form whose scores ``origin + scores`` are exact up to the rounding of one division and a
    short sum. An origin that all models share costs its own last digit only."""
    scores = jnp.asarray(scores)
    origin = jnp.asarray(origin, scores.dtype)
    return Fit(
        scores=origin + scores,
        status=jnp.asarray(status, jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=rounding_resolution(scores) + 2 * jnp.finfo(scores.dtype).eps * jnp.abs(origin),
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
