"""One trial a question: tables 2, 18 and 19 of arXiv 2603.10960, on the mimic.

Every published method on each of the 80 single trials, against Bayes@80 ("gold") and against itself on all trials
("self"). ``python -m experiments.low_budget.run [--method NAME ...] [--benchmark NAME ...] [--seconds T]`` adds to
results.json here; what stands there is not run again, and nothing new is begun after T seconds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np

import jaxrank as jr
from experiments import mimic
from jaxrank.errors import JaxrankError
from jaxrank.studies import subsample

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


def one(R: np.ndarray, greedy: np.ndarray, method: str, gold: jr.Result) -> dict:
    prior = {"R0": greedy[:, :, None]} if method == "bayes_greedy" else {}
    start = time.perf_counter()
    try:
        rep = subsample(R, method, seed=0, **prior)
        found = {"failed": {str(s): n for s, n in rep.status_counts().items() if s != jr.Status.CONVERGED}}
        for target, reference in (("gold", gold), ("self", None)):
            tau = rep.tau(reference)
            known = tau[np.isfinite(tau)]
            found[target] = [float(known.mean()), float(known.std())] if len(known) else None
            found[f"{target}_undefined"] = int(len(tau) - len(known))
    except JaxrankError as error:
        return {"error": str(error)}
    return {**found, "seconds": time.perf_counter() - start}


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    published = [name for name, entry in jr.entries().items() if entry.published and name not in config["leave_out"]]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", nargs="*", default=published)
    parser.add_argument("--benchmark", nargs="*", default=config["benchmarks"])
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    data = {b: mimic.benchmark(b, seed=config["seed"]) for b in args.benchmark}
    gold = {b: jr.fit(bench.R, "bayes", dtype="float64") for b, bench in data.items()}
    for m, (b, bench) in itertools.product(args.method, data.items()):
        if m in results.get(b, {}) or time.monotonic() > until:
            continue
        results.setdefault(b, {})[m] = one(bench.R, bench.greedy, m, gold[b])
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(b, m, results[b][m], flush=True)


if __name__ == "__main__":
    main()
