"""Seconds, and seconds of processors, for replicates of a table of real scores, by method.

332 models x 41 tasks with missing cells.

Run from the root: ``python experiments/benchmarks/tables.py [--replicates 100000] [--methods avg,mean_rank,...]``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import jax
import numpy as np

import jaxrank as jr


def table(n_models: int = 332, n_tasks: int = 41, missing: float = 0.05) -> jr.Responses:
    """Scores of models of falling ability on tasks of different scales; a share of the cells is missing."""
    rng = np.random.default_rng(0)
    ability = np.linspace(1, -1, n_models)[:, None]
    scores = (ability + rng.normal(0, 1.5, (n_models, n_tasks))) * rng.uniform(1, 20, n_tasks) + 50
    return jr.Responses(np.where(rng.random(scores.shape) < missing, np.nan, scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=332)
    parser.add_argument("--methods", default="avg,mean_rank,win_rate,bradley_terry_map")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = table(given.models)
    print(f"{data!r}; jax {jax.__version__}, {jax.default_backend()}, {given.replicates} replicates by questions")
    for method in given.methods.split(","):
        jr.bootstrap(data, method, n_replicates=16, scheme="questions", progress=False)  # compiled before
        start, busy = time.perf_counter(), time.process_time()
        jr.bootstrap(data, method, n_replicates=given.replicates, scheme="questions", progress=False)
        seconds, cores = time.perf_counter() - start, time.process_time() - busy
        print(f"{method:20} {seconds:8.2f} s, {cores:8.2f} s of processors", flush=True)


if __name__ == "__main__":
    main()
