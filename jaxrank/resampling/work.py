"""What is done with one replicate: ``Work`` in general, ``Replication`` for the fits of one method."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.models.fit import Fit
from jaxrank.models.pairs.fit import slopes_of
from jaxrank.models.ranker import Ranker
from jaxrank.numerics.blocks import ACCELERATOR_BYTES, lanes_at_once, on_cpu, power_of_two
from jaxrank.resampling import draws
from jaxrank.resampling.memory import within_memory
from jaxrank.resampling.sources import Source

_CACHE_BYTES = 2**19  # a block on a CPU: within the cache of one core
_LOWEST = 16  # fewest replicates in a block on a CPU
_DEVICE_BYTES = 2**31  # statistics of a block on a GPU or TPU, where launches cost most if it is small
_BLOCK_BYTES = 2**26  # but a block holds no more than this, unless a single replicate does


class Work(eqx.Module):
    """A pure function of a replicate's number, mapped over blocks of ``block`` replicates."""

    block: eqx.AbstractVar[int]

    @property
    def on_host(self) -> bool:
        """Whether nothing of it runs on a device."""
        return False

    @abc.abstractmethod
    def lane(self, replicate: Any, payload: Any) -> dict[str, Any]:
        """The arrays kept of one replicate; pure and mapped."""

    def payload(self, replicates: np.ndarray) -> Any:
        """What must be drawn on the host for these replicates: arrays with a leading axis, or None."""
        return None

    def reduce(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What is kept of a finished chunk, on the host."""
        return batch


class Replication(Work):
    """A method, the source of its statistics, and the study's key: all that determines the bits of a replicate."""

    ranker: Ranker
    source: Source
    key: Array
    block: int = eqx.field(static=True)

    @property
    def on_host(self) -> bool:
        return self.ranker.host

    def lane(self, replicate: Any, payload: Any) -> dict[str, Any]:
        key = draws.replicate_key(self.key, replicate)
        stat, members = self.source(key, replicate, payload)
        fit = self.ranker(stat, key=draws.ranker_key(key) if self.ranker.stochastic else None)
        return kept_of(fit, members)

    def statistic(self, replicate: Any, payload: Any) -> tuple[Any, Any]:
        return self.source(draws.replicate_key(self.key, replicate), replicate, payload)

    def payload(self, replicates: np.ndarray) -> Any:
        return self.source.payload(self.key, replicates)

    @classmethod
    def make(cls, ranker: Ranker, source: Source, key: Array, block: int | None = None) -> Replication:
        """``block``: replicates in a block; by default as many as the cache holds (on a GPU: as keep it busy), if the
        memory holds them."""
        if block is None:
            probe = cls(ranker=ranker, source=source, key=key, block=1)
            payload = jax.tree.map(lambda x: x[0], probe.payload(np.zeros(1, int)))
            stat = jax.eval_shape(lambda p: probe.statistic(jnp.uint32(0), p)[0], payload)
            low = getattr(ranker, "fewest_lanes", _LOWEST)
            size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(stat))
            block = block_size(max(size, source.lane_bytes), low, device_bytes=_DEVICE_BYTES)
            return within_memory(cls(ranker=ranker, source=source, key=key, block=block))
        return cls(ranker=ranker, source=source, key=key, block=block)


@dataclasses.dataclass(frozen=True)
class Kept:
    """What is kept of B replicates of a method, on the host.

    **scores**: (B, L).  **status**: int8 (B,).  **steps**: int32 (B,).  **resolution**: (B,).
    **members**: int32 (B, L), the models of each replicate where the scheme draws pools, else None.
    **coefficients**: (B, C), of data with covariates, else None.
    """

    scores: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    resolution: np.ndarray
    members: np.ndarray | None = None
    coefficients: np.ndarray | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        found = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: value for name, value in found.items() if value is not None}


def kept_of(fit: Fit, members: Any = None) -> dict[str, Any]:
    status, steps = jnp.asarray(fit.status, jnp.int8), jnp.asarray(fit.steps, jnp.int32)
    kept = {"scores": fit.scores, "status": status, "steps": steps, "resolution": fit.resolution}
    slopes = slopes_of(fit)
    kept |= {"coefficients": jnp.concatenate(slopes)} if slopes else {}
    return kept if members is None else {**kept, "members": members}


def concatenate(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Arrays of consecutive chunks, joined along the replicates."""
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def block_size(lane_bytes: int, low: int = _LOWEST, high: int = 256, device_bytes: int = ACCELERATOR_BYTES) -> int:
    """Replicates in a block, a power of 2, from the bytes that one replicate works on; on a GPU or TPU as many as have
    ``device_bytes``."""
    low, high = (low, high) if on_cpu() else (64, 2**15)
    low = min(low, power_of_two(_BLOCK_BYTES // max(lane_bytes, 1)))
    return lanes_at_once(lane_bytes, _CACHE_BYTES, low, high, device_bytes)
