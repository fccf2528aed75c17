"""Statements that are too slow, or too much of a sequence, for the grid of run.py: posteriors, trials needed, stopping.

    python -m experiments.calibration.decisions [--sets N] [--only TEXT]

Writes results/decisions.json and results/decisions.md, a line a measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jaxrank as jr
from experiments.calibration.lines import percent, write
from experiments.calibration.statements import Study, lines_of
from experiments.calibration.truths import HALF, ORDERED, SKEWED, Truth
from jaxrank import evaluation

LEVEL = 0.95
POSTERIOR = {"n_chains": 2, "n_warmup": 300, "n_samples": 500}
LOOKS = 80


def posterior(truth: Truth, models: int, questions: int, trials: int, sets: int) -> str:
    """Rank intervals without the true rank (of equal models: pairs of intervals without a rank in common), P(first)
    over 95 % of a model that is not the best (of equal models: of any but one), and tiers with a false line."""
    rng = np.random.default_rng([models, questions, trials])
    scores = truth.scores(models)
    rank = 1 + (scores < scores[:, None] - 1e-12).sum(0)
    i, j = np.triu_indices(models, 1)
    ranks, first, lines = [], [], []
    for outcomes in truth.draw(rng, sets, models, questions, trials):
        for number, one in enumerate(outcomes):
            found = jr.posterior(one, seed=number, **POSTERIOR)
            low, high = found.rank_intervals(LEVEL)
            apart = (low[i] > high[j]) | (low[j] > high[i])
            ranks.append(float(np.mean(apart if truth.equal else (low > rank) | (high < rank))))
            first.append(bool((found.rank_probabilities()[1:, 0] > LEVEL).any()))
            lines.append(lines_of(Study(one, scores, 0), found).false)
    return f"{percent(ranks)} / {percent(first)} / {percent(lines)} ({found.method})"


def needed(trials: int, sets: int) -> str:
    """Two models of 2PL: `trials_needed` from a pilot beside what the true rates of the same questions ask for."""
    rng = np.random.default_rng(trials)
    found, ideal, refused = [], [], 0
    for _ in range(sets):
        p = ORDERED.rates(rng, 1, 2, 50)[0]
        p = p[0] + (p[1] - p[0]) * np.array([[0.0], [0.3]])  # models nearer to each other than the truth's two
        pilot = (rng.random((2, 50, trials)) < p[..., None]).astype(int)
        try:
            asked = evaluation.trials_needed(pilot, (0, 1))
        except jr.JaxrankError:
            refused += 1
            continue
        gap, variance = (p[0] - p[1]).mean(), (p * (1 - p)).sum() / 50**2
        ideal.append(1.645**2 * variance / gap**2)
        found.append(np.inf if asked is None else float(asked))
    if not found:
        return f"refused in {100 * refused / sets:.0f} %"
    ratio = np.quantile(np.array(found) / np.ceil(ideal), [0.1, 0.5, 0.9])
    return f"{ratio[1]:.2f} times ({ratio[0]:.2f} to {ratio[2]:.2f}); refused in {100 * refused / sets:.0f} %"


def stopping(truth: Truth, sets: int) -> str:
    """Two equal models on 50 questions, looked at by Bayes@N: the share of sets in which the second is declared the
    better one, at one look after 16 trials, and at any of 80 looks by three rules."""
    rng = np.random.default_rng(0)
    rules: dict[str, dict[str, Any]] = {"told": {"looks": LOOKS}, "anytime": {"anytime": True}, "once": {"looks": 1}}
    found: list[list[Any]] = []
    for outcomes in truth.draw(rng, sets, 2, 50, LOOKS):
        right = outcomes.cumsum(axis=3, dtype=np.int16).reshape(-1, 50, LOOKS)
        wrong = {name: np.zeros((len(outcomes), LOOKS), bool) for name in rules}
        for n in range(1, LOOKS + 1):
            score = evaluation.bayes(jr.Responses.from_counts(right[..., n - 1], n))
            mu, sigma = score.mean.reshape(-1, 2), score.sd.reshape(-1, 2)
            for name, said in wrong.items():
                settled = evaluation.stopping_rule(mu, sigma, level=LEVEL, **rules[name])
                said[:, n - 1] = np.asarray(settled.separated[:, 0]) & (np.asarray(settled.order[:, 0]) == 1)
        found.append([wrong["once"][:, 15], *(said.any(axis=1) for said in wrong.values())])
    return " / ".join(percent(np.concatenate(x)) for x in zip(*found, strict=True))


def shared_ranks(truth: Truth, models: int, questions: int, trials: int, sets: int) -> str:
    """Equal models ranked by `rank_with_intervals` on Bayes@N, each pair two-sided at 95 %: the share of sets with more
    than one rank, and of pairs with unequal ranks."""
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(models, 1)
    apart = []
    for outcomes in truth.draw(rng, sets, models, questions, trials):
        found = evaluation.bayes(jr.Responses(outcomes.reshape(-1, questions, trials)))
        mu, sigma = found.mean.reshape(-1, models), found.sd.reshape(-1, models)
        ranks = np.asarray(evaluation.rank_with_intervals(mu, sigma, level=(1 + LEVEL) / 2))
        apart.append(ranks[:, i] != ranks[:, j])
    pairs = np.concatenate(apart)
    return f"{percent(pairs.any(axis=1))} / {percent(pairs.mean(axis=1))}"


LINES: dict[str, Callable[[int], str]] = {
    f"`posterior(R)`, {t.name}, {size[0]} x {size[1]} x {size[2]}: rank interval / P(first) > .95 / "
    "tiers false, a fifth of the sets": (lambda sets, t=t, size=size: posterior(t, *size, sets=max(sets // 5, 10)))
    for t, size in ((ORDERED, (5, 30, 3)), (SKEWED, (5, 30, 3)), (ORDERED, (5, 100, 1)))
}
LINES |= {
    f"`trials_needed` from a pilot of {n} trial{'s' * (n > 1)}, 50 questions, over what the true rates need": (
        partial(needed, n)
    )
    for n in (1, 3, 16)
}
LINES |= {
    f"`stopping_rule`, equal models, {t.name}: wrong at one look (16 trials) / at any of 80: looks=80 / anytime / "
    "looks=1": partial(stopping, t)
    for t in (HALF, SKEWED)
}
LINES |= {
    f"`rank_with_intervals` on Bayes@N, equal models, {t.name}, {size[0]} x {size[1]} x {size[2]}: any line / a pair": (
        lambda sets, t=t, size=size: shared_ranks(t, *size, sets=sets)
    )
    for t, size in ((HALF, (2, 50, 3)), (HALF, (5, 50, 3)), (SKEWED, (5, 50, 16)), (SKEWED, (20, 30, 8)))
}


if __name__ == "__main__":
    write("decisions", "Posteriors, trials needed, stopping", LINES, __doc__, 2000)
