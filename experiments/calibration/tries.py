"""How often are the intervals of Pass@k and Pass^k false, by default and from the posterior under a uniform prior?

    python -m experiments.calibration.tries

Writes results/tries.md: simulated models, each with rates of its own, against the expected metric of such questions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jaxrank import evaluation

RESULTS = Path(__file__).parent / "results"
SETS, QUESTIONS, TRIES = 4000, (10, 20, 50, 150), ((3, 2), (5, 2), (5, 5), (16, 8))
RATES = {"Beta(1.2, .3)": (1.2, 0.3), "Beta(.3, .3)": (0.3, 0.3), ".5": 0.5, ".95": 0.95}
METRICS = {
    "pass^k": (evaluation.pass_hat_k, lambda p, k: p**k),
    "pass@k": (evaluation.pass_at_k, lambda p, k: 1 - (1 - p) ** k),
}


def rates(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    chosen = RATES[name]
    return rng.beta(*chosen, shape) if isinstance(chosen, tuple) else np.full(shape, chosen)


def rows(name: str) -> list[str]:
    rng = np.random.default_rng(0)
    many = rates(rng, name, (10**6,))
    out = []
    for n_questions in QUESTIONS:
        for n_trials, k in TRIES:
            p = rates(rng, name, (SETS, n_questions, 1))
            R = (rng.random((SETS, n_questions, n_trials)) < p).astype(int)
            cells = [f"{n_questions} x {n_trials}, {name}, k = {k}"]
            for metric, curve in METRICS.values():
                truth = curve(many, k).mean()
                for method in ("questions", "normal"):
                    found = metric(R, k, method=method)
                    false = np.mean((found.lower > truth) | (found.upper < truth))
                    cells.append(f"{100 * false:.1f} ({np.mean(found.upper - found.lower):.3f})")
            out.append(f"| {' | '.join(cells)} |")
            print(out[-1], flush=True)
    return out


def main() -> None:
    head = [
        "# Intervals of Pass^k and Pass@k",
        "",
        f"False in percent of {SETS:,} sets where 5 are claimed, and mean width, by default and from the posterior.",
        "",
        f"| questions x trials, rates | {' | '.join(f'{m} | its posterior' for m in METRICS)} |",
        "| --- | --- | --- | --- | --- |",
    ]
    table = [row for name in RATES for row in rows(name)]
    (RESULTS / "tries.md").write_text("\n".join([*head, *table, ""]))


if __name__ == "__main__":
    main()
