"""``Fit``: what every method returns, for one data set or for a hundred thousand."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.numerics.precision import matmul
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


def exact_fit(
    scores: Float[Array, " models"],
    status: Any = Status.CONVERGED,
    origin: Any = 0.0,
    n_terms: int | None = None,
    **params: Any,
) -> Fit:
    """A `Fit` of a closed form whose scores ``origin + scores`` are exact up to the rounding of one division and a
    sum, of ``n_terms`` numbers (`rounding_resolution`). An origin that all models share costs its own last digit
    only."""
    scores = jnp.asarray(scores)
    origin = jnp.asarray(origin, scores.dtype)
    return Fit(
        scores=origin + scores,
        status=jnp.asarray(status, jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=rounding_resolution(scores, n_terms) + 2 * jnp.finfo(scores.dtype).eps * jnp.abs(origin),
        params=params,
    )


def mean_fit(stat: Any, above: Float[Array, " models"], **params: Any) -> Fit:
    """The `Fit` of means over questions ``above`` the origin of a statistic (`Counts` or `Moments`); undefined where a
    model has none."""
    status = jnp.where(jnp.all(jnp.isfinite(above)), Status.CONVERGED, Status.UNDEFINED)
    fit = exact_fit(above, status, stat.origin, stat.questions.shape[0], **params)
    resolution = jnp.maximum(fit.resolution, jnp.asarray(stat.rounding, fit.resolution.dtype))
    return Fit(fit.scores, fit.status, fit.steps, resolution, fit.params)


def rounding_resolution(scores: Float[Array, "*batch models"], n_terms: int | None = None) -> Float[Array, "*batch"]:
    """Resolution of scores that differ from exact arithmetic by rounding only, of the largest of them: 64 ulp, or of a
    sum of ``n_terms`` positive numbers, each good to an ulp or two, 4 + sqrt(n_terms) / 2 ulp.

    However large the counts are, their quotients are good to an ulp; what errors add up to is that many numbers, one
    after the other, of which sqrt(n / 12) ulp are expected. Sums in another order lose less.
    """
    finite = jnp.where(jnp.isfinite(scores), jnp.abs(scores), 0)
    ulps = 64 if n_terms is None else 4 + n_terms**0.5 / 2
    return ulps * jnp.finfo(scores.dtype).eps * jnp.max(finite, axis=-1)


def share_resolution(condition: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Resolution of what is worked out from shares of pairs, wins / comparisons: 16 ulp of ``condition``, how far a
    score moves for a relative change of the shares. Shares are single quotients, good to an ulp whatever the size of
    the counts."""
    return 16 * jnp.finfo(condition.dtype).eps * condition


def solver_resolution(scores: Float[Array, "*batch models"], error: Any = 0.0) -> Float[Array, "*batch"]:
    """Resolution of scores from an iterative solver: eps^(2/3) on the scale of the largest score, where solvers stop,
    and twice the ``error`` (*batch) of any score by the rounding of sums over the data (`rounding_error`)."""
    finite = jnp.where(jnp.isfinite(scores), jnp.abs(scores), 0)
    return jnp.finfo(scores.dtype).eps ** (2 / 3) * (1 + jnp.max(finite, axis=-1)) + 2 * error


def rounding_error(inverse: Float[Array, "n n"], counts: Float[Array, " n"], n_scores: int) -> Float[Array, ""]:
    """How far the first ``n_scores`` parameters of an optimum may be off because the gradient was rounded.

    **inverse**: of the curvature.  **counts**: for each parameter the sum of the sizes of the terms that its gradient
    adds up: their sum is off by eps times that, and the optimum by the inverse curvature times that.
    """
    off = matmul(jnp.abs(inverse[:n_scores]), counts)
    return jnp.finfo(inverse.dtype).eps * jnp.max(off)


def precise(status: Int[Array, "*batch"], error: Float[Array, "*batch"]) -> Int[Array, "*batch"]:
    """``status``, and ``MAX_STEPS`` where "converged" is no more than a point at which the gradient rounds to zero: the
    scores may be off by half a unit or more."""
    return jnp.where((status == Status.CONVERGED) & ~(error < 0.5), Status.MAX_STEPS, status)
