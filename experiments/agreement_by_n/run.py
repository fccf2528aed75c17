"""Agreement with Bayes@80 after n trials, and the slowest replicates: figures 3, 9 and 10 of "Don't Pass@k".

On the mimic with the published totals (``match="totals"``): the first 11 models, trials drawn with replacement, Bayes@N
beside Pass@k and its kin (figure 3); and replicates that take longest, of 11 and of 20 models (figures 9 and 10).
``python -m experiments.agreement_by_n.run`` writes results.json and figure.png beside this file.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from experiments import mimic
from jaxrank.methods.pass_family import GPassAtKTau, MGPassAtK, PassAtK, PassHatK
from jaxrank.studies.convergence import convergence

HERE = Path(__file__).parent
CONFIG = json.loads((HERE / "config.json").read_text())


def methods() -> dict:
    named: dict = {"Bayes@N": "bayes"}
    for k in CONFIG["k"]:
        named[f"Pass@{k}"] = PassAtK(k=k)
    k = CONFIG["k"][1]
    return named | {
        f"Pass^{k}": PassHatK(k=k),
        f"G-Pass@{k}": GPassAtKTau(k=k, tau=CONFIG["tau"]),
        f"mG-Pass@{k}": MGPassAtK(k=k),
    }


def one(name: str) -> dict:
    R, first = mimic.benchmark(name, match="totals").R, CONFIG["first_models"]
    common = {"seed": CONFIG["seed"]}
    orders = {"scheme": f"subsample({R.shape[2]})", "n_replicates": CONFIG["order_replicates"], **common}
    drawn = convergence(R[:first], methods(), n_replicates=CONFIG["replicates"], **common)
    shuffled = convergence(R[:first], "bayes", **orders)
    twenty = convergence(R, "bayes", tau=False, **orders)
    slowest = {f"{len(c.models)} models": c for c in (shuffled, twenty)}
    return {
        "tau, with replacement": {m: np.round(drawn.tau(m), 4).tolist() for m in drawn.methods},
        "tau, random orders": np.round(shuffled.tau("bayes"), 4).tolist(),
        "not converged": {size: c.not_converged("bayes") for size, c in slowest.items()},
        "slowest convergence@n": {size: int(c.converged_at("bayes").max()) for size, c in slowest.items()},
        "ranks of the slowest": {
            size: c.trajectory("bayes", int(c.worst("bayes")[0])).tolist() for size, c in slowest.items()
        },
    }


def main() -> None:
    start = time.perf_counter()
    results = {b: one(b) for b in mimic.BENCHMARKS}
    seconds = round(time.perf_counter() - start, 1)
    (HERE / "results.json").write_text(json.dumps({**results, "seconds": seconds}) + "\n")
    shown = np.array(CONFIG["shown"])
    print("n", shown.tolist(), f"{seconds} s")
    for b, r in results.items():
        for m, tau in r["tau, with replacement"].items():
            print(f"{b:8s} {m:10s}", *(f"{t:.3f}" for t in np.array(tau)[shown - 1]))
        print(f"{b:8s} at 80, random orders {r['tau, random orders'][-1]:.3f}; not converged {r['not converged']}")
        print(f"{b:8s} slowest {r['slowest convergence@n']}")
    plot(results)


def plot(results: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(3, len(results), figsize=(4 * len(results), 10), squeeze=False)
    for (tau, *rows), (b, r) in zip(axes.T, results.items(), strict=True):
        for m, curve in r["tau, with replacement"].items():
            tau.plot(range(1, len(curve) + 1), curve, label=m)
        tau.axhline(0.9, color="0.7", lw=0.8)
        tau.set(title=b, xlabel="trials", ylabel="mean tau-b with Bayes@80", ylim=(0.79, 1.005))
        for ax, (size, ranks) in zip(rows, r["ranks of the slowest"].items(), strict=True):
            ax.plot(range(1, len(ranks) + 1), ranks, lw=0.8)
            ax.invert_yaxis()
            ax.set(title=f"slowest of {CONFIG['order_replicates']:,} orders, {size}", xlabel="trials", ylabel="rank")
    axes[0, 1].legend(fontsize=7, ncols=2, loc="lower right")
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=80)


if __name__ == "__main__":
    main()
