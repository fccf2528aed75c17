"""Seconds of one method of jaxrank: the first fit, a fit when compiled, and replicates a second in float32.

python own.py ENTRY OPTIONS TENSOR BUDGET: as in `peer.py`; ENTRY "fit_all" times all methods together. Prints one JSON
object.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

import jaxrank as jr

RUNS = 3
MOST = 2**21


def one_method(entry: str, options: dict, R: np.ndarray, budget: float) -> dict:
    fit = lambda: jr.fit(R, entry, dtype="float32", on_failure="return", **options).scores
    cold = seconds(fit)
    spent = [seconds(fit)]
    while len(spent) < 20 and sum(spent) < budget / 3:
        spent.append(seconds(fit))
    measured = {"fit_cold": cold, "fit_warm": float(np.median(spent))}

    scheme = "trials" if R.shape[-1] > 1 else "questions"
    how = {"scheme": scheme, "dtype": "float32", "seed": 1, "progress": False}

    def run(n: int) -> float:
        return seconds(lambda: jr.bootstrap(R, entry, n_replicates=n, **how, **options).scores)

    n = 64
    run(n)  # compiles
    took = run(n)
    while took < budget / 2 and n < MOST:  # small runs are mostly overhead
        n = min(n * min(max(int(budget / took), 2), 16), MOST)
        run(n)  # another size of chunk compiles again
        took = run(n)
    times = [took, *(run(n) for _ in range(RUNS - 1))] if took < 2 * budget else [took]
    return measured | {"replicates": n, "replicates_per_second": n / float(np.median(times)), "runs": len(times)}


def all_methods(R: np.ndarray) -> dict:
    run = lambda: jr.fit_all(R, dtype="float32")
    began = time.perf_counter()
    table = run()
    cold = time.perf_counter() - began
    return {
        "cold": cold,
        "warm": seconds(run),
        "methods": len(table.results),
        "skipped": sorted(table.skipped),
        "cold_seconds": {name: round(t, 4) for name, t in table.seconds.items()},
    }


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    warnings.simplefilter("ignore")
    entry, options, tensor, budget = sys.argv[1:]
    R = np.load(tensor)
    found = all_methods(R) if entry == "fit_all" else one_method(entry, json.loads(options), R, float(budget))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
