"""What the library says about a ranking, and when that is false.

A `Statement` of one data set gets a `Study`, the public calls on that set, and answers whether what they say is false
(or in what share of its parts) and how wide it is. A statement about single models or pairs, which does not depend on
the others, can be asked of many sets in one call: `scores_of` and `gaps_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

import jaxrank as jr
from jaxrank import evaluation

LEVEL = 0.95
PAIRS_AT_ONCE = 250  # sets of two models in one call, whose differences are a table of all models


class Study:
    """One data set and what the public calls make of it, each made once.

    **data**: as `jaxrank.fit` takes it.  **truth**: (L,) true scores.  **seed**, **replicates**: of the bootstrap.
    """

    def __init__(self, data: Any, truth: np.ndarray, seed: int, replicates: int) -> None:
        self.data, self.truth, self.seed, self.n_replicates = data, truth, seed, replicates

    @cached_property
    def gap(self) -> np.ndarray:
        """True differences (L, L); exactly 0 between equal models."""
        gap = self.truth[:, None] - self.truth
        return np.where(np.abs(gap) < 1e-12, 0, gap)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(len(self.truth), 1)

    @cached_property
    def fit(self) -> jr.Result:
        return jr.fit(self.data)

    @cached_property
    def replicates(self) -> jr.Replicates:
        return jr.bootstrap(self.data, n_replicates=self.n_replicates, seed=self.seed)

    @cached_property
    def rank_sets(self) -> jr.Interval:
        return self.replicates.rank_sets(LEVEL)

    @cached_property
    def evaluated(self) -> np.ndarray:
        """Ranks as the command line's ``evaluate`` shares them."""
        found = evaluation.bayes(self.data, level=LEVEL)
        return np.asarray(evaluation.rank_with_intervals(found.mean, found.sd, level=(1 + LEVEL) / 2))


Verdict = tuple[float, float]
"""Whether, or in what share of its parts, a statement was false, and its width."""


def _scores(s: Study) -> Verdict:
    low, high = s.fit.interval(LEVEL)
    return float(np.mean((s.truth < low) | (s.truth > high))), float(np.mean(high - low))


def _outside(s: Study, interval: jr.Interval) -> tuple[np.ndarray, float]:
    low, high = (end[s.pairs] for end in interval)
    gap = s.gap[s.pairs]
    return (gap < low) | (gap > high), float(np.mean(high - low))


def _each_gap(s: Study, source: Any) -> Verdict:
    outside, width = _outside(s, source.difference_intervals(LEVEL))
    return float(outside.mean()), width


def _all_gaps(s: Study, source: Any) -> Verdict:
    outside, width = _outside(s, source.difference_intervals(LEVEL, simultaneous=True))
    return float(outside.any()), width


def _rank_sets(s: Study) -> Verdict:
    """Equal models share all the ranks that their group takes, and each set must hold them all."""
    low, high = s.rank_sets
    best, worst = 1 + (s.gap < 0).sum(1), len(s.truth) - (s.gap > 0).sum(1)
    return float(((low > best) | (high < worst)).any()), float(np.mean(high - low + 1) / len(s.truth))


def _top_set(s: Study) -> Verdict:
    top = set(s.replicates.top_set(LEVEL))
    best = {name for name, gap in zip(s.fit.models, s.gap, strict=True) if gap.min() >= 0}
    return float(not best <= top), len(top) / len(s.truth)


def _tiers(s: Study, source: Any) -> Verdict:
    """A line says that the leader above it is better than the leader below it."""
    table = jr.tiers(source, LEVEL)
    values = np.asarray(table)
    leaders = [next(i for i in table.order if values[i] == t) for t in range(1, table.n_tiers + 1)]
    return float(any(s.gap[a, b] <= 0 for a, b in pairwise(leaders))), float(table.n_tiers)


def _rank_interval(s: Study) -> Verdict:
    """Of models in a known order the share of intervals without the true rank; of equal models the share of pairs whose
    intervals have no rank in common."""
    low, high = s.replicates.rank_intervals(LEVEL)
    width = float(np.mean(high - low + 1) / len(s.truth))
    i, j = s.pairs
    if not s.gap[s.pairs].any():
        return float(np.mean((low[i] > high[j]) | (low[j] > high[i]))), width
    rank = 1 + (s.gap < 0).sum(1)
    return float(np.mean((low > rank) | (high < rank))), width


def _p_best(s: Study) -> Verdict:
    """Model 0 is the best; where all are equal it counts as the best by a hair."""
    share = s.replicates.rank_probabilities()[:, 0]
    return float((share[1:] > LEVEL).any()), float(share[0])


def _superiority(s: Study) -> Verdict:
    """A model that is not the better of two, said to be above the other with 95 %: one-sided, in 5 % of equal pairs."""
    above = s.fit.superiority().above
    i, j = s.pairs
    return float(np.mean(np.where(s.gap[i, j] >= 0, above[j, i], above[i, j]) > LEVEL)), float(np.mean(above[i, j]))


def _evaluate(s: Study) -> Verdict:
    ranks = s.evaluated
    i, j = s.pairs
    wrong = ((ranks[i] < ranks[j]) & (s.gap[i, j] <= 0)) | ((ranks[j] < ranks[i]) & (s.gap[i, j] >= 0))
    return float(wrong.any()), float(len(set(ranks.tolist())))


@dataclass(frozen=True)
class Statement:
    """**claim**: how often it may be false.  **width**: what is measured as its width, in words.  **needs**: what kind
    of data it can be made of: "any", "trials" or "battles"."""

    name: str
    call: str
    judge: Callable[[Study], Verdict]
    width: str
    claim: float = 1 - LEVEL
    needs: str = "any"

    def fits(self, kind: str) -> bool:
        """Whether it is asked one set at a time of data of a kind, "trials" or "battles"."""
        return self.needs in ("any", kind)


STATEMENTS = (
    Statement("scores", "jr.fit(data).interval()", _scores, "of an interval", needs="battles"),
    Statement(
        "differences",
        "jr.fit(data).difference_intervals()",
        lambda s: _each_gap(s, s.fit),
        "of an interval",
        needs="battles",  # of trials many sets are asked in a call
    ),
    Statement(
        "all differences at once",
        "jr.fit(data).difference_intervals(simultaneous=True)",
        lambda s: _all_gaps(s, s.fit),
        "of an interval",
    ),
    Statement("tiers", "jr.tiers(jr.fit(data))", lambda s: _tiers(s, s.fit), "tiers"),
    Statement("superiority", "jr.fit(data).superiority() > .95", _superiority, "P(first above second)"),
    Statement(
        "all differences at once, replicates",
        "jr.bootstrap(data).difference_intervals(simultaneous=True)",
        lambda s: _all_gaps(s, s.replicates),
        "of an interval",
    ),
    Statement("rank sets", "jr.bootstrap(data).rank_sets()", _rank_sets, "share of the ranks"),
    Statement("top set", "jr.bootstrap(data).top_set()", _top_set, "share of the models"),
    Statement("tiers, replicates", "jr.tiers(jr.bootstrap(data))", lambda s: _tiers(s, s.replicates), "tiers"),
    Statement("rank intervals", "jr.bootstrap(data).rank_intervals()", _rank_interval, "share of the ranks"),
    Statement("p_best", "jr.bootstrap(data), p_best > .95", _p_best, "p_best of model 0"),
    Statement("evaluate", "jaxrank evaluate, shared ranks", _evaluate, "distinct ranks", needs="trials"),
)


def scores_of(outcomes: np.ndarray, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """`scores` of sets of one model each, outcomes (S, 1, M, N), in one call: (S,) false, (S,) widths."""
    low, high = jr.fit(jr.Responses(outcomes[:, 0])).interval(LEVEL)
    return (truth < low) | (truth > high), high - low


def gaps_of(outcomes: np.ndarray, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """`differences` of sets of two models each, outcomes (S, 2, M, N), many in one call: (S,) false, (S,) widths."""
    false, width = [], []
    for first in range(0, len(outcomes), PAIRS_AT_ONCE):
        part = outcomes[first : first + PAIRS_AT_ONCE]
        low, high = jr.fit(jr.Responses(part.reshape(-1, *part.shape[2:]))).difference_intervals(LEVEL)
        i = 2 * np.arange(len(part))
        low, high = low[i, i + 1], high[i, i + 1]
        false.append((truth < low) | (truth > high))
        width.append(high - low)
    return np.concatenate(false), np.concatenate(width)
