"""How many lanes of a batch are at work at once."""

from __future__ import annotations

import jax

ACCELERATOR_BYTES = 2**28


def on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def lanes_at_once(
    lane_bytes: int, cache_bytes: int, fewest: int, most: int, device_bytes: int = ACCELERATOR_BYTES
) -> int:
    """The largest power of 2 of lanes that fit in the cache of a core (``cache_bytes``), or on a GPU or TPU in
    ``device_bytes``, and no fewer than ``fewest`` and no more than ``most``."""
    fit = (cache_bytes if on_cpu() else device_bytes) // max(lane_bytes, 1)
    return min(max(power_of_two(fit), fewest), most)


def power_of_two(n: int) -> int:
    """The largest power of 2 that is at most ``n``; 1 for less."""
    return 1 << max(n.bit_length() - 1, 0)
