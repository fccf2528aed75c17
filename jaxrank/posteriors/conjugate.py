"""Posteriors that are drawn in closed form, without a chain."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxrank.data.statistics import Counts


def conjugate(data: Any, key: Any, n_chains: int, n_samples: int) -> dict[str, Any]:
    """Independent draws of each model's mean value under a uniform Dirichlet prior in every cell [hariri2026dont]."""
    stat = Counts.of(data)
    counts = stat.categories + 1
    height = stat.levels - stat.levels[0]
    weight = jnp.ones_like(stat.questions)

    def draw(key: Any) -> Any:
        gamma = jax.random.gamma(key, counts)
        share = jnp.sum(gamma * height[None, None, :], axis=-1) / jnp.sum(gamma, axis=-1)
        return stat.levels[0] + jnp.sum(weight[None, :] * share, axis=1) / jnp.sum(weight)

    keys = jax.random.split(key, n_chains * n_samples)
    theta = jax.jit(lambda keys: jax.lax.map(draw, keys, batch_size=64))(keys)
    return {"theta": theta.reshape(n_chains, n_samples, -1)}
