"""``Interval``: what everything with ends returns, and the one check of a level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from jaxrank.errors import OptionError, one_line


@dataclass(frozen=True, eq=False)
class Interval:
    """Ends of an interval for every model, or for every pair of models.

    **lower**, **upper**: arrays of one shape, (L,) or (L, L).  **level**: probability that the interval is made for,
    in (0, 1).  **kind**: how it was made, in words, such as "Student's t" or "percentiles of replicates".  **unit**:
    what could have come out otherwise and makes the interval as wide as it is: "trials", "questions", "clusters" (of
    questions), "battles", "orders", or several of them; None where the method's model says it.  **used**: replicates or
    draws that it is made from, and **left_out**, those that had no value; None and 0 where nothing was drawn.

    >>> import jaxrank as jr
    >>> low, high = jr.fit([[1, 1, 1, 0], [1, 0, 0, 0]], "bayes").interval(0.9)
    >>> bool((low < high).all())
    True
    """

    lower: np.ndarray
    upper: np.ndarray
    level: float
    kind: str
    unit: str | None = None
    used: int | None = None
    left_out: int = 0

    def __iter__(self) -> Iterator[np.ndarray]:
        """The two ends: ``low, high = interval``."""
        yield self.lower
        yield self.upper

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Both ends in one array, (2, ...)."""
        return np.stack([self.lower, self.upper]).astype(dtype or np.result_type(self.lower, self.upper))

    @property
    def noun(self) -> str:
        """What it is: a "credible interval", which holds under a prior, or an "interval" of the sampling."""
        return "credible interval" if "posterior" in self.kind else "interval"

    @property
    def words(self) -> str:
        """Level, kind, unit and what was left out, as a reader wants them under a table."""
        drawn = f" ({self.unit} drawn again)" if self.unit else ""
        lost = f"; {self.left_out} of {self.left_out + (self.used or 0)} left out" if self.left_out else ""
        return f"{percent(self.level)}, {self.kind}{drawn}{lost}"

    def __repr__(self) -> str:
        ends = ", ".join(
            f"{n}={np.array2string(np.asarray(getattr(self, n)), precision=6)}" for n in ("lower", "upper")
        )
        return f"Interval({ends}; {self.words})"


def percent(level: float) -> str:
    """0.95 as "95 %", 0.999 as "99.9 %"."""
    return f"{100 * level:.6g} %"


def share(value: float) -> str:
    """0.924 as "92 %"; what would round to none or to all, and is neither, as "under 1 %" and "over 99 %"."""
    if 0 < value <= 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= value < 1 else f"{100 * value:.0f} %"


def difference_words(difference: float, lower: float, upper: float) -> str:
    """A difference and its interval with the same decimals, three digits of half its width: "+0.244 [+0.127, +0.360]";
    the difference alone where there is no interval."""
    half = (upper - lower) / 2
    if not math.isfinite(half):
        return f"{difference:+.3g}"
    decimals = min(max(2 - math.floor(math.log10(half)), 0), 8) if half > 0 else 3
    return f"{difference:+.{decimals}f} [{lower:+.{decimals}f}, {upper:+.{decimals}f}]"


def normal_quantile(level: Any) -> float:
    """How many standard deviations a normal value keeps within, to both sides, with probability ``level``."""
    return NormalDist().inv_cdf(0.5 + check_level(level) / 2)


def percentile_ends(values: np.ndarray, level: float) -> np.ndarray:
    """Quantiles (2, ...) of draws (B, ...) beyond which a further draw falls with probability (1 - level) / 2 each,
    however few they are: those of NumPy's default lie further in, beyond them .03 each of 199 draws for .025.

    Source: Hyndman and Fan (1996), "Sample quantiles in statistical packages", definition 6.
    """
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")


def within(reach: float) -> float:
    """The probability that a normal value lies within ``reach`` standard deviations: `normal_quantile` undone."""
    return 2 * NormalDist().cdf(reach) - 1


def check_level(level: Any) -> float:
    """The level as a number; `OptionError` unless it lies strictly between 0 and 1."""
    try:
        found = float(level)
    except (TypeError, ValueError, OverflowError):
        found = float("nan")
    if not 0 < found < 1:
        raise OptionError(f"level={one_line(level)}; it must lie between 0 and 1, for example 0.95")
    return found
