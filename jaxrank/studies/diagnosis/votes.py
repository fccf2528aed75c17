"""What findings on votes start from: fits of all battles and of parts of them, and how far chance reaches.

Each finding is a test at `P`, all models, voters and categories of one test together (Bonferroni), so that a clean
arena shows each of them in one of a thousand data sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jaxrank.data.clusters import clustering
from jaxrank.data.comparisons import Comparisons
from jaxrank.errors import JaxrankError, JaxrankWarning
from jaxrank.numerics.interval import normal_quantile
from jaxrank.results.fit import Result
from jaxrank.studies.diagnosis.finding import NOTE, Finding
from jaxrank.studies.fit import fit

P = 0.001
"""How often a clean arena shows a finding."""
VOTER, PROMPT, CATEGORY, TIME = "voter", "question", "category", "time"
FEWEST = 100
"""Battles below which errors of coefficients and strengths mean little, and nothing is fitted."""
_WIDE = 25.0  # variance of a prior that keeps strengths finite and moves them by less than their errors


@dataclass(frozen=True)
class Votes:
    """Battles, and what several checks need of them."""

    data: Comparisons

    @cached_property
    def voters(self) -> str | None:
        """The column by which errors are, where voters are known."""
        if VOTER not in self.data.columns:
            return None
        try:
            clustering(self.data, VOTER)
        except JaxrankError:
            return None  # one voter says nothing about others
        return VOTER

    @cached_property
    def whole(self) -> Result:
        """The fit of all battles."""
        return self.fit()

    def fit(self, inside: np.ndarray | None = None, **options: Any) -> Result:
        """A fit of the battles ``inside`` a mask, errors by voter: of the same shape for all masks, which saves
        compilations."""
        data = self.data if inside is None else self.data._reweighted(inside)
        found = fit(data, "bradley_terry", prior=_WIDE, dtype="float64", **options)
        return found if self.voters is None else found.clustered(self.voters)

    def sure(self, result: Result, tests: int = 1) -> float:
        """How many standard errors the largest of so many estimates exceeds by chance in `P` of all cases."""
        level = 1 - P / max(tests, 1)
        clusters = result.contributions
        return normal_quantile(level) if clusters is None else clusters.student(level)

    @cached_property
    def design_effect(self) -> float:
        """How many times the variances of strengths are those of independent battles, at least 1."""
        return max(1.0, self.effect_of(self.voters)) if self.voters else 1.0

    def effect_of(self, column: str) -> float:
        clustered = self.whole if column == self.whole.cluster else self.whole.clustered(column)
        found = clustered.contributions
        if found is None:
            return float("nan")
        return float(np.trace(found.sandwich) / np.trace(self.whole.covariance("information")))


def looked_at(votes: Votes, checks: tuple[Callable[[Votes], Finding | None], ...]) -> list[Finding | None]:
    """What the checks find; a note where one of them has no answer on these battles."""
    found: list[Finding | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)
        for check in checks:
            try:
                found.append(check(votes))
            except JaxrankError as error:
                what = check.__name__.replace("_", " ")
                found.append(Finding(f"{what} not looked at", NOTE, str(error), ""))
    return found


def moved(before: Result, after: Result) -> str:
    """How ranks of the same models differ between two fits."""
    change = np.abs(before.ranks - after.ranks)
    if not change.any():
        return "no rank changes with it"
    worst = int(np.argmax(change))
    return (
        f"{int((change > 0).sum())} ranks change with it, most that of {before.models[worst]!r}, from "
        f"{before.ranks[worst]} to {after.ranks[worst]}"
    )
