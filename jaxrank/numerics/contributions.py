"""What each cluster adds to the error of every score, and what follows from it: standard errors, and how far all
differences reach at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from jaxrank.numerics.proportion import student

_DRAWS, _LEAST_DRAWS = 2000, 400
_WORK = 2e10  # multiplications in all draws of all pairs, before draws are saved
_SAME = 1e-5  # contributions that differ by less, relative to the larger error, differ by rounding alone
_FLOOR = 0.25  # of a pair's variance: a draw that lost all that tells two models apart is no proof of anything


@dataclass(frozen=True)
class Contributions:
    """Contributions of G clusters (questions) to the errors of L scores.

    **values**: (G, L), each column about its mean and scaled so that the sum of its squares is the variance of the
    score, estimated without bias; NaN in the column of a model of fewer than two clusters, of which no error is known.
    """

    values: np.ndarray

    @property
    def n_clusters(self) -> int:
        return len(self.values)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the scores, (L, L)."""
        return self.values.T @ self.values

    @property
    def errors(self) -> np.ndarray:
        """Standard error of each score, (L,)."""
        return np.sqrt((self.values**2).sum(axis=0))

    @cached_property
    def spread(self) -> np.ndarray:
        """Standard error of each difference of two scores, (L, L). Exactly 0 where the contributions are the same, up
        to rounding."""
        out, errors = np.zeros((self.values.shape[1],) * 2), self.errors
        for i in range(len(out)):
            error = np.sqrt(((self.values[:, i, None] - self.values) ** 2).sum(axis=0))
            out[i] = np.where(error <= _SAME * np.fmax(errors[i], errors), 0, error)
        return out

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
        if level not in self._reaches:
            self._reaches[level] = self._reach(level)
        return self._reaches[level]

    @cached_property
    def _reaches(self) -> dict[float, float]:
        """What `reach` found, by level: intervals, sets of ranks and tiers of one result ask for the same."""
        return {}

    def _reach(self, level: float) -> float:
        single = self.student(level)
        known = np.isfinite(self.values).all(axis=0)
        values, spread = self.values[:, known], self.spread[np.ix_(known, known)]
        n_clusters, n_models = values.shape
        if n_clusters < 2 or n_models < 2:
            return single
        wanted = int(_WORK / (2 * n_clusters * n_models**2))
        n_draws = min(max(wanted, _LEAST_DRAWS), _DRAWS)
        weights = _draws(n_clusters, n_draws)
        largest = np.zeros(n_draws, np.float32)
        for i in range(n_models - 1):
            pairs = values[:, i, None] - values[:, i + 1 :]
            error = spread[i, i + 1 :]
            pairs = (pairs[:, error > 0] / error[error > 0]).astype(np.float32)
            if pairs.shape[1]:
                moved = weights @ pairs
                variance = weights @ pairs**2 - moved**2 / n_clusters
                ratio = np.abs(moved) / np.sqrt(np.maximum(variance, _FLOOR))
                largest = np.maximum(largest, ratio.max(axis=1))
        shrink = np.sqrt((n_clusters - 1) / n_clusters)  # the draws are of the sample, whose variance is that smaller
        return max(shrink * float(np.quantile(largest, level, method="higher")), single)


@lru_cache(maxsize=4)
def _draws(n_clusters: int, n_draws: int) -> np.ndarray:
    """How often each cluster is drawn, float32 (draws, G); not to be written to."""
    rng = np.random.default_rng(0)
    return rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), n_draws).astype(np.float32)


def contributions(deviations: np.ndarray, observed: np.ndarray | None = None) -> Contributions:
    """From deviations (G, L), the change of each score by each cluster, and which clusters each model has, bool (G, L);
    by default all."""
    seen = np.ones(deviations.shape, bool) if observed is None else observed
    n = seen.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(n > 1, np.sqrt(n / np.maximum(n - 1, 1)), np.nan)
    return Contributions(np.where(seen, deviations, 0) * scale)
