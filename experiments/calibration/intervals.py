"""Intervals of the mean rate of one model, side by side: the library's, and what else could have been taken.

    python -m experiments.calibration.intervals [--sets N]

Two units: "questions", where the truth is the mean over all questions of that kind, and "trials", where it is the mean
over the questions at hand. Coverage of 95 % intervals and mean width; writes results/intervals.json and intervals.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

import jaxrank as jr
from experiments.calibration.truths import EXTREME, HALF, HIGH, SKEWED, Truth, beta

RESULTS = Path(__file__).parent / "results"
TAIL = 0.025
TRUTHS = (HALF, HIGH, beta(1, 1), SKEWED, EXTREME, beta(0.2, 2))
QUESTIONS, TRIALS = (10, 20, 150), (1, 3, 16)
REPLICATES = 399
_CELLS = 20_000_000  # of replicates drawn at a time

Ends = tuple[np.ndarray, np.ndarray]


def library(outcomes: np.ndarray, unit: str, rng: Generator) -> Ends:
    """Of `jaxrank.fit`, the default."""
    low, high = jr.fit(jr.Responses(outcomes)).interval(unit=unit)
    return low, high


def student(outcomes: np.ndarray, unit: str, rng: Generator) -> Ends:
    """Mean plus and minus t standard errors; of trials with the quantile of the normal distribution."""
    mean, sd = _moments(outcomes, unit)
    reach = (stats.t.ppf(1 - TAIL, outcomes.shape[1] - 1) if unit == "questions" else stats.norm.ppf(1 - TAIL)) * sd
    return mean - reach, mean + reach


def _moments(outcomes: np.ndarray, unit: str) -> Ends:
    """Mean rate and its standard error, from the spread of the questions or of the trials within them."""
    share = outcomes.mean(axis=2)
    n_questions, n_trials = outcomes.shape[1:]
    if unit == "questions":
        return share.mean(1), share.std(axis=1, ddof=1) / np.sqrt(n_questions)
    within = share * (1 - share) / (n_trials - 1) if n_trials > 1 else np.full_like(share, np.nan)
    return share.mean(1), np.sqrt(within.sum(1)) / n_questions


def dirichlet(pseudo: float) -> Callable[[np.ndarray, str, Generator], Ends]:
    """Normal interval from independent Beta(pseudo, pseudo) priors of every question's rate; the same for both units.

    Bayes@N has pseudo = 1, Jeffreys' prior 1/2."""

    def ends(outcomes: np.ndarray, unit: str, rng: Generator) -> Ends:
        right, total = pseudo + outcomes.sum(axis=2), 2 * pseudo + outcomes.shape[2]
        mean, variance = right / total, right * (total - right) / (total**2 * (total + 1))
        reach = stats.norm.ppf(1 - TAIL) * np.sqrt(variance.sum(1)) / outcomes.shape[1]
        return mean.mean(1) - reach, mean.mean(1) + reach

    return ends


def _replicates(outcomes: np.ndarray, unit: str, rng: Generator) -> Ends:
    """Means and standard errors of replicates (S, B): questions drawn again, or the trials of every question."""
    share = outcomes.mean(axis=2)
    n_sets, n_questions, n_trials = outcomes.shape
    mean, sd = np.empty((n_sets, REPLICATES)), np.empty((n_sets, REPLICATES))
    if unit == "questions":
        times = rng.multinomial(n_questions, np.full(n_questions, 1 / n_questions), REPLICATES) / n_questions
        mean = share @ times.T
        variance = np.maximum(share**2 @ times.T - mean**2, 0) * n_questions / (n_questions - 1)
        return mean, np.sqrt(variance / n_questions)
    step = max(1, _CELLS // (REPLICATES * n_questions))
    for first in range(0, n_sets, step):
        part = slice(first, min(first + step, n_sets))
        drawn = rng.binomial(n_trials, share[part, None], (len(share[part]), REPLICATES, n_questions)) / n_trials
        mean[part] = drawn.mean(2)
        sd[part] = np.sqrt((drawn * (1 - drawn)).sum(2) / max(n_trials - 1, 1)) / n_questions
    return mean, sd


def percentile(outcomes: np.ndarray, unit: str, rng: Generator) -> Ends:
    """Percentiles of bootstrap means."""
    mean, _ = _replicates(outcomes, unit, rng)
    low, high = np.quantile(mean, [TAIL, 1 - TAIL], axis=1)
    return low, high


def studentised(outcomes: np.ndarray, unit: str, rng: Generator) -> Ends:
    """Bootstrap of (mean - point) / standard error; replicates without a spread are infinitely far from the point."""
    point, spread = _moments(outcomes, unit)
    mean, sd = _replicates(outcomes, unit, rng)
    off = mean - point[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(off == 0, 0, off / sd)
    high, low = np.quantile(t, [TAIL, 1 - TAIL], axis=1, method="higher")
    with np.errstate(invalid="ignore"):
        return np.fmax(point - low * spread, 0), np.fmin(point - high * spread, 1)


INTERVALS: dict[str, Callable[[np.ndarray, str, Generator], Ends]] = {
    "library": library,
    "t": student,
    "Bayes@N, uniform": dirichlet(1.0),
    "Jeffreys": dirichlet(0.5),
    "bootstrap percentile": percentile,
    "bootstrap studentised": studentised,
}


def measure(truth: Truth, questions: int, trials: int, unit: str, sets: int) -> dict[str, dict[str, float]]:
    """Coverage and mean width of every interval on the same sets."""
    rng = np.random.default_rng([questions, trials, len(truth.name), unit == "trials"])
    rates = np.array(truth.rates(rng, sets, 1, questions)[:, 0])
    outcomes = (rng.random((*rates.shape, trials), dtype=np.float32) < rates[..., None]).astype(np.int8)
    true = truth.scores(1)[0] if unit == "questions" else rates.mean(1)
    found = {}
    for name, ends in INTERVALS.items():
        low, high = ends(outcomes, unit, rng)
        low, high = np.asarray(low, float), np.asarray(high, float)
        covered = (low <= true + 1e-9) & (true - 1e-9 <= high)
        found[name] = {"cover": float(covered.mean()), "width": float(np.mean(high - low))}
    return found


def markdown(rows: list[dict[str, Any]], sets: int) -> str:
    out = [
        "# Coverage of 95 % intervals of a mean rate",
        "",
        f"{sets:,} data sets a cell: coverage in percent, mean width in brackets. **Bold**: under 93.5 % (92 % "
        "below 20 questions) by more than two standard errors of the simulation.",
        "",
    ]
    for unit in ("questions", "trials"):
        head = ["truth", "questions", "trials", *INTERVALS]
        out += [f"## Unit: {unit}", "", "| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
        for row in rows:
            if row["unit"] == unit:
                entries = [_entry(row[name], row["questions"], sets) for name in INTERVALS]
                out.append(f"| {row['truth']} | {row['questions']} | {row['trials']} | {' | '.join(entries)} |")
        out.append("")
    return "\n".join(out)


def _entry(found: dict[str, float], questions: int, sets: int) -> str:
    cover, least = found["cover"], 0.92 if questions < 20 else 0.935
    text = f"{100 * cover:.1f}"
    short = cover + 2 * np.sqrt(cover * (1 - cover) / sets) < least
    return f"{f'**{text}**' if short else text} ({found['width']:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000)
    sets = parser.parse_args().sets
    rows = []
    for unit in ("questions", "trials"):
        for truth in TRUTHS:
            for questions in QUESTIONS:
                for trials in TRIALS[unit == "trials" :]:
                    labels = {"unit": unit, "truth": truth.name, "questions": questions, "trials": trials}
                    rows.append(labels | measure(truth, questions, trials, unit, sets))
                    print(
                        labels, {k: f"{v['cover']:.3f} {v['width']:.3f}" for k, v in rows[-1].items() if k in INTERVALS}
                    )
    lines = ",\n".join(json.dumps(row) for row in rows)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "intervals.json").write_text(f'{{"sets": {sets}, "rows": [\n{lines}\n]}}\n')
    (RESULTS / "intervals.md").write_text(markdown(rows, sets))


if __name__ == "__main__":
    main()
