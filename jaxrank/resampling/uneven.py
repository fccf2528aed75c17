"""Replicates of unequal trials: a cell is redrawn from its own observed trials, never from the padding.

Where some cells of R (models, questions, trials) hold fewer trials than others, an index drawn for all of them points,
in some, at a trial that does not exist. Were these places left empty, a model with 1 of 10 trials would have no result
at all in a third of the replicates, and methods with a prior would then rank it by the prior.

So the design is held fixed, which cell has how many trials and where, and the outcomes in it are redrawn. Place n of a
cell takes the shared draw of place n where the cell has observed that trial, and otherwise a trial of its own by a
second shared draw. Then

* every place of a cell is a uniform draw from the cell's own trials, as many as it has: the mean over replicates of a
  cell's mean is the cell's mean, and no cell is ever empty;
* cells that observed the same trials are drawn alike, so that complete data have the replicates of the plain scheme,
  and the sharing of trials over questions and models is kept wherever the trials are shared;
* between cells that observed different trials the dependence is weaker, by the share of trials that they have in
  common: intervals of differences between such models are a little wide where trials are positively correlated.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxrank.resampling.schemes import (
    Independent,
    QuestionsAndTrials,
    Scheme,
    Subsample,
    Trials,
    TrialsPerQuestion,
)

_OWN_STREAM = 2**31 - 2  # fold_in constant of the second draws
DRAWS_TRIALS = (Trials, TrialsPerQuestion, Independent, QuestionsAndTrials, Subsample)


def is_uneven(outcomes: np.ndarray | None) -> bool:
    """Whether some cell of outcomes (models, questions, trials) holds trials and lacks others; a cell without any is
    never drawn from."""
    if outcomes is None:
        return False
    n = (outcomes >= 0).sum(axis=-1)
    return bool(((n > 0) & (n < outcomes.shape[-1])).any())


@dataclass(frozen=True)
class WithinCells(Scheme):
    """A scheme that draws trials, on unequal trials."""

    name = "within_cells"
    weighted = False
    base: Scheme

    def draw(self, key, replicate, shape, dtype):
        if isinstance(self.base, Subsample):
            return jax.random.permutation(key, shape[2]).astype(jnp.int32)
        drawn = self.base.draw(key, replicate, shape, dtype)
        index = drawn[:, 1:] if isinstance(self.base, QuestionsAndTrials) else drawn
        return drawn, jax.random.bits(jax.random.fold_in(key, _OWN_STREAM), index.shape, jnp.uint32)

    def gather(self, draw, outcomes):
        if isinstance(self.base, Subsample):
            return _observed_first(outcomes[:, :, draw])[:, :, : self.base.n]
        index, words = draw
        if isinstance(self.base, QuestionsAndTrials):
            outcomes, index = outcomes[:, index[:, 0]], index[:, 1:]
        whole = lambda x: jnp.broadcast_to(x, outcomes.shape)  # shared by leading axes that it lacks
        return redraw(outcomes, whole(_with_axes(index)), whole(_with_axes(words)))

    def order(self, draw):
        return draw[0][:, 0] if isinstance(self.base, QuestionsAndTrials) else None

    def __str__(self) -> str:
        return str(self.base)


def redraw(
    outcomes: Int[Array, "models questions trials"],
    index: Int[Array, "models questions trials"],
    words: Int[Array, "models questions trials"],
) -> Int[Array, "models questions trials"]:
    """The observed places of every cell, each with trial ``index`` of the cell where it has that, else one of the
    cell's own by the random word."""
    seen = outcomes >= 0
    n = jnp.sum(seen, axis=-1, keepdims=True).astype(jnp.uint32)
    own = ((words >> 16) * n) >> 16  # below n, as draws.integers
    drawn = jnp.take_along_axis(outcomes, index, axis=2)
    instead = jnp.take_along_axis(_observed_first(outcomes), own.astype(jnp.int32), axis=2)
    return jnp.where(seen, jnp.where(drawn >= 0, drawn, instead), -1)


def _observed_first(outcomes: Array) -> Array:
    """The trials of every cell in their order, those that are missing last."""
    order = jnp.argsort(outcomes < 0, axis=-1, stable=True)
    return jnp.take_along_axis(outcomes, order, axis=-1)


def _with_axes(x: Array) -> Array:
    return x.reshape((1,) * (3 - x.ndim) + x.shape)
