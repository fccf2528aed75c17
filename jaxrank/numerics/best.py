"""The best of k tries with graded rewards, over recorded trials and over a Dirichlet posterior."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics import hypergeometric
from jaxrank.numerics.hypergeometric import log_gamma_mixed
from jaxrank.numerics.precision import matmul

Categories = Float[Array, "*cells categories"]
Rewards = Float[Array, " categories"]


def best_of_tries(counts: Categories, rewards: Rewards, k: Any) -> Float[Array, "*cells"]:
    """E max of the rewards of k trials drawn without replacement from each cell: the largest reward, less every step
    down to the next times the chance that all k trials lie below it. Without meaning in cells of fewer than k
    trials."""
    order = jnp.argsort(rewards)
    steps = jnp.diff(rewards[order])
    below = jnp.cumsum(counts[..., order], axis=-1)
    n = jnp.broadcast_to(below[..., -1:], below[..., :-1].shape)
    enough = n >= jnp.asarray(k, counts.dtype)
    chance = hypergeometric.all_successes(
        jnp.where(enough, below[..., :-1], 0), jnp.where(enough, n, jnp.asarray(k, counts.dtype)), k
    )
    return rewards[order][-1] - matmul(chance, steps)


def best_moments(alpha: Categories, rewards: Rewards, k: Any) -> tuple[Float[Array, "*cells"], Float[Array, "*cells"]]:
    """Mean and variance of E max of k fresh tries over category probabilities ~ Dirichlet(alpha), alpha >= 1.

    With A_l the chance of a reward up to the l-th, the best is r_L - sum_l (r_(l+1) - r_l) A_l^k; A_l is a Beta, and
    for i < j A_i = A_j V with V independent of A_j. Steps between equal rewards are 0, so that such categories count
    as one.
    """
    order = jnp.argsort(rewards)
    steps = jnp.diff(rewards[order])
    sums = jnp.cumsum(alpha[..., order], axis=-1)
    low, total = sums[..., :-1], sums[..., -1:]
    once = jnp.exp(_log_power(low, total - low, k))
    mean = rewards[order][-1] - matmul(once, steps)
    n = low.shape[-1]
    i, j = jnp.triu_indices(n)
    inner, outer = low[..., i], low[..., j]
    rest = jnp.maximum(outer - inner, 0)
    apart = jnp.broadcast_to(i != j, rest.shape)
    ratio = jnp.where(apart, _log_power(inner, jnp.where(apart, rest, 1), k), 0)
    both = jnp.exp(_log_power(outer, total - outer, 2 * k) + ratio)
    covariance = both - once[..., i] * once[..., j]
    times = jnp.where(i == j, 1, 2) * steps[i] * steps[j]
    variance = matmul(covariance, times)
    return mean, jnp.maximum(variance, 0)


def _log_power(a: Array, b: Array, k: Any) -> Array:
    """log E[p^k] for p ~ Beta(a, b)."""
    return log_gamma_mixed(a, jnp.broadcast_to(jnp.asarray(k, a.dtype), a.shape), b)
