"""Tests of whether models differ on the questions of a table: Friedman's, and which pairs differ after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.names import name_list
from jaxrank.data.responses import Responses, responses_of
from jaxrank.errors import DataError
from jaxrank.models.options import check_choice
from jaxrank.numerics.adjusted import holm
from jaxrank.numerics.interval import check_level

POSTHOC = ("nemenyi", "conover", "wilcoxon")
_SAME = 1e-12


@dataclass(frozen=True)
class FriedmanTest:
    """Friedman's test that all models have the same distribution of ranks over the questions.

    **mean_ranks**: (L,), 1 is best.  **chi2**, **p_chi2**: the statistic with ties corrected, and its p-value by
    chi-square with ``df`` = L - 1.  **F**, **p_F**: Iman and Davenport's, with (L - 1, (L - 1)(M - 1)) degrees of
    freedom; infinite where all questions rank the models alike.  **n_questions**: M.
    """

    models: tuple[str, ...]
    n_questions: int
    mean_ranks: np.ndarray
    chi2: float
    p_chi2: float
    F: float
    p_F: float

    @property
    def df(self) -> int:
        return len(self.models) - 1


@dataclass(frozen=True)
class CriticalDifference:
    """Which pairs of models differ in their ranks over the questions.

    **p_values**: (L, L), for all pairs at once (Nemenyi; Conover and Wilcoxon with Holm's adjustment).  **distance**:
    mean ranks further apart than this differ at ``level``; of Conover without adjustment; NaN for Wilcoxon, which
    compares scores.  **groups**: indices of models, best first, no two of which differ, the largest such runs.
    """

    models: tuple[str, ...]
    posthoc: str
    level: float
    mean_ranks: np.ndarray
    p_values: np.ndarray
    distance: float
    groups: tuple[tuple[int, ...], ...]


def friedman(data: DataLike) -> FriedmanTest:
    """Friedman's test with its correction for ties, and Iman and Davenport's F [demsar2006].

    **data**: results of every model on every question; a question ranks the models by the mean of their trials.
    `DataError` where a model lacks a question.

    >>> import jaxrank as jr
    >>> jr.friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.65], [0.1, 0.2, 0.3]]).mean_ranks.tolist()
    [1.0, 2.0, 3.0]
    """
    from scipy import stats

    found = responses_of(as_data(data), "friedman")
    ranks = _ranks(found, "friedman")
    n, k = ranks.shape
    mean = ranks.mean(axis=0)
    spread = float((ranks**2).sum() - n * k * (k + 1) ** 2 / 4)
    chi2 = float((k - 1) * n**2 * ((mean - (k + 1) / 2) ** 2).sum() / spread) if spread > 0 else 0.0
    room = n * (k - 1) - chi2
    F = np.inf if room <= _SAME * n * k else (n - 1) * chi2 / room
    p_F = float(stats.f.sf(F, k - 1, (k - 1) * (n - 1))) if n > 1 else np.nan
    return FriedmanTest(found.models, n, mean, chi2, float(stats.chi2.sf(chi2, k - 1)), float(F), p_F)


def critical_difference(data: DataLike, posthoc: str = "nemenyi", level: float = 0.95) -> CriticalDifference:
    """Which pairs of models differ, after `friedman`.

    **posthoc**: "nemenyi", mean ranks against the studentised range; "conover", t-tests of rank sums, Holm adjusted;
    "wilcoxon", signed-rank tests of the scores of each pair, exact up to 50 questions without zeros or ties, else by
    SciPy's choice, Holm adjusted [demsar2006].  **level**: one minus the chance of a false difference among all pairs.
    """
    from scipy import stats

    check_choice("posthoc", posthoc, POSTHOC)
    check_level(level)
    found = responses_of(as_data(data), "critical_difference")
    ranks, test = _ranks(found, "critical_difference"), friedman(found)
    n, k = ranks.shape
    gap = np.abs(test.mean_ranks[:, None] - test.mean_ranks[None, :])
    distance = np.nan
    if posthoc == "nemenyi":
        unit = np.sqrt(k * (k + 1) / (6 * n))
        p = stats.studentized_range.sf(gap / unit * np.sqrt(2), k, np.inf)
        distance = float(stats.studentized_range.ppf(level, k, np.inf) / np.sqrt(2) * unit)
    elif posthoc == "conover":
        degrees = (n - 1) * (k - 1)
        spread = float((ranks**2).sum() - n * k * (k + 1) ** 2 / 4)
        left = max(1 - test.chi2 / (n * (k - 1)), 0.0)
        unit = np.sqrt(2 * n * left * spread / degrees) / n if degrees else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(gap > 0, gap / unit, 0)
        p = _holm(2 * stats.t.sf(t, degrees))
        distance = float(stats.t.ppf((1 + level) / 2, degrees) * unit)
    else:
        p = _holm(_wilcoxon(found.cell_means))
    np.fill_diagonal(p, 1.0)
    order = np.argsort(test.mean_ranks, kind="stable")
    return CriticalDifference(found.models, posthoc, level, test.mean_ranks, p, distance, _runs(order, p, 1 - level))


def probability_of_improvement(data: DataLike) -> Float[np.ndarray, "models models"]:
    """(L, L): the mean over questions of the chance that a trial of i is better than one of j, equal ones one half
    [agarwal2021]. Questions count by their weights, those that both models have; 1/2 on the diagonal."""
    found = responses_of(as_data(data), "probability_of_improvement")
    n_models, n_questions, _ = found.shape
    total, weight = (np.zeros((n_models, n_models)) for _ in range(2))
    for m in range(n_questions):
        scores = [np.sort(x[~np.isnan(x)]) for x in found.oriented[:, m]]
        for i, own in enumerate(scores):
            for j, other in enumerate(scores):
                if len(own) and len(other):
                    below = np.searchsorted(other, own, "left").sum() + np.searchsorted(other, own, "right").sum()
                    total[i, j] += found.weights[m] * below / (2 * len(own) * len(other))
                    weight[i, j] += found.weights[m]
    out = np.where(weight > 0, total / np.where(weight > 0, weight, 1), np.nan)
    np.fill_diagonal(out, 0.5)
    return out


def _ranks(data: Responses, who: str) -> np.ndarray:
    """(M, L) ranks, 1 is best, ties shared; `DataError` for gaps, weights of their own and too little data."""
    from scipy import stats

    x = data.cell_means
    lacking = np.flatnonzero(np.isnan(x).any(axis=1))
    if len(lacking):
        raise DataError(
            f"{who} needs every model on every question; {name_list(data.models, lacking)} lacks some: use "
            'data.common(), or data.filled("worst")'
        )
    if data.weighted:
        raise DataError(f"{who} counts every question once and reads no weights; leave weights out")
    scale = np.maximum(np.abs(x).max(axis=0), np.finfo(float).tiny)
    return stats.rankdata(-np.round(x / scale / _SAME) * _SAME, axis=0).T


def _wilcoxon(x: np.ndarray) -> np.ndarray:
    from scipy import stats

    p = np.ones((len(x), len(x)))
    for i in range(len(x)):
        for j in range(i):
            if np.any(x[i] != x[j]):
                found: Any = stats.wilcoxon(x[i], x[j])
                p[i, j] = p[j, i] = found.pvalue
    return p


def _holm(p: np.ndarray) -> np.ndarray:
    """Holm's adjustment over the pairs of a symmetric matrix."""
    upper = np.triu_indices(len(p), 1)
    out = np.ones_like(p)
    out[upper] = holm(p[upper])
    return np.minimum(out, out.T)


def _runs(order: np.ndarray, p: np.ndarray, alpha: float) -> tuple[tuple[int, ...], ...]:
    """The largest runs of neighbours in rank whose first and last do not differ, of two models or more."""
    runs: list[tuple[int, ...]] = []
    for start in range(len(order)):
        stop = start
        while stop + 1 < len(order) and np.all(p[order[start : stop + 1], order[stop + 1]] > alpha):
            stop += 1
        run = tuple(int(i) for i in order[start : stop + 1])
        if len(run) > 1 and not any(set(run) <= set(other) for other in runs):
            runs.append(run)
    return tuple(runs)
