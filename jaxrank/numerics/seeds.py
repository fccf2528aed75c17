"""Seeds: whole numbers and JAX keys, with all their bits in every precision."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.errors import OptionError, one_line

LARGEST = 2**63 - 1


def check_seed(seed: Any) -> None:
    """`OptionError` unless a seed is a whole number from 0 to 2^63 - 1."""
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) <= LARGEST:
        wanted = "a whole number from 0 to 2^63 - 1, or a JAX key where one is taken"
        raise OptionError(f"seed={one_line(seed)}; it must be {wanted}")


def as_key(seed: Any) -> jax.Array:
    """A JAX key from an integer (`check_seed`) or a key."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return seed
    if isinstance(seed, jax.Array) and seed.dtype == jnp.uint32 and seed.shape == (2,):
        return jax.random.wrap_key_data(seed)
    check_seed(seed)
    with jax.enable_x64(True):  # else its upper half would be lost in float32, and kept in float64
        return jax.random.key(np.uint64(seed))
