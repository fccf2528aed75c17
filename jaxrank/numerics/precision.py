"""float32 or float64, for as long as a call lasts; and products that keep the digits of their type."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.errors import OptionError, one_line

HIGHEST = jax.lax.Precision.HIGHEST
"""Of matrix products: without it a GPU keeps 10 bits of a float32, and a TPU 7."""

matmul = functools.partial(jnp.matmul, precision=HIGHEST)
"""The product of two matrices, or of a matrix and a vector, with the digits of its type."""


def einsum(formula: str, *factors: Any) -> jax.Array:
    """Sums of products along named axes, with the digits of their type."""
    return jnp.einsum(formula, *factors, precision=HIGHEST)  # pyright: ignore[reportUnknownMemberType]


@contextlib.contextmanager
def precision(dtype: Any) -> Generator[None, None, None]:
    """Run in float32 or float64 whatever JAX's configuration says; None follows the configuration."""
    if dtype is None:
        yield
        return
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in ("float32", "float64"):
        raise OptionError(f'dtype={one_line(dtype)}; it must be "float32" or "float64"')
    with jax.enable_x64(name == "float64"):
        yield
