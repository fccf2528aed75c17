"""Kernels that keep their batch in the last axis.

On a CPU the last axis is what vector instructions run along. ``vmap`` puts the batch first, where the rows of a small
matrix are all that is left to vectorise. A kernel written for arrays of shape (..., lanes) and wrapped in `lanes` looks
like a function of single arrays, and receives all members of a ``vmap`` in one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def lanes(kernel: Callable[..., Any], n_common: int = 0) -> Callable[..., Any]:
    """``kernel`` maps pytrees of arrays (..., lanes) to pytrees of arrays (..., lanes); the result maps single arrays.

    Lanes must not mix: a lane's result may depend on that lane alone. The first ``n_common`` arguments are the same for
    all lanes and have no axis of lanes, unless a ``vmap`` gives them one.
    """

    @jax.custom_batching.custom_vmap
    def single(*args: Any) -> Any:
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
        shared = jax.tree.map(common, args[:n_common], batched[:n_common])
        out = kernel(*shared, *jax.tree.map(last, args[n_common:], batched[n_common:]))
        out = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), out)
        return out, jax.tree.map(lambda _: True, out)

    return single
