"""``Weights`` of a replicate, and the ``Rows`` of contributions that they multiply."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float


class Weights(eqx.Module):
    """How often each trial and each question counts.

    **trials**: (N,) shared by all questions, or (M, N) for each question.  **questions**: (M,).
    None means every unit once.
    """

    trials: Float[Array, "..."] | None = None
    questions: Float[Array, " questions"] | None = None


class Rows(eqx.Module):
    """Per-unit contributions to a statistic: ``flat`` (K, D) and what ``reduce`` needs to shape the product."""

    flat: Float[Array, "units size"]
    shape: tuple[int, ...] = eqx.field(static=True)
    unit: str = eqx.field(static=True)  # "trial": K = N; "question": K = M; "cell": K = M * N


def unit_of(weights: Weights) -> str:
    """The coarsest unit whose rows suffice for these weights."""
    if weights.trials is None:
        return "question"
    if weights.trials.ndim == 1 and weights.questions is None:
        return "trial"
    return "cell"
