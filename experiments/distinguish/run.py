"""Trials needed to tell two models apart: figure 6 of "Don't Pass@k" (arXiv 2510.04265).

Two coins of 30 questions whose mean success probabilities are the published 0.608 and 0.6213. Published: z = 1.14 at
80 trials, 1.645 at 199, 1.96 at 285; chance of the right order 83.7, 94.7 and 96.9 %. The single probabilities are not
published; here they are Beta(2 mean c, 2 (1 - mean) c)-like with the published means, over several draws.
``python -m experiments.distinguish.run`` writes results.json beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from jaxrank import Responses
from jaxrank.evaluation import trials_needed

HERE = Path(__file__).parent
MEANS = (0.608, 0.6213)


def coins(rng: np.random.Generator, mean: float, concentration: float) -> np.ndarray:
    raw = logit(rng.beta(concentration * mean, concentration * (1 - mean), 30))
    return expit(raw + brentq(lambda s: expit(raw + s).mean() - mean, -30, 30))


def main() -> None:
    rng = np.random.default_rng(0)
    result = {}
    for concentration in (4.0, 11.0, 30.0):
        needed, right = [], []
        for _ in range(20):
            p = np.stack([coins(rng, m, concentration) for m in MEANS])
            exact = Responses.from_counts(np.round(p * 10**6).astype(int), 10**6)
            needed.append([trials_needed(exact, (0, 1), z=z) for z in (1.645, 1.96)])
            drawn = [rng.binomial(n, p, (2000, *p.shape)).mean(-1) for n in (80, 199, 285)]
            right.append([(d[:, 1] > d[:, 0]).mean() for d in drawn])
        result[f"concentration {concentration:g}"] = {
            "trials for z = 1.645 and 1.96, mean": np.mean(needed, 0).tolist(),
            "range": [np.min(needed, 0).tolist(), np.max(needed, 0).tolist()],
            "chance of the right order at 80, 199, 285": np.mean(right, 0).round(4).tolist(),
        }
    result["published"] = {"trials": [199, 285], "chance": [0.837, 0.947, 0.969]}
    (HERE / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
