"""Kernels that keep their batch in the last axis.

On a CPU the last axis is what vector instructions run along. ``vmap`` puts the batch first, where the rows of a small
matrix are all that is left to vectorise. A kernel written for arrays of shape (..., lanes) and wrapped in `lanes` looks
like a function of single arrays, and receives all members of a ``vmap`` in one call.

That holds while a block of lanes fits in the cache. Where one member alone half fills it, members are better worked on
one after the other, each until it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxrank.numerics.blocks import on_cpu

LARGE = 64 * 64
"""Entries of an array beyond which a CPU works on one lane at a time."""


def lanes(kernel: Callable[..., Any], n_common: int = 0, alone: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """``kernel`` maps pytrees of arrays (..., lanes) to pytrees of arrays (..., lanes); the result maps single arrays.

    Lanes must not mix: a lane's result may depend on that lane alone. The first ``n_common`` arguments are the same for
    all lanes and have no axis of lanes, unless a ``vmap`` gives them one.

    ``alone``: the same for single arrays. Given it, a CPU takes the members of a ``vmap`` one after the other where one
    of their arrays has more than `LARGE` entries.
    """

    @jax.custom_batching.custom_vmap
    def single(*args: Any) -> Any:
        if alone is not None and _large(args):
            return alone(*args)
        one = jax.tree.map(lambda x: jnp.asarray(x)[..., None], args[n_common:])
        out = kernel(*args[:n_common], *one)
        return jax.tree.map(lambda x: x[..., 0], out)

    @single.def_vmap
    def mapped(size: int, batched: Any, *args: Any) -> Any:
        def last(x: Any, is_batched: bool) -> Any:
            x = jnp.asarray(x)
            return jnp.moveaxis(x, 0, -1) if is_batched else jnp.broadcast_to(x[..., None], (*x.shape, size))

        def common(x: Any, is_batched: bool) -> Any:
            return last(x, True) if is_batched else x

        batched = tuple(batched)
        if alone is not None and _large([x[0] for x in _own(args, batched)]):
            out = _one_by_one(alone, args, batched)
            return out, jax.tree.map(lambda _: True, out)
        shared = jax.tree.map(common, args[:n_common], batched[:n_common])
        out = kernel(*shared, *jax.tree.map(last, args[n_common:], batched[n_common:]))
        out = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), out)
        return out, jax.tree.map(lambda _: True, out)

    return single


def _own(args: Any, batched: Any) -> list[Any]:
    """The arrays that each member has its own part of."""
    return [x for x, own in zip(jax.tree.leaves(args), jax.tree.leaves(batched), strict=True) if own]


def _one_by_one(alone: Callable[..., Any], args: Any, batched: Any) -> Any:
    leaves, structure = jax.tree.flatten(args)
    owned = jax.tree.leaves(batched)

    def one(parts: list[Any]) -> Any:
        rest = iter(parts)
        return alone(*structure.unflatten([next(rest) if own else x for x, own in zip(leaves, owned, strict=True)]))

    return jax.lax.map(one, _own(args, batched))


def _large(arrays: Any) -> bool:
    return on_cpu() and max((jnp.size(x) for x in jax.tree.leaves(arrays)), default=0) > LARGE
