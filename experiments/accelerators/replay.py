"""How often the loops of a program turn: the same trace, once with names for a compiler and once counted on a CPU.

How often a solver's loop turns depends on the data, and a compiled text does not say it. `named` traces the program
again with a name for every loop and branch, which the compiler keeps in its text; `counted` runs it, loops in Python,
and says how often each name was entered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

CONTROL = ("while", "scan", "cond")
_NAME = re.compile(r"_L([\d-]+)_/(?:while|cond)$")


def name_in(op_name: str) -> str | None:
    """The name of the loop or branch that an instruction of a compiled text is, if it is one."""
    found = _NAME.search(op_name)
    return found.group(1) if found else None


def named(program: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The program with names for its loops and branches, to be lowered."""
    return lambda *args: _replay(program.jaxpr, program.consts, args, "", _Names())


def counted(program: ClosedJaxpr, args: Sequence[Any]) -> Counter[str]:
    """How often the body of each loop ran, and ``name:i`` how often branch i did; ``args`` are values."""
    counts = _Counts()
    _replay(program.jaxpr, program.consts, args, "", counts)
    return counts.of


def _inner(equation: Any) -> list[Any]:
    """The jaxprs that an equation holds."""
    held = []
    for value in equation.params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if hasattr(item, "eqns") or hasattr(getattr(item, "jaxpr", None), "eqns"):
                held.append(getattr(item, "jaxpr", item))
    return held


def _branches_out(jaxpr: Any) -> bool:
    return any(e.primitive.name in CONTROL or any(map(_branches_out, _inner(e))) for e in jaxpr.eqns)


def _replay(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], path: str, visit: Any) -> list[Any]:
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    read = lambda v: v.val if isinstance(v, Literal) else values[v]
    for i, equation in enumerate(jaxpr.eqns):
        name, given = equation.primitive.name, [read(v) for v in equation.invars]
        here = f"{path}-{i}" if path else str(i)
        called = next((equation.params[k] for k in ("jaxpr", "call_jaxpr", "call") if k in equation.params), None)
        if name in CONTROL:
            out = getattr(visit, name + "_")(equation.params, given, here)
        elif called is not None and _branches_out(getattr(called, "jaxpr", called)):
            if not hasattr(called, "jaxpr"):
                called = ClosedJaxpr(called, ())
            out = _replay(called.jaxpr, called.consts, given, here, visit)
        elif any(map(_branches_out, _inner(equation))):
            raise NotImplementedError(f"{name} holds a loop")
        else:
            out = equation.primitive.bind(*given, **equation.primitive.get_bind_params(equation.params))
            out = out if equation.primitive.multiple_results else [out]
        values.update(zip(equation.outvars, out, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _of(closed: ClosedJaxpr, path: str, visit: Any) -> Callable[..., list[Any]]:
    return lambda *args: _replay(closed.jaxpr, closed.consts, args, path, visit)


def _split(params: dict[str, Any], given: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    a, b = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    return given[:a], given[a:b], given[b:]


def _where(lanes: Any, new: list[Any], old: list[Any]) -> list[Any]:
    """A loop whose lanes end one by one, as JAX lowers it: those that have ended keep what they have."""
    of = lambda x: jax.numpy.expand_dims(lanes, tuple(range(lanes.ndim, x.ndim)))
    return [jax.numpy.where(of(a), a, b) for a, b in zip(new, old, strict=True)]


def _ends(params: dict[str, Any]) -> tuple[int, int]:
    """Where the constants and the carried values of a scan end among what it is given."""
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()  # jax 0.12
    return len(constants), len(constants) + len(carried)


class _Names:
    """Loops and branches as they are, under their names."""

    def while_(self, params: dict[str, Any], given: list[Any], path: str) -> list[Any]:
        of_cond, of_body, start = _split(params, given)
        going, body = (_of(params[k], path, self) for k in ("cond_jaxpr", "body_jaxpr"))

        def step(x: list[Any]) -> list[Any]:
            return _where(going(*of_cond, *x)[0], body(*of_body, *x), x) if lanes else body(*of_body, *x)

        lanes = params["cond_jaxpr"].out_avals[0].ndim
        with jax.named_scope(f"_L{path}_"):
            return jax.lax.while_loop(lambda x: going(*of_cond, *x)[0].any(), step, start)

    def scan_(self, params: dict[str, Any], given: list[Any], path: str) -> list[Any]:
        a, b = _ends(params)
        body = _of(params["jaxpr"], path, self)

        def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
            out = body(*given[:a], *carry, *x)
            return out[: b - a], out[b - a :]

        kept = {k: params[k] for k in ("length", "reverse", "unroll")}
        with jax.named_scope(f"_L{path}_"):
            carry, out = jax.lax.scan(step, given[a:b], given[b:], **kept)
        return [*carry, *out]

    def cond_(self, params: dict[str, Any], given: list[Any], path: str) -> list[Any]:
        branches = [_of(b, f"{path}-{i}", self) for i, b in enumerate(params["branches"])]
        with jax.named_scope(f"_L{path}_"):
            return jax.lax.switch(given[0].astype("int32"), branches, *given[1:])


class _Counts:
    """Loops in Python where others are inside, and all of them counted."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()
        self.compiled: dict[str, Callable[..., list[Any]]] = {}

    def _callable(self, closed: ClosedJaxpr, path: str, part: str = "") -> Callable[..., list[Any]]:
        if _branches_out(closed.jaxpr):
            return _of(closed, path, self)
        return self.compiled.setdefault(path + part, jax.jit(jaxpr_as_fun(closed)))

    def while_(self, params: dict[str, Any], given: list[Any], path: str) -> list[Any]:
        of_cond, of_body, values = _split(params, given)
        going = self._callable(params["cond_jaxpr"], path, "?")
        body = self._callable(params["body_jaxpr"], path)
        self.of[path] += 0
        while (lanes := going(*of_cond, *values)[0]).any():
            new = body(*of_body, *values)
            values = _where(lanes, new, values) if lanes.ndim else new
            self.of[path] += 1
        return values

    def scan_(self, params: dict[str, Any], given: list[Any], path: str) -> list[Any]:
        length, (a, b) = params["length"], _ends(params)
        if not _branches_out(params["jaxpr"].jaxpr):
            self.of[path] += length
            names = _Names()
            whole = lambda *x: names.scan_(params, list(x), path)
            return self.compiled.setdefault(path, jax.jit(whole))(*given)
        body, carry, rows = _of(params["jaxpr"], path, self), given[a:b], []
        turns = range(length)
        for i in reversed(turns) if params["reverse"] else turns:
            out = body(*given[:a], *carry, *(x[i] for x in given[b:]))
            carry, rows = out[: b - a], [*rows, out[b - a :]]
            self.of[path] += 1
        rows = rows[::-1] if params["reverse"] else rows
        return [*carry, *(jax.numpy.stack(x) for x in zip(*rows, strict=True))]

    def cond_(self, params: dict[str, Any], given: list[Any], path: str) -> list[Any]:
        i = int(np.clip(int(given[0]), 0, len(params["branches"]) - 1))
        self.of[f"{path}:{i}"] += 1
        return self._callable(params["branches"][i], f"{path}-{i}")(*given[1:])
