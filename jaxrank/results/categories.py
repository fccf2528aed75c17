"""Rankings of battles by category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jaxrank.results.fit import Result
from jaxrank.results.returned import RowsOfModels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EqualStrengths:
    """Likelihood ratio test that strengths are the same in all categories; not that the order is.

    **statistic**: twice the gain in log-likelihood of a fit for each category.  **degrees**: of freedom.  **p_value**:
    from the chi-square distribution; it wants many battles of each model in each category.
    """

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Categories(RowsOfModels):
    """One ranking for each category. Iterating gives a `Row` a model, in the order of the ranking of all battles;
    ``[model]`` that of one.

    **results**: the fit of each category, of the models that fought in it.  **whole**: the fit of all battles.
    **column**: the column of the categories.  **left_out**: categories too small to rank, each with the reason.
    **test**: of equal strengths, None where a category has no finite optimum or the method has a prior.
    """

    whole: Result
    results: dict[str, Result]
    column: str
    left_out: dict[str, str]
    test: EqualStrengths | None

    @property
    def models(self) -> tuple[str, ...]:
        return self.whole.models

    @property
    def order(self) -> np.ndarray:
        """Indices of the models, best of all battles first."""
        return self.whole.order

    @property
    def names(self) -> tuple[str, ...]:
        """The categories that were ranked."""
        return tuple(self.results)

    def ranks(self) -> np.ndarray:
        """int (C, L): the rank of every model in each category among those that fought in it; 0 for the others."""
        out = np.zeros((len(self.results), len(self.models)), int)
        for row, result in zip(out, self.results.values(), strict=True):
            row[[self.models.index(m) for m in result.models]] = result.ranks
        return out

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, best model of all battles first: rank, model, and the rank in each category (missing where a
        model did not fight)."""
        import pandas as pd

        order = self.order
        out = pd.DataFrame({"rank": self.whole.ranks[order], "model": [self.models[i] for i in order]})
        for name, ranks in zip(self.results, self.ranks(), strict=True):
            column = f"{self.column}: {name}" if name in ("rank", "model") else name
            out[column] = pd.Series([int(r) if r else None for r in ranks[order]], dtype=object)
        return out

    def scores_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """A pandas frame, a row a model and category: category, battles, and what `Result.to_frame` has."""
        import pandas as pd

        parts = []
        for name, result in self.results.items():
            part = result.to_frame(level=level)
            part.insert(0, "battles", float(result.data.n_results))
            part.insert(0, self.column, name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def _title(self) -> str:
        return f"{self.whole.method} by {self.column}: {len(self.results)} categories"

    def _foot(self) -> list[str]:
        said = [f"note: {self.column} {name!r} is left out: {why}" for name, why in self.left_out.items()]
        if self.test is not None:
            said.append(
                f"equal strengths in all categories: chi-square {self.test.statistic:.4g} with {self.test.degrees} "
                f"degrees of freedom, p = {self.test.p_value:.3g} (of strengths, not of their order)"
            )
        return said

    def __repr__(self) -> str:
        return f"Categories({self.whole.method} by {self.column}: {', '.join(self.names)}; {len(self.models)} models)"
