"""Greedy decoding as a prior: table 4 and figures 2, 3, 5, 6 and 7 of arXiv 2603.10960.

From the mimic with the published totals (table 4, figures 2 and 7), and from the published accuracies alone, which tell
difficulty, alignment, gap and ranks (tables 6 to 9, figures 3, 5 and 6). ``python -m experiments.empirical_prior.run``
writes results.json, figure.png and accuracies.png beside this file.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

import jaxrank as jr
from experiments import mimic
from jaxrank.studies.convergence import convergence
from jaxrank.studies.replicates import subsample

HERE = Path(__file__).parent
PUBLISHED = {  # difficulty, tau of greedy with sampling, change of tau, reduction of its standard deviation
    "AIME24": (0.620, 0.739, 0.020, 0.42),
    "AIME25": (0.533, 0.660, 0.008, 0.17),
    "HMMT25": (0.333, 0.635, -0.022, 0.16),
    "BrUMO25": (0.588, 0.768, 0.049, 0.52),
}


METHODS = ("bayes", "bayes_greedy")


def one(name: str, seed: int) -> dict[str, float]:
    bench = mimic.benchmark(name, seed=seed, match="totals")
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


def from_accuracies(name: str) -> dict[str, float]:
    """What the published accuracies of the 20 models tell by themselves."""
    rows = mimic.published(name)
    greedy, mean = np.asarray(rows["greedy"]), np.asarray(rows["mean"])
    moved = np.abs(np.asarray(jr.rank_scores(greedy)) - np.asarray(jr.rank_scores(mean)))
    return {
        "difficulty": float(mean.mean()),
        "tau_greedy_sampling": float(jr.kendall_tau(greedy, mean)),
        "gap": float((mean - greedy).mean()),
        "mean_displacement": float(moved.mean()),
        "largest_displacement": int(moved.max()),
    }


def curves(name: str, n_replicates: int) -> dict[str, dict[str, list[float]]]:
    """Figures 2 and 7: mean and deviation of tau-b over resampled data sets by n, and its draws at n = 1."""
    bench = mimic.benchmark(name, match="totals")
    con = convergence(
        bench.R, {m: m for m in METHODS}, n_replicates=n_replicates, R0=bench.greedy[:, :, None], progress=False
    )
    found = {m: {"tau": con.tau(m).tolist(), "sd": con.tau_sd(m).tolist()} for m in METHODS}
    gold = jr.fit(bench.R, "bayes", dtype="float64")
    for m in METHODS:
        prior = {"R0": bench.greedy[:, :, None]} if m == "bayes_greedy" else {}
        single = subsample(bench.R, m, n=1, **prior)
        found[m]["single"] = np.round(single.tau(gold), 4).tolist()
    return found


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    start = time.perf_counter()
    told = {b: from_accuracies(b) for b in mimic.BENCHMARKS}
    by_n = {b: curves(b, config["n_replicates"]) for b in config["benchmarks"]}
    results = {b: [one(b, seed) for seed in config["seeds"]] for b in config["benchmarks"]}
    seconds = round(time.perf_counter() - start, 1)
    everything = {"accuracies": told, "by n": by_n, "single trials": results, "seconds": seconds}
    (HERE / "results.json").write_text(json.dumps(everything) + "\n")
    for b, row in told.items():
        print(b, {k: round(v, 3) for k, v in row.items()})
    for b, row in by_n.items():
        for n in config["shown"]:
            print(b, n, *(f"{m} {row[m]['tau'][n - 1]:.3f} ± {row[m]['sd'][n - 1]:.3f}" for m in METHODS))
    print("benchmark   tau(greedy, 80)   tau bayes       tau with prior   change            sd reduction")
    for b, rows in results.items():
        mean = {k: np.mean([r[k] for r in rows]) for k in rows[0]}
        printed = PUBLISHED.get(b, (np.nan,) * 4)
        row = f"{b:9s} {mean['tau_greedy_sampling']:7.3f} ({printed[1]:.3f})"
        row += "".join(f" {mean[m]:9.3f} ± {mean[f'{m}_sd']:.3f}" for m in METHODS)
        row += f" {mean['change']:+8.3f} ({printed[2]:+.3f})"
        print(f"{row} {mean['sd_reduction']:8.2f} ({printed[3]:.2f})")
    print(seconds, "s")
    plot(results, by_n)
    plot_accuracies(told)


def plot(results: dict, by_n: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(2, len(by_n), figsize=(3.2 * len(by_n), 6.4), squeeze=False)
    for (curve, violin), (b, row) in zip(axes.T, by_n.items(), strict=True):
        for color, m in zip(("C0", "C3"), METHODS, strict=True):
            tau, sd = np.array(row[m]["tau"]), np.array(row[m]["sd"])
            n = np.arange(1, len(tau) + 1)
            curve.plot(n, tau, color=color, label=m)
            curve.fill_between(n, tau - sd, tau + sd, color=color, alpha=0.2)
        curve.set(title=b, xlabel="trials", ylabel="tau-b with Bayes@80 (± sd)", ylim=(0.65, 1.01))
        parts = violin.violinplot([row[m]["single"] for m in METHODS], showmeans=True)
        for color, body in zip(("C0", "C3"), parts["bodies"], strict=True):
            body.set_facecolor(color)
        change = np.mean([r["change"] for r in results[b]])
        violin.set_xticks((1, 2), METHODS)
        violin.set(title=f"one trial, change {change:+.3f}", ylabel="tau-b with Bayes@80")
    axes[0, 0].legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=80)


def plot_accuracies(told: dict) -> None:
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(3, len(told), figsize=(3.2 * len(told), 9), squeeze=False)
    for (bars, ranks, _), b in zip(axes.T, told, strict=True):
        rows = mimic.published(b)
        greedy, mean = np.asarray(rows["greedy"]), np.asarray(rows["mean"])
        order = np.argsort(-mean)
        bars.errorbar(range(len(mean)), mean[order], np.asarray(rows["std"])[order], fmt=".", label="sampled, ± sd")
        bars.plot(range(len(mean)), greedy[order], "C3x", label="greedy")
        bars.set(title=b, xlabel="models by Bayes@80", ylabel="accuracy")
        x, y = np.asarray(jr.rank_scores(mean)), np.asarray(jr.rank_scores(greedy))
        ranks.scatter(x, y, c=x - y, cmap="coolwarm")
        ranks.plot([1, len(mean)], [1, len(mean)], "k:", lw=1)
        ranks.set(xlabel="rank by sampling", ylabel="rank by greedy decoding")
    axes[0, 0].legend(fontsize=7)
    labels = {
        "difficulty": "mean accuracy (difficulty)",
        "tau_greedy_sampling": "tau-b, greedy with sampling",
        "gap": "sampled less greedy accuracy",
    }
    for ax, key in zip(axes[2], labels, strict=False):
        for b, row in told.items():
            ax.plot(row[key], PUBLISHED[b][2], "o")
            ax.annotate(b, (row[key], PUBLISHED[b][2]), (3, 4), textcoords="offset points", fontsize=8)
        ax.axhline(0, color="0.7", lw=0.8)
        ax.margins(x=0.3, y=0.1)
        ax.set(xlabel=labels[key], ylabel="published change of tau by the prior")
    axes[2, -1].axis("off")
    fig.tight_layout()
    fig.savefig(HERE / "accuracies.png", dpi=80)


if __name__ == "__main__":
    main()
