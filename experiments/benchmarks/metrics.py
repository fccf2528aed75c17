"""Seconds of every metric of `jaxrank.evaluation` on 1,000 models, 30 questions and 80 trials, with both intervals.

Run: python experiments/benchmarks/metrics.py
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxrank import evaluation
from jaxrank.data.responses import Responses

HERE = Path(__file__).resolve().parent
METRICS: dict[str, Callable[..., Any]] = {
    "bayes": evaluation.bayes,
    "avg": evaluation.avg,
    "pass_at_k": lambda R, **o: evaluation.pass_at_k(R, 8, **o),
    "pass_hat_k": lambda R, **o: evaluation.pass_hat_k(R, 8, **o),
    "g_pass_at_k_tau": lambda R, **o: evaluation.g_pass_at_k_tau(R, 8, 0.5, **o),
    "mg_pass_at_k": lambda R, **o: evaluation.mg_pass_at_k(R, 8, **o),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "metrics.json")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    rate = rng.beta(1.5, 1.5, (args.models, 30, 1))
    R = Responses((rng.random((args.models, 30, 80)) < rate).astype(int))
    record: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "models": args.models,
        "seconds": {},
    }
    for name, metric in METRICS.items():
        row = record["seconds"][name] = {}
        for interval in ("normal", "exact"):
            begin = time.perf_counter()
            jax.block_until_ready(metric(R, method=interval))
            row[f"{interval}, first call"] = round(time.perf_counter() - begin, 3)
            begin = time.perf_counter()
            jax.block_until_ready(metric(R, method=interval))
            row[interval] = round(time.perf_counter() - begin, 3)
        print(name, row, flush=True)
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
