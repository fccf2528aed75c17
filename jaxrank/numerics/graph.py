"""Reachability on small directed graphs, on device: who dominates whom, and what hangs together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from jaxrank.numerics.lanes import lanes

_WORD = 32


@jax.jit
def reachability(edges: Bool[Array, "nodes nodes"]) -> Bool[Array, "nodes nodes"]:
    """Transitive and reflexive closure: ``out[i, j]`` when a path of zero or more edges leads from i to j.

    Warshall's algorithm on rows packed into 32-bit words, L steps of L * ceil(L / 32) words; nothing is done for a
    batch of graphs each of which has a node linked both ways with every other.
    """
    return _closure(edges)


def connectivity(
    edges: Bool[Array, "nodes nodes"],
) -> tuple[Bool[Array, "nodes nodes"], Bool[Array, ""], Bool[Array, ""]]:
    """`reachability`, whether every node reaches every other, and whether it would if edges led both ways."""
    return _connectivity(edges)


def _by_hub(edges: Array, simple: Callable[[Array], Any], search: Callable[[Array], Any]) -> Any:
    """``simple`` of graphs (nodes, nodes, lanes) each of which has a node linked both ways with every other: there
    every node reaches every other; ``search`` of the others. Both are given the edges and those of a node with itself.
    """
    loops = edges | jnp.eye(edges.shape[0], dtype=bool)[..., None]
    hub = jnp.all(loops, axis=0) & jnp.all(loops, axis=1)
    return jax.lax.cond(jnp.all(jnp.any(hub, axis=0)), simple, search, loops)


def _closure_lanes(edges: Bool[Array, "nodes nodes lanes"]) -> Bool[Array, "nodes nodes lanes"]:
    return _by_hub(edges, jnp.ones_like, _warshall)


def _connectivity_lanes(edges: Bool[Array, "nodes nodes lanes"]) -> tuple[Array, Array, Array]:
    def simple(loops: Array) -> tuple[Array, Array, Array]:
        return jnp.ones_like(loops), jnp.ones_like(loops[0, 0]), jnp.ones_like(loops[0, 0])

    def search(loops: Array) -> tuple[Array, Array, Array]:
        reach, both_ways = _warshall(loops), _warshall(loops | jnp.swapaxes(loops, 0, 1))
        return reach, jnp.all(reach, axis=(0, 1)), jnp.all(both_ways, axis=(0, 1))

    return _by_hub(edges, simple, search)


_closure = lanes(_closure_lanes)
_connectivity = lanes(_connectivity_lanes)


def _warshall(edges: Bool[Array, "nodes nodes lanes"]) -> Bool[Array, "nodes nodes lanes"]:
    n, _, n_lanes = edges.shape
    n_words = -(-n // _WORD)
    padded = jnp.pad(edges, ((0, 0), (0, n_words * _WORD - n), (0, 0)))
    shifts = jnp.arange(_WORD, dtype=jnp.uint32)[:, None]
    bits = padded.reshape(n, n_words, _WORD, n_lanes).astype(jnp.uint32)
    words = jnp.sum(bits << shifts[None, None], axis=2, dtype=jnp.uint32)  # (n, words, lanes): what a node reaches

    def through(k: Array, words: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(words, k, 1, axis=0)
        own = jax.lax.dynamic_slice_in_dim(words, k // _WORD, 1, axis=1)
        reaches_k = (own >> (k % _WORD).astype(jnp.uint32)) & 1
        return words | jnp.where(reaches_k > 0, row, jnp.uint32(0))

    words = jax.lax.fori_loop(0, n, through, words)
    reached = (words[:, :, None] >> shifts[None, None]) & 1
    return reached.reshape(n, -1, n_lanes)[:, :n] > 0


@jax.jit
def strong_components(reach: Bool[Array, "nodes nodes"]) -> Bool[Array, "nodes nodes"]:
    """``out[i, j]`` when i and j reach each other; ``reach`` is a closure as `reachability` returns it."""
    return reach & reach.T


@jax.jit
def component_labels(together: Bool[Array, "nodes nodes"]) -> Int[Array, " nodes"]:
    """Smallest node of each node's component, for an equivalence relation such as `strong_components` gives."""
    return jnp.argmax(together, axis=1).astype(jnp.int32)


def levels(above: Bool[Array, "nodes nodes"]) -> Int[Array, " nodes"]:
    """Length of the longest chain above each node of a strict partial order: 0 at the top.

    ``above[i, j]`` says i is above j; it must have no cycle.
    """
    n = above.shape[0]

    def deeper(state: tuple) -> tuple:
        depth, _, step = state
        new = jnp.max(jnp.where(above, depth[:, None] + 1, 0), axis=0)
        return new, jnp.any(new != depth), step + 1

    zero = jnp.zeros(n, jnp.int32)
    depth, _, _ = jax.lax.while_loop(lambda s: s[1] & (s[2] < n), deeper, (zero, jnp.array(True), 0))
    return depth


def dominance_levels(reach: Bool[Array, "nodes nodes"]) -> Int[Array, " nodes"]:
    """Level of each node's strong component in the order of the components: 0 for those that nothing dominates."""
    return levels(reach & ~reach.T)
