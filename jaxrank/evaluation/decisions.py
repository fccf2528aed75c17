"""Decisions from scores with standard deviations: which pairs are settled, which models share a rank."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Int

from jaxrank.errors import OptionError


def separation(
    mu: Float[Array, "*batch models"], sigma: Float[Array, "*batch models"]
) -> Float[Array, "*batch models models"]:
    """z = |mu_i - mu_j| / sqrt(sigma_i^2 + sigma_j^2) of every pair: 0 where equal, infinite if certain and unequal."""
    gap = jnp.abs(mu[..., :, None] - mu[..., None, :])
    spread = jnp.sqrt(jnp.square(sigma[..., :, None]) + jnp.square(sigma[..., None, :]))
    return jnp.where(gap > 0, gap / spread, 0)


def ranking_confidence(mu: Any, sigma: Any) -> Float[Array, "*batch models models"]:
    """Confidence Phi(z) that the order of two models by ``mu`` is their true order; 1/2 for equal scores.

    ``mu`` and ``sigma`` (..., L): posterior means and standard deviations of independent normal scores.
    Source: Hariri et al. (2026), "Don't Pass@k", section on decisions.
    """
    return ndtr(separation(*_floats(mu, sigma)))


def rank_with_intervals(
    mu: Any, sigma: Any, confidence: float = 0.95, ties: Literal["leader", "adjacent"] = "leader"
) -> Int[Array, "*batch models"]:
    """Competition ranks (1 is best) in which models that are not separated share a rank.

    Two models are separated where |mu - mu'| / sqrt(sigma^2 + sigma'^2) >= Phi^-1(confidence), one-sided.
    **mu**, **sigma**: (..., L) posterior means and standard deviations.  **confidence**: in [0.5, 1).
    **ties**: "leader": a group is everything down from its best member until the first model that is separated from
    that member. "adjacent" (as published): neighbours in the order that are not separated are in one group, which can
    chain models that are far apart into one rank.
    """
    if ties not in ("leader", "adjacent"):
        raise OptionError(f'ties={ties!r}; it must be "leader" or "adjacent"')
    if not 0.5 <= float(confidence) < 1:
        raise OptionError(f"confidence={confidence} must be in [0.5, 1)")
    mu, sigma = _floats(mu, sigma)
    mu, sigma = jnp.broadcast_arrays(mu, sigma)
    order = jnp.argsort(-mu, axis=-1, stable=True)
    best, spread = (jnp.take_along_axis(v, order, axis=-1) for v in (mu, sigma))
    limit = ndtri(jnp.asarray(confidence, mu.dtype))
    z = separation(best, spread)

    def place(leader: Array, i: Array) -> tuple[Array, Array]:
        against = leader if ties == "leader" else jnp.maximum(i - 1, 0)
        z_i = jnp.take_along_axis(z[..., i, :], jnp.broadcast_to(against, leader.shape)[..., None], axis=-1)[..., 0]
        leader = jnp.where((z_i >= limit) & (i > 0), i, leader)
        return leader, leader + 1

    first = jnp.zeros(mu.shape[:-1], jnp.int32)
    _, ranks = jax.lax.scan(place, first, jnp.arange(mu.shape[-1], dtype=jnp.int32))
    ranks = jnp.moveaxis(ranks, 0, -1)
    return jnp.take_along_axis(ranks, jnp.argsort(order, axis=-1), axis=-1)


def _floats(*arrays: Any) -> tuple[Array, ...]:
    dtype = jnp.result_type(float, *map(jnp.asarray, arrays))
    return tuple(jnp.asarray(a, dtype) for a in arrays)
