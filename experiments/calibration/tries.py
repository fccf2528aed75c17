"""How often are the intervals of Pass@k and its kin false, by default and, of two, from the posterior?

    python -m experiments.calibration.tries           # results/tries.md
    python -m experiments.calibration.tries tails     # results/tails.md: tail_pass of graded trials

The tables: simulated models, each with rates of its own, against the expected metric of such questions.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import bdtr, bdtrc, comb
from scipy.stats import binom

from jaxrank import evaluation

RESULTS = Path(__file__).parent / "results"
SETS, QUESTIONS, TRIES = 4000, (10, 20, 50, 150), ((3, 2), (5, 2), (5, 5), (16, 8))
RATES = {"Beta(1.2, .3)": (1.2, 0.3), "Beta(.3, .3)": (0.3, 0.3), ".5": 0.5, ".95": 0.95}
Curve = Callable[[np.ndarray, int], np.ndarray]
POSTERIORS = ("pass^k", "pass@k")  # of these the interval from the posterior is measured too


def _all(p: np.ndarray, k: int) -> np.ndarray:
    return p**k


def _any(p: np.ndarray, k: int) -> np.ndarray:
    return 1 - (1 - p) ** k


def _at_least(r: int) -> Curve:
    return lambda p, k: bdtrc(r - 1, k, p)


def _upper(p: np.ndarray, k: int) -> np.ndarray:
    return 2 / k * sum((bdtrc(r - 1, k, p) for r in range(-(-k // 2) + 1, k + 1)), np.zeros_like(p))


def _area(p: np.ndarray, k: int) -> np.ndarray:
    curve = [_any(p, n) for n in range(1, k + 1)]
    return sum((a + b for a, b in itertools.pairwise(curve)), np.zeros_like(p)) / (2 * (k - 1))


def _ramp(k: int) -> np.ndarray:
    return np.arange(1, k + 1) / (k * (k + 1) / 2)


def _thresholds(p: np.ndarray, k: int) -> np.ndarray:
    return sum((w * bdtrc(r, k, p) for r, w in enumerate(_ramp(k))), np.zeros_like(p))


def _mean(curve: Curve) -> Curve:
    return lambda p, k: curve(p, k).mean()


Ask = Callable[..., evaluation.Estimate]
METRICS: dict[str, tuple[Ask, Curve]] = {
    "pass^k": (evaluation.pass_hat_k, _mean(_all)),
    "pass@k": (evaluation.pass_at_k, _mean(_any)),
    "G-Pass@k, .5": (partial(evaluation.g_pass_at_k_tau, tau=0.5), lambda p, k: _at_least(-(-k // 2))(p, k).mean()),
    "mG-Pass@k": (evaluation.mg_pass_at_k, _mean(_upper)),
    "maj@k": (evaluation.maj_at_k, lambda p, k: _at_least(k // 2 + 1)(p, k).mean()),
    "AUC@k": (evaluation.auc_at_k, _mean(_area)),
    "spectrum@k": (
        lambda R, k, **options: evaluation.threshold_spectrum_at_k(R, _ramp(k), **options),
        _mean(_thresholds),
    ),
    "Geom@k": (partial(evaluation.geom_at_k, method="questions"), lambda p, k: np.sqrt(_any(p, k) * _all(p, k)).mean()),
    "Geom_ds@k": (evaluation.geom_ds_at_k, lambda p, k: np.sqrt(_any(p, k).mean() * _all(p, k).mean())),
    "GeoSpectrum@k": (evaluation.geo_spectrum_at_k, lambda p, k: np.sqrt(_any(p, k).mean() * _upper(p, k).mean())),
}
LEVELS = 4  # the highest grade of max@k: each trial has a grade from the binomial distribution of its question's rate


def _best(p: np.ndarray, k: int) -> np.ndarray:
    return sum((1 - bdtr(g - 1, LEVELS, p) ** k for g in range(1, LEVELS + 1)), np.zeros_like(p))


def _tails(p: np.ndarray, k: int) -> np.ndarray:
    """Weights `_ramp` on the thresholds of the mean grade of k trials, whose sum is binomial of LEVELS k steps."""
    return sum((w * bdtrc(LEVELS * t - 1, LEVELS * k, p) for t, w in enumerate(_ramp(k), 1)), np.zeros_like(p))


def _geom_expected(p: np.ndarray, n: int, k: int) -> float:
    """The Geom@k of n trials that questions of rates p are expected to show."""
    c = np.arange(n + 1)
    shown = np.sqrt((1 - comb(n - c, k) / comb(n, k)) * (comb(c, k) / comb(n, k)))
    return float(binom.pmf(c, n, p[: 10**5, None]).mean(axis=0) @ shown)


def rates(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    chosen = RATES[name]
    return rng.beta(*chosen, shape) if isinstance(chosen, tuple) else np.full(shape, chosen)


def judged(found: evaluation.Estimate, truth: float) -> tuple[float, float]:
    """Percent of intervals that miss, and mean width."""
    false = (found.lower > truth) | (found.upper < truth)
    return 100 * float(np.mean(false)), float(np.mean(found.upper - found.lower))


def cells(name: str, n_questions: int, n_trials: int, k: int, sets: int = SETS) -> dict[str, tuple[float, float]]:
    """Of every metric the errors and width of its default interval; as "its posterior" those of the posterior."""
    rng = np.random.default_rng([n_questions, n_trials, k, *name.encode()])
    many = rates(rng, name, (10**6,))
    p = rates(rng, name, (sets, n_questions, 1))
    R = (rng.random((sets, n_questions, n_trials)) < p).astype(int)
    out = {}
    for metric, (ask, curve) in METRICS.items():
        truth = float(curve(many, k))
        out[metric] = judged(ask(R, k), truth)
        if metric in POSTERIORS:
            out[f"{metric} posterior"] = judged(ask(R, k, method="normal"), truth)
    out["Geom@k at n"] = judged(evaluation.geom_at_k(R, k, method="questions"), _geom_expected(many, n_trials, k))
    grades = rng.binomial(LEVELS, p, (sets, n_questions, n_trials))
    out["max@k"] = judged(evaluation.max_at_k(grades, k), float(_best(many, k).mean()))
    return out


def rows(name: str) -> list[str]:
    out = []
    for n_questions in QUESTIONS:
        for n_trials, k in TRIES:
            found = cells(name, n_questions, n_trials, k)
            shown = [f"{false:.1f} ({width:.3f})" for false, width in found.values()]
            out.append(f"| {n_questions} x {n_trials}, {name}, k = {k} | {' | '.join(shown)} |")
            print(out[-1], flush=True)
    return out


def main() -> None:
    names = [part for m in METRICS for part in ((m, f"{m} posterior") if m in POSTERIORS else (m,))]
    head = [
        "# Intervals of Pass@k and its kin",
        "",
        f"False in percent of {SETS:,} sets where 5 are claimed, and mean width, by default; of Pass^k and Pass@k",
        'from the posterior under a uniform prior too. Geom@k has none by default: that of `method="questions"` is',
        "judged by the true rates and, at n, by what n trials are expected to show.",
        f"max@k is of grades from 0 to {LEVELS}.",
        "",
        f"| questions x trials, rates | {' | '.join([*names, 'Geom@k at n', 'max@k'])} |",
        f"|{' --- |' * (len(names) + 3)}",
    ]
    table = [row for name in RATES for row in rows(name)]
    (RESULTS / "tries.md").write_text("\n".join([*head, *table, ""]))


def tails() -> None:
    """The errors of tail_pass, of grades from 0 to LEVELS and rising weights of thresholds: results/tails.md."""
    table = [
        "# Intervals of tail_pass",
        "",
        f"False in percent of {SETS:,} sets where 5 are claimed, and mean width; grades from 0 to {LEVELS}, and",
        "weights that rise with the threshold.",
        "",
        "| questions x trials, rates | tail_pass |",
        "| --- | --- |",
    ]
    for name in RATES:
        for n_questions in QUESTIONS:
            for n_trials, k in TRIES:
                rng = np.random.default_rng([n_questions, n_trials, k, *name.encode()])
                truth = float(_tails(rates(rng, name, (10**6,)), k).mean())
                grades = rng.binomial(LEVELS, rates(rng, name, (SETS, n_questions, 1)), (SETS, n_questions, n_trials))
                rewards = np.arange(LEVELS + 1) / LEVELS
                false, width = judged(evaluation.tail_pass(grades, _ramp(k), rewards), truth)
                table.append(f"| {n_questions} x {n_trials}, {name}, k = {k} | {false:.1f} ({width:.3f}) |")
                print(table[-1], flush=True)
    (RESULTS / "tails.md").write_text("\n".join([*table, ""]))


if __name__ == "__main__":
    tails() if sys.argv[1:] == ["tails"] else main()
