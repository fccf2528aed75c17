"""A choice between a cheap and a full computation that stays a choice in a batch.

Under ``vmap`` a ``lax.cond`` computes both branches for every member. Here the full computation is left out of a batch
in which no member needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def shortcut(cheap: Callable[..., Any], full: Callable[..., Any]) -> Callable[..., Any]:
    """``f(enough, *args)``: ``cheap(*args)`` where ``enough``, else ``full(*args)``; both give arrays of one shape."""

    @jax.custom_batching.custom_vmap
    def single(enough: Bool[Array, ""], *args: Array) -> Any:
        return jax.lax.cond(enough, cheap, full, *args)

    @single.def_vmap
    def mapped(size: int, batched: Any, enough: Array, *args: Array) -> Any:
        along = tuple(0 if b else None for b in batched[1:])
        every = jnp.broadcast_to(enough, (size,))
        over = lambda f: jax.vmap(f, in_axes=along, axis_size=size)

        def choose(*args: Array) -> Any:
            pick = jax.vmap(lambda e, a, b: jnp.where(e, a, b))
            return jax.tree.map(lambda a, b: pick(every, a, b), over(cheap)(*args), over(full)(*args))

        out = jax.lax.cond(jnp.all(every), over(cheap), choose, *args)
        return out, jax.tree.map(lambda _: True, out)

    return single
