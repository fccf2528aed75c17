"""The linear ordering problem for few items, on device or on the host: dynamic programming over subsets.

An order gains ``gain[i, j]`` for every pair that it places i above j. Best orders are found from the best orders of
all subsets (Held and Karp's recursion), 2^n n steps, in layers of subsets of one size. Nothing is enumerated: a pair
(i, j) is possible when some best order passes through a subset to which i is added while j is still outside.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrank.numerics.precision import matmul

MAX_ITEMS = 16


class Layer(NamedTuple):
    """The subsets of one size c of n items.

    **members**: bool (S, n).  **without**: int (S, n), index in the layer of size c - 1 of the subset less item i, 0
    where i is no member.  **with_**: int (S, n), index in the layer of size c + 1 of the subset with item i, 0 where
    i is a member.
    """

    members: np.ndarray
    without: np.ndarray
    with_: np.ndarray


@functools.cache
def subset_layers(n: int) -> tuple[Layer, ...]:
    """All subsets of n items by size, as host constants; 2^n n entries."""
    codes = np.arange(1 << n)
    members = (codes[:, None] >> np.arange(n)) & 1 > 0
    size = members.sum(axis=1)
    place = np.zeros(1 << n, np.int32)  # index of each subset in its layer
    for c in range(n + 1):
        rows = size == c
        place[rows] = np.arange(rows.sum())
    bit = 1 << np.arange(n)
    layers = []
    for c in range(n + 1):
        own = codes[size == c][:, None]
        inside = members[size == c]
        without = np.where(inside, place[np.where(inside, own ^ bit, 0)], 0)
        with_ = np.where(inside, 0, place[np.where(inside, 0, own | bit)])
        layers.append(Layer(inside, without, with_))
    return tuple(layers)


def best_orders(gain: Any, slack: Any = 0, xp: Any = jnp) -> tuple[Any, Any]:
    """The greatest total gain of any order of n items, and bool (n, n): the pairs (i above j) of all best orders.

    **gain**: (n, n).  **slack**: orders whose total is this near to the greatest count as best.
    Exact for whole gains whose sum is below 2^24 in float32 (2^53 in float64). i is above j in every best order when
    ``possible[i, j] & ~possible[j, i]``. ``xp`` is ``jax.numpy`` (traced, batched) or ``numpy``. At most 16 items.
    """
    n = gain.shape[0]
    if n > MAX_ITEMS:
        raise ValueError(f"{n} items: subsets of at most {MAX_ITEMS} are enumerated")
    layers = subset_layers(n)
    product = np.matmul if xp is np else matmul
    # earned[c][s, i]: what item i gains when it is placed directly below the subset s
    earned = [product(xp.asarray(layer.members, gain.dtype), gain) for layer in layers]
    down = [xp.zeros(1, gain.dtype)]  # best total of each subset placed on top
    for c in range(1, n + 1):
        total = down[-1][layers[c].without] + earned[c]
        down.append(xp.max(xp.where(layers[c].members, total, -xp.inf), axis=1))
    best = down[n][0]
    up = xp.zeros(1, gain.dtype)  # best that the items outside a subset can still add
    possible = xp.zeros((n, n), gain.dtype)
    for c in range(n - 1, -1, -1):
        outside = ~layers[c].members
        still = xp.where(outside, earned[c] + up[layers[c].with_], -xp.inf)
        on_best = down[c][:, None] + still >= best - slack
        possible = possible + product(xp.asarray(on_best, gain.dtype).T, xp.asarray(outside, gain.dtype))
        up = xp.max(still, axis=1)
    return best, (possible > 0) & ~xp.eye(n, dtype=bool)
