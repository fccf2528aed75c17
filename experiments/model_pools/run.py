"""Pools of 5, 10 and 15 models, one trial a question: table 3 of arXiv 2603.10960, on the mimic.

``python -m experiments.model_pools.run [--pools B] [--method NAME ...] [--seconds T]`` adds the table to results.json
beside this file. ``--shares``: in which share of (fewer) pools each of more methods is best, and which have the highest
mean; ``--all``: of all published methods but those of the host and of Markov chains, with ``--quick`` without the
slowest three, and ``--statuses``: how those fits of them end that have no tau. ``--profile`` times them on pools of the
largest size, and says what the whole table (72 methods, 1,000 pools of three sizes, 81 fits, five benchmarks) would
take. All go on where they stood; nothing new is begun after T
seconds. figure.png shows the benchmarks and sizes that are there; ``--seconds -1`` draws it and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxrank as jr
from experiments import mimic
from jaxrank.errors import JaxrankError
from jaxrank.studies.pools import model_pools

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
CONFIG = json.loads((HERE / "config.json").read_text())
PUBLISHED = {  # best method of the table: against avg@80, mean and standard deviation over pools; sizes 5, 10, 15
    "AIME24": ("bayes_greedy", [(0.769, 0.209), (0.776, 0.107), (0.780, 0.057)]),
    "AIME25": ("bayes_greedy", [(0.802, 0.144), (0.797, 0.071), (0.798, 0.038)]),
    "HMMT25": ("bayes", [(0.788, 0.114), (0.789, 0.059), (0.790, 0.033)]),
    "BrUMO25": ("bayes_greedy", [(0.854, 0.136), (0.856, 0.062), (0.858, 0.032)]),
    "Combined": ("bayes", [(0.863, 0.084), (0.866, 0.042), (0.864, 0.023)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=CONFIG["n_replicates"])
    parser.add_argument("--method", nargs="*")
    parser.add_argument("--benchmark", nargs="*", default=CONFIG["benchmarks"])
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--quick", action="store_true", help="with --all: without the slowest methods")
    parser.add_argument("--statuses", action="store_true", help="why fits of single trials have no tau, on some pools")
    parser.add_argument("--size", type=int, nargs="*")
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    work = shares if args.shares or args.all else table
    work = profile if args.profile else statuses if args.statuses else work
    for part in work(args, results, until):
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(part, flush=True)
    if args.profile:
        print(projection(results))
    if results.get("table"):
        plot(results)


def table(args: argparse.Namespace, results: dict, until: float) -> Iterator[str]:
    """Agreement in pools, one entry a benchmark and size; a string after each."""
    done = results.setdefault("table", {})
    for b in args.benchmark:
        bench = mimic.benchmark(b, seed=CONFIG["seed"], match=CONFIG["match"])
        for size in CONFIG["sizes"]:
            found = done.get(f"{b}, {size}", {})
            methods = [m for m in args.method or CONFIG["methods"] if m not in found]
            if not methods or time.monotonic() > until:
                continue
            start = time.perf_counter()
            R0 = bench.greedy[:, :, None]
            pools = model_pools(bench.R, methods, size=size, n_replicates=args.pools, seed=CONFIG["seed"], R0=R0)
            spent = time.perf_counter() - start
            for row in pools.to_frame().to_dict("records"):
                found[row.pop("method")] = {**row, "seconds_of_the_call": spent}
            done[f"{b}, {size}"] = found
            told = ", ".join(f"{m} {found[m]['gold']:.3f} ± {found[m]['gold_sd']:.3f}" for m in methods)
            yield f"{b}, {size}: {told}, {spent:.0f} s"


def mapped() -> list[str]:
    """The published methods that are mapped over pools: all but Kemeny's (solved on the host) and Markov chains."""
    return [m for m, entry in jr.entries().items() if entry.published and m not in CONFIG["left_out_of_the_profile"]]


def shares(args: argparse.Namespace, results: dict, until: float) -> Iterator[str]:
    """Share of pools in which a method has the highest mean tau, ties for all, and how many share the highest mean."""
    part = "all" if args.all else "shares"
    done, asked = results.setdefault(part, {}), CONFIG[part]
    for b in args.benchmark:
        bench = mimic.benchmark(b, seed=CONFIG["seed"], match=CONFIG["match"])
        for size in args.size or CONFIG["sizes"]:
            if f"{b}, {size}" in done or time.monotonic() > until:
                continue
            start = time.perf_counter()
            options = {"n_replicates": asked["n_replicates"], "seed": CONFIG["seed"], "R0": bench.greedy[:, :, None]}
            left = asked["slow"] if args.quick and args.all else []
            methods = asked.get("methods") or [m for m in mapped() if m not in left]
            pools = model_pools(bench.R, methods, size=size, **options)
            frame = pools.to_frame().set_index("method")
            found: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 1), "left out": left}
            for target in ("gold", "own"):
                mean = frame[target].dropna()
                top = mean.max()
                found[target] = {
                    "best in a share of pools": pools.best(target),
                    "highest mean": float(top),
                    "methods with it": mean.index[mean >= top - 1e-9].tolist(),
                    "mean": mean.round(6).to_dict(),
                }
            found["without a tau, trials a pool"] = {m: n for m, n in frame["undefined"].round(2).items() if n > 0}
            done[f"{b}, {size}"] = found
            best = found["gold"]["best in a share of pools"]
            told = ", ".join(f"{m} {best[m]:.2f}" for m in ("bayes", "bayes_greedy"))
            yield f"{b}, {size}: best in a share of pools: {told}; {found['seconds']} s"


def statuses(args: argparse.Namespace, results: dict, until: float) -> Iterator[str]:
    """Of the methods that have no tau in some trials of a cell of --all: how their fits of single trials end."""
    done = results.setdefault("statuses", {})
    for cell, found in results["all"].items():
        b, size = cell.split(", ")
        if cell in done or b not in args.benchmark or time.monotonic() > until:
            continue
        bench = mimic.benchmark(b, seed=CONFIG["seed"], match=CONFIG["match"])
        n = CONFIG["all"]["pools_of_statuses"]
        members = model_pools(bench.R, "avg", size=int(size), n_replicates=n, seed=CONFIG["seed"]).members
        counts: dict[str, Counter[str]] = {}
        for m in found["without a tau, trials a pool"]:
            of_method = counts[m] = Counter()
            for pool in members:
                try:
                    ended = jr.subsample(bench.R[pool], m, n=1, progress=False).status_counts()
                    of_method.update({status.name: count for status, count in ended.items()})
                except JaxrankError as error:
                    of_method[str(error)] += bench.R.shape[2]
        done[cell] = {"pools": n, "fits of a method": n * bench.R.shape[2], **counts}
        yield f"{cell}: {json.dumps(done[cell])}"


def profile(args: argparse.Namespace, results: dict, until: float) -> Iterator[str]:
    """Seconds a pool of every published method, compiled and warm; a string after each."""
    done = results.setdefault("profile", {})
    asked = CONFIG["profile"]
    for b in args.benchmark:
        bench = mimic.benchmark(b, seed=CONFIG["seed"], match=CONFIG["match"])
        found = done.setdefault(b, {})
        for m in args.method or mapped():
            if m in found or time.monotonic() > until:
                continue

            def timed(n: int, m: str = m, bench: Any = bench) -> tuple[float, Any]:
                start = time.perf_counter()
                R0 = bench.greedy[:, :, None]
                pools = model_pools(
                    bench.R,
                    m,
                    size=asked["size"],
                    n_replicates=n,
                    seed=CONFIG["seed"],
                    R0=R0,
                    chunk_size=asked["chunk"],
                )
                return time.perf_counter() - start, pools

            try:
                cold, _ = timed(asked["chunk"])
                warm, pools = timed(asked["pools"])
                each = warm / asked["pools"]  # with the fixed cost of a call: an upper bound
                row = pools.to_frame().iloc[0]
                found[m] = {
                    "first_call": cold,
                    "seconds_a_pool": each,
                    "gold": float(row["gold"]),
                    "own": float(row["own"]),
                }
            except JaxrankError as error:
                found[m] = {"error": str(error)}
            yield f"{b} {m} {found[m]}"


def projection(results: dict) -> dict:
    """Hours for the whole table at these rates.

    Every pool counts like one of the largest size, so this is an upper bound for the smaller ones. Methods that were
    timed on one benchmark of 30 questions count with it on all four; on Combined those not timed there count with the
    median ratio of those that were.
    """
    base, combined = (results["profile"].get(b, {}) for b in ("AIME24", "Combined"))
    seconds = {m: row["seconds_a_pool"] for m, row in base.items() if "seconds_a_pool" in row}
    ratios = sorted(
        row["seconds_a_pool"] / seconds[m] for m, row in combined.items() if m in seconds and "seconds_a_pool" in row
    )
    typical = ratios[len(ratios) // 2] if ratios else 4.0
    whole = {
        m: 1000 * len(CONFIG["sizes"]) * s * (4 + combined[m]["seconds_a_pool"] / s if m in combined else 4 + typical)
        for m, s in seconds.items()
    }
    slowest = dict(sorted(((m, round(s / 3600, 3)) for m, s in whole.items()), key=lambda x: -x[1])[:15])
    compile_time = sum(r["first_call"] for r in base.values() if "first_call" in r) * 2 * len(CONFIG["sizes"])
    results["projection"] = {
        "methods timed": len(seconds),
        "hours": sum(whole.values()) / 3600,
        "hours of first calls": compile_time / 3600,
        "ratio of Combined": typical,
        "slowest, hours": slowest,
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return results["projection"]


def plot(results: dict) -> None:
    """A panel for each benchmark of which there is anything, beside the published best method at all sizes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    there = {b: [s for s in CONFIG["sizes"] if f"{b}, {s}" in results["table"]] for b in CONFIG["benchmarks"]}
    names = [b for b, sizes in there.items() if sizes]
    fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.2), sharey=True, squeeze=False)
    for ax, b in zip(axes[0], names, strict=True):
        for i, m in enumerate(("bayes", "bayes_greedy")):
            rows = [results["table"][f"{b}, {s}"][m] for s in there[b]]
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
