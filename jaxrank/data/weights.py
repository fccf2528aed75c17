"""``Weights`` of a replicate, and the ``Rows`` of contributions that they multiply."""

from __future__ import annotations

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.numerics.precision import matmul


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


def observed_weights(
    seen: Bool[Array, "models questions"],
    questions: Float[Array, " questions"],
    groups: Float[Array, "questions groups"] | None,
) -> Float[Array, "models questions"]:
    """Weight of each cell in a mean over questions: that of the question where the model has results, else 0. With
    ``groups`` those that a model has weigh the same, and the questions of a group that it has share that weight."""
    weights = jnp.where(seen, questions[None], 0)
    if groups is None:
        return weights
    total = matmul(weights, groups)
    share = jnp.where(total > 0, 1 / jnp.where(total > 0, total, 1), 0)
    return weights * matmul(share, groups.T)


class OfQuestions(eqx.Module):
    """Mixin of statistics that hold results by question."""

    @property
    @abc.abstractmethod
    def observed(self) -> Float[Array, "models questions"]:
        """Weight of each cell in a mean over questions, 0 where nothing was observed."""

    def mean_over_questions(self, values: Float[Array, "models questions"]) -> Float[Array, " models"]:
        """Mean of ``values`` over the observed questions of each model; NaN where a model has none."""
        w = self.observed
        return jnp.sum(w * values, axis=-1) / jnp.sum(w, axis=-1)


def unit_of(weights: Weights) -> str:
    """The coarsest unit whose rows suffice for these weights."""
    if weights.trials is None:
        return "question"
    if weights.trials.ndim == 1 and weights.questions is None:
        return "trial"
    return "cell"
