"""Numbered pieces of work that take minutes each, such as chains: kept in a checkpoint, and shared, as chunks are."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jaxrank.errors import OptionError, StoppedError, UnfinishedError
from jaxrank.resampling.checkpoint import Checkpoint, digest_arrays
from jaxrank.resampling.configuration import check_running
from jaxrank.resampling.sharing import Claims, Share, is_stopped, sweep_claims, wait_for_others

Arrays = dict[str, np.ndarray]


def in_units(
    n_units: int,
    run: Callable[[np.ndarray], Arrays],
    configuration: Mapping[str, Any],
    directory: str | os.PathLike[str] | None,
    shard: str | Share | None,
    what: str = "chain",
) -> Arrays:
    """The arrays (n_units, ...) of ``run(np.arange(n_units))``, whose rows must not depend on each other; with a
    ``directory`` from its files where there are some, as many as run side by side at a time.

    Raises `UnfinishedError` where others have units to do, `StoppedError` where this process was told to stop.
    """
    share = check_running(directory, None, shard)
    if directory is None:
        return run(np.arange(n_units))
    disk = Checkpoint(directory, configuration, 1)
    if share is not None and share.count > n_units:
        raise OptionError(
            f"{n_units} {what}s leave some of {share.count} shards without work; use fewer shards or more {what}s"
        )
    while missing := _contribute(n_units, run, disk, share):
        if share is None or not share.steals:
            done = f"{n_units - len(missing)} of {n_units} {what}s in {disk.store} are finished"
            if share is not None and share.index >= 0:
                raise UnfinishedError(f"{share} is done, {done}; when all shards are, merge them")
            raise UnfinishedError(f"{done}, and {what} {missing[0]} has no file; run the shards again")
        wait_for_others(share.claim_timeout)
    sweep_claims(disk, n_units)
    parts = [disk.load(unit, unit + 1, None) or {} for unit in range(n_units)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def settings(labels: Mapping[str, Any], *arrays: Any) -> dict[str, Any]:
    """What determines the bits of units, as JSON: words, and a digest of what they are drawn from."""
    return {
        **{name: str(value) for name, value in labels.items()},
        "data": digest_arrays(*map(np.asarray, arrays)),
        "dtype": "float64" if jax.config.read("jax_enable_x64") else "float32",
        "backend": jax.default_backend(),
        "versions": f"jaxrank {sys.modules['jaxrank'].__version__}, jax {jax.__version__}",
    }


def _contribute(n_units: int, run: Callable[[np.ndarray], Arrays], disk: Checkpoint, share: Share | None) -> list[int]:
    """Do this process's part; the units that nobody has finished since."""
    bounds = [(unit, unit + 1) for unit in range(n_units)]
    done = disk.finished(bounds)
    mine = [b for b in (bounds if share is None else share.order(bounds)) if b not in done]
    claims = Claims(disk.store, share.claim_timeout, n_units) if share is not None and share.steals else None
    width = 1 if claims is not None else _side_by_side()
    with contextlib.nullcontext() if claims is None else claims.kept_fresh():
        for first in range(0, len(mine), width):
            some = mine[first : first + width]
            if claims is not None and not (claims.is_open(some[0]) and claims.take(some[0])):
                continue
            if is_stopped():
                raise StoppedError(
                    f"the study was asked to stop; what is finished lies in {disk.store}, and the same call goes on"
                )
            arrays = run(np.array([unit for unit, _ in some]))
            for place, (start, stop) in enumerate(some):
                disk.save(start, stop, {name: x[place : place + 1] for name, x in arrays.items()})
                if claims is not None:
                    claims.finish((start, stop))
    done = disk.finished(bounds)
    return [start for start, stop in bounds if (start, stop) not in done]


def _side_by_side() -> int:
    """Units that run at a time: one on each device, on a CPU one on each core. Never more on an accelerator, where the
    bits of a unit would depend on how many are mapped."""
    n_devices = jax.local_device_count()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(n_devices, cores) if jax.default_backend() == "cpu" else n_devices
