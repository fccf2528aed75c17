"""One trial a question: tables 2, 18 and 19 of arXiv 2603.10960, on the mimic.

Every published method on each of the 80 single trials, against Bayes@80 ("gold") and against itself on all trials
("self"). ``python -m experiments.low_budget.run [--method NAME ...] [--benchmark NAME ...] [--seconds T]`` adds to
results.json here; what stands there is not run again, and nothing new is begun after T seconds. figure.png is drawn
from what is there; ``--figure`` draws it and runs nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np

import jaxrank as jr
from experiments import mimic
from experiments.full_trial_agreement.run import EXTEND, has_option
from jaxrank.errors import JaxrankError
from jaxrank.studies.replicates import subsample

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


def one(R: np.ndarray, greedy: np.ndarray, method: str, gold: jr.Result) -> dict:
    prior = {"R0": greedy[:, :, None]} if method == "bayes_greedy" else {}
    ranker = jr.entries()[method].ranker(**EXTEND if has_option(jr.entries()[method], "separation") else {})
    start = time.perf_counter()
    try:
        rep = subsample(R, ranker, seed=0, **prior)
        found = {"failed": {str(s): n for s, n in rep.status_counts().items() if s != jr.Status.CONVERGED}}
        for target, reference in (("gold", gold), ("self", None)):
            tau = rep.tau(reference)
            known = tau[np.isfinite(tau)]
            found[target] = [float(known.mean()), float(known.std())] if len(known) else None
            found[f"{target}_undefined"] = int(len(tau) - len(known))
    except JaxrankError as error:
        return {"error": str(error)}
    return {**found, "seconds": time.perf_counter() - start}


def main() -> None:
    config = json.loads((HERE / "config.json").read_text())
    published = [name for name, entry in jr.entries().items() if entry.published and name not in config["leave_out"]]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", nargs="*", default=published)
    parser.add_argument("--benchmark", nargs="*", default=config["benchmarks"])
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--figure", action="store_true")
    args = parser.parse_args()
    if args.figure:
        plot(json.loads(RESULTS.read_text()))
        return
    until = time.monotonic() + args.seconds
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    data = {b: mimic.benchmark(b, seed=config["seed"], match=config["match"]) for b in args.benchmark}
    gold = {b: jr.fit(bench.R, "bayes", dtype="float64") for b, bench in data.items()}
    for m, (b, bench) in itertools.product(args.method, data.items()):
        if m in results.get(b, {}) or time.monotonic() > until:
            continue
        results.setdefault(b, {})[m] = one(bench.R, bench.greedy, m, gold[b])
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(b, m, results[b][m], flush=True)
    plot(results)


def plot(results: dict) -> None:
    """A dot a method and benchmark: agreement with Bayes@80 across, with itself on all trials up.

    Methods without a ranking in half of the draws or more are left out: the mean of the others is of easier draws.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(results), figsize=(3 * len(results), 3.6), sharey=True, squeeze=False)
    for ax, (b, rows) in zip(axes[0], results.items(), strict=True):
        kept = {m: r for m, r in rows.items() if "gold" in r and max(r["gold_undefined"], r["self_undefined"]) < 40}
        gold, own = (np.array([r[target][0] for r in kept.values()]) for target in ("gold", "self"))
        ax.plot([0, 1], [0, 1], color="0.8", lw=1, zorder=0)
        ax.plot(gold, own, "o", ms=4, alpha=0.5, color="C0")
        if "bayes" in kept:
            ax.plot(kept["bayes"]["gold"][0], kept["bayes"]["self"][0], "ks", ms=5, label="bayes")
        for why, tau, marker in (("gold", gold, "^"), ("itself", own, "v")):
            best = np.flatnonzero(np.isclose(tau, tau.max(), rtol=0, atol=1e-6))
            names = [list(kept)[i] for i in best]
            name = "bayes" if "bayes" in names else names[0]
            more = f"\nand {len(best) - 1} more" if len(best) > 1 else ""
            ax.plot(gold[best], own[best], f"C1{marker}", ms=6, alpha=0.8, label=f"best with {why}:\n{name}{more}")
        ax.set(title=f"{b} ({len(kept)} methods)", xlabel="tau-b with Bayes@80", ylim=(0.4, 0.92))
        ax.set_xlim(gold.min() - 0.02, gold.max() + 0.02)
        ax.legend(fontsize=6, loc="lower left", frameon=False)
    axes[0, 0].set_ylabel("tau-b with itself on 80 trials")
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=110)


if __name__ == "__main__":
    main()
