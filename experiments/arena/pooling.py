"""How often 90 % intervals of partially pooled strengths by category hold the truth, and how far they are from it.

python -m experiments.arena.pooling [--sets 60] [--minutes 10]   # -> results/pooling.json, pooling.md
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr

HERE = Path(__file__).parent
N_MODELS = 5
SIZES = np.array([400, 200, 100, 50, 25, 25])
"""Votes of each category; the last two are the small ones."""
TAUS = (0.0, 0.3, 0.8)
LEVEL = 0.9
KINDS = ("pooled", "each category alone", "all categories together")
SHORT: dict[str, Any] = {"n_chains": 2, "n_warmup": 300, "n_samples": 1000, "progress": False}


def votes(tau: float, rng: np.random.Generator) -> tuple[jr.Comparisons, np.ndarray]:
    """Votes in six categories and the true strengths (6, 5), of models drawn around strengths of N(0, 1) with a
    standard deviation of ``tau``. Who meets whom is the same in every set, so that one compilation serves all."""
    design = np.random.default_rng(0)
    code = np.repeat(np.arange(len(SIZES)), SIZES)
    a = design.integers(0, N_MODELS, len(code))
    b = (a + design.integers(1, N_MODELS, len(code))) % N_MODELS
    truth = rng.normal(size=N_MODELS) + tau * rng.normal(size=(len(SIZES), N_MODELS))
    won = rng.random(len(code)) < 1 / (1 + np.exp(truth[code, b] - truth[code, a]))
    columns = {"category": [f"c{k}" for k in code]}
    names = [f"m{i}" for i in range(N_MODELS)]
    return jr.Comparisons(a, b, won, models=names, columns=columns), truth - truth.mean(axis=1, keepdims=True)


def measured(tau: float, seed: int) -> dict[str, list[float]]:
    """By kind of estimate: shares of strengths inside their intervals, of all categories and of the two small ones;
    squared errors of the same, and of pooled ones whether tau is inside its interval and whether the chains are in
    doubt."""
    battles, truth = votes(tau, np.random.default_rng([seed, int(1000 * tau)]))
    post = jr.posterior(battles, "bradley_terry", by="category", seed=seed, **SHORT)
    assert isinstance(post, jr.PosteriorByCategory)
    low, high = post.tau_interval(LEVEL)
    alone = jr.by(battles, "category", "bradley_terry_davidson_wide", dtype="float64")
    of = {
        "pooled": [post.category(name) for name in post.categories],
        "each category alone": list(alone.results.values()),
        "all categories together": [alone.whole] * len(SIZES),
    }
    out = {}
    for kind, results in of.items():
        ends = np.array([r.interval(LEVEL) for r in results])  # (6, 2, models)
        inside = (truth >= ends[:, 0]) & (truth <= ends[:, 1])
        off = (np.array([r.scores for r in results]) - truth) ** 2
        out[kind] = [float(x) for x in (inside.mean(), inside[-2:].mean(), off.mean(), off[-2:].mean())]
    out["pooled"] += [float(low <= tau <= high), float({"r_hat", "divergent"} & set(post.statuses) != set())]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=60, help="of each tau")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the next run goes on")
    given = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    store, began = HERE / "results" / "pooling.json", time.time()
    found = json.loads(store.read_text()) if store.exists() else {}
    for seed in range(given.sets):
        for tau in TAUS:
            rows = found.setdefault(f"{tau:g}", {})
            if str(seed) not in rows and time.time() - began < 60 * given.minutes:
                rows[str(seed)] = measured(tau, seed)
    store.write_text(json.dumps(found))
    lines = [
        "| tau | strengths | sets | inside | inside, small | error | error, small | tau inside | chains in doubt |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for tau, rows in found.items():
        for kind in KINDS:
            inside, small, off, off_small, *more = np.mean([row[kind] for row in rows.values()], axis=0)
            said = ["", ""] if not more else [f"{100 * m:.0f} %" for m in more]
            if tau == "0":
                said[0] = ""  # a density of tau never has 0 inside of equal tails
            shares = f"{100 * inside:.1f} % | {100 * small:.1f} % | {off**0.5:.2f} | {off_small**0.5:.2f}"
            lines.append(f"| {tau} | {kind} | {len(rows)} | {shares} | {said[0]} | {said[1]} |")
    (HERE / "results" / "pooling.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
