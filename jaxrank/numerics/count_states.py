"""How k tries fall into categories: every split x_0 + .. + x_C = k, its chance, and means of functions of it.

The chance of a split among k trials drawn from recorded ones, and among fresh tries under a Dirichlet posterior, are
one formula, with factors c (c - 1) .. or a (a + 1) ..: falling for trials that are used up, rising for evidence.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.errors import OptionError
from jaxrank.numerics.precision import matmul

MOST = 20_000
"""Splits beyond which means over them are refused."""
_AT_ONCE = 8_000_000  # chances of splits in memory
_SAME = 1e-12  # mean rewards that lie so little below a bar reach it


@functools.lru_cache(maxsize=32)
def count_states(k: int, n_categories: int, most: int = MOST) -> Int[np.ndarray, "states categories"]:
    """All splits of k tries among the categories; `OptionError` for more than ``most``."""
    n = math.comb(k + n_categories - 1, n_categories - 1)
    if n > most:
        raise OptionError(
            f"{k} tries fall into {n_categories} different rewards in {n} ways; at most {most} are worked out: give "
            "fewer tries, or equal rewards to some categories"
        )
    made = np.zeros((1, 0), int)
    for _ in range(n_categories - 1):
        left = k - made.sum(axis=1)
        rows = np.repeat(np.arange(len(made)), left + 1)
        taken = np.arange(len(rows)) - np.repeat(np.cumsum(left + 1) - (left + 1), left + 1)
        made = np.column_stack([made[rows], taken])
    made = np.column_stack([made, k - made.sum(axis=1)])
    made.flags.writeable = False
    return made


def mean_rewards(
    states: Int[np.ndarray, "states categories"], rewards: Float[np.ndarray, " categories"]
) -> Float[np.ndarray, " states"]:
    """The mean reward of each split."""
    return states @ rewards / states[0].sum()


def reaching(
    states: Int[np.ndarray, "states categories"],
    rewards: Float[np.ndarray, " categories"],
    bars: Float[np.ndarray, " bars"],
) -> Float[np.ndarray, "states bars"]:
    """1 where the mean reward of a split reaches a bar, else 0."""
    return (mean_rewards(states, rewards)[:, None] >= bars - _SAME).astype(float)


def chances(
    counts: Float[Array, "*cells categories"], states: Int[np.ndarray, "states categories"], step: int
) -> Float[Array, "*cells states"]:
    """The chance of each split. **step** -1: of trials drawn without replacement from ``counts``, each at least k in
    all; 1: of fresh tries under Dirichlet(counts)."""
    k = int(states[0].sum())
    whole = jnp.sum(counts, axis=-1)
    logs = _log_factors(counts, k, step)
    found = sum(logs[..., i, states[:, i]] for i in range(states.shape[1]))
    return jnp.exp(found - _log_factors(whole, k, step)[..., -1:])


def _log_factors(c: Float[Array, "*shape"], k: int, step: int) -> Float[Array, "*shape tries"]:
    """log of c (c + step) .. (c + (x - 1) step) / x! for x = 0..k; -inf where a factor is not positive."""
    t = jnp.arange(k, dtype=c.dtype).reshape((1,) * c.ndim + (k,))
    factor = c[..., None] + step * t
    each = jnp.where(factor > 0, jnp.log(jnp.where(factor > 0, factor, 1) / (t + 1)), -jnp.inf)
    return jnp.concatenate([jnp.zeros((*c.shape, 1), c.dtype), jnp.cumsum(each, axis=-1)], axis=-1)


def twice(
    states: Int[np.ndarray, "states categories"], first: np.ndarray, second: np.ndarray
) -> Float[np.ndarray, " states_of_2k"]:
    """Of each split z of 2k tries, the mean of first(x) second(z - x) over the halves x of them: what makes a mean of
    products over a posterior a mean over splits. On the host."""
    k, n_categories = int(states[0].sum()), states.shape[1]
    double = count_states(2 * k, n_categories, 16 * MOST)
    base = (2 * k + 1) ** np.arange(n_categories, dtype=np.int64)
    order = np.argsort(double @ base)
    keys = (double @ base)[order]
    log, log_double = log_ways(states), log_ways(double)
    total = np.zeros(len(double))
    for x, ways, value in zip(states, log, first, strict=True):
        if value:
            at = order[np.searchsorted(keys, (x + states) @ base)]
            total[at] += value * second * np.exp(ways + log - log_double[at])  # x + y differ as y do
    return total


def log_ways(states: Int[np.ndarray, "states categories"]) -> Float[np.ndarray, " states"]:
    """log of k! / (x_0! .. x_C!)."""
    from scipy.special import gammaln

    return gammaln(states[0].sum() + 1) - gammaln(states + 1).sum(axis=1)


def mean_over(counts: Float[Array, "*cells categories"], k: int, step: int, value: Any) -> Float[Array, "*cells"]:
    """The mean of ``value`` (states,) under `chances`, some cells at a time where there are many."""
    states = count_states(k, counts.shape[-1], 16 * MOST)
    weights = jnp.asarray(value, counts.dtype)
    one = lambda cell: matmul(chances(cell, states, step), weights)
    several = max(_AT_ONCE // len(states), 1)
    if math.prod(counts.shape[:-1]) <= several:
        return one(counts)
    rows = counts.reshape(-1, counts.shape[-1])
    return jax.lax.map(one, rows, batch_size=several).reshape(counts.shape[:-1])


def posterior_moments(
    alpha: Float[Array, "*cells categories"], k: int, value: Any, square: Any
) -> tuple[Float[Array, "*cells"], Float[Array, "*cells"]]:
    """Mean and variance over p ~ Dirichlet(alpha) of g(p), the mean of ``value`` (states,) over k fresh tries of
    chances p. **square**: what `twice` makes of ``value`` with itself."""
    mean = mean_over(alpha, k, 1, value)
    return mean, jnp.maximum(mean_over(alpha, 2 * k, 1, square) - mean**2, 0)
