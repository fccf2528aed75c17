"""Adaptive against uniform sampling: trials saved at the same chance of the right top three.

The mimic of a published benchmark gives true rates of 20 models on 30 questions. Both designs start from two trials a
cell and add batches; the adaptive one asks `jaxrank.evaluation.next_trials`, the uniform one spreads the batch evenly.
After each batch the top three by Bayes@N is compared with the truth.
``python -m experiments.allocation.run`` writes results.json beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from experiments import mimic
from jaxrank.data.statistics import Counts
from jaxrank.evaluation import next_trials

HERE = Path(__file__).parent
TOP = 3


def right(c: np.ndarray, n: np.ndarray, best: set[int]) -> bool:
    score = ((1 + c) / (2 + n)).mean(1)
    return set(np.argsort(-score, kind="stable")[:TOP].tolist()) == best


def run(p: np.ndarray, rng: np.random.Generator, batches: int, size: int, adaptive: bool) -> list[bool]:
    best = set(np.argsort(-p.mean(1))[:TOP].tolist())
    n = np.full(p.shape, 2)
    c = rng.binomial(n, p)
    found = [right(c, n, best)]
    for b in range(batches):
        if adaptive:
            stat = Counts(jnp.asarray(np.stack([n - c, c], -1), float), jnp.ones(p.shape[1]), jnp.arange(2.0))
            plan = next_trials(stat, size, top=TOP)
        else:
            plan = np.full(p.size, size // p.size)
            rest = size - plan.sum()
            plan[(np.arange(rest) + b * rest) % p.size] += 1
            plan = plan.reshape(p.shape)
        c, n = c + rng.binomial(plan, p), n + plan
        found.append(right(c, n, best))
    return found


def saved(uniform: np.ndarray, adaptive: np.ndarray, trials: np.ndarray) -> dict[str, float]:
    """Share of trials saved to reach the chance that the uniform design has with some budget."""
    up, down = np.maximum.accumulate(adaptive), np.maximum.accumulate(uniform)
    out = {}
    for share in (0.5, 0.75, 1.0):
        budget = trials[0] + share * (trials[-1] - trials[0])
        target = np.interp(budget, trials, down)
        reached = np.interp(target, up, trials) if target <= up[-1] else float("nan")
        out[f"at the uniform design's chance with {budget:.0f} trials ({target:.3f})"] = 1 - reached / budget
    return out


def main(n_runs: int = 200, batches: int = 30, size: int = 600) -> None:
    result = {}
    for name in ("AIME25", "BrUMO25"):
        p = mimic.benchmark(name).p
        curves = {}
        for adaptive in (False, True):
            runs = [run(p, np.random.default_rng([s, adaptive]), batches, size, adaptive) for s in range(n_runs)]
            curves[adaptive] = np.mean(runs, 0)
        trials = 2 * p.size + size * np.arange(batches + 1)
        result[name] = {
            "trials": trials.tolist(),
            "uniform": curves[False].tolist(),
            "adaptive": curves[True].tolist(),
            "share of trials saved": saved(curves[False], curves[True], trials),
        }
        print(name, json.dumps(result[name]["share of trials saved"], indent=1), curves[False][-1], curves[True][-1])
    (HERE / "results.json").write_text(json.dumps({"runs": n_runs, **result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
