"""Differences of two models by question: their weighted mean, its error by cluster or by trials, and p-values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

_SAME = 1e-12  # relative to the largest difference: what is smaller is rounding
_PADS = 2  # pretended clusters of either sign in statements that a difference is small


@dataclass(frozen=True)
class Student:
    """An estimate, its standard error and its degrees of freedom, or arrays of them. Without a known error all that
    follows is NaN."""

    value: Any
    se: Any
    df: Any

    def reach(self, level: float) -> Any:
        """Half the width of the two-sided interval."""
        from scipy.special import stdtrit

        return stdtrit(self.df, 0.5 + level / 2) * self.se

    def above(self, bound: Any) -> Any:
        """One-sided p-value of the hypothesis that the mean is at most ``bound``."""
        from scipy.special import stdtr

        return stdtr(self.df, (bound - self.value) / np.asarray(self.se))

    def below(self, bound: Any) -> Any:
        """One-sided p-value of the hypothesis that the mean is at least ``bound``."""
        return Student(-self.value, self.se, self.df).above(-np.asarray(bound))

    @property
    def p(self) -> Any:
        """Two-sided p-value of a mean of 0."""
        return np.minimum(1.0, 2 * np.minimum(self.above(0.0), self.below(0.0)))


@dataclass(frozen=True, eq=False)
class Paired:
    """M questions that both models have; of one comparison, or of many on questions of the same weights and clusters,
    whose axes come first.

    **differences**: (..., M), mean of the one on each question minus mean of the other.  **weights**: (M,), positive.
    **clusters**: (M,), 0 to G - 1, which questions stand or fall together.  **spread**: (..., 2, M), sample variance of
    the trials of each model, NaN with one.  **trials**: (2, M).  **step**: the smallest difference that one trial can
    make, 0 where the scale has no steps.
    """

    differences: Float[np.ndarray, "*batch questions"]
    weights: Float[np.ndarray, " questions"]
    clusters: Int[np.ndarray, " questions"]
    spread: Float[np.ndarray, "*batch 2 questions"]
    trials: Int[np.ndarray, "2 questions"]
    step: float = 0.0

    @cached_property
    def mean(self) -> Any:
        return self.differences @ self.weights / self.weights.sum()

    @cached_property
    def n_clusters(self) -> int:
        return int(self.clusters.max()) + 1

    @cached_property
    def totals(self) -> Float[np.ndarray, "*batch clusters"]:
        """Weighted sum of the differences of each cluster; what rounding left of 0 is 0."""
        weighted = self.differences * self.weights
        found, size = self._by_cluster(weighted), self._by_cluster(np.abs(weighted))
        return np.where(np.abs(found) <= _SAME * size.max(axis=-1, keepdims=True), 0, found)

    @cached_property
    def sizes(self) -> Float[np.ndarray, " clusters"]:
        """Weight of each cluster."""
        return self._by_cluster(self.weights)

    def _by_cluster(self, values: np.ndarray) -> np.ndarray:
        """Sums (..., G) of values (..., M)."""
        order = np.argsort(self.clusters, kind="stable")
        starts = np.searchsorted(self.clusters[order], np.arange(self.n_clusters))
        return np.add.reduceat(values[..., order], starts, axis=-1)

    @property
    def n_differing(self) -> Any:
        """Clusters on which the models differ."""
        return np.count_nonzero(self.totals, axis=-1)

    @property
    def one_size(self) -> Any:
        """Whether all clusters that differ do so by one amount, as single trials of right and wrong do."""
        size = np.abs(self.totals)
        largest = size.max(axis=-1)
        least = np.where(size > 0, size, np.inf).min(axis=-1)
        return (largest > 0) & (largest - np.where(largest > 0, least, 0) <= _SAME * largest)

    @property
    def constant(self) -> Any:
        """Whether all clusters have the same mean difference, so that they say nothing of how clusters vary."""
        means = self.totals / self.sizes
        return np.ptp(means, axis=-1) <= _SAME * np.abs(means).max(axis=-1)

    @cached_property
    def by_question(self) -> Student:
        """About such questions: the error from the clusters' deviations, with G / (G - 1), and G - 1 degrees."""
        n = self.n_clusters
        off = self.totals - self.sizes * np.asarray(self.mean)[..., None]
        se = np.sqrt(n / max(n - 1, 1) * (off**2).sum(axis=-1)) / self.weights.sum()
        return Student(self.mean, np.where(self.constant | (n < 2), np.nan, se)[()], n - 1)

    @cached_property
    def by_trial(self) -> Student:
        """About these very questions: the error from the trials of each cell, Welch and Satterthwaite's degrees. NaN
        where a cell has one trial, or all trials of all cells are alike."""
        parts = self._share * self.spread / self.trials
        variance = parts.sum(axis=(-2, -1))
        known = variance > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            df = np.where(known, variance**2 / (parts**2 / (self.trials - 1)).sum(axis=(-2, -1)), np.nan)
        return Student(self.mean, np.where(known, np.sqrt(variance), np.nan)[()], df[()])

    def student(self, unit: str) -> Student:
        return self.by_trial if unit == "trials" else self.by_question

    def cautious(self, unit: str) -> Student:
        """What statements that a difference is *small* rest on: the estimate with two more clusters of either sign,
        each as large as the largest that was seen (at least one step on one question).

        Questions that all agree have shown no spread, yet one in `1 - alpha ** (1 / n)` may differ: without the
        pretended clusters Student's interval of twenty agreeing questions has no width. With them it ends where the
        exact one does (two clusters of either sign are the fewest for which it does at 5 to 500 questions). Where the
        scale has no steps and all clusters differ, it is Student's own.
        """
        least = self.step * float(self.weights.mean())
        if unit == "trials":
            plain = self.by_trial
            variance = np.nan_to_num(plain.se) ** 2 + 2 * _PADS * (least / self.weights.sum()) ** 2
            df = np.where(np.isfinite(plain.df), plain.df, (self.trials - 1).sum())[()]
            return Student(self.mean, np.where(variance > 0, np.sqrt(variance), np.nan)[()], df)
        n = self.n_clusters
        largest = np.maximum(np.abs(self.totals).max(axis=-1), least)
        if self.step == 0 and np.all(self.n_differing == n):
            return self.by_question
        size = float(self.sizes.mean())
        whole = self.weights.sum() + 2 * _PADS * size
        mean = self.totals.sum(axis=-1) / whole
        off = self.totals - self.sizes * np.asarray(mean)[..., None]
        squares = (off**2).sum(axis=-1) + 2 * _PADS * (largest**2 + (size * mean) ** 2)
        more = n + 2 * _PADS
        se = np.sqrt(more / (more - 1) * squares) / whole
        return Student(mean, np.where((n < 2) | ~(largest > 0), np.nan, se)[()], n - 1)

    @property
    def _share(self) -> Float[np.ndarray, " questions"]:
        """Squared weight of each question in the mean."""
        return (self.weights / self.weights.sum()) ** 2

    @property
    def variance_between(self) -> Any:
        """Variance of the difference of one question, by M times the squared error: S^2."""
        return len(self.weights) * self.by_question.se**2

    @property
    def variance_of_trials(self) -> Any:
        """The part of it that is chance of the trials that there are: T; NaN with a single trial."""
        return len(self.weights) * (self._share * self.spread / self.trials).sum(axis=(-2, -1))

    @property
    def variance_of_one_trial(self) -> Any:
        """T if every cell had one trial."""
        return len(self.weights) * (self._share * self.spread).sum(axis=(-2, -1))
