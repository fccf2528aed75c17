"""Strengths of models that move from period to period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jaxrank.numerics.interval import check_level, normal_quantile
from jaxrank.results.returned import Returned, Row, named, rows_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class RatingsOverTime(Returned):
    """Strengths in T periods. Iterating gives a `Row` a model and period, ``[model]`` the rows of one as a frame.

    **periods**: names.  **scores**, **standard_errors** (T, L): posterior mode and standard deviation given all battles
    (smoothed), on one scale for all periods.  **battles** (T, L): of each model.  **drift**: variance of a step from
    period to period; **estimated** whether it is the maximum of the marginal likelihood.  **start_var**: variance at
    the start.  **log_marginal**: marginal log-likelihood (Laplace's method).
    """

    models: tuple[str, ...]
    periods: tuple[str, ...]
    scores: np.ndarray
    standard_errors: np.ndarray
    battles: np.ndarray
    drift: float
    estimated: bool
    start_var: float
    log_marginal: float
    notes: tuple[str, ...]

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Ends (T, L) of normal intervals of the strengths."""
        reach = normal_quantile(level) * self.standard_errors
        return self.scores - reach, self.scores + reach

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """A pandas frame, a row a period and model: period, model, score, se, lower, upper, battles."""
        import pandas as pd

        lower, upper = self.interval(check_level(level))
        n = len(self.models)
        columns = {
            "period": np.repeat(np.array(self.periods, object), n),
            "model": list(self.models) * len(self.periods),
            "score": self.scores.ravel(),
            "se": self.standard_errors.ravel(),
            "lower": lower.ravel(),
            "upper": upper.ravel(),
            "battles": self.battles.ravel().astype(int if (self.battles % 1 == 0).all() else float),
        }
        return pd.DataFrame(columns)

    def changes(self) -> pd.DataFrame:
        """A pandas frame, the largest change first: model, change (last period less first), periods with battles."""
        import pandas as pd

        seen = (self.battles > 0).sum(axis=0)
        moved = self.scores[-1] - self.scores[0]
        frame = pd.DataFrame({"model": list(self.models), "change": moved, "periods": seen})
        return frame.iloc[np.argsort(-np.abs(moved), kind="stable")].reset_index(drop=True)

    def __len__(self) -> int:
        return len(self.models) * len(self.periods)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.to_frame())

    def __getitem__(self, model: str) -> pd.DataFrame:
        name = self.models[named(self.models, model, "model")]
        frame = self.to_frame()
        return frame.loc[frame["model"] == name].reset_index(drop=True)

    def __contains__(self, model: object) -> bool:
        return model in self.models

    def _title(self) -> str:
        how = "estimated" if self.estimated else "given"
        return f"{len(self.models)} models over {len(self.periods)} periods, drift {self.drift:.4g} ({how})"

    def _foot(self) -> list[str]:
        return ["interval: 95 %, normal, around the mode given all battles", *(f"note: {n}" for n in self.notes)]

    def __repr__(self) -> str:
        return f"RatingsOverTime({self._title()})"
