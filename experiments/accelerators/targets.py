"""Devices that are described and not there: the compilers of XLA for them run on any machine.

The description of the H100 (SXM) holds what its data sheet and the CUDA programming guide say of compute capability
9.0; of a TPU v5e libtpu knows all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

from jaxrank.resampling import memory

_H100 = Path(__file__).with_name("h100_sxm.txt")
AXIS = "replicates"


@dataclasses.dataclass(frozen=True)
class Target:
    """**memory**: bytes of a device. **bandwidth**: bytes a second. **launch**: seconds that a kernel costs beside its
    work (CUDA: between kernels of one stream; TPU: between the steps of one program). **turn**: seconds that a turn of
    a loop costs whose end the data decide (CUDA: the host waits for the condition). **products**, **others**:
    operations a second in float32, of matrix products at full precision and of all else. **link**: bytes a second to
    the host."""

    name: str
    backend: str  # as jax.default_backend() would say
    memory: float
    bandwidth: float
    launch: float
    turn: float
    products: float
    others: float
    link: float
    precisions: tuple[str, ...]

    @functools.cache  # noqa: B019 - a few meshes in all; devices of one description made twice are not the same
    def mesh(self, n: int) -> Mesh:
        if self.backend == "gpu":
            topology = topologies.get_topology_desc(
                platform="cuda", topology_name="h100", target_config=_H100.read_text(), topology=f"1x1x{n}"
            )
        else:
            topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4" if n == 8 else "v5e:2x2")
        return Mesh(np.array(topology.devices[:n]), (AXIS,), axis_types=(AxisType.Auto,))


TARGETS = {
    "h100": Target("h100", "gpu", 80e9, 3.35e12, 2.5e-6, 10e-6, 67e12, 67e12, 64e9, ("float32", "float64")),
    "v5e": Target("v5e", "tpu", 16e9, 0.819e12, 1e-6, 1e-6, 197e12 / 6, 6e12, 16e9, ("float32",)),
}
"""Memory, bandwidth, products and the H100's link by the makers' data sheets (H100 SXM5 80 GB; TPU v5e, whose products
in float32 take six passes in bfloat16). The cost of a launch and of a turn, 6e12 operations a second outside products
on a v5e (8 x 128 lanes, 4 units, 1.5 GHz) and its link are assumptions of the model, not measured here."""


SHARE = 0.1  # of a device's memory, for what a block holds


@contextlib.contextmanager
def reckoned_as(target: Target, held: Callable[[Any], int] | None = None) -> Iterator[None]:
    """The library takes this machine for one with the target: sizes of blocks and choices by platform are the
    target's. Nothing may be run within, only traced. ``held``: what a block of a work holds there, in bytes; without it
    blocks are as large as their statistics allow."""
    real = jax.default_backend, memory.budget, memory.compiled_bytes
    jax.default_backend = lambda: target.backend
    memory.budget = lambda: 2**62 if held is None else int(SHARE * target.memory)
    memory.compiled_bytes = held or real[2]
    try:
        yield
    finally:
        jax.default_backend, memory.budget, memory.compiled_bytes = real


@dataclasses.dataclass
class Text:
    """What the text of a compiled program tells."""

    kernels: int
    loops: int
    calls: list[str]
    collectives: list[str]
    callbacks: list[str]
    wide: int

    @classmethod
    def of(cls, text: str) -> Text:
        calls = sorted(set(re.findall(r'custom_call_target="([^"]+)"', text)))
        collective = r"= \S+ (all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute)(?:-start)?\("
        return cls(
            kernels=len(re.findall(r"= .* (?:fusion|custom-call|sort|scatter|gather|dot|convolution)\(", text)),
            loops=len(re.findall(r" while\(", text)),
            calls=calls,
            collectives=sorted(set(re.findall(collective, text))),
            callbacks=[c for c in calls if "callback" in c.lower()] + re.findall(r" (infeed|outfeed)\(", text),
            wide=len(re.findall(r"= \(?f64\[", text)),
        )


def shapes_of(tree: Any, sharding: Any) -> Any:
    """Arrays as descriptions with a place, which is all that a compiler needs."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), tree)
