"""Is `rasch_mml_credible` the most self-consistent method at one trial, or does its quadrature tie the models?

For each simulated benchmark and each of its 80 single trials: scores by fixed Gauss-Hermite quadrature with 21 nodes
(the published setting) and by adaptive quadrature; agreement with the same method on all 80 trials by tau-b and tau-a,
and the number of distinct ranks. Writes ``results.json``, ``results.md`` and ``ties.png`` beside this file::

    python -m experiments.quadrature_ties.run
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments import mimic
from jaxrank import kendall_tau, rank_scores
from jaxrank.data.statistics import Counts
from jaxrank.methods.irt_marginal import RaschMarginal
from jaxrank.methods.pointwise import Average
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite, GaussHermite

HERE = Path(__file__).parent
PUBLISHED = {"AIME24": 0.804, "AIME25": 0.834, "HMMT25": 0.810}  # arXiv 2603.10960, table 2, rasch_mml_credible
CONFIG = json.loads((HERE / "config.json").read_text())
FIXED, Q = GaussHermite(CONFIG["fixed_nodes"]), CONFIG["quantile"]
METHODS = {
    "credible, 21 fixed nodes": RaschMarginal(quantile=Q, quadrature=FIXED),
    "credible, adaptive": RaschMarginal(quantile=Q, quadrature=AdaptiveGaussHermite()),
    "EAP, 21 fixed nodes": RaschMarginal(quadrature=FIXED),
    "EAP, adaptive": RaschMarginal(),
    "avg": Average(),
}


def statistics(R: np.ndarray) -> Counts:
    """One statistic for every single trial and, last, one for all of them."""
    right = np.concatenate([np.moveaxis(R, 2, 0), R.sum(2)[None]]).astype(float)
    total = np.ones_like(right)
    total[-1] = R.shape[2]
    n = len(right)
    levels = jnp.broadcast_to(jnp.arange(2.0), (n, 2))
    return Counts(jnp.stack([total - right, right], -1), jnp.ones((n, R.shape[1])), levels)


def tau_a(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kendall's tau without correction for ties: a tied pair counts as no agreement."""
    n = a.shape[-1]
    signs = np.sign(a[..., :, None] - a[..., None, :]) * np.sign(b[..., :, None] - b[..., None, :])
    return signs.sum((-2, -1)) / (n * (n - 1))


def study(ranks: np.ndarray) -> dict[str, Any]:
    """From ranks of (81, L): the single trials, then all trials."""
    single, whole = ranks[:-1], np.broadcast_to(ranks[-1], ranks[:-1].shape)
    tau_b = np.asarray(kendall_tau(jnp.asarray(-single.astype(float)), jnp.asarray(-whole.astype(float))))
    distinct = [len(set(row.tolist())) for row in ranks]
    return {
        "tau_b": float(np.nanmean(tau_b)),
        "tau_b_sd": float(np.nanstd(tau_b)),
        "tau_a": float(tau_a(single, whole).mean()),
        "distinct_one_trial": float(np.mean(distinct[:-1])),
        "distinct_all_trials": distinct[-1],
        "draws": tau_b.tolist(),
    }


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    results: dict[str, Any] = {}
    for label, ranker in METHODS.items():
        fit = jax.jit(lambda s, r=ranker: jax.lax.map(r, s))
        for name in CONFIG["benchmarks"]:
            fits = fit(statistics(mimic.benchmark(name, seed=CONFIG["seed"]).R))
            failed = int(np.sum(np.asarray(fits.status) != 0))
            ranks = np.asarray(rank_scores(fits.scores, resolution=fits.resolution))
            results.setdefault(name, {})[label] = {**study(ranks), "failed": failed}
            row = results[name][label]
            print(name, label, {k: v for k, v in row.items() if k != "draws"}, flush=True)
    setting = {
        "jax": jax.__version__,
        "device": jax.devices()[0].platform,
        "machine": platform.machine(),
        "dtype": "float64",
    }
    (HERE / "results.json").write_text(json.dumps({"setting": setting, "results": results}, indent=1) + "\n")
    (HERE / "results.md").write_text(table(results))
    figure(results)


def table(results: dict[str, Any]) -> str:
    lines = [
        "| benchmark | method | tau-b (sd) | published tau-b | tau-a | distinct ranks, 1 trial | distinct, 80 trials |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, methods in results.items():
        for label, r in methods.items():
            published = PUBLISHED.get(name, "") if label.startswith("credible, 21") else ""
            lines.append(
                f"| {name} | {label} | {r['tau_b']:.3f} ({r['tau_b_sd']:.3f}) | {published} | {r['tau_a']:.3f} "
                f"| {r['distinct_one_trial']:.1f} | {r['distinct_all_trials']} |"
            )
    return "\n".join(lines) + "\n"


def figure(results: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    names = list(results)
    for axis, (key, title) in zip(
        axes,
        (
            ("tau_b", "tau-b with own ranking of 80 trials"),
            ("tau_a", "tau-a"),
            ("distinct_one_trial", "distinct ranks, 1 trial"),
        ),
        strict=True,
    ):
        for i, label in enumerate(METHODS):
            axis.bar(np.arange(len(names)) + (i - 2) * 0.16, [results[n][label][key] for n in names], 0.15, label=label)
        axis.set_xticks(range(len(names)), names)
        axis.set_title(title)
    axes[0].set_ylim(0.5, 0.9)
    axes[1].set_ylim(0.5, 0.9)
    fig.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS))
    fig.savefig(HERE / "ties.png", dpi=110)


if __name__ == "__main__":
    main()
