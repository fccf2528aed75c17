"""Data of one replicate, drawn with NumPy from a scheme's own random numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.resampling import as_scheme, draws
from jaxrank.resampling.uneven import WithinCells


def drawn_within_cells(R: np.ndarray, scheme: str, seed: int, b: int) -> np.ndarray:
    """Unequal trials, cell by cell: the shared trial where the cell has it, else one of its own."""
    key = draws.replicate_key(jax.random.key(seed), b)
    index, words = (np.asarray(x) for x in WithinCells(as_scheme(scheme)).draw(key, b, R.shape, jnp.float32))
    index, words = (np.broadcast_to(x.reshape((1,) * (3 - x.ndim) + x.shape), R.shape) for x in (index, words))
    out = np.full(R.shape, -1)
    for cell in np.ndindex(R.shape[:2]):
        own = np.flatnonzero(R[cell] >= 0)
        for n in own:
            shared = index[cell][n]
            out[cell][n] = R[cell][shared if shared in own else own[((int(words[cell][n]) >> 16) * len(own)) >> 16]]
    return out
