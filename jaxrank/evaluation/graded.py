"""max@k of graded trials with its posterior. See `jaxrank.evaluation.metrics` for what R and the options are."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from jaxrank.errors import OptionError
from jaxrank.evaluation.estimates import (
    Estimate,
    Evaluated,
    by_question,
    interval_estimate,
    over_questions,
    read,
    weights_size,
)
from jaxrank.evaluation.tries import check_trials, method_of, whole
from jaxrank.numerics.best import best_moments, best_of_tries
from jaxrank.numerics.precision import precision


def max_at_k(
    R: Evaluated,
    k: int,
    w: npt.ArrayLike | None = None,
    *,
    R0: npt.ArrayLike | None = None,
    level: float = 0.95,
    strength: float | Array = 1.0,
    method: str | None = None,
    dtype: str | None = None,
    extrapolate: bool = False,
) -> Estimate:
    """max@k: mean over questions of the best reward of k tries [bagirov2025]; k = 1 is the mean, and of outcomes 0 and
    1 this is Pass@k.

    **w**: reward of each category, by default its value.  The posterior is that of k fresh tries under a uniform
    Dirichlet prior; k > n is an error without ``extrapolate``.  **method**: "questions" or "normal".

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.max_at_k([[0, 2, 1], [0, 0, 1]], 2).point), 3)
    1.167
    """
    tries = whole(k)
    if isinstance(method, str) and method == "exact":
        raise OptionError('max@k has no draws of its posterior; use method="normal", or "questions"')
    with precision(dtype):
        cells = read(R, R0, strength, weights_size(w))
        if not extrapolate:
            check_trials(cells, int(tries))
        rewards = cells.stat.levels if w is None else jnp.asarray(w, cells.stat.levels.dtype)
        values, point, mean, sd = _moments(cells.stat, cells.prior, rewards, tries)
        method = method_of(method, point)
        if method == "questions":
            ends = float(np.min(rewards)), float(np.max(rewards))
            return by_question(cells, values, point, mean, sd, level, ends)
        return interval_estimate(cells, point, mean, sd, level, (jnp.min(rewards), jnp.max(rewards)))


@eqx.filter_jit
def _moments(stat: Any, prior: Array, rewards: Array, k: Any) -> tuple[Array, Array, Array, Array]:
    short = (stat.observed > 0) & (stat.trials < jnp.asarray(k, stat.categories.dtype))
    values = jnp.where(short, jnp.nan, best_of_tries(stat.categories, rewards, k))
    found = best_moments(1 + stat.categories + prior, rewards, k)
    return values, stat.mean_over_questions(values), *over_questions(stat.observed, *found)
