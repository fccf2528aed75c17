"""Setwise choice: what the likelihoods of the Luce family read from events, and when they have a finite optimum.

An event is a slate S of models of which the set U is chosen over the rest V. All sums over events are matrix products.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxrank.numerics.graph import connectivity, reachability
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status


class Choices(NamedTuple):
    """Events as 0/1 matrices; events that say nothing have weight 0.

    **chosen**, **rejected** (E, L): members of U and of V.  **weights** (E,).
    **informative** (E,): whether an event says anything about the order, whatever its weight.
    **met** (L, L): whether two models took part in one event, informative or not.
    **rejected_pairs** (E, L (L + 1) / 2): products of ``rejected`` over pairs of models, upper triangle; None above
    `SMALL` models, or where it would have more than `MOST_PAIRS` entries. With it the sum of ``w_e v_e v_e'`` is one
    product that a batch of weights shares.
    """

    chosen: Float[Array, "events models"]
    rejected: Float[Array, "events models"]
    weights: Float[Array, " events"]
    informative: Bool[Array, " events"]
    met: Bool[Array, "models models"]
    rejected_pairs: Float[Array, "events pairs"] | None


SMALL = 64
MOST_PAIRS = 2**24


@partial(jax.jit, static_argnames="whole")
def choices(outcomes: Int[Array, "events models"], weights: Float[Array, " events"], whole: bool = False) -> Choices:
    """Split outcomes 1 (chosen), 0 (rejected), -1 (absent). ``whole``: a tie of the whole slate is informative."""
    chosen = (outcomes == 1).astype(weights.dtype)
    rejected = (outcomes == 0).astype(weights.dtype)
    present = chosen + rejected
    met = joint(present, present, jnp.ones_like(weights)) > 0
    tied = (jnp.sum(present, axis=1) > 1) & whole
    informative = jnp.any(outcomes == 1, axis=1) & (jnp.any(outcomes == 0, axis=1) | tied)
    pairs = None
    n_events, n_models = outcomes.shape
    if n_models <= SMALL and n_events * n_models * (n_models + 1) // 2 <= MOST_PAIRS:
        i, j = np.triu_indices(n_models)
        pairs = rejected[:, i] * rejected[:, j]
    return Choices(chosen, rejected, jnp.where(informative, weights, 0), informative, met, pairs)


def rejected_together(c: Choices, weights: Float[Array, " events"]) -> Float[Array, "models models"]:
    """sum_e w_e v_e v_e' over events, v the rejected."""
    if c.rejected_pairs is None:
        return joint(c.rejected, c.rejected, weights)
    n = c.rejected.shape[1]
    place = np.zeros((n, n), int)
    i, j = np.triu_indices(n)
    place[i, j] = place[j, i] = np.arange(len(i))
    return matmul(weights, c.rejected_pairs)[place]


class Gate(NamedTuple):
    """What the graph of choices says before any iteration.

    **status** a `Status`; **connected**: every set of models was chosen over its complement somewhere, so the optimum
    is finite; **tied**: nothing distinguishes the models, whose scores are equal.
    """

    status: Int[Array, ""]
    connected: Bool[Array, ""]
    tied: Bool[Array, ""]


@partial(jax.jit, static_argnames="whole")
def gate(c: Choices, whole: bool = False) -> Gate:
    """Strong connectivity of the support graph, with an edge from i to j when i was chosen over j [ford1957]."""
    used = jnp.where(c.weights > 0, 1, 0).astype(c.weights.dtype)
    edges = joint(c.chosen, c.rejected, used) > 0
    _, connected, together = connectivity(edges)
    if whole:
        present = c.chosen + c.rejected
        together = jnp.all(reachability(joint(present, present, used) > 0))
    tied = ~jnp.any(edges) & jnp.all(reachability(c.met))
    status = jnp.where(together, Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)
    return Gate(jnp.where(connected | tied, Status.CONVERGED, status), connected, tied)


class SetTotals(NamedTuple):
    """Sufficient statistics of the Davidson-Luce likelihood.

    **mean_choice** (L,): sum over events of 1{i in U} / |U|.  **orders** (D,): events with |U| = 1, 2, .., D.
    **slates** (E, L): the distinct slates first, ``n_slates`` of them, with their weights **slate_weights** (E,).
    **top** (E,): largest order that a slate allows.  **outside**: weight of events with |U| above D.
    """

    mean_choice: Float[Array, " models"]
    orders: Float[Array, " orders"]
    slates: Bool[Array, "events models"]
    slate_weights: Float[Array, " events"]
    top: Float[Array, " events"]
    n_slates: Int[Array, ""]
    outside: Float[Array, ""]

    @property
    def active(self) -> Bool[Array, " orders"]:
        """Orders that occur; the others have tie parameter 0."""
        return self.orders > 0

    @property
    def free(self) -> Bool[Array, " orders"]:
        """Orders whose tie parameter is estimated: those that occur, but for the lowest, which is the unit."""
        first = jnp.arange(self.orders.shape[0]) == jnp.argmax(self.active)
        return self.active & ~first


@partial(jax.jit, static_argnames=("n_orders", "whole"))
def set_totals(c: Choices, n_orders: int, whole: bool = False) -> SetTotals:
    """Totals for tie orders up to ``n_orders``. ``whole``: a choice of the whole slate is a possible outcome."""
    size = jnp.sum(c.chosen, axis=1)
    hot = (size[:, None] == jnp.arange(1, n_orders + 1)[None, :]).astype(size.dtype)
    inside = jnp.where((size >= 1) & (size <= n_orders), c.weights, 0)
    mean_choice = matmul(inside / jnp.maximum(size, 1), c.chosen)
    orders = matmul(inside, hot)
    slates, slate_weights, n_slates = _distinct(((c.chosen + c.rejected) > 0) | ~c.informative[:, None], inside)
    top = jnp.sum(slates, axis=1).astype(size.dtype) - (0 if whole else 1)
    return SetTotals(mean_choice, orders, slates, slate_weights, top, n_slates, jnp.sum(c.weights) - jnp.sum(inside))


@partial(jax.jit, static_argnames=("n_orders", "whole"))
def orders_connected(c: Choices, n_orders: int, whole: bool = False) -> Bool[Array, ""]:
    """Whether the tie parameters are finite, given finite strengths: every group of the orders that occur was,
    somewhere, chosen where an order outside the group was possible."""
    size = jnp.sum(c.chosen, axis=1)
    top = jnp.sum(c.chosen + c.rejected, axis=1) - (0 if whole else 1)
    order = jnp.arange(1, n_orders + 1)[None, :]
    hot = (size[:, None] == order).astype(size.dtype)
    possible = (order <= top[:, None]).astype(size.dtype)
    edges = joint(hot, possible, c.weights) > 0
    absent = matmul(c.weights, hot) <= 0
    # An order that never occurs is no way from one to another.
    return jnp.all(reachability(edges) | absent[:, None] | absent[None, :])


@jax.custom_batching.custom_vmap
def joint(x: Float[Array, "events p"], y: Float[Array, "events q"], weights: Float[Array, " events"]) -> Array:
    """sum_e w_e x_e y_e' over events, (p, q). A batch of weights shares the products x_e y_e' where these are at most
    `MOST_PAIRS`: else every lane has a table of its own, which compilers keep in memory or refuse."""
    return matmul((weights[:, None] * x).T, y)


@joint.def_vmap
def _(size: int, batched: list[bool], x: Array, y: Array, weights: Array) -> tuple[Array, bool]:
    axes = [0 if own else None for own in batched]
    if axes != [None, None, 0] or x.size * y.shape[1] > MOST_PAIRS:
        plain = lambda x, y, weights: matmul((weights[:, None] * x).T, y)
        return jax.vmap(plain, axes, axis_size=size)(x, y, weights), True
    products = (x[:, :, None] * y[:, None, :]).reshape(x.shape[0], -1)
    return matmul(weights, products).reshape(size, x.shape[1], y.shape[1]), True


def _distinct(rows: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Distinct rows first, the weight of each, and their number.

    Rows are sorted by two hashes, and neighbours that are equal are merged: a collision of hashes can only leave equal
    rows apart. The weights take no part, so a batch of weights shares one sort.
    """
    n_rows, n_columns = rows.shape
    place = jnp.arange(1, n_columns + 1, dtype=jnp.uint32)
    keys = jnp.stack([place * jnp.uint32(2654435761), (place**3 + 97) * jnp.uint32(2246822519)])
    keys = keys ^ (keys >> 15)
    hashes = jnp.sum(jnp.where(rows[None], keys[:, None, :], jnp.uint32(0)), axis=-1, dtype=jnp.uint32)
    order = jnp.lexsort((hashes[0], hashes[1]))
    rows, weights = rows[order], weights[order]
    first = jnp.concatenate([jnp.ones(1, bool), jnp.any(rows[1:] != rows[:-1], axis=1)])
    group = jnp.cumsum(first) - 1
    merged = jnp.zeros_like(rows).at[jnp.where(first, group, n_rows)].set(rows, mode="drop")
    return merged, jnp.zeros_like(weights).at[group].add(weights), jnp.sum(first)
