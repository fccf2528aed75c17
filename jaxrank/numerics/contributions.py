"""What each cluster adds to the error of every score, and what follows from it: standard errors, and how far all
differences reach at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float

from jaxrank.numerics.interval import check_level
from jaxrank.numerics.proportion import student

_DRAWS, _LEAST_DRAWS = 2000, 400
_WORK = 2e10  # multiplications in all draws of all pairs, before draws are saved
_SAME = 1e-5  # contributions that differ by less, relative to the larger error, differ by rounding alone
_LEAST_LEFT = 0.01  # of the information, without the cluster that holds the most
_FEW_CLUSTERS = 10  # so many equal differences of two equal models come up in one of 2^9 data sets
_NEARLY = 0.8
_FLOOR = 0.25  # of a pair's variance: a draw that lost all that tells two models apart is no proof of anything


@dataclass(frozen=True)
class Contributions:
    """Contributions of G clusters (questions) to the errors of L scores.

    **values**: (G, L), each column about its mean and scaled so that the sum of its squares is the variance of the
    score, estimated without bias; NaN in the column of a model of fewer than two clusters, of which no error is known.
    **seen**: bool (G, L), which clusters each model has.  **shares**: (G,) of the information that each cluster holds,
    sum at most 1, of fitted models; None where all hold the same, of means.
    """

    values: np.ndarray
    seen: np.ndarray
    shares: np.ndarray | None = None

    @property
    def n_clusters(self) -> int:
        return len(self.values)

    @property
    def n_seen(self) -> np.ndarray:
        """Clusters that each model has, (L,)."""
        return self.seen.sum(axis=0)

    def grouped(self, index: np.ndarray) -> Contributions:
        """Contributions of groups of these clusters, as of questions of one passage. **index**: (G,), the group of
        each, from 0."""
        deviations = np.zeros((int(index.max()) + 1, self.values.shape[1]))
        seen = np.zeros(deviations.shape, bool)
        np.add.at(deviations, index, self.values / _growth(self.n_seen, self.shares))
        np.logical_or.at(seen, index, self.seen)
        return contributions(deviations, seen, None if self.shares is None else np.bincount(index, self.shares))

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the scores, (L, L)."""
        return self.values.T @ self.values

    @property
    def sandwich(self) -> np.ndarray:
        """Covariance of the scores (L, L) as a sandwich is usually given, corrected by G / (G - 1) alone: less than
        `covariance` where few clusters hold most of the information."""
        plain = self.values / _growth(self.n_seen, self.shares)
        return contributions(plain, self.seen).covariance

    @property
    def errors(self) -> np.ndarray:
        """Standard error of each score, (L,)."""
        return np.sqrt((self.values**2).sum(axis=0))

    @cached_property
    def spread(self) -> np.ndarray:
        """Standard error of each difference of two scores, (L, L). Exactly 0 where the contributions are the same, up
        to rounding."""
        variance, errors = self.covariance, self.errors
        own = np.diag(variance)
        error = np.sqrt(np.maximum(own[:, None] + own - variance - variance.T, 0))
        return np.where(error <= _SAME * np.fmax(errors[:, None], errors), 0, error)

    def told(self, gap: np.ndarray) -> np.ndarray:
        """Standard errors (L, L) of the differences ``gap``; NaN where fewer than ten clusters all tell two models
        apart by the same."""
        too_few = (self.spread == 0) & (gap != 0) & (self.n_clusters < _FEW_CLUSTERS)
        return np.where(too_few, np.nan, self.spread)

    def student(self, level: float) -> float:
        """The two-sided quantile of Student's t at one less than the number of clusters."""
        return float(student(np.asarray(self.n_clusters - 1), level))

    def reach(self, level: float) -> float:
        """How many standard errors all differences keep within at once, with probability ``level``.

        The quantile of the largest studentised difference when the clusters are drawn again, the error **worked out
        again in every draw** (a fixed one makes the largest of many ratios look too small when clusters are few), but
        not below half the error of the data; and no less than Student's t of one difference. Always the same draws.
        Source: Romano and Wolf (2005), "Exact and approximate stepdown methods for multiple hypothesis testing".
        """
        level = check_level(level)
        if level not in self._reaches:
            self._reaches[level] = self._reach(level)
        return self._reaches[level]

    @cached_property
    def _reaches(self) -> dict[float, float]:
        """What `reach` found, by level: intervals, sets of ranks and tiers of one result ask for the same."""
        return {}

    def _reach(self, level: float) -> float:
        known = np.isfinite(self.values).all(axis=0)
        values, spread = self.values[:, known], self.spread[np.ix_(known, known)]
        n_clusters, n_models = values.shape
        if n_clusters < 2 or n_models < 2:
            return self.student(level)
        if n_clusters * n_models * (n_models - 1) * _LEAST_DRAWS > _WORK:
            return _reach_of_many(values, spread, level, self.shares)

        def studentised() -> Iterator[np.ndarray]:
            for i in range(n_models - 1):
                error = spread[i, i + 1 :]
                yield (values[:, i, None] - values[:, i + 1 :])[:, error > 0] / error[error > 0]

        return reach_of(studentised(), n_clusters, level, n_models * (n_models - 1) // 2, self.shares)


def reach_of(
    studentised: Iterable[Float[np.ndarray, "clusters pairs"]],
    n_clusters: int,
    level: float,
    n_pairs: int = 1,
    shares: Float[np.ndarray, " clusters"] | None = None,
) -> float:
    """How many standard errors several differences keep within at once, as `Contributions.reach` says.

    **studentised**: contributions of the clusters to each difference over its standard error, in blocks of ``n_pairs``
    in all (for the number of draws, which many pairs lower).  **shares**: as in `Contributions`.
    """
    wanted = int(_WORK / (4 * n_clusters * n_pairs))
    n_draws = min(max(wanted, _LEAST_DRAWS), _DRAWS)
    weights, largest = _draws(n_clusters, n_draws), np.zeros(n_draws, np.float32)
    uneven = None if shares is None else _Uneven(shares, weights)
    for block in studentised:
        pairs = block.astype(np.float32)
        if pairs.shape[1]:
            square = weights @ pairs**2
            if uneven is None:
                moved = weights @ pairs
                variance = square - moved**2 / n_clusters
            else:
                moved, variance = uneven(pairs, square)
            ratio = np.abs(moved) / np.sqrt(np.maximum(variance, _FLOOR))
            largest = np.maximum(largest, ratio.max(axis=1))
    shrink = np.sqrt((n_clusters - 1) / n_clusters)  # the draws are of the sample, whose variance is that smaller
    single = float(student(np.asarray(n_clusters - 1), level))
    return max(shrink * float(np.quantile(largest, level, method="higher")), single)


def _reach_of_many(values: np.ndarray, spread: np.ndarray, level: float, shares: np.ndarray | None) -> float:
    """`reach_of` for so many clusters (G, L) that working out the error of every pair in every draw takes minutes: in
    each draw that is done for pairs whose difference, over the error of the data, is at least ``_NEARLY`` of the
    largest. Others would need a draw that lost more than a third of their variance."""
    n_clusters, n_models = values.shape
    rng = np.random.default_rng(0)
    weights = np.empty((_LEAST_DRAWS, n_clusters), np.float32)
    for row in weights:  # in a tenth of the time of a multinomial of so many
        row[:] = np.bincount(rng.integers(0, n_clusters, n_clusters), minlength=n_clusters)
    uneven = _Uneven(np.full(n_clusters, 0.0) if shares is None else shares, weights)
    first, second = np.triu_indices(n_models, 1)
    told = spread[first, second] > 0
    first, second = first[told], second[told]
    error = spread[first, second]
    by_model = values.astype(np.float32)
    moving, crossing = (w @ by_model for w in (uneven.moving if shares is not None else weights, uneven.crossing))
    ratio = np.abs(moving[:, first] - moving[:, second]) / error
    tried = ratio >= _NEARLY * ratio.max(axis=1, keepdims=True)
    largest, columns = np.zeros(len(weights)), by_model.T.copy()
    for k in np.flatnonzero(tried.any(axis=0)):
        i, j, some = first[k], second[k], tried[:, k]
        square = weights[some] @ ((columns[i] - columns[j]) / np.float32(error[k])) ** 2
        moved = (moving[some, i] - moving[some, j]) / error[k]
        if shares is None:
            variance = square - moved**2 / n_clusters
        else:
            gap = moved * uneven.scale[some, 0]
            cross = (crossing[some, i] - crossing[some, j]) / error[k]
            variance = square - 2 * gap * cross + gap**2 * uneven.own[some, 0]
        largest[some] = np.maximum(largest[some], np.abs(moved) / np.sqrt(np.maximum(variance, _FLOOR)))
    shrink = np.sqrt((n_clusters - 1) / n_clusters)
    single = float(student(np.asarray(n_clusters - 1), level))
    return max(shrink * float(np.quantile(largest, level, method="higher")), single)


class _Uneven:
    """Of clusters that hold unequal ``shares`` of the information: how far draws move differences, and the variance
    worked out again. The fit of a draw lies elsewhere, and what is left of each cluster there is less by its share."""

    def __init__(self, shares: np.ndarray, weights: np.ndarray) -> None:
        n = len(shares)
        bessel = np.sqrt(n / (n - 1))
        kept = np.maximum(1 - shares, _LEAST_LEFT) * bessel  # deviations for contributions
        own = shares / kept
        self.moving = (weights * (kept * bessel)).astype(np.float32)
        self.crossing = (weights * own).astype(np.float32)
        self.own = (weights @ own**2)[:, None].astype(np.float32)
        self.scale = (1 / bessel / (weights @ shares + 1 - shares.sum()))[:, None].astype(np.float32)

    def __call__(self, pairs: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = self.moving @ pairs
        gap = moved * self.scale
        return moved, square - 2 * gap * (self.crossing @ pairs) + gap**2 * self.own


@lru_cache(maxsize=4)
def _draws(n_clusters: int, n_draws: int) -> np.ndarray:
    """How often each cluster is drawn, float32 (draws, G); not to be written to."""
    rng = np.random.default_rng(0)
    return rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), n_draws).astype(np.float32)


def contributions(
    deviations: np.ndarray, observed: np.ndarray | None = None, shares: np.ndarray | None = None
) -> Contributions:
    """From deviations (G, L), the change of each score by each cluster, and which clusters each model has, bool (G, L);
    by default all.

    With ``shares`` (G,), of the information that each cluster holds, deviations are those of the jackknife: a fit bends
    to a cluster that holds much, so that what is left of it is less than its error by that share.
    Source: MacKinnon, Nielsen and Webb (2023), "Leverage, influence, and the jackknife in clustered regression models".
    """
    seen = np.ones(deviations.shape, bool) if observed is None else observed
    return Contributions(np.where(seen, deviations, 0) * _growth(seen.sum(axis=0), shares), seen, shares)


def _growth(n: np.ndarray, shares: np.ndarray | None) -> np.ndarray:
    """What deviations are multiplied by, (L,) or (G, L), for models of n clusters (L,); NaN below two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bessel = np.where(n > 1, np.sqrt(n / np.maximum(n - 1, 1)), np.nan)
    if shares is None:
        return bessel
    return 1 / (bessel * np.maximum(1 - shares, _LEAST_LEFT)[:, None])
