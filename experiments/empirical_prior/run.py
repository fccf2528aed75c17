"""Greedy decoding as a prior at N = 1: table 4 and figures 2 and 7 of arXiv 2603.10960, on the mimic.

``python -m experiments.empirical_prior.run`` writes results.json and figure.png beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import jaxrank as jr
from experiments import mimic
from jaxrank.studies.replicates import subsample

HERE = Path(__file__).parent
PUBLISHED = {  # difficulty, tau of greedy with sampling, change of tau, reduction of its standard deviation
    "AIME24": (0.620, 0.739, 0.020, 0.42),
    "AIME25": (0.533, 0.660, 0.008, 0.17),
    "HMMT25": (0.333, 0.635, -0.022, 0.16),
    "BrUMO25": (0.588, 0.768, 0.049, 0.52),
}


def one(name: str, seed: int) -> dict[str, float]:
    bench = mimic.benchmark(name, seed=seed)
    gold = jr.fit(bench.R, "bayes", dtype="float64")
    greedy = jr.fit(bench.greedy, "avg")
    plain = subsample(bench.R, "bayes").tau(gold)
    prior = subsample(bench.R, "bayes_greedy", R0=bench.greedy[:, :, None]).tau(gold)
    return {
        "tau_greedy_sampling": float(jr.kendall_tau(greedy.scores, gold.scores.astype(np.float32))),
        "bayes": float(plain.mean()),
        "bayes_sd": float(plain.std()),
        "bayes_greedy": float(prior.mean()),
        "bayes_greedy_sd": float(prior.std()),
        "change": float(prior.mean() - plain.mean()),
        "sd_reduction": float(1 - prior.std() / plain.std()),
    }


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    results = {b: [one(b, seed) for seed in config["seeds"]] for b in config["benchmarks"]}
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print("benchmark   tau(greedy, 80)   tau bayes       tau with prior   change            sd reduction")
    for b, rows in results.items():
        mean = {k: np.mean([r[k] for r in rows]) for k in rows[0]}
        told = PUBLISHED.get(b, (np.nan,) * 4)
        row = f"{b:9s} {mean['tau_greedy_sampling']:7.3f} ({told[1]:.3f}) {mean['bayes']:9.3f} ± {mean['bayes_sd']:.3f}"
        row += f" {mean['bayes_greedy']:9.3f} ± {mean['bayes_greedy_sd']:.3f} {mean['change']:+8.3f} ({told[2]:+.3f})"
        print(f"{row} {mean['sd_reduction']:8.2f} ({told[3]:.2f})")
    plot(results)


def plot(results: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for i, (b, rows) in enumerate(results.items()):
        for j, m in enumerate(("bayes", "bayes_greedy")):
            tau, sd = np.mean([r[m] for r in rows]), np.mean([r[f"{m}_sd"] for r in rows])
            left.errorbar(i + 0.15 * (2 * j - 1), tau, sd, fmt="os"[j], color=f"C{j}", label=m if i == 0 else None)
        if b in PUBLISHED:
            right.plot(PUBLISHED[b][2], np.mean([r["change"] for r in rows]), "o")
            right.annotate(b, (PUBLISHED[b][2], np.mean([r["change"] for r in rows])))
    left.set_xticks(range(len(results)), list(results))
    left.set(ylabel="tau-b with Bayes@80, one trial (mean ± sd)")
    left.legend()
    right.axline((0, 0), slope=1, color="k", ls=":")
    right.set(xlabel="published change of tau", ylabel="change on the mimic")
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=110)


if __name__ == "__main__":
    main()
