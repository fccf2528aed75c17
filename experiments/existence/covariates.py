"""Whether battles with a covariate have a finite optimum: what `jaxrank.fit` says beside a linear program of its own.

python -m experiments.existence.covariates [--sets 2000]   # -> covariates.json
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

import jaxrank as jr

N_MODELS, N_BATTLES = 3, 12


def exists(a: np.ndarray, b: np.ndarray, x: np.ndarray, won: np.ndarray) -> bool:
    """No direction of strengths and coefficient makes a battle more likely and none less (HiGHS)."""
    one = np.eye(N_MODELS)
    design = np.column_stack([one[a] - one[b], x]) * np.where(won, 1, -1)[:, None]
    bounds = [(-1, 1)] * (N_MODELS + 1)
    return -linprog(-design.sum(axis=0), A_ub=-design, b_ub=np.zeros(len(a)), bounds=bounds).fun < 1e-7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    rng = np.random.default_rng(17)
    found = {"sets": 0, "finite": 0, "false": 0}
    for _ in range(given.sets):
        a = rng.integers(0, N_MODELS, N_BATTLES)
        b = (a + rng.integers(1, N_MODELS, N_BATTLES)) % N_MODELS
        x = rng.normal(size=N_BATTLES).round(1)
        won = rng.random(N_BATTLES) < 1 / (1 + np.exp(-3 * x))
        battles = jr.Comparisons(a, b, won, models=["a", "b", "c"], columns={"x": x})
        fit = jr.fit(battles, "bradley_terry", covariates="x", dtype="float64", on_failure="return")
        finite = exists(a, b, x, won)
        found["sets"] += 1
        found["finite"] += finite
        found["false"] += fit.converged != finite
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")
    print(found)


if __name__ == "__main__":
    main()
