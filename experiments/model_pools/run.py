"""Pools of 5, 10 and 15 models, one trial a question: table 3 of arXiv 2603.10960, on the mimic.

``python -m experiments.model_pools.run [--pools B] [--method NAME ...]`` writes results.json beside this file and says
what the whole table (72 methods, 1,000 pools of three sizes, 80 trials, five benchmarks) would take at this rate.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from experiments import mimic
from jaxrank.pool_studies import model_pools

HERE = Path(__file__).parent


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=config["n_pools"])
    parser.add_argument("--method", nargs="*", default=config["methods"])
    parser.add_argument("--benchmark", nargs="*", default=config["benchmarks"])
    args = parser.parse_args()
    rows, rankings, seconds = [], 0, 0.0
    for b in args.benchmark:
        bench = mimic.benchmark(b, seed=config["seed"])
        for size in config["sizes"]:
            start = time.perf_counter()
            pools = model_pools(
                bench.R, args.method, size, args.pools, seed=config["seed"], R0=bench.greedy[:, :, None]
            )
            spent = time.perf_counter() - start
            seconds += spent
            rankings += len(args.method) * args.pools * (bench.R.shape[2] + 1)
            for row in pools.to_frame().to_dict("records"):
                rows.append({"benchmark": b, **row, "best_share": pools.best()[row["method"]], "seconds": spent})
                told = f"{b:9s} {row['method']:16s} size {size:2d}: gold {row['gold']:.3f} ± {row['gold_sd']:.3f}"
                share = rows[-1]["best_share"]
                print(f"{told}, self {row['own']:.3f} ± {row['own_sd']:.3f}, best in {share:.2f}", flush=True)
    whole = 72 * 1000 * 3 * 81 * 5
    hours = whole / rankings * seconds / 3600
    print(f"{rankings:,} rankings in {seconds:.0f} s, {rankings / seconds:,.0f}/s; {whole:,} would take {hours:.1f} h")
    results = {"config": vars(args), "seconds": seconds, "rankings": rankings, "rows": rows}
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
