"""Table 3 of arXiv 2603.10960 whole, on the mimic: pools of 5, 10 and 15 models, one trial a question.

``python -m experiments.model_pools.run [--shard I/N | --steal [--backwards]] [--methods M ...] [--without M ...]
[--cells C ...]`` does its part of 69 methods x 15 cells x 1,000 pools, chunk by chunk, in a folder that processes may
share and that any of them may leave or join (``jaxrank.model_pools`` with a checkpoint), and adds one line for each
method and cell to a file of its own beside the chunks: seconds of the clock and of the processors. Of two processes
that steal one may go ``--backwards``: each program is then compiled once, not by both. ``--merge`` puts what is
complete into results.json, prints the comparison with the published table and draws figure.png; ``--statuses`` adds how
the fits of single trials end, in some pools of every cell. ``--seconds T`` begins nothing new after T seconds. The
methods are the 72 published ones but Kemeny's two, which are solved on the host, and Markov chains.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr
from experiments import mimic
from jaxrank.results.pools import Pools
from jaxrank.studies.pools import model_pools

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
CONFIG = json.loads((HERE / "config.json").read_text())
TRIALS = 80  # single trials of a pool, and one fit of all of them
SAME = 5e-7  # means of float32 taus that are one
MOST_UNDEFINED = 40  # trials without a tau, of 80, beyond which a mean says little
PUBLISHED = {  # best method of the table: against avg@80, mean and standard deviation over pools; sizes 5, 10, 15
    "AIME24": ("bayes_greedy", [(0.769, 0.209), (0.776, 0.107), (0.780, 0.057)]),
    "AIME25": ("bayes_greedy", [(0.802, 0.144), (0.797, 0.071), (0.798, 0.038)]),
    "HMMT25": ("bayes", [(0.788, 0.114), (0.789, 0.059), (0.790, 0.033)]),
    "BrUMO25": ("bayes_greedy", [(0.854, 0.136), (0.856, 0.062), (0.858, 0.032)]),
    "Combined": ("bayes", [(0.863, 0.084), (0.866, 0.042), (0.864, 0.023)]),
}
ITSELF = {  # mean and standard deviation of the published best method with itself; sizes 5, 10, 15
    "AIME24": [(0.773, 0.207), (0.781, 0.105), (0.785, 0.057)],
    "AIME25": [(0.809, 0.144), (0.803, 0.073), (0.804, 0.040)],
    "HMMT25": [(0.788, 0.114), (0.789, 0.059), (0.790, 0.033)],
    "BrUMO25": [(0.854, 0.136), (0.856, 0.062), (0.858, 0.032)],
    "Combined": [(0.863, 0.084), (0.866, 0.042), (0.864, 0.023)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/model_pools"), help="where the chunks lie")
    parser.add_argument("--shard", help="I/N")
    parser.add_argument("--steal", action="store_true")
    parser.add_argument("--backwards", action="store_true", help="the last method first")
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--statuses", action="store_true")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--cells", nargs="*", help='such as "AIME24, 5"')
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    if args.merge:
        merge(args.folder)
        return
    until = time.monotonic() + args.seconds
    if args.statuses:
        statuses(args.cells, until)
        return
    log = args.folder / f"seconds-{socket.gethostname()}-{os.getpid()}.jsonl"
    args.folder.mkdir(parents=True, exist_ok=True)
    for method, b, size in parts(args.methods or mapped(), args.without, args.cells, args.backwards):
        if time.monotonic() > until:
            break
        clock, processors = time.perf_counter(), time.process_time()
        try:
            pools(b, size, method, args.folder, "steal" if args.steal else args.shard)
        except jr.errors.UnfinishedError:
            print(f"{b}, {size} {method}: this part is done", flush=True)
        row = {
            "cell": f"{b}, {size}",
            "method": method,
            "seconds": round(time.perf_counter() - clock, 2),
            "processor_seconds": round(time.process_time() - processors, 2),
        }
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


def mapped() -> list[str]:
    """The published methods that are mapped over pools."""
    return [m for m, entry in jr.entries().items() if entry.published and m not in CONFIG["on_the_host"]]


def parts(
    methods: list[str], without: list[str], cells: list[str] | None, backwards: bool = False
) -> Iterator[tuple[str, str, int]]:
    """Methods and cells, so that cells of one shape, whose program is one, follow each other."""
    wanted = [m for m in methods if m not in without]
    shapes = (CONFIG["benchmarks"][:-1], CONFIG["benchmarks"][-1:])
    of_one_program = [(size, shape, m) for size in CONFIG["sizes"] for shape in shapes for m in wanted]
    for size, shape, method in of_one_program[:: -1 if backwards else 1]:
        yield from ((method, b, size) for b in shape if cells is None or f"{b}, {size}" in cells)


def pools(b: str, size: int, method: str, folder: Path, shard: str | None) -> Pools:
    bench = mimic.benchmark(b, seed=CONFIG["seed"], match=CONFIG["match"])
    return model_pools(
        bench.R,
        [method],
        size=size,
        n_replicates=CONFIG["n_replicates"],
        seed=CONFIG["seed"],
        R0=bench.greedy[:, :, None] if method == "bayes_greedy" else None,
        chunk_size=CONFIG["chunk"],
        checkpoint=folder / f"{b}-{size}",
        shard=shard,
        progress=False,
    )


def merge(folder: Path) -> None:
    """results.json from the chunks of ``folder``: means and standard deviations over pools of every complete method and
    cell, and what of a cell needs all its methods."""
    spent = read_seconds(folder)
    cells: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for method, b, size in parts(mapped(), [], None):
        found = read_chunks(folder / f"{b}-{size}" / method)
        if isinstance(found, str):
            print(f"{b}, {size} {method}: {found}")
        else:
            cells.setdefault(f"{b}, {size}", {})[method] = found
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    cells_of_pools = {cell: together(found) for cell, found in cells.items()}
    results |= {"cells": {c: summary(p) for c, p in cells_of_pools.items()}, "cost": cost(spent, cells_of_pools)}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    plot(results)
    print(table(results))
    print(json.dumps(results["cost"]))


def read_chunks(folder: Path) -> dict[str, np.ndarray] | str:
    """Of one method and cell what its chunks hold, or how many pools there are of how many. (The library's own merge
    makes the method's program first, to compare what the chunks say of it.)"""
    chunks = sorted(folder.glob("*-*.npz"))
    ends = [tuple(map(int, c.stem.split("-"))) for c in chunks]
    whole = [0] + [end for _, end in ends] == [begin for begin, _ in ends] + [CONFIG["n_replicates"]]
    if not whole:
        return f"{sum(end - begin for begin, end in ends)} of {CONFIG['n_replicates']} pools"
    parts = [np.load(c) for c in chunks]
    return {name: np.concatenate([p[name] for p in parts]) for name in ("members", "gold", "own", "gold_undefined")}


def together(found: dict[str, dict[str, np.ndarray]]) -> Pools:
    """The methods of one cell, which have the same pools."""
    members = next(iter(found.values()))["members"]
    gold, own, undefined = ({m: x[name] for m, x in found.items()} for name in ("gold", "own", "gold_undefined"))
    models = tuple(f"model {i}" for i in range(1, 21))
    return Pools(tuple(found), models, members.shape[1], members, gold, own, undefined)


def read_seconds(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in sorted(folder.glob("seconds-*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def summary(pools: Pools) -> dict[str, Any]:
    """Of one cell: rows of its methods, and who has the highest mean and in which share of the pools, ties for all."""
    names = ["gold", "gold_sd", "own", "own_sd", "undefined"]
    rows = pools.to_frame().set_index("method")[names].to_dict("index")
    methods = {m: {k: None if np.isnan(v) else round(v, 6) for k, v in row.items()} for m, row in rows.items()}
    out: dict[str, Any] = {"methods": methods}
    for target in ("gold", "own"):
        means = known_means(methods, target)
        top = max(means.values())
        shares = dataclasses.replace(pools, methods=tuple(means)).best(target)
        out[target] = {
            "highest mean": top,
            "methods with it": [m for m, mean in means.items() if mean >= top - SAME],
            "best in a share of pools": {m: round(share, 3) for m, share in shares.items()},
        }
    return out


def known_means(methods: dict[str, dict[str, Any]], target: str) -> dict[str, float]:
    """Means of the methods that have a tau in most trials."""
    return {m: row[target] for m, row in methods.items() if row["undefined"] < MOST_UNDEFINED}


def cost(spent: list[dict[str, Any]], cells: dict[str, Pools]) -> dict[str, Any]:
    """Hours, all and of the slowest methods, and how many fits: one of each single trial of a pool and one of all."""
    by_method: Counter[str] = Counter()
    for row in spent:
        by_method[row["method"]] += row["seconds"]
    lanes = sum((TRIALS + 1) * p.n_replicates * len(p) for p in cells.values())
    return {
        "cells": len(cells),
        "methods and cells": sum(len(p) for p in cells.values()),
        "fits": lanes,
        "hours": round(sum(by_method.values()) / 3600, 3),
        "processor hours": round(sum(row["processor_seconds"] for row in spent) / 3600, 3),
        "slowest, hours": {m: round(s / 3600, 3) for m, s in by_method.most_common(10)},
    }


def table(results: dict[str, Any]) -> str:
    """The rows of the published table, with the published best method here and what stands above it."""
    lines = [
        "| cell | published best | here | itself, published | here | share its mean | above it: gold | itself |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for b, (best, published) in PUBLISHED.items():
        for size, (mean, sd), itself in zip(CONFIG["sizes"], published, ITSELF[b], strict=True):
            found = results["cells"].get(f"{b}, {size}")
            if found is None or best not in found["methods"]:
                continue
            own = found["methods"][best]
            shared, above = [], []
            for target in ("gold", "own"):
                means = known_means(found["methods"], target)
                shared.append(str(sum(abs(mean - own[target]) <= SAME for mean in means.values())))
                better = sorted((m for m in means if means[m] > own[target] + SAME), key=lambda m: -means[m])
                above.append(", ".join(f"{m} {means[m]:.3f}" for m in better) or "none")
            lines.append(
                f"| {b}, {size} | {best} {mean:.3f} ± {sd:.3f} | {own['gold']:.3f} ± {own['gold_sd']:.3f} "
                f"| {itself[0]:.3f} ± {itself[1]:.3f} | {own['own']:.3f} ± {own['own_sd']:.3f} "
                f"| {', '.join(shared)} | {above[0]} | {above[1]} |"
            )
    return "\n".join(lines)


def statuses(cells: list[str] | None, until: float) -> None:
    """Of the methods that have no tau in some trial of a cell, or that may end at a step limit: how fits of its single
    trials end."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    done = results.setdefault("statuses", {})
    n = CONFIG["pools_of_statuses"]
    for cell, found in results["cells"].items():
        b, size = cell.split(", ")
        if cells and cell not in cells:
            continue
        counts: dict[str, Any] = done.setdefault(cell, {"pools": n, "fits of a method": n * TRIALS})
        methods = [m for m, row in found["methods"].items() if row["undefined"] >= 0.5 or m in CONFIG["searches"]]
        if not (missing := [m for m in methods if m not in counts]):
            continue
        bench = mimic.benchmark(b, seed=CONFIG["seed"], match=CONFIG["match"])
        members = model_pools(bench.R, "avg", size=int(size), n_replicates=n, seed=CONFIG["seed"]).members
        for m in missing:
            if time.monotonic() > until:
                return
            ended: Counter[str] = Counter()
            for pool in members:
                try:
                    fits = jr.subsample(bench.R[pool], m, n=1, progress=False)
                    ended.update({status.name: count for status, count in fits.status_counts().items()})
                except jr.errors.JaxrankError as error:
                    ended[str(error)] += TRIALS
            counts[m] = dict(ended)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"{cell}: {json.dumps(done[cell])}", flush=True)


def plot(results: dict) -> None:
    """A panel for each benchmark of which there is anything, beside the published best method at all sizes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    there = {b: [s for s in CONFIG["sizes"] if f"{b}, {s}" in results["cells"]] for b in CONFIG["benchmarks"]}
    names = [b for b, sizes in there.items() if sizes]
    fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.2), sharey=True, squeeze=False)
    for ax, b in zip(axes[0], names, strict=True):
        for i, m in enumerate(("bayes", "bayes_greedy")):
            rows = [results["cells"][f"{b}, {s}"]["methods"][m] for s in there[b]]
            y, sd = [r["gold"] for r in rows], [r["gold_sd"] for r in rows]
            ax.errorbar([s + 0.3 * i for s in there[b]], y, sd, fmt="o-", ms=4, capsize=2, label=m)
        best, rows = PUBLISHED[b]
        y, sd = zip(*rows, strict=True)
        ax.errorbar([s + 0.6 for s in CONFIG["sizes"]], y, sd, fmt="k^:", ms=4, capsize=2, label=f"{best}, published")
        missing = [s for s in CONFIG["sizes"] if s not in there[b]]
        note = f"\nnot run: {', '.join(map(str, missing))}" if missing else ""
        ax.set(title=b, xlabel=f"models in a pool{note}", xticks=CONFIG["sizes"])
        ax.legend(fontsize=7, loc="lower right")
    axes[0, 0].set_ylabel("tau-b of one trial with Bayes@80")
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=110)


if __name__ == "__main__":
    main()
