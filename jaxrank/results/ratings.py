"""Strengths on the scale of Elo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jaxrank.data.names import model_index
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.models.options import check_number, shown
from jaxrank.models.pairs.fit import PairedModel
from jaxrank.numerics.interval import check_level
from jaxrank.results.bars import Bars
from jaxrank.results.fit import Result
from jaxrank.results.returned import RowsOfModels

if TYPE_CHECKING:
    import pandas as pd

ELO = 400 / np.log(10)
"""Points of Elo for a difference of strengths of 1: ten to one are 400 points."""
MEAN = 1000.0


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(RowsOfModels):
    """Strengths as ratings of Elo. Iterating gives a `Row` a model, best first, ``[model]`` that of one.

    **ratings**, **standard_errors**, **lower**, **upper** (L,): points.  **ranks** (L,).  **anchor**: the model and the
    points that fix the level, None for the mean of all models at 1000.  **level**, **kind**: of the intervals.
    """

    models: tuple[str, ...]
    ratings: np.ndarray
    standard_errors: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ranks: np.ndarray
    anchor: tuple[str, float] | None
    level: float
    kind: str

    @property
    def order(self) -> np.ndarray:
        """Indices of the models, best first; models without a score last."""
        return np.argsort(np.where(self.ranks > 0, self.ranks, len(self.ranks) + 1), kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, best model first: rank, model, rating, se, lower, upper."""
        import pandas as pd

        columns = {
            "rank": self.ranks,
            "model": list(self.models),
            "rating": self.ratings,
            "se": self.standard_errors,
            "lower": self.lower,
            "upper": self.upper,
        }
        return pd.DataFrame(columns).iloc[self.order].reset_index(drop=True)

    @property
    def note(self) -> str:
        """What the level is, and that the intervals do not depend on it."""
        fixed = f"{self.anchor[0]!r} at {self.anchor[1]:g}" if self.anchor else f"the mean of all models at {MEAN:g}"
        return (
            f"points of Elo with {fixed}; intervals are those of strengths about the mean of all models, whatever the "
            "anchor: two models differ by less or more than these say, see difference_intervals of the fit"
        )

    def _bars(self, frame: pd.DataFrame, point: str = "rating") -> Bars | None:
        return super()._bars(frame, point)

    def _title(self) -> str:
        return f"ratings of {len(self)} models"

    def _foot(self) -> list[str]:
        return [f"interval: {self.kind}", f"note: {self.note}"]

    def __repr__(self) -> str:
        top = ", ".join(f"{self.models[i]} {self.ratings[i]:.0f}" for i in self.order[:3])
        return f"Ratings({len(self)} models, best: {top}; {self.kind})"


def ratings(result: Result, *, anchor: tuple[str, float] | None = None, level: float = 0.95) -> Ratings:
    """Log-strengths of a paired comparison model as ratings, 1000 + 400 / ln 10 (theta - mean theta).

    **anchor**: a model and its points, such as ("gpt-4", 1000): moves all ratings alike and widens nobody's interval.
    `UnsupportedDataError` for methods without strengths, `OptionError` for an unknown model.

    >>> import jaxrank as jr
    >>> battles = jr.Comparisons.from_matrix([[0, 10], [1, 0]], models=["ada", "bob"])
    >>> jr.ratings(jr.fit(battles, "bradley_terry"), anchor=("bob", 1000)).ratings.round(2).tolist()
    [1400.0, 1000.0]
    """
    check_level(level)
    if not isinstance(result, Result) or not isinstance(result.ranker, PairedModel):
        raise UnsupportedDataError(
            "ratings are of paired comparison models, whose scores are log-odds; use the scores of the method as they "
            "are, or jaxrank.fit(battles, 'bradley_terry')"
        )
    theta = result.scores.astype(np.float64)
    shift = MEAN - ELO * theta[np.isfinite(theta)].mean() if np.isfinite(theta).any() else MEAN
    if anchor is not None:
        if not isinstance(anchor, tuple | list) or len(anchor) != 2:
            raise OptionError(f'anchor={shown(anchor)}; it must be a model and its points, such as ("gpt-4", 1000)')
        check_number("points of the anchor", anchor[1])
        anchor = str(anchor[0]), float(anchor[1])
        own = theta[model_index(result.models, anchor[0], "model")]
        if not np.isfinite(own):
            raise OptionError(f"anchor: {anchor[0]!r} has no score; choose a model that has one")
        shift = anchor[1] - ELO * own
    ends = result.interval(level)
    points = lambda x: shift + ELO * np.asarray(x, np.float64)
    errors = ELO * result.standard_errors.astype(np.float64)
    lower, upper = points(ends.lower), points(ends.upper)
    return Ratings(result.models, points(theta), errors, lower, upper, result.ranks, anchor, level, ends.words)
