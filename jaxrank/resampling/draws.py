"""Random indices and counts, each a function of one key: replicate b of a study is drawn from ``fold_in(key, b)``.

So a replicate is the same whatever runs beside it: any chunk size, any number of devices or hosts.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

_SHORT = 2**16
_RANKER_STREAM = 2**31 - 1  # fold_in constant of the keys for methods that draw themselves; no draw is that long


def replicate_key(key: Array, replicate: Any) -> Array:
    """The key from which replicate ``replicate`` (0, 1, ...) is drawn."""
    return jax.random.fold_in(key, replicate)


def ranker_key(key: Array) -> Array:
    """The key of a stochastic method on the replicate drawn with ``key``."""
    return jax.random.fold_in(key, _RANKER_STREAM)


def integers(key: Array, shape: tuple[int, ...], below: int) -> Int[Array, "..."]:
    """int32 in [0, below), with replacement.

    The high word of bits * below, one random word each: `jax.random.randint` spends two. A value is favoured by at
    most below / 2^32.
    """
    if below > _SHORT:
        return jax.random.randint(key, shape, 0, below, jnp.int32)
    bits = jax.random.bits(key, shape, jnp.uint32)
    high, low = bits >> 16, bits & (_SHORT - 1)
    return ((high * below + ((low * below) >> 16)) >> 16).astype(jnp.int32)


def without_replacement(key: Array, size: int, below: int) -> Int[Array, " size"]:
    """int32 (size,): distinct values in [0, below) in random order."""
    return jax.random.permutation(key, below)[:size].astype(jnp.int32)


def counts_of(index: Int[Array, " draws"], size: int, dtype: Any, first: Any = None) -> Float[Array, " size"]:
    """How often each of 0..size-1 occurs, among the ``first`` draws only where that is given."""
    one = 1 if first is None else (jnp.arange(index.shape[0]) < first).astype(dtype)
    return jnp.zeros(size, dtype).at[index].add(one, mode="promise_in_bounds")


def dirichlet_weights(key: Array, size: int, dtype: Any) -> Float[Array, " size"]:
    """Weights of the Bayesian bootstrap: Dirichlet(1, ..., 1) times ``size``, so that they sum to ``size``.

    Source: Rubin (1981), "The Bayesian bootstrap".
    """
    draws = jax.random.exponential(key, (size,), dtype)
    return size * draws / jnp.sum(draws)


def host_generators(key: Array, replicates: np.ndarray) -> list[np.random.Generator]:
    """NumPy generators (Philox) keyed by ``fold_in(key, b)``: for multinomial draws of large counts.

    NumPy draws a multinomial of a million votes over thousands of categories in a millisecond; JAX has no equal.
    NumPy's global state is not touched.
    """
    keys = jax.vmap(lambda b: jax.random.key_data(replicate_key(key, b)))(jnp.asarray(replicates, jnp.uint32))
    return [np.random.Generator(np.random.Philox(key=words[:2])) for words in np.asarray(keys).astype(np.uint64)]
