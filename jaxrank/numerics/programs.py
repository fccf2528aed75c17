"""Room for compiled programs, of which Linux bounds the number in a process."""

from __future__ import annotations

import itertools
from pathlib import Path

import jax

_FULL = 0.8  # share of the maps at which programs are dropped: what is compiled until the next look fits in the rest
_calls = itertools.count()


def make_room(every: int = 1) -> None:
    """Drop JAX's compiled programs where this process comes near the number of memory maps that it may have.

    A program for a CPU takes 100 to 1,500 maps, of which Linux gives a process 65,530; one that has no more of them
    ends without a word, after some hundred methods and shapes. Programs that are needed again are compiled again, or
    read from the cache on disk. ``every``: looks at each so many calls alone, for calls that are short beside a look
    (1 ms).
    """
    if next(_calls) % every == 0 and maps() > _FULL * most_maps():
        jax.clear_caches()


def maps() -> int:
    """Memory maps of this process; 0 where the system does not say."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def most_maps() -> float:
    """Maps that the system gives a process; infinite where it does not say."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_bytes())
    except (OSError, ValueError):
        return float("inf")
