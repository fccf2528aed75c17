"""Convergence@n on the mimic: figure 1 and tables 9 to 11 of "Don't Pass@k" (arXiv 2510.04265).

``python -m experiments.convergence_at_n.run [--replicates B]`` writes results.json and figure.png beside this file.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np

from experiments import mimic
from jaxrank.methods.pass_family import PassAtK
from jaxrank.prefix_studies import convergence

HERE = Path(__file__).parent
SUBSETS = HERE.parent / "published" / "convergence_subsets.csv"


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, help="replicates of the figure; a fifth of them for each subset")
    args = parser.parse_args()
    if args.replicates:
        config.update(figure_replicates=args.replicates, subset_replicates=max(args.replicates // 5, 1))
    results = {"config": config, "figure": figure(config), "subsets": subsets(config)}
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    plot(results)
    report(results)


def methods(config: dict) -> dict:
    return {"Bayes@N": "bayes", **{f"Pass@{k}": PassAtK(k=k) for k in config["pass_at"]}}


def figure(config: dict) -> dict:
    """PMFs of convergence@n of the first models on each benchmark, all methods on the same replicates."""
    data = {b: mimic.benchmark(b).R[: config["first_models"]] for b in config["benchmarks"]}
    start = time.perf_counter()
    found = {}
    for name, R in data.items():
        con = convergence(R, methods(config), config["figure_replicates"], seed=config["seed"])
        found[name] = {
            m: {
                "mean": con.mean(m),
                "mean_of_converged": con.mean(m, "drop"),
                "not_converged": con.not_converged(m),
                "worst": int(con.converged_at(m).max()),
                "pmf": np.round(con.pmf(m), 6).tolist(),
                "tau": np.round(con.tau(m), 5).tolist(),
            }
            for m in con.methods
        }
    return {"seconds": time.perf_counter() - start, "benchmarks": found}


def subsets(config: dict) -> list[dict]:
    """Mean convergence@n of Bayes@N for every published subset of the 20 models."""
    with SUBSETS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    data = {b: mimic.benchmark(b).R for b in config["benchmarks"]}
    found = []
    for row in rows:
        models = [int(i) - 1 for i in row["models"].split()]
        entry = {"size": int(row["pool_size"]), "models": row["models"]}
        for b, R in data.items():
            con = convergence(R[models], "bayes", config["subset_replicates"], seed=config["seed"], tau=False)
            entry[b] = {
                "published": float(row[b]),
                "mean": con.mean("bayes"),
                "mean_of_converged": con.mean("bayes", "drop"),
                "not_converged": con.not_converged("bayes"),
            }
        found.append(entry)
    return found


def correlations(results: dict, rule: str) -> dict:
    out = {}
    for b in results["config"]["benchmarks"]:
        pairs = [(s[b]["published"], s[b][rule]) for s in results["subsets"] if np.isfinite(s[b][rule])]
        x, y = np.array(pairs).T
        ranks = lambda v: np.argsort(np.argsort(v))
        out[b] = (np.corrcoef(x, y)[0, 1], np.corrcoef(ranks(x), ranks(y))[0, 1], np.mean(y - x))
    return out


def report(results: dict) -> None:
    print(f"figure 1: {results['figure']['seconds']:.1f} s for {results['config']['figure_replicates']} replicates")
    for b, found in results["figure"]["benchmarks"].items():
        for m, r in found.items():
            print(f"  {b:8s} {m:8s} mean {r['mean']:5.1f} (of converged {r['mean_of_converged']:5.1f}), "
                  f"not converged {r['not_converged']:.3f}, worst {r['worst']}")  # fmt: skip
    for rule in ("mean", "mean_of_converged"):
        for b, (pearson, spearman, bias) in correlations(results, rule).items():
            print(
                f"subsets, {rule}: {b:8s} Pearson {pearson:.3f}, Spearman {spearman:.3f}, ours - published {bias:+.1f}"
            )


def plot(results: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = results["config"]["benchmarks"]
    fig, axes = plt.subplots(2, len(names), figsize=(4 * len(names), 7))
    for ax, b in zip(axes[0], names, strict=True):
        for m, r in results["figure"]["benchmarks"][b].items():
            line = ax.plot(range(1, len(r["pmf"])), r["pmf"][1:], label=f"{m}: {r['not_converged']:.0%} never")[0]
            if np.isfinite(r["mean_of_converged"]):
                ax.axvline(r["mean"], color=line.get_color(), ls=":", lw=1)
        ax.set(title=f"{b} (mimic)", xlabel="convergence@n", ylabel="share of replicates")
        ax.legend(fontsize=7)
    for ax, b in zip(axes[1], names, strict=True):
        for size in (5, 10, 15):
            chosen = [s[b] for s in results["subsets"] if s["size"] == size]
            ax.plot([s["published"] for s in chosen], [s["mean"] for s in chosen], "o", ms=3, label=f"{size} models")
        ax.plot([0, 80], [0, 80], "k:", lw=1)
        ax.set(title=b, xlabel="published mean convergence@n", ylabel="on the mimic")
        ax.legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=110)


if __name__ == "__main__":
    main()
