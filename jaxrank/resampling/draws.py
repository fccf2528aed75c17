"""Random indices and counts, each a function of one key: replicate b of a study is drawn from ``fold_in(key, b)``.

So a replicate is the same whatever runs beside it: any chunk size, any number of devices or hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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

    A random word times ``below`` has the draw in its high half, and in its low half a word from which a small ``below``
    takes a second one (Brackett-Rozinsky and Lemire 2024, "Batched ranged random integer generation");
    `jax.random.randint` spends two words on one. A value is favoured by at most 2^-16 of its chance.
    """
    if below > _SHORT:
        return jax.random.randint(key, shape, 0, below, jnp.int32)
    n = math.prod(shape)
    if below**2 > _SHORT:
        return _high_word(jax.random.bits(key, shape, jnp.uint32), below)[0].astype(jnp.int32)
    first, rest = _high_word(jax.random.bits(key, (-(-n // 2),), jnp.uint32), below)
    second, _ = _high_word(rest, below)
    return jnp.concatenate([first, second])[:n].reshape(shape).astype(jnp.int32)


def _high_word(bits: Array, below: int) -> tuple[Array, Array]:
    """High and low 32-bit words of bits * below, for below of at most 16 bits."""
    low = (bits & (_SHORT - 1)) * below
    middle = (bits >> 16) * below + (low >> 16)
    return middle >> 16, (middle << 16) | (low & (_SHORT - 1))


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


def host_generators(key: Array, replicates: np.ndarray) -> Iterator[np.random.Generator]:
    """A NumPy generator (Philox) keyed by ``fold_in(key, b)`` for each replicate, for multinomial draws of many.

    Each is to be used before the next is asked for: they are one object, whose key is set anew, since making one takes
    several times as long as a draw of a few categories.

    NumPy draws a multinomial of a million votes over thousands of categories in a millisecond; JAX has no equal.
    NumPy's global state is not touched.
    """
    philox = np.random.Philox(key=0)
    generator, fresh = np.random.Generator(philox), philox.state
    for words in np.asarray(_key_words(key, jnp.asarray(replicates, jnp.uint32)))[:, :2].astype(np.uint64):
        fresh["state"]["key"] = words
        philox.state = fresh
        yield generator


@jax.jit
def _key_words(key: Array, replicates: Array) -> Array:
    return jax.vmap(lambda b: jax.random.key_data(replicate_key(key, b)))(replicates)
