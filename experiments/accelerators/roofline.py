"""Replicates a second of one H100 and one TPU v5e, reckoned from compiled texts: predictions, no measurements.

    python -m experiments.accelerators.roofline [METHOD ...] [--targets h100,v5e] [--again]

For the methods of ``device.sh``, on its tensor, in float32, at the block that the library takes there. Seconds of a
block are launches x seconds of one + turns of loops whose end the data decide x seconds of one + for every kernel the
longer of its bytes by the bandwidth and its operations by their peak + the results' bytes by the link to the host. How
often loops turn is counted on a CPU, on as many of the same replicates as ``--counted`` says (a slowest one of more may
turn once more). Writes roofline.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
import time
import warnings
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from experiments.accelerators import costs, replay
from experiments.accelerators.run import BLOCKS, bytes_held, described, missing, program, work_of
from experiments.accelerators.targets import TARGETS, Target, reckoned_as
from experiments.benchmarks.workers.device import METHODS, simulate
from jaxrank.numerics.precision import precision

RESULTS = Path(__file__).parent / "roofline.json"
DTYPE = "float32"


def predicted(name: str, target: Target, lanes: int, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row of the table; what ``rows`` counted of an equal trace is not counted again."""
    R = simulate()
    work = work_of(name, target, DTYPE, partial(bytes_held, target, DTYPE), R)
    fewer = dataclasses.replace(work, block=min(work.block, lanes))
    begun = time.perf_counter()
    trace, arguments = traced(fewer, target)
    root = [str(i) for i, e in enumerate(trace.jaxpr.eqns) if e.primitive.name == "while"][-1]  # over blocks
    code = hashlib.sha256(str(trace).encode()).hexdigest()[:16]
    twin = next((r for r in rows.values() if r["trace"] == code), None)
    if twin is None:
        with precision(DTYPE):
            turns = replay.counted(trace, [jnp.asarray(x) for x in jax.tree.leaves(arguments)])
    else:
        turns = Counter(twin["turns"])
    counted = time.perf_counter() - begun
    begun = time.perf_counter()
    compiled = named(work, target)
    text = costs.Text(compiled.as_text())
    sent = sum(x.size * x.dtype.itemsize for x in (v.aval for v in trace.jaxpr.outvars)) / (BLOCKS * fewer.block)
    row = sums(list(costs.kernels(text, turns, root)), target, work.block, sent)
    return row | {
        "block": work.block,
        "temporary": compiled.memory_analysis().temp_size_in_bytes,
        "counted on": fewer.block,
        "trace": code,
        "turns": dict(turns),
        "seconds of counting": round(counted, 1),
        "seconds of compilation": round(time.perf_counter() - begun, 1),
    }


def named(work: Any, target: Target) -> Any:
    """The engine's program, compiled, with names for its loops."""
    trace, arguments = traced(work, target)
    with reckoned_as(target), precision(DTYPE):
        return jax.jit(replay.named(trace)).lower(*jax.tree.leaves(described(arguments, target, 1))).compile()


def traced(work: Any, target: Target) -> tuple[Any, tuple[Any, ...]]:
    """The jaxpr of the engine's program on one device, and its arguments for one block."""
    blocks, arguments = program(work, target, 1)
    with reckoned_as(target), precision(DTYPE):
        return jax.make_jaxpr(blocks)(*arguments), arguments


def sums(found: list[costs.Kernel], target: Target, block: int, sent: float) -> dict[str, Any]:
    """What the kernels of a block come to; ``sent``: bytes of a replicate's results, which go to the host."""
    seconds: dict[str, float] = defaultdict(float)
    of_loop: dict[tuple[str, ...], float] = defaultdict(float)
    launches, moved, operations = 0.0, 0.0, 0.0
    for k in found:
        if k.loops and k.loops[-1] == "turn":
            seconds["turns"] += k.times * target.turn
            continue
        by_bytes = k.bytes / target.bandwidth
        by_work = k.products / target.products + k.others / target.others
        launches += k.times
        moved += k.times * k.bytes
        operations += k.times * (k.products + k.others)
        seconds["launches"] += k.times * target.launch
        seconds["bytes" if by_bytes >= by_work else "operations"] += k.times * max(by_bytes, by_work)
        of_loop[k.loops[:2]] += k.times * (target.launch + max(by_bytes, by_work))
    seconds["results"] = sent * block / target.link
    total = sum(seconds.values())
    return {
        "kernels a block": round(launches),
        "bytes a replicate": round(moved / block),
        "operations a replicate": round(operations / block),
        "seconds a block": {k: float(f"{v:.3g}") for k, v in seconds.items()},
        "predicted a second": float(f"{block / total:.3g}"),
        "bottleneck": max(seconds, key=lambda k: seconds[k]),
        "longest loop": longest(found, of_loop, total),
    }


def longest(found: list[costs.Kernel], of_loop: dict[tuple[str, ...], float], total: float) -> dict[str, Any] | None:
    """Of the loops of a block the one in which most time goes: its turns, and its kernels a turn."""
    inner = {loops: s for loops, s in of_loop.items() if len(loops) > 1}
    if not inner:
        return None
    loop = max(inner, key=lambda k: inner[k])
    mine = [k for k in found if k.loops[:2] == loop and k.loops[-1] != "turn"]
    turns = max((k.times for k in mine if k.loops == loop), default=1)
    return {
        "turns": round(turns),
        "kernels a turn": round(sum(k.times for k in mine) / turns, 1),
        "share of the seconds": round(inner[loop] / total, 2),
    }


def line(key: str, row: dict[str, Any]) -> str:
    loop = row["longest loop"] or {"turns": 0, "kernels a turn": 0}
    loops = f"{loop['turns']:5d} turns of {loop['kernels a turn']:7.1f} kernels"
    moved = f"{row['bytes a replicate']:10,d} bytes a replicate"
    return (
        f"{key:32s} block {row['block']:6d} {loops} {moved} {row['predicted a second']:14,.0f}/s  {row['bottleneck']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--targets", default="h100,v5e")
    parser.add_argument("--counted", type=int, default=2048, help="replicates on which the turns of loops are counted")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop then, to go on by the same command")
    parser.add_argument("--again", action="store_true", help="reckon what is in roofline.json too")
    args = parser.parse_args()
    if why := missing():
        sys.exit(why)
    warnings.simplefilter("ignore")
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    begun = time.monotonic()
    for target in (TARGETS[t] for t in args.targets.split(",")):
        for name in args.methods:
            key = f"{name} | {target.name}"
            if key in rows and not args.again:
                continue
            if time.monotonic() - begun > 60 * args.minutes:
                sys.exit("stopped; the same command goes on")
            rows[key] = predicted(name, target, args.counted, rows)
            print(line(key, rows[key]), flush=True)
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
