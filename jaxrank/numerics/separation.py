"""Which models are above which, from draws, from counts over draws, or from normal scores.

Draws are scores (S, L) of a posterior, or ranks (S, L) of replicates. What is said of them is said here alone, so that
replicates, posteriors, judges and plots mean the same by it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.numerics.interval import check_level, percentile_ends

_DRAWS, _FEW = 4096, 300  # of normal scores, for up to so many models; a quarter of them for more
_MANY = 1000  # degrees of freedom from which the error of a variance does not matter
DRAWN = "equal tails of posterior draws"  # the kind of intervals from draws


class Superiority(NamedTuple):
    """Who is above whom.

    **above**: (L, L), ``above[i, j]`` is the share of replicates, or the probability, in which model i is above model
    j; 0 on the diagonal.  **tied**: (L, L), symmetric, in which the two are equal; 1 on the diagonal.
    ``above + above.T + tied`` is 1 everywhere.
    """

    above: np.ndarray
    tied: np.ndarray


def rank_draws(scores: np.ndarray) -> np.ndarray:
    """int32 (S, L): the rank of every model in every draw of scores (S, L), 1 is best, ties share the better rank."""
    ordered = np.sort(-scores, axis=1)
    out = np.empty(scores.shape, np.int32)
    for s in range(len(scores)):
        out[s] = 1 + np.searchsorted(ordered[s], -scores[s], side="left")
    return out


def count_ranks(ranks: np.ndarray) -> np.ndarray:
    """int (L, L): ``out[i, r]`` is how often model i has rank r + 1 in ranks (S, L), all of them from 1 to L."""
    n_models = ranks.shape[1]
    return np.stack([np.bincount(ranks[:, i] - 1, minlength=n_models) for i in range(n_models)])


def count_above(ranks: np.ndarray) -> np.ndarray:
    """int (L, L): ``out[i, j]`` is how often model i has a better rank than j in ranks (S, L)."""
    n_models = ranks.shape[1]
    out = np.zeros((n_models, n_models), int)
    for a in range(0, len(ranks), 255):  # as many as a byte counts: sums of bytes are the fastest
        part = ranks[a : a + 255]
        for i in range(n_models):
            out[i] += (part[:, i, None] < part).view(np.uint8).sum(axis=0, dtype=np.uint8)
    return out


def shares_above(above: np.ndarray, n: int) -> Superiority:
    """`Superiority` from counts ``above`` (L, L) over n replicates or draws."""
    return Superiority(above / n, (n - above - above.T) / n)


def rank_ends(counts: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends, int (L,) each, of the equal-tailed interval of every model's rank, from `count_ranks`: the smallest ranks
    that at least (1 - level)/2 and (1 + level)/2 of the draws do not exceed."""
    tail = (1 - check_level(level)) / 2
    cumulative = np.cumsum(counts, axis=1)
    n = cumulative[:, -1:]
    # whole numbers keep the comparison exact
    lower = 1 + (cumulative < np.ceil(tail * n - 1e-9)).sum(axis=1)
    upper = 1 + (cumulative < np.ceil((1 - tail) * n - 1e-9)).sum(axis=1)
    return lower, upper


def standardised(gap: Any, spread: Any) -> Any:
    """gap / spread: 0 where the scores are equal, infinite where they differ for certain. NumPy or JAX arrays."""
    xp: Any = jnp if isinstance(gap, jax.Array) else np
    same = gap == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return xp.where(same, 0, gap / xp.where(same, 1, spread))


def normal_superiority(gap: np.ndarray, spread: np.ndarray, degrees: float = np.inf) -> Superiority:
    """`Superiority` of normal scores, from differences (L, L) and their standard errors, of so many ``degrees`` of
    freedom; NaN where one is unknown. Two equal scores without any error are tied."""
    from scipy.special import stdtr

    tied = np.where((gap == 0) & (spread == 0), 1.0, 0.0)
    np.fill_diagonal(tied, 1.0)
    off = np.where(np.isnan(spread), np.nan, standardised(gap, spread))
    above = np.where(tied > 0, 0.0, stdtr(degrees, off))
    return Superiority(above, tied)


def difference_ends(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends (L, L) of the equal-tailed intervals of value_i - value_j, each for itself, from draws (S, L)."""
    level, n_models = check_level(level), values.shape[1]
    lower, upper = np.zeros((n_models, n_models)), np.zeros((n_models, n_models))
    for i in range(n_models):
        lower[i], upper[i] = percentile_ends(values[:, i, None] - values, level)
    return lower, upper


def simultaneous_ends(
    values: np.ndarray, point: np.ndarray, level: float, shrink: float = 1.0, degrees: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Ends (L, L) of intervals of point_i - point_j that hold at once with probability ``level``, from draws (S, L):
    plus and minus c standard deviations, c the quantile of the largest studentised deviation over all pairs.

    **shrink**: share of the variance that draws have.  **degrees**: of freedom of that variance; c is no less than the
    quantile of the studentised range of L independent scores with them, since draws know nothing of its error.
    """
    check_level(level)
    n_models = values.shape[1]
    gap = point[:, None] - point[None, :]
    sd = np.stack([(values[:, i, None] - values).std(axis=0, ddof=1) for i in range(n_models)])
    quantile = float(np.quantile(largest_deviations(values, point, sd), level))
    if np.isfinite(degrees) and degrees < _MANY:
        quantile = max(quantile, range_quantile(level, n_models, degrees))
    reach = np.inf if shrink <= 0 else quantile / shrink**0.5
    with np.errstate(invalid="ignore"):
        reach = np.where(sd > 0, reach * sd, 0.0 if shrink > 0 else np.where(gap == 0, 0.0, np.inf))
    return gap - reach, gap + reach


@lru_cache(maxsize=64)
def range_quantile(level: float, n_models: int, degrees: float) -> float:
    """Quantile of the largest of all studentised differences of independent normal scores (Tukey's range over the root
    of 2); infinite without a degree of freedom."""
    from scipy.stats import studentized_range  # slow to import, needed on request only

    if degrees < 1 or n_models < 2:
        return np.inf if degrees < 1 else 0.0
    return float(studentized_range.ppf(level, n_models, degrees)) / 2**0.5


def largest_deviations(values: np.ndarray, point: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """(S,): the largest over all pairs of |(value_i - value_j) - (point_i - point_j)| / spread_ij in each draw."""
    scale = np.where(spread > 0, spread, np.inf)
    largest = np.zeros(len(values))
    off = values - point
    for i in range(values.shape[1]):
        largest = np.maximum(largest, (np.abs(off[:, i, None] - off) / scale[i]).max(axis=1))
    return largest


def normal_reach(covariance: np.ndarray, spread: np.ndarray, level: float, degrees: float = np.inf) -> float:
    """How many standard errors ``spread`` (L, L) all differences of normal scores of this ``covariance`` (L, L) keep
    within at once, where the errors have so many ``degrees`` of freedom; always the same draws."""
    known = np.isfinite(np.diag(covariance))
    values, vectors = np.linalg.eigh(np.nan_to_num(covariance[np.ix_(known, known)]))  # nothing joins two groups
    n_draws = _DRAWS if known.sum() <= _FEW else _DRAWS // 4
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((n_draws, len(values))) * np.sqrt(np.maximum(values, 0)) @ vectors.T
    largest = largest_deviations(draws, np.zeros(len(values)), spread[np.ix_(known, known)])
    if np.isfinite(degrees):
        largest = largest / np.sqrt(rng.chisquare(degrees, n_draws) / degrees)
    return float(np.quantile(largest, level))
