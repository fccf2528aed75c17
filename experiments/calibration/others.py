"""Statements about data of other kinds than the grid of run.py: real scores, clusters of questions, shares of tries,
strengths on trials, ordered lists, battles between unlike models.

    python -m experiments.calibration.others [--sets N] [--only TEXT]

Writes results/others.json and results/others.md, a line a measurement. Models are equal unless said, so that every line
drawn between two of them is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.special import expit

import jaxrank as jr
from experiments.calibration.lines import percent, write
from experiments.calibration.statements import STATEMENTS, Study
from experiments.calibration.truths import CLUSTER, HALF, SKEWED, Battles, Truth

LEVEL, MODELS, REPLICATES = 0.95, 5, 1000
PASS_SETS = 200  # in one call

REAL = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: np.exp(rng.normal(size=shape)),
}
TRUTHS = {"avg": None, "mean_rank": -(MODELS + 1) / 2, "mean_win_rate": 0.5}


def _wrong(fit: jr.Result, truth: float) -> tuple[float, float, bool]:
    """Of equal models: the share of scores and of pairs whose intervals miss, and whether `tiers` draws a line."""
    low, high = fit.interval(LEVEL)
    gaps = fit.difference_intervals(LEVEL)
    apart = (gaps.lower > 0)[np.triu_indices(len(low), 1)] | (gaps.upper < 0)[np.triu_indices(len(low), 1)]
    return float(np.mean((truth < low) | (truth > high))), float(np.mean(apart)), jr.tiers(fit, LEVEL).n_tiers > 1


def _three(found: list[tuple[float, ...]]) -> str:
    return " / ".join(percent(part) for part in zip(*found, strict=True))


def real(name: str, method: str, questions: int, sets: int) -> str:
    """A table of one number a cell, the questions of unlike height; of lognormal numbers the mean is e^.5."""
    rng, found = np.random.default_rng(questions), []
    mean = 0.0 if name == "normal" else np.exp(0.5)
    for _ in range(sets):
        cells = REAL[name](rng, (MODELS, questions)) + 2 * rng.normal(size=questions)
        truth = TRUTHS[method]
        found.append(_wrong(jr.fit(jr.Responses(cells, kind="real"), method), mean if truth is None else truth))
    return _three(found)


def _clustered(rng: np.random.Generator, models: int, clusters: int, trials: int) -> np.ndarray:
    """Outcomes whose rates each model has by cluster, so that differences of models are clustered too."""
    p = np.repeat(rng.beta(1.2, 0.3, (models, clusters)), CLUSTER, axis=1)
    return (rng.random((*p.shape, trials)) < p[..., None]).astype(np.int8)


def clusters(n_clusters: int, trials: int, by: str | None, sets: int) -> str:
    """Score, rank sets and top set, drawn by cluster or (``by`` None) by question."""
    rng, found = np.random.default_rng([n_clusters, trials]), []
    groups = [f"{c:03}" for c in range(n_clusters) for _ in range(CLUSTER)]
    for _ in range(sets):
        data = jr.Responses(_clustered(rng, MODELS, n_clusters, trials), groups=groups)
        rep = jr.bootstrap(data, n_replicates=100, scheme=jr.clusters(by) if by else None)  # none of these is read
        low, high = rep.interval(LEVEL)
        ranks = rep.rank_sets(LEVEL)
        lines = bool((ranks.lower > 1).any() or (ranks.upper < MODELS).any())
        found.append((float(np.mean((low > 0.8) | (high < 0.8))), lines, len(rep.top_set(LEVEL)) < MODELS))
    return _three(found)


def pigeonhole(side: int, sets: int) -> str:
    """One question for every pair of a subject and an author, both with tastes: score, differences two by two."""
    rng = np.random.default_rng(side)
    score, gap = [], []
    names = np.indices((side, side)).reshape(2, -1)
    columns = {"subject": [f"{i:02}" for i in names[0]], "author": [f"{i:02}" for i in names[1]]}
    truth = float(np.mean(expit(1 + np.sqrt(2) * np.random.default_rng(0).normal(size=10**6))))
    for first in range(0, sets, 100):
        n = 2 * min(100, sets - first)
        p = expit(1 + rng.normal(size=(n, side, 1)) + rng.normal(size=(n, 1, side))).reshape(n, -1)
        data = jr.Responses((rng.random((*p.shape, 3)) < p[..., None]).astype(np.int8), questions=columns)
        rep = jr.bootstrap(data, n_replicates=REPLICATES, scheme=jr.clusters("subject", "author"))
        low, high = rep.interval(LEVEL)
        score.append((truth < low) | (truth > high))
        gaps = rep.difference_intervals(LEVEL)
        i = np.arange(0, n, 2)
        gap.append((gaps.lower[i, i + 1] > 0) | (gaps.upper[i, i + 1] < 0))
    return f"{percent(np.concatenate(score))} / {percent(np.concatenate(gap))}"


def tries(method: str, scheme: str, questions: int, trials: int, sets: int) -> str:
    """Intervals from replicates of the chance of k = 2 tries, rates from Beta(.3, .3): misses, and how many of them do
    not hold their point or leave the scale."""
    rng, false, odd = np.random.default_rng([questions, trials]), [], []
    curve = {"pass_at_k": lambda p: 1 - (1 - p) ** 2, "pass_hat_k": lambda p: p**2}[method]
    every = curve(np.random.default_rng(0).beta(0.3, 0.3, 10**6)).mean()
    for first in range(0, sets, PASS_SETS):
        p = rng.beta(0.3, 0.3, (min(PASS_SETS, sets - first), questions))
        R = (rng.random((*p.shape, trials)) < p[..., None]).astype(np.int8)
        rep = jr.bootstrap(R, method, k=2, scheme=scheme, n_replicates=REPLICATES)
        low, high = rep.interval(LEVEL)
        truth = every if scheme == "questions" else curve(p).mean(axis=1)
        false.append((truth < low) | (truth > high))
        odd.append((low < 0) | (high > 1) | (rep.scores < low) | (rep.scores > high))
    return f"{percent(np.concatenate(false))} / {percent(np.concatenate(odd))}"


def strengths(method: str, truth: Truth, models: int, questions: int, trials: int, sets: int, part: int = 1) -> str:
    """Intervals of strengths, of differences and tiers, on one ``part``-th of the sets."""
    found, sets = [], max(sets // part, 10)
    for outcomes in _sets(truth, sets, models, questions, trials):
        fit = jr.fit(outcomes, method, on_failure="return")
        if fit.contributions is not None:
            found.append(_wrong(fit, 0.0))
    return _three(found) + _unfit(len(found), sets)


def _unfit(n_found: int, sets: int) -> str:
    return f"; no fit in {sets - n_found} sets" if n_found < sets else ""


def abilities(method: str, truth: Truth, sets: int) -> str:
    """Of item response models, whose abilities have no true value here: differences and tiers, on half of the sets."""
    return _three([_wrong(jr.fit(one, method), 0.0)[1:] for one in _sets(truth, max(sets // 2, 10), MODELS, 30, 8)])


def _judged(data: jr.Comparisons | jr.Rankings, truth: np.ndarray) -> tuple[float, ...]:
    """Of `jr.fit(data)` the share of strengths and of differences whose intervals miss, and whether a line of `tiers`
    is false."""
    study = Study(data, truth, 0)
    judges = {s.name: s.judge for s in STATEMENTS}
    return tuple(judges[name](study).false for name in ("scores", "differences", "tiers"))


def lists(spread: float, orders: int, sets: int) -> str:
    """Full orders of models whose strengths fall evenly from ``spread`` to its negative."""
    rng, truth, found = np.random.default_rng(orders), np.linspace(spread, -spread, MODELS), []
    for _ in range(sets):
        order = np.argsort(-truth - rng.gumbel(size=(orders, MODELS)), axis=1)
        found.append(_judged(jr.Rankings(order.tolist(), models=[f"model {i}" for i in range(MODELS)]), truth))
    return _three(found)


def far_apart(spread: float, battles: int, sets: int) -> str:
    """Battles with 20 % ties between equal models, of strengths that fall evenly from ``spread`` to its negative."""
    kind = Battles("far apart", lambda n: np.linspace(spread, -spread, n), ties=0.2, equal=False)
    rng, found = np.random.default_rng(battles), []
    for _ in range(sets):
        rows = kind.tallied(*kind.draw(rng, MODELS, battles), MODELS)
        found.append(_judged(jr.Comparisons(*rows, models=[f"model {i}" for i in range(MODELS)]), kind.scores(MODELS)))
    return _three(found)


def margins(spread: float, battles: int, sets: int) -> str:
    """By how much battles were won, `margin_least_squares`: pairs at random, strengths that fall evenly from ``spread``
    to its negative, normal errors of standard deviation 3."""
    rng, truth, found = np.random.default_rng(battles), np.linspace(spread, -spread, MODELS), []
    judges = {s.name: s.judge for s in STATEMENTS}
    names = [f"model {i}" for i in range(MODELS)]
    for _ in range(sets):
        i = rng.integers(0, MODELS, battles)
        j = (i + rng.integers(1, MODELS, battles)) % MODELS
        margin = truth[i] - truth[j] + rng.normal(0, 3, battles)
        first, second = ([names[m] for m in side] for side in (i, j))
        data = jr.Comparisons(first, second, (np.sign(margin) + 1) / 2, models=names, columns={"margin": margin})
        study = Study(data, truth, 0)
        study.fit = jr.fit(data, "margin_least_squares", on_failure="return")
        if study.fit.status == jr.Status.CONVERGED:
            found.append(tuple(judges[name](study).false for name in ("scores", "differences", "tiers")))
    return _three(found) + _unfit(len(found), sets)


def _sets(truth: Truth, sets: int, *size: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(size)
    for part in truth.draw(rng, sets, *size):
        yield from part


LINES = {
    f"`fit(R, {method!r})` of real scores, {name}, {MODELS} x {m} x 1: score / difference / tiers": (
        partial(real, name, method, m)
    )
    for name, method in (("normal", "avg"), ("lognormal", "avg"), ("normal", "mean_rank"), ("normal", "mean_win_rate"))
    for m in (10, 20, 50, 150)
}
LINES |= {
    f'`bootstrap(R, scheme=jr.clusters("group"))`, {n} clusters of {CLUSTER} questions, {t} trials: score / rank sets '
    "/ top set": partial(clusters, n, t, "group")
    for n, t in ((10, 3), (20, 3), (50, 1), (50, 3))
}
LINES |= {
    f"`bootstrap(R)` of {n} clusters of {CLUSTER} questions, {t} trials, a tenth of the sets: score / rank sets / top "
    "set": (lambda sets, n=n, t=t: clusters(n, t, None, sets=max(sets // 10, 10)))
    for n, t in ((50, 1), (50, 3))
}
LINES |= {
    f'`bootstrap(R, scheme=jr.clusters("subject", "author"))`, {n} x {n}, 3 trials: score / difference': (
        partial(pigeonhole, n)
    )
    for n in (10, 20)
}
LINES |= {
    f"`bootstrap(R, {method!r}, k=2, scheme={scheme!r})`, Beta(.3, .3), {m} x {n}: false / off the point or scale": (
        partial(tries, method, scheme, m, n)
    )
    for method in ("pass_at_k", "pass_hat_k")
    for scheme in ("questions", "independent")
    for m, n in ((20, 3), (50, 5), (50, 16))
}
LINES |= {
    f"`fit(R, {method!r})`, {truth.name}, {size[0]} x {size[1]} x {size[2]}: strength / difference / tiers": (
        partial(strengths, method, truth, *size)
    )
    for method in ("bradley_terry", "bradley_terry_davidson", "rao_kupper")
    for truth, size in ((SKEWED, (5, 30, 8)), (HALF, (5, 20, 3)), (SKEWED, (2, 30, 8)))
}
LINES |= {
    f"`fit(R, {method!r})`, {SKEWED.name}, 20 x 30 x 8, a seventh of the sets: strength / difference / tiers": (
        partial(strengths, method, SKEWED, 20, 30, 8, part=7)
    )
    for method in ("bradley_terry", "bradley_terry_davidson")
}
LINES |= {
    f"`fit(R, {method!r})`, {truth.name}, {MODELS} x 30 x 8, half of the sets: difference / tiers": (
        partial(abilities, method, truth)
    )
    for method in ("rasch_map", "mml_rasch", "rasch_mml")
    for truth in (SKEWED, HALF)
}
LINES |= {
    f"`fit(lists)`, {MODELS} models, {n} full orders, strengths from {spread:g} to {-spread:g}: strength / difference "
    "/ tiers": partial(lists, spread, n)
    for spread in (0.0, 0.6, 2.0, 4.0)
    for n in (10, 30, 200)
}
LINES |= {
    f"`fit(battles)`, {MODELS} models, {n} battles, strengths from {spread:g} to {-spread:g}: strength / difference "
    "/ tiers": partial(far_apart, spread, n)
    for spread in (0.0, 1.5, 3.0, 5.0)
    for n in (30, 200, 1000)
}
LINES |= {
    f'`fit(battles, "margin_least_squares")`, {MODELS} models, {n} battles, strengths from {spread:g} to {-spread:g}: '
    "strength / difference / tiers": partial(margins, spread, n)
    for spread in (0.0, 2.0)
    for n in (20, 50, 200)
}


if __name__ == "__main__":
    write("others", "Real scores, clusters, tries, strengths", LINES, __doc__, 2000)
