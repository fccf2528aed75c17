"""Intervals of proportions that stay between 0 and 1 and hold at any rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxrank.numerics.interval import check_level, normal_quantile

BY_QUESTION = "Wilson, effective number of questions"


class Ends(NamedTuple):
    lower: np.ndarray
    upper: np.ndarray


_ROUNDING = 1e-25  # variances below are those of equal means, up to rounding


def wilson(share: np.ndarray, size: np.ndarray, level: float) -> Ends:
    """Wilson's score interval of a proportion observed as ``share`` in ``size`` independent trials, which need not be a
    whole number; [0, 1] where the size is 0.

    Source: Wilson (1927), "Probable inference, the law of succession, and statistical inference".
    """
    z = normal_quantile(level)
    share, size = np.clip(share, 0.0, 1.0), np.asarray(size, float)  # a mean of ones can end beyond 1 by rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = z**2 / (size + z**2)
        middle = share * (1 - weight) + weight / 2
        half = weight / z * np.sqrt(share * (1 - share) * size + z**2 / 4)
    unknown = ~(size > 0)
    low, high = (
        np.clip(middle - half, 0, share),
        np.clip(middle + half, share, 1),
    )  # they hold the share, rounded or not
    return Ends(np.where(unknown, 0.0, low), np.where(unknown, 1.0, high))


def effective_size(
    share: np.ndarray, variance: np.ndarray, trials: np.ndarray, clusters: np.ndarray | None, level: float
) -> np.ndarray:
    """Independent trials that would leave a proportion as uncertain as it is: share (1 - share) / variance.

    **variance**: estimated variance of the share, 0 where all clusters agree: they count as one trial each then.
    **clusters**: how many clusters the variance is estimated from; the size shrinks by the square of the ratio of the
    normal quantile to that of Student's t, and is at most all ``trials``. None where every trial is a cluster of its
    own: of questions of unlike rates that are held fixed the trials count for more than so many of one rate.
    """
    z = normal_quantile(level)
    fallback = trials if clusters is None else clusters
    share = np.clip(share, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(variance > _ROUNDING, share * (1 - share) / variance, fallback)
    if clusters is None:
        return size
    known = clusters > 1
    return np.where(known, np.minimum(size, trials) * (z / student(clusters - 1, level)) ** 2, 0)


def of_shares(
    mean: np.ndarray,
    variance: np.ndarray,
    trials: np.ndarray,
    clusters: np.ndarray | None,
    level: float,
    top: float = 1.0,
) -> Ends:
    """Interval of a mean of values from 0 to ``top``, of estimated ``variance``: Wilson's at the number of independent
    trials that it is worth (`effective_size`), the whole range from one cluster."""
    scale = top or 1.0  # a metric that is always 0 has no width
    share = mean / scale
    ends = wilson(share, effective_size(share, variance / scale**2, trials, clusters, level), level)
    return Ends(np.fmin(top * ends.lower, mean), np.fmax(top * ends.upper, mean))  # rounded or not


def student(degrees: np.ndarray, level: float) -> np.ndarray:
    """The two-sided quantile of Student's t at ``degrees`` of freedom; NaN where there are none."""
    from scipy.special import stdtrit  # slow to import, needed on request only

    known = np.asarray(degrees) > 0
    return np.where(known, stdtrit(np.where(known, degrees, 1), 0.5 + check_level(level) / 2), np.nan)
