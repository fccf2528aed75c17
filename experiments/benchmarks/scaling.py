"""Seconds and memory of a bootstrap against the number of replicates and of models. Every measurement is a process of
its own; see README.md.

Run: python experiments/benchmarks/scaling.py [--arena FILE.npz]
     python experiments/benchmarks/scaling.py --large     # the large batches alone, six minutes; the rest stays
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
N_QUESTIONS, N_TRIALS = 30, 80
REPLICATES = (1_000, 10_000, 100_000, 1_000_000)
MODELS = (5, 10, 20, 50, 100, 200)
BY_REPLICATES = ("avg", "pass_at_k", "bradley_terry", "borda")
BY_MODELS = ("avg", "bradley_terry", "bradley_terry_davidson", "rasch", "borda", "schulze", "elo")
LARGE = ((500, 2_000), (1_000, 256), (2_000, 64), (200, 1_000_000))
"""Models and replicates of Bradley-Terry: the first three compiled, the last one by one call."""
OPTIONS = {"pass_at_k": {"k": 4}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--arena", type=Path, help="counts of battles: arrays X (pairs), Y (a, b, tie, both bad), models"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / "scaling.json")
    parser.add_argument("--large", action="store_true", help="large batches of Bradley-Terry, nothing else")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(**json.loads(args.one))))
        return
    before = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    if args.large:
        record: dict[str, Any] = before
        record["large"] = {"date": now(), "rows": []}
        for n_models, n in LARGE:
            calls = 1 if n == max(REPLICATES) else 2
            record["large"]["rows"].append(run(method="bradley_terry", n_models=n_models, n_replicates=n, calls=calls))
            args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return
    record = before | {
        "date": now(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "by_replicates": [],
        "by_models": [],
    }
    for method in BY_REPLICATES:
        for n in REPLICATES:
            record["by_replicates"].append(run(method=method, n_models=20, n_replicates=n))
    for method in BY_MODELS:
        for n_models in MODELS:
            record["by_models"].append(run(method=method, n_models=n_models, n_replicates=2_000))
    if args.arena:
        record["arena"] = run(method="bradley_terry", n_replicates=1_000, arena=str(args.arena))
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(json.dumps(record, indent=1) + "\n")


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def run(**what: Any) -> dict[str, Any]:
    """One measurement in a process of its own, so that memory is that study's and nothing is compiled before."""
    command = [sys.executable, __file__, "--one", json.dumps(what)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, check=True)
    told = {key: Path(value).name if key == "arena" else value for key, value in what.items()}
    line = told | json.loads(done.stdout)
    print(" ".join(f"{key}={value}" for key, value in line.items()), flush=True)
    return line


def measure(
    method: str, n_replicates: int, n_models: int = 0, arena: str | None = None, calls: int = 2
) -> dict[str, Any]:
    import jaxrank as jr

    data = battles(arena) if arena else tensor(n_models)
    study = lambda: jr.bootstrap(
        data,
        method,
        n_replicates=n_replicates,
        scheme="trials",
        keep="summary",
        seed=0,
        progress=False,
        **OPTIONS.get(method, {}),
    )
    seconds = []
    for _ in range(calls):
        begin = time.perf_counter()
        study()
        seconds.append(round(time.perf_counter() - begin, 4))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cold_s": seconds[0], "warm_s": seconds[-1], "peak_mib": round(memory)}


def tensor(n_models: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    ability, difficulty = rng.normal(size=n_models), rng.normal(size=N_QUESTIONS)
    rate = 1 / (1 + np.exp(difficulty[None, :] - ability[:, None]))
    return (rng.random((n_models, N_QUESTIONS, N_TRIALS)) < rate[:, :, None]).astype(int)


def battles(path: str) -> Any:
    import jaxrank as jr

    with np.load(path) as file:
        pairs, counts, names = file["X"], file["Y"], file["models"]
    wins, ties = np.zeros((2, len(names), len(names)))
    i, j = pairs.T
    np.add.at(wins, (i, j), counts[:, 0])
    np.add.at(wins, (j, i), counts[:, 1])
    tied = counts[:, 2] + counts[:, 3]
    np.add.at(ties, (i, j), tied)
    np.add.at(ties, (j, i), tied)
    return jr.Comparisons.from_matrix(wins, ties, models=names)


if __name__ == "__main__":
    main()
