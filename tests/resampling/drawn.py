"""Data of one replicate, drawn with NumPy from a scheme's own random numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.clusters import clustering
from jaxrank.data.kind import Counted
from jaxrank.resampling import as_scheme, draws
from jaxrank.resampling.clusters import Clusters
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


def drawn_by_cluster(battles: Counted, scheme: Clusters, seed: int, b: int) -> np.ndarray:
    """How often each battle or list is in replicate ``b``, int (E,): as often as the cluster of one column that it is
    of."""
    bound = scheme.bound(battles)
    came = bound.draw(draws.replicate_key(jax.random.key(seed), b), b, battles.shape, jnp.float32)
    return np.bincount(came, minlength=bound.sizes[0])[clustering(battles, scheme.columns[0]).index]
