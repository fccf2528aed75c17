"""Host arrays on the device, in the precision that JAX is set to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def real() -> Any:
    """float64 inside ``jax.enable_x64(True)``, else float32."""
    return jax.dtypes.canonicalize_dtype(np.float64)


def put(x: Any, dtype: Any) -> Array:
    """A host array on the device. NumPy changes its type and JAX is told which it is: else JAX would compile a program
    for every shape."""
    host = np.asarray(x, jax.dtypes.canonicalize_dtype(dtype))
    return jnp.asarray(host, host.dtype)


def ones_if_none(x: Any, shape: tuple[int, ...]) -> Any:
    return jnp.ones(shape) if x is None else x
