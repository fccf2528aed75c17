"""What the library says about a ranking, and when that is false.

A `Statement` of one data set gets a `Study`, the public calls on that set, and answers whether what they say is false
(or in what share of its parts) and how wide it is. A statement about single models or pairs, which does not depend on
the others, can be asked of many sets in one call: `scores_of` and `gaps_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import jaxrank as jr

LEVEL = 0.95
SETS_AT_ONCE = 200  # whose replicates are made in one call
PAIRS_AT_ONCE = 250  # sets of two models in one call, whose differences are a table of all models


class Study:
    """One data set and what the public calls make of it, each made once.

    **data**: as `jaxrank.fit` takes it.  **truth**: (L,) true scores.  **n_replicates**: of the bootstrap.
    """

    def __init__(self, data: Any, truth: np.ndarray, n_replicates: int) -> None:
        self.data, self.truth, self.n_replicates = data, truth, n_replicates

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
        return jr.bootstrap(self.data, n_replicates=self.n_replicates)

    @cached_property
    def rank_sets(self) -> jr.Interval:
        return self.replicates.rank_sets(LEVEL)


def studies(outcomes: np.ndarray, truth: np.ndarray, n_replicates: int) -> Iterator[Study]:
    """The studies of data sets (S, L, M, N), whose replicates are made in one call.

    The default method scores every model from its own outcomes, and one seed gives all sets the same draws of
    questions: the replicates of all models of all sets in one table are those of `jaxrank.bootstrap` set by set. Of the
    first set this is made sure of.
    """
    n_sets, n_models = outcomes.shape[:2]
    for first in range(0, n_sets, SETS_AT_ONCE):
        part = outcomes[first : first + SETS_AT_ONCE]
        together = jr.Responses(part.reshape(-1, *part.shape[2:]))
        every = jr.bootstrap(together, n_replicates=n_replicates)
        for i, one in enumerate(part):
            study = Study(jr.Responses(one), truth, n_replicates)
            if first == i == 0:
                expected = study.replicates.replicate_scores
            mine = slice(i * n_models, (i + 1) * n_models)
            kept = replace(every.kept, scores=every.kept.scores[:, mine])
            study.replicates = replace(every, models=study.fit.models, estimate=study.fit, kept=kept)
            if first == i == 0:
                np.testing.assert_allclose(study.replicates.replicate_scores, expected, rtol=1e-6)
            yield study


class Verdict(NamedTuple):
    """**false**: whether, or in what share of its parts, a statement was false.  **width**: its width.  **reached**:
    how much of the way from the estimate to the end of an interval the truth is away, for every interval that is judged
    by itself, or the most of all; over 1 where it lies outside. Its 95 % quantile is by how much narrower intervals
    would do."""

    false: float
    width: float
    reached: np.ndarray = np.zeros(0)


def _way(truth: np.ndarray, point: np.ndarray, ends: Any) -> np.ndarray:
    low, high = ends
    off = np.where(np.abs(truth - point) < 1e-12, 0, truth - point)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(off == 0, 0, np.abs(off) / np.where(off > 0, high - point, point - low))


def _scores(s: Study) -> Verdict:
    low, high = s.fit.interval(LEVEL)
    way = _way(s.truth, s.fit.scores, (low, high))
    return Verdict(float(np.mean((s.truth < low) | (s.truth > high))), float(np.mean(high - low)), way)


def _outside(s: Study, interval: jr.Interval) -> tuple[np.ndarray, float, np.ndarray]:
    low, high = (end[s.pairs] for end in interval)
    gap, point = s.gap[s.pairs], (s.fit.scores[:, None] - s.fit.scores)[s.pairs]
    return (gap < low) | (gap > high), float(np.mean(high - low)), _way(gap, point, (low, high))


def _each_gap(s: Study, source: Any) -> Verdict:
    outside, width, way = _outside(s, source.difference_intervals(LEVEL))
    return Verdict(float(outside.mean()), width, way)


def _all_gaps(s: Study, source: Any) -> Verdict:
    outside, width, way = _outside(s, source.difference_intervals(LEVEL, simultaneous=True))
    return Verdict(float(outside.any()), width, way.max(keepdims=True))


def _rank_sets(s: Study) -> Verdict:
    """Equal models share all the ranks that their group takes, and each set must hold them all."""
    low, high = s.rank_sets
    best, worst = 1 + (s.gap < 0).sum(1), len(s.truth) - (s.gap > 0).sum(1)
    return Verdict(float(((low > best) | (high < worst)).any()), float(np.mean(high - low + 1) / len(s.truth)))


def _top_set(s: Study) -> Verdict:
    top = set(s.replicates.top_set(LEVEL))
    best = {name for name, gap in zip(s.fit.models, s.gap, strict=True) if gap.min() >= 0}
    return Verdict(float(not best <= top), len(top) / len(s.truth))


def lines_of(s: Study, source: Any) -> Verdict:
    """A line says that the leader above it is better than the leader below it."""
    table = jr.tiers(source, LEVEL)
    values = np.asarray(table)
    leaders = [next(i for i in table.order if values[i] == t) for t in range(1, table.n_tiers + 1)]
    return Verdict(float(any(s.gap[a, b] <= 0 for a, b in pairwise(leaders))), float(table.n_tiers))


def _rank_interval(s: Study) -> Verdict:
    """Of models in a known order the share of intervals without the true rank; of equal models the share of pairs whose
    intervals have no rank in common."""
    low, high = s.replicates.rank_intervals(LEVEL)
    width = float(np.mean(high - low + 1) / len(s.truth))
    i, j = s.pairs
    if not s.gap[s.pairs].any():
        return Verdict(float(np.mean((low[i] > high[j]) | (low[j] > high[i]))), width)
    rank = 1 + (s.gap < 0).sum(1)
    return Verdict(float(np.mean((low > rank) | (high < rank))), width)


def _p_best(s: Study) -> Verdict:
    """Model 0 is the best; where all are equal it counts as the best by a hair."""
    share = s.replicates.p_best
    return Verdict(float((share[1:] > LEVEL).any()), float(share[0]))


def _superiority(s: Study) -> Verdict:
    """A model that is not the better of two, said to be above the other with 95 %: one-sided, in 5 % of equal pairs."""
    above = s.fit.superiority().above
    i, j = s.pairs
    wrong = np.where(s.gap[i, j] >= 0, above[j, i], above[i, j]) > LEVEL
    return Verdict(float(np.mean(wrong)), float(np.mean(above[i, j])))


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
    Statement("tiers", "jr.tiers(jr.fit(data))", lambda s: lines_of(s, s.fit), "tiers"),
    Statement("superiority", "jr.fit(data).superiority() > .95", _superiority, "P(first above second)"),
    Statement(
        "all differences at once, replicates",
        "jr.bootstrap(data).difference_intervals(simultaneous=True)",
        lambda s: _all_gaps(s, s.replicates),
        "of an interval",
    ),
    Statement("rank sets", "jr.bootstrap(data).rank_sets()", _rank_sets, "share of the ranks"),
    Statement("top set", "jr.bootstrap(data).top_set()", _top_set, "share of the models"),
    Statement("tiers, replicates", "jr.tiers(jr.bootstrap(data))", lambda s: lines_of(s, s.replicates), "tiers"),
    Statement("rank intervals", "jr.bootstrap(data).rank_intervals()", _rank_interval, "share of the ranks"),
    Statement("p_best", "jr.bootstrap(data), p_best > .95", _p_best, "p_best of model 0"),
)


Verdicts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of many sets, (S,) each: whether the statement is false, its width, and what `Verdict` calls reached."""


def scores_of(outcomes: np.ndarray, truth: float) -> Verdicts:
    """`scores` of sets of one model each, outcomes (S, 1, M, N), in one call."""
    fit = jr.fit(jr.Responses(outcomes[:, 0]))
    low, high = fit.interval(LEVEL)
    return (truth < low) | (truth > high), high - low, _way(np.asarray(truth), fit.scores, (low, high))


def gaps_of(outcomes: np.ndarray, truth: float) -> Verdicts:
    """`differences` of sets of two models each, outcomes (S, 2, M, N), many in one call."""
    found = []
    for first in range(0, len(outcomes), PAIRS_AT_ONCE):
        part = outcomes[first : first + PAIRS_AT_ONCE]
        fit = jr.fit(jr.Responses(part.reshape(-1, *part.shape[2:])))
        low, high = fit.difference_intervals(LEVEL)
        i = 2 * np.arange(len(part))
        low, high, gap = low[i, i + 1], high[i, i + 1], fit.scores[i] - fit.scores[i + 1]
        found.append(((truth < low) | (truth > high), high - low, _way(np.asarray(truth), gap, (low, high))))
    false, width, way = map(np.concatenate, zip(*found, strict=True))
    return false, width, way
