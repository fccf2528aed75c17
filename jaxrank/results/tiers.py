"""Which models can be told apart, and the tiers that follow: where a line may be drawn under a ranking."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from jaxrank.errors import UnsupportedDataError
from jaxrank.numerics.interval import check_level
from jaxrank.results.fit import Result
from jaxrank.results.posterior import Posterior
from jaxrank.results.replicates import Replicates, Study

Ranked: TypeAlias = Result | Study | Posterior


def separated(source: Ranked, level: float = 0.95) -> np.ndarray:
    """bool (L, L): ``out[i, j]`` where model i is above model j with confidence ``level``, in (0, 1).

    `Replicates`: simultaneous intervals of all differences, so that all statements hold together with probability
    ``level``. `Summary`: i is above j in a share of ``level`` of the replicates. `Posterior`: the probability that i is
    better is ``level`` or more. `Result`: two-sided normal test of each difference, one pair at a time.

    `UnsupportedDataError` for a result without standard errors.
    """
    check_level(level)
    if isinstance(source, Replicates):
        return source.difference_intervals(level, simultaneous=True).lower > 0
    if isinstance(source, Study | Posterior):
        return source.superiority().above >= level
    if isinstance(source, Result):
        return source.difference_intervals(level).lower > 0
    raise UnsupportedDataError(f"tiers need a Result, Replicates or a Posterior, not {type(source).__name__}")


def tiers(source: Ranked, level: float = 0.95) -> np.ndarray:
    """int (L,): the tier of each model, 1 the best. A tier is everything down from its leader until the first model
    that is separated from that leader."""
    above, order = separated(source, level), source.order
    out = np.zeros(len(order), int)
    leader, tier = order[0], 1
    for model in order:
        if above[leader, model]:
            leader, tier = model, tier + 1
        out[model] = tier
    return out


def inseparable(source: Ranked, level: float = 0.95) -> list[tuple[int, int]]:
    """Longest stretches of the ranking without a separated pair, as first and last position (from 0), both included;
    only those of two models and more. They may overlap."""
    above, order = separated(source, level), source.order
    ordered = (above | above.T)[np.ix_(order, order)]
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and not ordered[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
