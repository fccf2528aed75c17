"""The statements that were found false first, measured anew with the defaults of today.

    python -m experiments.calibration.head [--sets N] [--only TEXT]

Writes results/head.json and results/head.md, a line a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import jaxrank as jr
from experiments import mimic
from experiments.calibration.lines import percent, write
from experiments.calibration.statements import Study, scores_of, studies
from experiments.calibration.truths import HALF, ORDERED, SKEWED, Truth, constant
from jaxrank import evaluation

REPLICATES = 1000
LINES: dict[str, Callable[[int], str]] = {}


def line(said: str) -> Callable[[Callable[[int], str]], Callable[[int], str]]:
    """Registers a measurement under what is said."""

    def add(measured: Callable[[int], str]) -> Callable[[int], str]:
        LINES[said] = measured
        return measured

    return add


def _studies(truth: Truth, sets: int, models: int, questions: int, trials: int) -> Iterator[Study]:
    rng = np.random.default_rng([models, questions, trials])
    for outcomes in truth.draw(rng, sets, models, questions, trials):
        yield from studies(outcomes, truth.scores(models), REPLICATES)


@line("`bootstrap(R).top_set()` leaves out one of two equal models, 150 questions: 2 / 3 / 5 trials")
def top_set(sets: int) -> str:
    shares = [[len(s.replicates.top_set()) < 2 for s in _studies(HALF, sets, 2, 150, n)] for n in (2, 3, 5)]
    return " / ".join(map(percent, shares))


@line("`bootstrap(R)` of a log with one trial of each of 150 questions, rates .7 to .5: least width; most p_best")
def one_trial(sets: int) -> str:
    rng = np.random.default_rng(0)
    R = (rng.random((5, 150, 1)) < np.linspace(0.7, 0.5, 5)[:, None, None]).astype(int)
    rep = jr.bootstrap(R, n_replicates=REPLICATES)
    low, high = rep.interval()
    return f"{(high - low).min():.3f}; {rep.p_best.max():.3f} (unit: {rep.unit})"


@line("interval of `fit(R)` covers the mean rate: 100 questions, 1 trial, rates .5 / .7 / .9")
def cover_constant(sets: int) -> str:
    return _cover(sets, [(constant(p), 100, 1) for p in (0.5, 0.7, 0.9)])


@line("the same, rates Beta(1.2, .3), 120 questions: 1 / 5 / 20 trials")
def cover_skewed(sets: int) -> str:
    return _cover(sets, [(SKEWED, 120, n) for n in (1, 5, 20)])


def _cover(sets: int, cells: list[tuple[Truth, int, int]]) -> str:
    shares = []
    for truth, questions, trials in cells:
        rng = np.random.default_rng([questions, trials])
        false = [scores_of(part, truth.scores(1)[0])[0] for part in truth.draw(rng, sets, 1, questions, trials)]
        shares.append(1 - np.concatenate(false))
    return " / ".join(map(percent, shares))


@line("`fit(R)` of a model that is right on 37 of 40 questions / 0 of 50 / 50 of 50")
def proportions(sets: int) -> str:
    found = []
    for right, questions in ((37, 40), (0, 50), (50, 50)):
        fit = jr.fit([[1] * right + [0] * (questions - right)] * 2)
        low, high = fit.interval()
        found.append(f"{fit.scores[0]:.3f} [{low[0]:.3f}, {high[0]:.3f}]")
    return " / ".join(found)


@line("interval of `evaluation.pass_hat_k(R, 5)` does not hold its own point: 23 models, questions with 5 trials")
def pass_hat(sets: int) -> str:
    data = jr.datasets.load("lrm_token_economy")
    whole = np.flatnonzero(data.trials.min(axis=0) == 5)
    found = evaluation.pass_hat_k(data.select(questions=whole), 5)
    known = np.isfinite(found.point)
    outside = (found.point < found.lower) | (found.point > found.upper)
    return f"{int(outside[known].sum())} of {int(known.sum())}"


@line("mean standard error of bradley_terry / standard deviation of its bootstrap, a simulated 20 x 30 x 80")
def error_of_pairs(sets: int) -> str:
    R = mimic.benchmark("AIME24").R
    fit, rep = jr.fit(R, "bradley_terry"), jr.bootstrap(R, "bradley_terry", n_replicates=REPLICATES)
    return f"{fit.standard_errors.mean():.4f} / {rep.sd.mean():.4f} (unit: {rep.unit})"


@line("`posterior(R)`: P(first) of the leader / by bootstrap, one simulated 20 x 30 x 80 (2PL)")
def first_of_posterior(sets: int) -> str:
    R = next(ORDERED.draw(np.random.default_rng(0), 1, 20, 30, 80))[0]
    post = jr.posterior(R, n_warmup=500, n_samples=500)
    rep = jr.bootstrap(R, n_replicates=REPLICATES)
    return f"{post.rank_probabilities()[:, 0].max():.4f} / {rep.rank_probabilities()[:, 0].max():.4f}"


@line("`bootstrap(R).rank_sets()` tells two of 20 equal models apart: 30 x 8 / 100 x 4 / 30 x 80")
def rank_sets(sets: int) -> str:
    shares = []
    for questions, trials in ((30, 8), (100, 4), (30, 80)):
        found = (s.rank_sets for s in _studies(HALF, sets, 20, questions, trials))
        shares.append([bool((i.lower > 1).any() or (i.upper < 20).any()) for i in found])
    return " / ".join(map(percent, shares))


@line('`tiers(fit(R, "bradley_terry"))` of 20 equal models, 30 x 8, has more than one / its intervals miss 0')
def tiers_of_pairs(sets: int) -> str:
    lines, missed = [], []
    for study in _studies(SKEWED, sets, 20, 30, 8):
        fit = jr.fit(study.data, "bradley_terry", on_failure="return")
        low, high = fit.interval()
        lines.append(jr.tiers(fit).n_tiers > 1)
        missed.append(np.mean((low > 0) | (high < 0)))
    return f"{percent(lines)} / {percent(missed)}"


@line("`trials_needed` from one trial of each of 150 questions, gap 2 of 150")
def trials_needed(sets: int) -> str:
    R = np.zeros((2, 150, 1), int)
    R[0, :100], R[1, 2:100] = 1, 1
    try:
        return str(evaluation.trials_needed(R, (0, 1)))
    except jr.JaxrankError as error:
        return f"refused: {error}"


@line("a model that was right on its only question of 91, beside one with 70 of 91: rank / notes")
def few_questions(sets: int) -> str:
    R = np.full((2, 91), -1)
    R[0, 0], R[1] = 1, np.arange(91) < 70
    fit = jr.fit(jr.Responses(R, models=["few", "all"]))
    return f"{fit.ranks[0]} / {'; '.join(fit.notes) or 'none'}"


@line("battles with 39 % ties read by elo / trueskill / bradley_terry: what is said of the ties")
def votes(sets: int) -> str:
    rng = np.random.default_rng(0)
    battles = jr.Comparisons(
        rng.integers(2, size=500), np.full(500, 2), rng.choice([1, 0, 0.5], 500, p=[0.31, 0.3, 0.39])
    )
    notes = [jr.fit(battles, m).notes for m in ("elo", "trueskill", "bradley_terry")]
    return " / ".join("; ".join(n) or "nothing" for n in notes)


if __name__ == "__main__":
    write("head", "The first findings again", LINES, __doc__, 1000)
