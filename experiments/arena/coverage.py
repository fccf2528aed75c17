"""How often 95 % intervals of strengths and of a coefficient miss the truth when votes of a voter are alike.

python -m experiments.arena.coverage [--sets 2000] [--replicates 199]   # -> results/coverage.json, coverage.md
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
from experiments.arena.simulate import Arena

HERE = Path(__file__).parent
ARENAS = {
    "100 voters of 20 votes, alike .3": Arena(5, 100, 20, alike=0.3, length=1.0),
    "20 voters of 100 votes, alike .3": Arena(5, 20, 100, alike=0.3, length=1.0),
    "100 voters of 20 votes, independent": Arena(5, 100, 20, alike=0.0, length=1.0),
}
METHOD = "bradley_terry"
OPTIONS: dict[str, Any] = {"covariates": "length", "dtype": "float64"}


def missed(arena: Arena, seed: int, n_replicates: int) -> dict[str, list[float]]:
    """Share of strengths that lie outside of their intervals, whether the coefficient does, and the widths, by kind of
    interval."""
    battles = arena.votes(np.random.default_rng(seed))
    truth = arena.strengths - arena.strengths.mean()
    fit = jr.fit(battles, METHOD, **OPTIONS)
    out = {}
    for name, result in (("naive", fit), ("sandwich", fit.clustered("voter"))):
        out[name] = _missed(result, arena, truth)
    scheme = jr.clusters("voter")
    rep = jr.bootstrap(battles, METHOD, scheme=scheme, n_replicates=n_replicates, seed=seed, progress=False, **OPTIONS)
    out["bootstrap"] = _missed(rep, arena, truth)
    return {kind: [round(v, 4) for v in row] for kind, row in out.items()}


def _missed(result: jr.Result | jr.Replicates, arena: Arena, truth: np.ndarray) -> list[float]:
    low, high = result.interval()
    row = jr.coefficients(result)["length"]
    slope = arena.coefficient(row.unit)
    shares = [float(np.mean((truth < low) | (truth > high))), float(not row.lower <= slope <= row.upper)]
    return [*shares, float(np.mean(high - low)), row.upper - row.lower]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--replicates", type=int, default=199)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the next run goes on")
    given = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    store, began = HERE / "results" / "coverage.json", time.time()
    found = json.loads(store.read_text()) if store.exists() else {}
    for seed in range(given.sets):
        for name, arena in ARENAS.items():
            rows = found.setdefault(name, {})
            if str(seed) not in rows and time.time() - began < 60 * given.minutes:
                rows[str(seed)] = missed(arena, seed, given.replicates)
    store.write_text(json.dumps(found))
    lines = ["| votes | interval | sets | strengths missed | width | coefficient missed | width |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, rows in found.items():
        for kind in ("naive", "sandwich", "bootstrap"):
            table = np.array([r[kind] for r in rows.values() if kind in r])
            if len(table):
                miss, slope, width, reach = table.mean(axis=0)
                said, wide = f"{100 * slope:.1f} %", f"{reach:.3f}"
                lines.append(f"| {name} | {kind} | {len(table)} | {100 * miss:.1f} % | {width:.3f} | {said} | {wide} |")
    (HERE / "results" / "coverage.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
