"""``Factors``: what each run varied (model, prompt): marginal means, paired differences, shares of the variance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.numerics.interval import difference_words, percent
from jaxrank.results.returned import Returned, Row, named, row_of, rows_of

if TYPE_CHECKING:
    import pandas as pd

TRIALS = "trials"


@dataclass(frozen=True, eq=False, repr=False)
class Factors(Returned):
    """Shares of the variance of a single trial, a row a component, ``["prompt:question"]`` one of them.

    **factors**: the names of the two factors.  **values**: the values of each.  **mean_squares**, **degrees**,
    **components**: by name ("model", "model:question", ... and "trials"); components as they come from equating the
    mean squares of the balanced table with their expectations, all factors random; a negative one counts as 0 in the
    shares.  **means**: the marginal mean of every value of each factor.  **differences**: between two values of one
    factor, paired by question and the other factor and clustered by question: rows of factor, new, old, difference,
    lower, upper, se, p.  **interactions**: rows of what the difference of two values of the first factor changes by
    between two of the second.  **level**: of the intervals.
    """

    factors: tuple[str, str]
    values: tuple[tuple[str, ...], tuple[str, ...]]
    mean_squares: Mapping[str, float]
    degrees: Mapping[str, int]
    components: Mapping[str, float]
    means: tuple[np.ndarray, np.ndarray]
    differences: tuple[Mapping[str, Any], ...]
    interactions: tuple[Mapping[str, Any], ...]
    level: float
    notes: tuple[str, ...]

    @property
    def shares(self) -> dict[str, float]:
        """Share of each component in the variance of one trial; NaN where nothing varies."""
        kept = {name: max(value, 0.0) for name, value in self.components.items()}
        whole = sum(kept.values())
        return {name: value / whole if whole > 0 else np.nan for name, value in kept.items()}

    def to_frame(self) -> pd.DataFrame:
        """A row a component: component, share, variance (as equated, perhaps negative), mean_square, df."""
        import pandas as pd

        names = list(self.components)
        columns = {
            "component": names,
            "share": [self.shares[n] for n in names],
            "variance": [self.components[n] for n in names],
            "mean_square": [self.mean_squares[n] for n in names],
            "df": [self.degrees[n] for n in names],
        }
        return pd.DataFrame(columns)

    def differences_frame(self) -> pd.DataFrame:
        """A row for two values of a factor, and for each interaction: factor, new, old, difference, lower, upper, se,
        p."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in (*self.differences, *self.interactions)])

    def __len__(self) -> int:
        return len(self.components)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.to_frame())

    def __getitem__(self, component: str) -> Row:
        return row_of(self.to_frame(), named(tuple(self.components), component, "component"))

    def __contains__(self, component: object) -> bool:
        return component in self.components

    def _foot(self) -> list[str]:
        told = [
            f"{row['factor']}: {row['new']} - {row['old']} "
            f"{difference_words(row['difference'], row['lower'], row['upper'])}, p {row['p']:.2g}"
            for row in (*self.differences, *self.interactions)[:12]
        ]
        return [
            f"differences, {percent(self.level)}, Student's t by question",
            *told,
            *map("note: {}".format, self.notes),
        ]

    def _record(self) -> dict[str, Any]:
        return {"factors": list(self.factors), "level": self.level, "notes": list(self.notes)}

    def __repr__(self) -> str:
        sizes = " x ".join(f"{len(v)} {f}s" for f, v in zip(self.factors, self.values, strict=True))
        return f"Factors({sizes})"
