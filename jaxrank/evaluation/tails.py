"""How likely the mean reward of k tries reaches a bar, at every bar: `tail_pass`, and the whole profile.

See `jaxrank.evaluation.metrics` for what R, R0, strength, level and dtype are.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.core import Tracer
from jaxtyping import Array

from jaxrank.errors import OptionError
from jaxrank.evaluation.estimates import (
    Cells,
    Estimate,
    Evaluated,
    by_question,
    interval_estimate,
    over_questions,
    read,
    weights_size,
)
from jaxrank.evaluation.profile import TailPassProfile
from jaxrank.evaluation.tries import check_trials, method_of, spectrum_weights, whole
from jaxrank.models.options import check_number
from jaxrank.numerics.count_states import count_states, mean_over, posterior_moments, reaching, twice
from jaxrank.numerics.precision import precision


def tail_pass(
    R: Evaluated,
    v: npt.ArrayLike,
    w: npt.ArrayLike | None = None,
    *,
    R0: npt.ArrayLike | None = None,
    level: float = 0.95,
    strength: float | Array = 1.0,
    method: str | None = None,
    dtype: str | None = None,
    extrapolate: bool = False,
) -> Estimate:
    """Weighted mean over the thresholds t/k of the chance that the mean reward of k tries reaches them [scorio2026].

    **v**: (k,) weights of 1/k..1, 0 or more, with a sum of at most 1; their number is k (`tail_weights` makes some).
    **w**: reward of each category, from 0 to 1; by default its value over the largest.  The posterior is that of k
    fresh tries under a uniform Dirichlet prior; k > n is an error without ``extrapolate``.  **method**: "questions" or
    "normal". Of outcomes 0 and 1 this is `threshold_spectrum_at_k`.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.tail_pass([[0, 2, 1], [0, 0, 1]], [0.5, 0.5]).point), 3)
    0.167
    """
    weights = spectrum_weights(v)
    k = len(weights)
    if isinstance(method, str) and method == "exact":
        raise OptionError('tail_pass has no draws of its posterior; use method="normal", or "questions"')
    with precision(dtype):
        cells, rewards = _read(R, R0, strength, w)
        if not extrapolate:
            check_trials(cells, k)
        states = count_states(k, len(rewards))
        value = reaching(states, rewards, np.arange(1, k + 1) / k) @ weights
        values, point, mean, sd = _moments(cells.stat, cells.prior, k, value, twice(states, value, value))
        method = method_of(method, point)
        bounds = 0.0, float(weights.sum())
        if method == "questions":
            return by_question(cells, values, point, mean, sd, level, bounds)
        return interval_estimate(cells, point, mean, sd, level, bounds)


def tail_pass_profile(
    R: Evaluated,
    k: int,
    w: npt.ArrayLike | None = None,
    *,
    thresholds: npt.ArrayLike | None = None,
    R0: npt.ArrayLike | None = None,
    strength: float = 1.0,
) -> TailPassProfile:
    """The chance that the mean reward of k tries reaches each threshold, its posterior, and utilities of it.

    **k**: tries, more than the trials that there are too.  **w**: as in `tail_pass`.  **thresholds**: of the mean
    reward, from 0 to 1 and rising; by default 1/k..1.  Worked out in float64 on the host.

    >>> from jaxrank import evaluation
    >>> profile = evaluation.tail_pass_profile([[0, 1, 1], [1, 1, 1]], 4)
    >>> profile.mean.round(3).tolist()
    [0.957, 0.843, 0.643, 0.357]
    >>> round(float(profile.moment(1).mean), 3)
    0.7
    """
    tries = int(whole(k))
    with precision("float64"):
        cells, rewards = _read(R, R0, strength, w)
        if thresholds is not None:
            check_number("thresholds", thresholds, 0, 1, ndim=1)
        bars = np.arange(1, tries + 1) / tries if thresholds is None else np.asarray(thresholds, float)
        if not len(bars) or np.any(np.diff(bars) <= 0):
            raise OptionError("thresholds must rise, and be one or more")
        counts = np.asarray(cells.stat.categories, float)
        # Categories of equal reward are one, with the evidence of both.
        levels, place = np.unique(rewards, return_inverse=True)
        count_states(tries, len(levels))
        merged = np.zeros((len(rewards), len(levels)))
        merged[np.arange(len(rewards)), place] = 1
        return TailPassProfile(
            cells=cells,
            k=tries,
            rewards=levels,
            thresholds=bars,
            weight=np.asarray(cells.stat.observed, float),
            counts=counts @ merged,
            alpha=(1 + counts + np.asarray(cells.prior, float)) @ merged,
        )


def _read(R: Evaluated, R0: npt.ArrayLike | None, strength: Any, w: npt.ArrayLike | None) -> tuple[Cells, np.ndarray]:
    if w is not None:
        check_number("w", w, 0, 1, ndim=1)
    cells = read(R, R0, strength, weights_size(w))
    if w is not None:
        return cells, np.asarray(w, float)
    if isinstance(R, Tracer):
        raise OptionError("w is needed inside jit and vmap: the reward of each category")
    levels = np.asarray(cells.stat.levels, float)
    if levels.min(initial=0) < 0:
        raise OptionError("R has outcomes below 0; give w, a reward from 0 to 1 for each category")
    return cells, levels / max(levels.max(initial=0), np.finfo(float).tiny)


@eqx.filter_jit
def _moments(stat: Any, prior: Array, k: int, value: Any, square: Any) -> tuple[Array, ...]:
    counts = stat.categories
    enough = stat.trials >= k
    full = jnp.where(enough[..., None], counts, jnp.full_like(counts, k))
    values = jnp.where((stat.observed > 0) & ~enough, jnp.nan, mean_over(full, k, -1, value))
    found = posterior_moments(1 + counts + prior, k, value, square)
    return values, stat.mean_over_questions(values), *over_questions(stat.observed, *found)
