"""Trials needed to tell two models apart: figure 6 of "Don't Pass@k" (arXiv 2510.04265).

Two coins of 30 questions whose mean success probabilities are the published 0.608 and 0.6213, with rates from the law
of `experiments.biased_coins` at several concentrations, eight draws of each. Published: |z| = 1.14 at 80 trials, 1.645
at 199, 1.96 at 285; chance of the right order 83.7, 94.7 and 96.9 %. Two readings of its |z|: that of the rates
themselves, and the mean of |z| of Bayes@N over simulated tensors, drawn anew for every N, with the first N whose mean
passes.
``python -m experiments.distinguish.run`` writes results.json beside this file.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import foldnorm

from experiments.biased_coins.run import coins

HERE = Path(__file__).parent
MEANS, TRIALS, THRESHOLDS = (0.608, 0.6213), (80, 199, 285), (1.645, 1.96)
CONCENTRATIONS, N_COINS, N_TENSORS, MOST = (4.0, 11.0, 15.0, 30.0), 8, 1000, 360


def z_of_bayes(k: np.ndarray, n: int) -> np.ndarray:
    """z of the two coins from successes (..., 2, questions) of n trials: posterior means under uniform priors."""
    p = (k + 1) / (n + 2)
    mean, variance = p.mean(-1), (p * (1 - p) / (n + 3)).sum(-1) / k.shape[-1] ** 2
    return (mean[..., 1] - mean[..., 0]) / np.sqrt(variance.sum(-1))


def one(p: np.ndarray, rng: np.random.Generator) -> dict[str, list[float]]:
    """Chance of the right order, z of the rates, mean |z| and where its curve first passes, of one pair of coins."""
    unit = (p[1].mean() - p[0].mean()) / np.sqrt((p * (1 - p)).sum() / p.shape[1] ** 2)  # z is unit sqrt(n)
    curve, right = np.full(MOST + 1, np.nan), np.full(MOST + 1, np.nan)
    for n in (TRIALS[0], *range(150, MOST + 1)):
        k = rng.binomial(n, p, (N_TENSORS, *p.shape))
        gap = k[:, 1].sum(-1) - k[:, 0].sum(-1)
        right[n] = np.mean(gap > 0) + np.mean(gap == 0) / 2
        curve[n] = np.abs(z_of_bayes(k, n)).mean()
    smooth = foldnorm.mean(unit * np.sqrt(np.arange(1, 2 * MOST)))
    return {
        "chance of the right order": right[list(TRIALS)].tolist(),
        "z of the rates": (unit * np.sqrt(TRIALS)).tolist(),
        "trials until z of the rates passes": [float((t / unit) ** 2) for t in THRESHOLDS],
        "mean |z|": curve[list(TRIALS)].tolist(),
        "trials until mean |z| passes, without noise": [float(1 + np.argmax(smooth >= t)) for t in THRESHOLDS],
        "first trial whose mean |z| passes": [
            float(np.argmax(curve >= t)) if np.any(curve >= t) else np.nan for t in THRESHOLDS
        ],
    }


def main() -> None:
    begin, result = time.monotonic(), {}
    for c in CONCENTRATIONS:
        rows = []
        for seed in range(N_COINS):
            p = coins({"seed": seed, "concentration": c, "pi_bar": MEANS, "n_questions": 30})
            rows.append(one(p, np.random.default_rng([seed, int(c)])))
        result[f"concentration {c:g}"] = {
            key: {
                "mean": np.mean([row[key] for row in rows], 0).round(4).tolist(),
                "least": np.min([row[key] for row in rows], 0).round(4).tolist(),
                "most": np.max([row[key] for row in rows], 0).round(4).tolist(),
            }
            for key in rows[0]
        }
    result["published"] = {"|z|": [1.14, 1.645, 1.96], "trials": list(TRIALS), "chance": [0.837, 0.947, 0.969]}
    result["setting"] = {"coins": N_COINS, "tensors": N_TENSORS, "seconds": round(time.monotonic() - begin)}
    (HERE / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
