"""Which models can be told apart, and the tiers that follow: where a line may be drawn under a ranking."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.models.pairs.fit import PairedModel
from jaxrank.results.fit import Result
from jaxrank.results.posterior import Posterior
from jaxrank.results.replicates import Replicates, Study


def separated(source: Any, level: float = 0.95) -> np.ndarray:
    """bool (L, L): ``out[i, j]`` where model i is above model j with confidence ``level``, in (0, 1).

    `Replicates`: simultaneous intervals of all differences, so that all statements hold together with probability
    ``level``. `Summary`: i is above j in a share of ``level`` of the replicates. `Posterior`: the probability that i is
    better is ``level`` or more. `Result`: two-sided normal test of each difference, one pair at a time.

    `UnsupportedDataError` for a result without standard errors.
    """
    if not 0 < level < 1:
        raise OptionError(f"level={level}; it must lie between 0 and 1, for example 0.95")
    if isinstance(source, Replicates):
        return source.difference_intervals(level, simultaneous=True).lower > 0
    if isinstance(source, Study):
        return source.superiority().above >= level
    if isinstance(source, Posterior):
        return (source.superiority() >= level) & ~np.eye(len(source.models), dtype=bool)
    if isinstance(source, Result):
        gap, spread = differences(source)
        return gap > NormalDist().inv_cdf(0.5 + level / 2) * spread
    raise UnsupportedDataError(f"tiers need a Result, Replicates or a Posterior, not {type(source).__name__}")


def differences(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Differences of scores (L, L) and their standard errors: from the covariance where the method has one, else of
    independent scores."""
    gap = result.scores[:, None] - result.scores[None, :]
    if isinstance(result.ranker, PairedModel):
        covariance = result.covariance()
        variance = np.diag(covariance)
        square = variance[:, None] + variance[None, :] - 2 * covariance
    else:
        square = result.standard_errors[:, None] ** 2 + result.standard_errors[None, :] ** 2
    return gap, np.sqrt(np.maximum(square, 0))


def order_of(source: Any) -> np.ndarray:
    """Indices of the models, best first."""
    if isinstance(source, Posterior):
        return np.argsort(source.ranks, kind="stable")
    return source.estimate.order if isinstance(source, Study) else source.order


def tiers(source: Any, level: float = 0.95) -> np.ndarray:
    """int (L,): the tier of each model, 1 the best. A tier is everything down from its leader until the first model
    that is separated from that leader."""
    above, order = separated(source, level), order_of(source)
    out = np.zeros(len(order), int)
    leader, tier = order[0], 1
    for model in order:
        if above[leader, model]:
            leader, tier = model, tier + 1
        out[model] = tier
    return out


def inseparable(source: Any, level: float = 0.95) -> list[tuple[int, int]]:
    """Longest stretches of the ranking without a separated pair, as first and last position (from 0), both included;
    only those of two models and more. They may overlap."""
    above, order = separated(source, level), order_of(source)
    ordered = (above | above.T)[np.ix_(order, order)]
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and not ordered[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
