"""Coverage of the posterior intervals of jaxrank.evaluation by simulation.

The success rates of the questions are drawn from Beta(1, 1) (the prior) or Beta(0.3, 0.3) (most questions easy or
hard), trials from the rates; the interval should cover the true metric of those rates in 90 or 95 % of the data sets.
``python -m experiments.coverage.run`` writes results.json beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from jaxrank import evaluation as ev
from jaxrank.data.statistics import Counts
from jaxrank.numerics import credits

HERE = Path(__file__).parent
K = 4
METRICS = {
    "bayes": (lambda s, i: ev.bayes(s, level=i), lambda p: p),
    "avg": (lambda s, i: ev.avg(s, level=i), lambda p: p),
    "pass_at_4": (
        lambda s, i: ev.pass_at_k(s, K, level=i, extrapolate=True, method="normal"),
        lambda p: credits.AnySuccess(K).curve(p),
    ),
    "pass_hat_4": (
        lambda s, i: ev.pass_hat_k(s, K, level=i, extrapolate=True, method="normal"),
        lambda p: credits.AllSuccesses(K).curve(p),
    ),
    "g_pass_at_4_0.5": (
        lambda s, i: ev.g_pass_at_k_tau(s, K, 0.5, level=i, extrapolate=True, method="normal"),
        lambda p: credits.AtLeast(K, 2).curve(p),
    ),
    "mg_pass_at_4": (
        lambda s, i: ev.mg_pass_at_k(s, K, level=i, extrapolate=True, method="normal"),
        lambda p: credits.Excess(K).curve(p),
    ),
}


def main(n_sets: int = 2000) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for shape in (1.0, 0.3):
        for n_questions in (10, 30, 120):
            for n_trials in (1, 5, 20):
                p = rng.beta(shape, shape, (n_sets, n_questions))
                c = rng.binomial(n_trials, p)
                stat = Counts(jnp.stack([n_trials - c, c], -1).astype(float), jnp.ones(n_questions), jnp.arange(2.0))
                for name, (metric, truth) in METRICS.items():
                    true = truth(p).mean(1)
                    cover = []
                    for interval in (0.9, 0.95):
                        found = metric(stat, interval)
                        cover.append(float(((found.lower <= true) & (true <= found.upper)).mean()))
                    row = {"rates": f"Beta({shape:g}, {shape:g})", "M": n_questions, "N": n_trials, "metric": name}
                    rows.append({**row, "cover90": cover[0], "cover95": cover[1]})
    (HERE / "results.json").write_text(json.dumps({"data sets": n_sets, "rows": rows}, indent=1) + "\n")
    for rates in ("Beta(1, 1)", "Beta(0.3, 0.3)"):
        for name in METRICS:
            mine = [r for r in rows if r["rates"] == rates and r["metric"] == name]
            low, high = ([min(r[c] for r in mine), max(r[c] for r in mine)] for c in ("cover90", "cover95"))
            print(f"{rates:16} {name:16} 90 %: {low[0]:.3f} to {low[1]:.3f}   95 %: {high[0]:.3f} to {high[1]:.3f}")


if __name__ == "__main__":
    main()
