"""Blocks that the device can hold."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.numerics.blocks import on_cpu, power_of_two
from jaxrank.resampling.traces import shape_of, traced

_CPU_BYTES = 2**28  # of one block; every core has one in hand
_SHARE = 0.1  # of an accelerator's memory
_UNKNOWN_BYTES = 2**31  # where an accelerator does not say what it has
_CARE = 4  # a compiler may hold more than a trace names: it copies, and a TPU fills arrays up
_PROBE = 128  # lanes

if TYPE_CHECKING:
    from jaxrank.resampling.work import Work

_Work = TypeVar("_Work", bound="Work")
_COMPILED: dict[Any, int] = {}


def within_memory(work: _Work) -> _Work:
    """The work with as many replicates in a block as it has, or as few as the memory of the device asks for.

    A block is sized by the statistic of its replicates, and a method may hold a thousand times as much. Where a trace
    says that this can be, the program of a few lanes is compiled, and what it holds decides, by the replicate.
    """
    size, most = work.block, budget()
    if work.on_host or size == 1 or _CARE * size * traced(work).live_bytes <= most:
        return work
    lanes = min(size, _PROBE)
    fits = min(size, power_of_two(most * lanes // max(_held(work, lanes), 1)))
    # A compiler may lay the arrays of more lanes out in another way.
    while fits > 1 and fits != lanes and _held(work, fits) > most:
        fits //= 2
    return dataclasses.replace(work, block=fits)


def _held(work: Work, lanes: int) -> int:
    key = shape_of(work), lanes
    if key not in _COMPILED:
        _COMPILED[key] = compiled_bytes(dataclasses.replace(work, block=lanes))
    return _COMPILED[key]


def budget() -> int:
    """Bytes that a block may hold on the device."""
    if on_cpu():
        return _CPU_BYTES
    known = (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")
    return _UNKNOWN_BYTES if known is None else int(_SHARE * known)


def compiled_bytes(work: Work) -> int:
    """What the compiled program of one block holds beside its arguments and results; 0 where a compiler does not
    say."""
    arrays, static = eqx.partition(work, eqx.is_array)
    payload = work.payload(np.arange(work.block))

    def block(arrays: Any, ids: Any, payload: Any) -> Any:
        return jax.vmap(eqx.combine(arrays, static).lane)(ids, payload)

    program = jax.jit(block).lower(arrays, jnp.arange(work.block, dtype=jnp.uint32), payload).compile()
    return getattr(program.memory_analysis(), "temp_size_in_bytes", 0)
