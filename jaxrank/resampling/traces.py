"""What a trace of a replicate's work tells before anything runs: results, calls of LAPACK, memory."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Var

_LAPACK = ("cholesky", "eig", "eigh", "geqrf", "lu", "qr", "householder_product", "schur", "svd", "triangular_solve")


class Traced(NamedTuple):
    """**host_bytes**: of a replicate's results and draws on the host.  **live_bytes**: what a replicate holds at a time
    where every array is made that the program names; a compiler makes fewer.  **calls_lapack**.  **out**: shapes of the
    results; none of a method on the host."""

    host_bytes: int
    live_bytes: int
    calls_lapack: bool
    out: dict[str, jax.ShapeDtypeStruct]


_TRACES: dict[Any, Traced] = {}


def traced(work: Any) -> Traced:
    """Tracing takes as long as a thousand replicates, so that works of one structure and shape share a trace."""
    key = shape_of(work)
    if key not in _TRACES:
        if len(_TRACES) >= 256:
            _TRACES.clear()
        first = jax.tree.map(lambda x: x[0], work.payload(np.zeros(1, int)))
        called, out, live = set(), {}, 0
        if not work.on_host:
            jaxpr, out = jax.make_jaxpr(work.lane, return_shape=True)(jnp.uint32(0), first)
            called = _primitives(jaxpr.jaxpr)
            live = _live_bytes(jaxpr.jaxpr, set(jaxpr.jaxpr.invars))
        size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves((first, out))) + 1
        _TRACES[key] = Traced(size, live, not called.isdisjoint(_LAPACK), out)
    return _TRACES[key]


def shape_of(work: Any) -> Any:
    """Equal for works whose lanes are one program; the block is no part of it."""
    leaves, structure = jax.tree.flatten(dataclasses.replace(work, block=0))
    shapes = tuple((x.shape, str(x.dtype)) if eqx.is_array_like(x) and hasattr(x, "shape") else x for x in leaves)
    return structure, shapes, jax.config.read("jax_enable_x64"), jax.default_backend()


def _primitives(jaxpr: Any) -> set[str]:
    """Names of the primitives of a trace, those of loops, branches and calls included."""
    names = set()
    for equation in jaxpr.eqns:
        names.add(equation.primitive.name)
        for inner in _inner(equation):
            names |= _primitives(inner)
    return names


def _live_bytes(jaxpr: Any, own: set[Any]) -> int:
    """The most bytes at a time of arrays that depend on ``own``, the variables that each lane of a batch has for
    itself; what the lanes share is made once."""
    own, last = set(own), {}
    for place, equation in enumerate(jaxpr.eqns):
        for variable in filter(_is_variable, equation.invars):
            last[variable] = place
    last.update(dict.fromkeys(filter(_is_variable, jaxpr.outvars), len(jaxpr.eqns)))
    live, most = 0, 0
    held: dict[int, int] = {}  # what goes after each equation
    for place, equation in enumerate(jaxpr.eqns):
        if not own.isdisjoint(filter(_is_variable, equation.invars)):
            inside = max((_live_bytes(inner, set(inner.invars)) for inner in _inner(equation)), default=0)
            own.update(equation.outvars)
            made = sum(_bytes(v) for v in equation.outvars)
            most = max(most, live + made + inside)
            live += made
            for variable in equation.outvars:
                end = last.get(variable, place)
                held[end] = held.get(end, 0) + _bytes(variable)
        live -= held.pop(place, 0)
    return most


def _inner(equation: Any) -> list[Any]:
    found = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns"))
    inner = [getattr(x, "jaxpr", x) for x in found]  # closed or not
    return [x for x in inner if hasattr(x, "eqns")]


def _is_variable(x: Any) -> bool:
    return isinstance(x, Var)


def _bytes(variable: Any) -> int:
    kind = variable.aval
    return int(np.prod(kind.shape)) * kind.dtype.itemsize if hasattr(kind, "shape") else 0
