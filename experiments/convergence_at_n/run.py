"""Convergence@n on the mimic: figure 1 and tables 9 to 11 of "Don't Pass@k" (arXiv 2510.04265).

Four readings, from two questions. How is a replicate drawn: by a bootstrap (80 trials with replacement, as the text
says), or as a random order of the 80 trials? And what of the mimic equals the published accuracy: the success rates,
or the total of the trials (`experiments.mimic`)?

``python -m experiments.convergence_at_n.run [--seconds T]`` adds to results.json beside this file, begins nothing new
after T seconds, goes on when called again, and at the end draws figure.png.
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
from jaxrank.studies.convergence import convergence

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SUBSETS = HERE.parent / "published" / "convergence_subsets.csv"
SHOWN = "order, totals"


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9)
    until = time.monotonic() + parser.parse_args().seconds
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["config"] = config
    for reading, how in config["readings"].items():
        for b in config["benchmarks"]:
            for part, work in (("figure", figure), ("subsets", subsets)):
                found = results.setdefault(part, {}).setdefault(reading, {})
                if b in found or time.monotonic() > until:
                    continue
                start = time.perf_counter()
                found[b] = work(config, mimic.benchmark(b, match=how["match"]).R, how["scheme"])
                results.setdefault("seconds", {})[f"{part}, {reading}, {b}"] = time.perf_counter() - start
                RESULTS.write_text(json.dumps(results) + "\n")
    report(results)
    if all(b in results["subsets"].get(r, {}) for r in config["readings"] for b in config["benchmarks"]):
        plot(results)


def figure(config: dict, R: np.ndarray, scheme: str) -> dict:
    """PMFs of convergence@n of the first models, all methods on the same replicates."""
    named = {f"Pass@{k}": PassAtK(k=k) for k in config["pass_at"]}
    R = R[: config["first_models"]]
    common = {"scheme": scheme, "seed": config["seed"], "tau": False}
    found = {}
    for methods, n in (({"Bayes@N": "bayes"}, config["bayes_replicates"]), (named, config["pass_replicates"])):
        con = convergence(R, methods, n_replicates=n, **common)
        for m in con.methods:
            found[m] = {
                "mean": con.mean(m),
                "mean_of_converged": con.mean(m, "drop"),
                "not_converged": con.not_converged(m),
                "worst": int(con.converged_at(m).max()),
                "pmf": np.round(con.pmf(m), 6).tolist(),
            }
    return found


def subsets(config: dict, R: np.ndarray, scheme: str) -> list[dict]:
    """Mean convergence@n of Bayes@N for every published subset of the 20 models."""
    found = []
    for row in published():
        models = [int(i) - 1 for i in row["models"].split()]
        con = convergence(
            R[models], "bayes", n_replicates=config["subset_replicates"], scheme=scheme, seed=config["seed"], tau=False
        )
        found.append({"mean": con.mean("bayes"), "not_converged": con.not_converged("bayes")})
    return found


def published() -> list[dict]:
    with SUBSETS.open(newline="") as file:
        return list(csv.DictReader(file))


def agreement(results: dict, reading: str, b: str) -> dict:
    """Ours beside the published means of the subsets: correlation, mean difference, root mean square difference."""
    x = np.array([float(row[b]) for row in published()])
    y = np.array([s["mean"] for s in results["subsets"][reading][b]])
    return {
        "correlation": float(np.corrcoef(x, y)[0, 1]),
        "ours - published": float(np.mean(y - x)),
        "rms": float(np.sqrt(np.mean((y - x) ** 2))),
    }


def report(results: dict) -> None:
    for reading, found in results["figure"].items():
        for b, methods in found.items():
            for m, r in methods.items():
                told = f"{reading:18s} {b:8s} {m:8s} mean {r['mean']:5.1f}, not converged {r['not_converged']:.3f}"
                print(f"{told}, worst {r['worst']}")
    for reading, found in results["subsets"].items():
        for b in found:
            told = ", ".join(f"{k} {v:+.2f}" for k, v in agreement(results, reading, b).items())
            print(f"{reading:18s} {b:8s} subsets: {told}")


def plot(results: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names, rows = results["config"]["benchmarks"], published()
    shown = (("bootstrap, rates", "as described"), (SHOWN, "random order, published totals"))
    fig, axes = plt.subplots(3, len(names), figsize=(4 * len(names), 10))
    for ax, b in zip(axes[0], names, strict=True):
        for m, r in results["figure"][SHOWN][b].items():
            line = ax.plot(range(1, len(r["pmf"])), r["pmf"][1:], label=f"{m}: {r['not_converged']:.0%} never")[0]
            ax.axvline(r["mean"], color=line.get_color(), ls=":", lw=1)
        ax.set(title=f"{b} (mimic, random order)", xlabel="convergence@n", ylabel="share of replicates")
        ax.legend(fontsize=7)
    for line, (reading, title) in zip(axes[1:], shown, strict=True):
        for ax, b in zip(line, names, strict=True):
            for size in ("5", "10", "15"):
                chosen = [i for i, row in enumerate(rows) if row["pool_size"] == size]
                ours = [results["subsets"][reading][b][i]["mean"] for i in chosen]
                ax.plot([float(rows[i][b]) for i in chosen], ours, "o", ms=3, label=f"{size} models")
            ax.plot([0, 80], [0, 80], "k:", lw=1)
            ax.set(title=f"{b}: {title}", xlabel="published mean convergence@n", ylabel="on the mimic")
            ax.legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=110)


if __name__ == "__main__":
    main()
