"""Biased coins: figures 2 and 6 of "Don't Pass@k" (arXiv 2510.04265).

Eleven sets of coins (30 success probabilities each, drawn from a Beta law with the published mean and moved on the
logit scale until the mean is exact) play the models; the true order is known. Three panels: fresh tensors, column-wise
bootstrap, row-wise bootstrap.
``python -m experiments.biased_coins.run`` writes results.json and figure.png beside this file.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import jax
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from jaxrank import kendall_tau
from jaxrank.methods.catalogue import make
from jaxrank.methods.pass_family import GPassAtKTau, MGPassAtK, PassAtK, PassHatK
from jaxrank.resampling.prefixes import cell_table
from jaxrank.studies.convergence import convergence

HERE = Path(__file__).parent


def coins(config: dict) -> np.ndarray:
    """Success probabilities (11, 30) whose means are exactly the published ones."""
    rng = np.random.default_rng(config["seed"])
    c, mean = config["concentration"], np.array(config["pi_bar"])[:, None]
    raw = logit(rng.beta(c * mean, c * (1 - mean), (len(mean), config["n_questions"])))
    shift = [brentq(lambda s, x=x, m=m: expit(x + s).mean() - m, -60, 60) for x, m in zip(raw, mean[:, 0], strict=True)]
    return expit(raw + np.array(shift)[:, None])


def methods(config: dict) -> dict:
    found = {"Bayes@N": "bayes", **{f"Pass@{k}": PassAtK(k=k) for k in config["pass_at"]}}
    return {**found, "Pass^2": PassHatK(k=2), "G-Pass@2 (0.5)": GPassAtKTau(k=2, tau=0.5), "mG-Pass@2": MGPassAtK(k=2)}


def fresh_tensors(p: np.ndarray, config: dict, truth: np.ndarray) -> dict[str, list[float]]:
    """Panel a: mean tau over independent tensors, every prefix by the methods' own tables of one question."""
    n_trials = config["n_trials"]
    with jax.enable_x64(True):
        tables = {m: np.asarray(cell_table(make(ranker), n_trials)) for m, ranker in methods(config).items()}
    rng = np.random.default_rng(config["seed"] + 1)
    total = {m: np.zeros(n_trials) for m in tables}
    for _ in range(config["n_tensors"]):
        k = np.cumsum(rng.random((n_trials, *p.shape)) < p, axis=0)
        for m, table in tables.items():
            scores = np.stack([row[s] for row, s in zip(table, k, strict=True)]).mean(axis=-1)
            scores = np.round(scores, 12)  # sums of the same numbers in another order tie
            total[m] += np.nan_to_num(np.asarray(kendall_tau(scores, np.broadcast_to(truth, scores.shape))))
    return {m: (t / config["n_tensors"]).tolist() for m, t in total.items()}


def bootstrap_panels(p: np.ndarray, config: dict, truth: np.ndarray) -> dict[str, dict[str, list[float]]]:
    """Panels b and c: mean tau over bootstrap replicates of one tensor, trials shared by the questions or not."""
    rng = np.random.default_rng(config["seed"] + 2)
    R = (rng.random((*p.shape, config["n_trials"])) < p[:, :, None]).astype(np.int8)
    out = {}
    for scheme in ("trials", "trials_per_question"):
        con = convergence(
            R, methods(config), n_replicates=config["n_replicates"], reference=truth, seed=config["seed"], scheme=scheme
        )
        out[scheme] = {m: np.nan_to_num(con.tau(m), nan=0.0).tolist() for m in con.methods}
    return out


def pair_probabilities(p: np.ndarray, config: dict) -> dict[str, dict[str, float]]:
    """Figure 6: how often the coins with means 0.608 and 0.6213 are ranked rightly, and the normal approximation."""
    rng = np.random.default_rng(config["seed"] + 3)
    out = {}
    for n in config["pair_trials"]:
        k = rng.binomial(n, p[8:10], (config["pair_tensors"], 2, p.shape[1])).mean(axis=2)
        right = np.mean(k[:, 1] > k[:, 0]) + np.mean(k[:, 1] == k[:, 0]) / 2
        variance = (p[8:10] * (1 - p[8:10])).sum(axis=1) / n / p.shape[1] ** 2
        z = (p[9].mean() - p[8].mean()) / np.sqrt(variance.sum())
        out[str(n)] = {"simulated": float(right), "z": float(z), "normal": float(ndtr(z))}
    return out


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    p = coins(config)
    truth = np.array(config["pi_bar"])
    start = time.perf_counter()
    results = {"config": config, "pair": pair_probabilities(p, config), **bootstrap_panels(p, config, truth)}
    results["fresh"] = fresh_tensors(p, config, truth)
    results["seconds"] = time.perf_counter() - start
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    for n, row in results["pair"].items():
        print(n, row)
    for panel in ("fresh", "trials", "trials_per_question"):
        for m, tau in results[panel].items():
            print(f"{panel:20s} {m:15s} tau at N = 1, 10, 80: {tau[0]:.3f} {tau[9]:.3f} {tau[-1]:.3f}")
    plot(results)


def plot(results: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = {
        "fresh": "a: independent tensors",
        "trials": "b: trials bootstrap",
        "trials_per_question": "c: by question",
    }
    fig, axes = plt.subplots(1, 3, figsize=(14, 4), sharey=True)
    for ax, (panel, title) in zip(axes, titles.items(), strict=True):
        for i, (m, tau) in enumerate(results[panel].items()):
            shown = np.where(np.array(tau) > 0, tau, np.nan)  # 0 stands where there are fewer trials than k
            ax.plot(range(1, len(tau) + 1), shown, label=m, linewidth=3 - 0.35 * i, linestyle=("-", "--")[i % 2])
        ax.set(title=title, xlabel="trials", ylabel="mean tau-b with the true order", ylim=(0.72, 1))
    axes[0].legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=110)


if __name__ == "__main__":
    main()
