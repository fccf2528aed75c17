"""float32 or float64, for as long as a call lasts; and products that keep the digits of their type."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import jax
import numpy as np

from jaxrank.errors import OptionError, one_line

HIGHEST = jax.lax.Precision.HIGHEST
"""Of matrix products: without it a GPU keeps 10 bits of a float32, and a TPU 7."""


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
