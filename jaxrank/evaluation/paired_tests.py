"""Tests of two models on the same questions: sign flips, McNemar's, Wilcoxon's, and a posterior probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from jaxrank.errors import DataError
from jaxrank.models.options import check_count, check_flag

EXACT_FLIPS, EXACT_RANKS = 20, 50
_SAME = 1e-12
_BLOCK = 4_000_000


def sign_flip(totals: ArrayLike, *, mid: bool = False, n_draws: int = 9999, seed: int = 0) -> float:
    """Two-sided p-value of the sum of ``totals`` (G,) when the sign of each is as likely one as the other.

    **totals**: the weighted sum of the differences of each cluster. Exact for up to 20 that are not 0: the share of all
    signs whose sum is as far from 0, ties counted (within 1e-12 of the scale); also of more where all have one size, by
    the binomial distribution. Else (1 + hits) / (1 + ``n_draws``).
    It is exact for models of which either could have had the results of the other.  **mid**: the mid-p value, which
    counts signs that reach the very same sum half: less conservative where few clusters differ.

    >>> from jaxrank import evaluation
    >>> evaluation.sign_flip([1, 1, 1, 1])
    0.125
    """
    check_count("n_draws", n_draws)
    check_flag("mid", mid)
    t = np.asarray(totals, float)
    t = t[t != 0]
    if not np.isfinite(t).all():
        raise DataError("totals must be finite numbers")
    bound, room = abs(t.sum()), _SAME * np.abs(t).sum()
    if bound <= room:
        return 1.0
    sizes = np.abs(t)
    if np.ptp(sizes) <= _SAME * sizes.max():
        return mcnemar(int((t > 0).sum()), int((t < 0).sum()), mid=mid)
    if len(t) <= EXACT_FLIPS:
        first, second = _all_sums(t[: len(t) // 2]), np.sort(_all_sums(t[len(t) // 2 :]))
        above = lambda limit: (len(second) - np.searchsorted(second, limit - first, "left")).sum()
        hits = above(bound - room)  # as many sums lie as far below 0
        return float(2 * (hits + above(bound + room) if mid else 2 * hits) / 2.0 ** (len(t) + 1))
    rng, hits, left = np.random.default_rng(seed), 0.0, n_draws
    while left > 0:
        n = min(left, max(_BLOCK // len(t), 1))
        signs = 2.0 * rng.integers(0, 2, (n, len(t)), np.int8) - 1
        sums = np.abs(signs @ t)
        hits += float((sums >= bound - room).sum() + (sums > bound + room if mid else sums >= bound - room).sum()) / 2
        left -= n
    return (1 + hits) / (1 + n_draws)


def _all_sums(t: np.ndarray) -> np.ndarray:
    """The sums of all sign vectors, (2^G,)."""
    sums = np.zeros(1)
    for x in t:
        sums = np.concatenate([sums - x, sums + x])
    return sums


def mcnemar(new_only: int, old_only: int, *, mid: bool = False) -> float:
    """Two-sided exact p-value of McNemar's test: of the questions that one model alone has right, each is as likely to
    be either's.

    ``mid``: the mid-p value, which counts half of the probability of what was seen: less conservative, and still seldom
    above its level.

    >>> from jaxrank import evaluation
    >>> evaluation.mcnemar(7, 2), evaluation.mcnemar(7, 2, mid=True)
    (0.1796875, 0.109375)
    """
    from scipy.special import bdtr

    check_count("new_only", new_only, 0)
    check_count("old_only", old_only, 0)
    check_flag("mid", mid)
    n, least = new_only + old_only, min(new_only, old_only)
    if n == 0 or (mid and new_only == old_only):
        return 1.0
    tail = float(bdtr(least, n, 0.5))
    if mid:
        before = float(bdtr(least - 1, n, 0.5)) if least > 0 else 0.0
        tail = (tail + before) / 2
    return min(1.0, 2 * tail)


def signed_rank(differences: ArrayLike) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test: zeros dropped, equal sizes share the mean of their ranks.

    Exact for up to 50 differences that are not 0; beyond, the normal approximation with the variance of the tied ranks
    and no correction for continuity.
    """
    from scipy.special import ndtr
    from scipy.stats import rankdata

    d = np.asarray(differences, float)
    d = d[d != 0]
    if len(d) == 0:
        return 1.0
    ranks = rankdata(np.abs(d))
    plus = float(ranks[d > 0].sum())
    if len(d) > EXACT_RANKS:
        z = (plus - ranks.sum() / 2) / np.sqrt((ranks**2).sum() / 4)
        return float(2 * ndtr(-abs(z)))
    twice = np.rint(2 * ranks).astype(int)
    ways = np.zeros(twice.sum() + 1)
    ways[0] = 1
    for r in twice:
        ways[r:] = ways[r:] + ways[: len(ways) - r]
    at = round(2 * plus)
    return float(min(1.0, 2 * min(ways[: at + 1].sum(), ways[at:].sum()) / ways.sum()))


def probability_better(data: Any, new: str, old: str) -> float:
    """The posterior probability that the mean rate of one model on these questions is above that of another, by the
    normal approximation of Bayes@N's posteriors (uniform prior on every cell)."""
    from scipy.special import ndtr

    from jaxrank.evaluation.metrics import bayes

    found = bayes(data.select(models=[new, old]))
    mean, sd = np.asarray(found.mean, float), np.asarray(found.sd, float)
    spread = float(np.hypot(*sd))
    return float(ndtr((mean[0] - mean[1]) / spread)) if spread > 0 else 0.5


def discordant(means: Float[np.ndarray, "2 questions"]) -> tuple[int, int]:
    """How many questions of one trial each the first model alone has right, and how many the second."""
    return int((means[0] > means[1]).sum()), int((means[0] < means[1]).sum())
