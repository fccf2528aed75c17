"""What determines the bits of a study, as JSON: the configuration of its checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.kind import Data
from jaxrank.errors import OptionError
from jaxrank.models.options import check_count
from jaxrank.resampling.checkpoint import Checkpoint, check_folder, digest_arrays
from jaxrank.resampling.engine import chunk_size
from jaxrank.resampling.sharing import Share
from jaxrank.resampling.work import Work


def check_running(
    directory: str | os.PathLike[str] | None, chunk: int | None, shard: str | Share | None = None
) -> Share | None:
    """This process's share of the study, None where it is alone; `OptionError` where the study could not run as it was
    asked to. Call it before the work."""
    share = None if shard is None else Share.of(shard)
    if directory is not None:
        check_folder(directory)
    elif share is not None:
        raise OptionError("shard= shares a study through the files of its checkpoint; name a folder: checkpoint=...")
    if share is not None and jax.process_count() > 1:
        raise OptionError("shard= and hosts of jax.distributed both share the study; use one of them")
    if chunk is not None:
        check_count("chunk_size", chunk)
    return share


def open_checkpoint(
    directory: str | os.PathLike[str] | None,
    work: Work,
    data: Data,
    labels: Mapping[str, str],
    n_replicates: int,
    chunk: int | None,
    share: Share | None = None,
) -> tuple[Checkpoint | None, int]:
    """The checkpoint in a directory (None without one), and the chunk size: its own where it has one already."""
    size = chunk_size(work, n_replicates, chunk, 1 if share is None else share.processes)
    if directory is None:
        return None, size
    disk = Checkpoint(directory, configuration(work, data, labels), size)
    return disk, disk.chunk


def configuration(work: Work, data: Data, labels: Mapping[str, str]) -> dict[str, Any]:
    """``labels`` say in words what the study is; the rest is digests, types and versions."""
    numbers, static = eqx.partition(work, eqx.is_array_like)
    leaves = [jax.random.key_data(x) if _is_key(x) else x for x in jax.tree.leaves(numbers)]
    return {
        **labels,
        "data": digest_arrays(np.array(data.form), *data.arrays(), np.array(data.models)),
        "work": digest_arrays(*map(np.asarray, leaves), np.array(str(jax.tree.structure(static)))),
        "dtype": "float64" if jax.config.read("jax_enable_x64") else "float32",
        "backend": jax.default_backend(),
        "versions": f"jaxrank {sys.modules['jaxrank'].__version__}, jax {jax.__version__}",
    }


def _is_key(x: Any) -> bool:
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
