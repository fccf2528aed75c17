"""Widest paths between all pairs of nodes: the greatest strength of the weakest link, on device."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_BLOCK = 32
_PLAIN = 96  # up to this many nodes one node a step is as fast as blocks


def widest_paths(strength: Float[Array, "nodes nodes"]) -> Float[Array, "nodes nodes"]:
    """``out[i, j]`` = maximum over paths from i to j of the smallest strength on the path; 0 where there is none.

    ``strength[i, j] > 0`` is a link from i to j, 0 is none. Floyd-Warshall in O(L^3); large graphs in blocks of 32
    intermediate nodes, so that the whole matrix is read L / 32 times and not L times.
    """
    n = strength.shape[0]
    if n <= _PLAIN:
        return jax.lax.fori_loop(0, n, _through, strength)
    n_blocks = -(-n // _BLOCK)
    pad = n_blocks * _BLOCK - n
    padded = jnp.pad(strength, ((0, pad), (0, pad)))
    return jax.lax.fori_loop(0, n_blocks, _through_block, padded)[:n, :n]


def _through(k: Any, width: Array) -> Array:
    """Allow node k on the way."""
    return jnp.maximum(width, jnp.minimum(width[:, k][:, None], width[k][None, :]))


def _through_block(b: Any, width: Array) -> Array:
    """Allow the nodes of block b on the way: among themselves, then from and to the block, then everywhere."""
    start = b * _BLOCK
    rows = jax.lax.dynamic_slice_in_dim(width, start, _BLOCK, axis=0)
    columns = jax.lax.dynamic_slice_in_dim(width, start, _BLOCK, axis=1)
    inner = jax.lax.fori_loop(0, _BLOCK, _through, jax.lax.dynamic_slice_in_dim(rows, start, _BLOCK, axis=1))
    rows = _product(rows, inner, rows)
    columns = _product(columns, columns, inner)
    return _product(width, columns, rows)


def _product(width: Array, left: Array, right: Array) -> Array:
    """max(width, max_k min(left[:, k], right[k, :])), unrolled over the block so that it is one fused pass."""
    for k in range(_BLOCK):
        width = jnp.maximum(width, jnp.minimum(left[:, k][:, None], right[k][None, :]))
    return width
