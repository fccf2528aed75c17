"""Draws of the scores of candidates, whatever method they come from: scores, intervals, ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxrank.data.names import check_names
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.ranks import rank_scores
from jaxrank.numerics.separation import (
    DRAWN,
    Superiority,
    count_above,
    count_ranks,
    rank_draws,
    rank_ends,
    shares_above,
)


@dataclass(frozen=True, eq=False)
class CandidateDraws:
    """**draws** (S, K): joint draws of the scores of K candidates, a posterior or a Bayesian bootstrap."""

    draws: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """Posterior mean of each candidate's expected true score, (K,)."""
        return self.draws.mean(0)

    @property
    def sd(self) -> np.ndarray:
        """Posterior standard deviation of the scores, (K,)."""
        return self.draws.std(0, ddof=1)

    @property
    def ranks(self) -> np.ndarray:
        """Competition ranks of the posterior means, int (K,); 1 is best."""
        return np.asarray(rank_scores(self.scores))

    def interval(self, level: float = 0.95) -> Interval:
        """Equal-tailed intervals of the scores, (K,)."""
        tail = (1 - check_level(level)) / 2
        ends = np.quantile(self.draws, (tail, 1 - tail), axis=0)
        return Interval(ends[0], ends[1], level, DRAWN, used=len(self.draws))

    def rank_draws(self) -> np.ndarray:
        """int32 (S, K): the rank of every candidate in every draw, 1 is best."""
        return rank_draws(self.draws)

    def rank_intervals(self, level: float = 0.95) -> Interval:
        """Equal-tailed intervals of the ranks, int (K,): at least ``level`` of the draws lie between the ends."""
        return Interval(*rank_ends(count_ranks(self.rank_draws()), level), level, DRAWN, used=len(self.draws))

    def superiority(self) -> Superiority:
        """For each two candidates the probability that one is better, and that they are equal."""
        return shares_above(count_above(self.rank_draws()), len(self.draws))

    def to_frame(self, candidates: Any = None, level: float = 0.95) -> Any:
        """One row a candidate, best first: rank, candidate, score, sd, lower, upper, rank_lower, rank_upper."""
        import pandas as pd

        names = np.array(check_names(candidates, self.draws.shape[1], "candidate"), object)
        order = np.argsort(-self.scores, kind="stable")
        (low, high), (first, last) = self.interval(level), self.rank_intervals(level)
        columns = {"rank": self.ranks, "candidate": names, "score": self.scores, "sd": self.sd, "lower": low}
        columns |= {"upper": high, "rank_lower": first, "rank_upper": last}
        return pd.DataFrame({name: values[order] for name, values in columns.items()})
