"""Compile every method, through the engine itself, for an H100 and a TPU v5e; no device is needed, none is measured.

    make test-accelerators                                        # all, what fails is printed, exit code 1
    python -m experiments.accelerators.run [METHOD ...] [--targets h100,v5e] [--devices 1,8] [--lanes 4096] [--again]

The program is that of ``jaxrank.bootstrap`` with the block that the engine would choose there (or of ``--lanes``
replicates), of 20 models, 30 questions and 80 trials (battles and lists for the methods that read nothing else). It
fails on an error, on temporary memory above a tenth of the device's, on a collective inside a block, on 64-bit
arithmetic in a float32 program, on a call back to the host. Writes results.json, a row at a time: a run that was
stopped goes on where it stood. Methods whose programs are equal to the last letter are compiled once. With ``--stale``
rows are compiled again whose program is no longer the one that it was, and counted.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import jaxrank as jr
from experiments.accelerators.targets import AXIS, SHARE, TARGETS, Target, Text, reckoned_as, shapes_of
from jaxrank.methods.catalogue import entries
from jaxrank.numerics.precision import precision
from jaxrank.resampling import engine
from jaxrank.resampling.schemes import as_scheme
from jaxrank.resampling.sources import make_source
from jaxrank.resampling.tabulated import tabulated_replication
from jaxrank.resampling.work import Replication
from jaxrank.studies.fit import as_key
from jaxrank.studies.preparation import prepare
from jaxrank.studies.replicates import near, whole_fit

RESULTS = Path(__file__).parent / "results.json"
_COMPILED: dict[tuple[str, str], tuple[Any, float]] = {}
_KEPT = 8  # programs: a method is compiled a few times to find its block, for one device and for eight
BLOCKS = 4  # of each device: the bound of the loop is traced, so that the program is that of any number


def missing() -> str:
    """What this machine lacks to compile, in one sentence; nothing where it lacks nothing."""
    lacking = [p for p in ("jax_plugins.xla_cuda12", "jax_cuda12_plugin", "libtpu") if not found(p)]
    if lacking:
        return f"{', '.join(lacking)} not installed; `make test-accelerators` installs the compilers (no device needed)"
    if os.environ.get("XLA_FLAGS"):  # libtpu ends the process at a flag of the CPU's compiler
        return "XLA_FLAGS is set; unset it, since the flags reach the compilers of the devices too"
    return ""


def found(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def data_for(name: str, R: np.ndarray | None = None) -> Any:
    """Trials, those of ``R`` where it is given, or what the method reads instead."""
    rng = np.random.default_rng(0)
    if R is None:
        R = (rng.random((20, 30, 80)) < np.linspace(0.2, 0.8, 20)[:, None, None]).astype(int)
    lists = [list(rng.permutation(20)[:6]) for _ in range(400)]
    battles = jr.Comparisons.from_matrix(rng.poisson(3, (20, 20)) * (1 - np.eye(20)))
    if name == "kemeny_young_small":
        return jr.Responses(R[:16])
    for data in (jr.Responses(R), jr.Rankings(lists), battles):
        try:
            prepare(name, data, prior_of(name), {})
            return data
        except jr.errors.JaxrankError as error:
            why = error
    raise why


def prior_of(name: str) -> Any:
    """The earlier outcomes that a method cannot do without, else None."""
    return np.random.default_rng(1).integers(0, 2, (30, 1)) if name == "bayes_greedy" else None


def work_of(
    name: str, target: Target, dtype: str, held: Callable[[Any], int] | None = None, R: np.ndarray | None = None
) -> Any:
    """The replicates of a bootstrap of the method, in blocks for the target (see `reckoned_as`); None for a method on
    the host."""
    data = data_for(name, R)
    ranker = prepare(name, data, prior_of(name), {})
    if ranker.host:
        return None
    with precision(dtype):
        key = as_key(0)
        scheme = as_scheme("trials").bound(data)
        work = tabulated_replication(data, ranker, scheme, key)
        if work is None:
            ranker = near(ranker, whole_fit(data, ranker, name, "aligned", key))
            source = make_source(data, ranker, scheme, "aligned", name)
            with reckoned_as(target, held):
                return Replication.make(ranker, source, key)
    with reckoned_as(target), precision(dtype):
        return tabulated_replication(data, ranker, scheme, key)


def lowered(work: Any, target: Target, n: int, dtype: str) -> Any:
    """The engine's program for n devices, before the target's compiler."""
    blocks, arguments = program(work, target, n)
    with reckoned_as(target), precision(dtype):
        return jax.jit(blocks).lower(*described(arguments, target, n))


def program(work: Any, target: Target, n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The engine's program for n devices, and its arguments for one block of each."""
    mesh = target.mesh(n)
    payload = work.payload(np.arange(BLOCKS * work.block * n))
    dynamic, static = eqx.partition(work, eqx.is_array)

    def blocks(dynamic: Any, firsts: Any, counts: Any, payload: Any) -> Any:
        inside = engine._blocks.__wrapped__ if hasattr(engine._blocks, "__wrapped__") else engine._blocks
        return inside(eqx.combine(dynamic, static), firsts, counts, payload, BLOCKS, mesh if n > 1 else None)

    return blocks, (dynamic, np.zeros(n, np.uint32), np.ones(n, np.int32), payload)


def described(arguments: tuple[Any, ...], target: Target, n: int) -> tuple[Any, ...]:
    """The shapes of the arguments and where they lie."""
    mesh = target.mesh(n)
    whole = NamedSharding(mesh, PartitionSpec())
    spread = NamedSharding(mesh, PartitionSpec(AXIS)) if n > 1 else whole
    return tuple(shapes_of(x, s) for x, s in zip(arguments, (whole, spread, spread, spread), strict=True))


def digest(source: Any) -> str:
    """Of the text of a lowered program."""
    return hashlib.sha256(source.as_text().encode()).hexdigest()[:16]


def compiled(source: Any, target: Target, program: str) -> tuple[Any, float]:
    """A lowered program, by its `digest`, and the seconds of its compilation; of the last few, one that was compiled is
    not again."""
    key = target.name, program
    if key not in _COMPILED:
        begun = time.perf_counter()
        made = source.compile(), time.perf_counter() - begun
        if len(_COMPILED) == _KEPT:
            del _COMPILED[next(iter(_COMPILED))]
        _COMPILED[key] = made
    return _COMPILED[key]


def bytes_held(target: Target, dtype: str, work: Any) -> int:
    """Temporary memory of the program of one block on one device."""
    source = lowered(work, target, 1, dtype)
    return compiled(source, target, digest(source))[0].memory_analysis().temp_size_in_bytes


def examine(
    name: str, target: Target, n: int, dtype: str, lanes: int | None, rows: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """What the compiler makes of one method; of a program that ``rows`` has, its figures."""
    row: dict[str, Any] = {"method": name, "target": target.name, "devices": n, "dtype": dtype}
    try:
        work = work_of(name, target, dtype, partial(bytes_held, target, dtype) if lanes is None else None)
        if work is None:
            return {**row, "host": True, "faults": []}
        if lanes is not None:
            work = dataclasses.replace(work, block=lanes)
        source = lowered(work, target, n, dtype)
        row["program"] = digest(source)
        for twin in rows.values():
            if all(twin.get(k) == row[k] for k in ("program", "target", "devices")) and "seconds" in twin:
                return {**twin, **row, "as": twin.get("as", twin["method"])}
        made, seconds = compiled(source, target, row["program"])
    except Exception as error:  # whatever a compiler says is the finding
        return {**row, "faults": [f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"]}
    memory = made.memory_analysis()
    text = Text.of(made.as_text())
    cost = made.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    row |= {
        "block": work.block,
        "seconds": round(seconds, 1),
        "temporary": memory.temp_size_in_bytes,
        "kernels": text.kernels,
        "loops": text.loops,
        "calls": text.calls,
        "flops": cost.get("flops"),
        "bytes": cost.get("bytes accessed"),
    }
    faults = []
    if memory.temp_size_in_bytes > SHARE * target.memory:
        faults.append(f"temporary memory {memory.temp_size_in_bytes / 1e9:.1f} GB")
    if text.collectives:
        faults.append(f"collectives {text.collectives}")
    if dtype == "float32" and text.wide:
        faults.append(f"{text.wide} operations in 64 bits")
    if text.callbacks:
        faults.append(f"calls back to the host {text.callbacks}")
    return {**row, "faults": faults}


def is_stale(row: dict[str, Any]) -> bool:
    """Whether the library makes another program for the block of a row today than when the row was written."""
    if row.get("host"):
        return False
    target, name, dtype = TARGETS[row["target"]], row["method"], row["dtype"]
    work = work_of(name, target, dtype)
    if work is None or "program" not in row or "block" not in row:
        return True
    source = lowered(dataclasses.replace(work, block=row["block"]), target, row["devices"], dtype)
    return digest(source) != row["program"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--targets", default="h100,v5e")
    parser.add_argument("--devices", default="1,8")
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--lanes", type=int, help="replicates in a block, in place of the engine's choice")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop then, to go on by the same command")
    parser.add_argument("--again", action="store_true", help="compile what is in results.json too")
    parser.add_argument("--stale", action="store_true", help="compile again what has another program today")
    args = parser.parse_args()
    if why := missing():
        sys.exit(why)
    warnings.simplefilter("ignore")
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    wanted = {
        f"{name} | {target} x {n} | {dtype} | {args.lanes or 'block'}": (name, TARGETS[target], n, dtype)
        for target in args.targets.split(",")
        for name in args.methods or sorted(entries())
        for dtype in TARGETS[target].precisions
        for n in map(int, args.devices.split(","))
        if dtype in args.dtypes.split(",")
    }
    begun, faults, stale = time.monotonic(), 0, 0
    for key, (name, target, n, dtype) in wanted.items():
        if time.monotonic() - begun > 60 * args.minutes:
            sys.exit("stopped; the same command goes on")
        if key in rows and not args.again:
            if not (args.stale and is_stale(rows[key])):
                continue
            stale += 1
        others = {k: r for k, r in rows.items() if k != key}
        rows[key] = row = examine(name, target, n, dtype, args.lanes, others)
        faults += bool(row["faults"])
        size = f"{row.get('temporary', 0) / 2**20:8.0f} MiB {row.get('seconds', 0):6.1f} s"
        print(f"{key:60s} block {row.get('block', 0):6d} {size}  {'; '.join(row['faults'])}", flush=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(summary(rows))
    if args.stale:
        print(f"{stale} of {len(wanted)} programs were other ones than those in {RESULTS.name}")
    sys.exit(1 if faults else 0)


def summary(rows: dict[str, dict[str, Any]]) -> str:
    """A line for each target and precision: of the blocks that the library takes, and of blocks that were given."""
    parts: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for key, row in rows.items():
        lanes = key.rsplit(" | ", 1)[1]
        parts.setdefault((f"{row['target']} x {row['devices']}", row["dtype"], lanes), []).append(row)
    lines = [
        "| target | precision | block | identifiers | on the host | compile | faults | compilations | longest "
        "| most memory |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (target, dtype, lanes), found in sorted(parts.items()):
        device = [row for row in found if not row.get("host")]
        faults = sum(bool(row["faults"]) for row in device)
        line = f"| {target} | {dtype} | {lanes} | {len(found)} | {len(found) - len(device)} | "
        line += f"{len(device) - faults} | {faults} | "
        if whole := [row for row in device if "seconds" in row]:
            # The others have the program of one of these.
            made = [row for row in whole if row.get("as", row["method"]) == row["method"]]
            slow = max(whole, key=lambda row: row["seconds"])
            large = max(whole, key=lambda row: row["temporary"])
            line += f"{len(made)} in {sum(row['seconds'] for row in made):,.0f} s | {slow['seconds']} s "
            line += f"(`{slow['method']}`) | {large['temporary'] / 2**20:,.0f} MiB (`{large['method']}`) |"
        else:
            line += "0 | | |"
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    main()
