"""What `jaxrank.diagnose` finds in arenas with one fault each, and in clean ones.

python -m experiments.arena.findings [--sets 100]   # -> results/findings.json, findings.md
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

import jaxrank as jr
from experiments.arena.simulate import FAULTS

HERE = Path(__file__).parent
LOOKED_FOR = (
    "covariates shift votes",
    "side bias",
    "one-sided voters",
    "drift",
    "cycles",
    "categories differ",
    "battles are alike",
    "few voters give many votes",
    "repeated battles",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the next run goes on")
    given = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    store, began = HERE / "results" / "findings.json", time.time()
    found = json.loads(store.read_text()) if store.exists() else {}
    for seed in range(given.sets):
        for name, (arena, _) in FAULTS.items():
            rows = found.setdefault(name, {})
            if str(seed) not in rows and time.time() - began < 60 * given.minutes:
                said = jr.diagnose(arena.votes(np.random.default_rng(1000 + seed)))
                rows[str(seed)] = [f.name for f in said if f.name in LOOKED_FOR]
    store.write_text(json.dumps(found))
    lines = [f"| arena | sets | {' | '.join(LOOKED_FOR)} |", "|" + "---|" * (len(LOOKED_FOR) + 2)]
    for name, rows in found.items():
        share = [sum(kind in r for r in rows.values()) for kind in LOOKED_FOR]
        lines.append(f"| {name} | {len(rows)} | {' | '.join(map(str, share))} |")
    (HERE / "results" / "findings.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
