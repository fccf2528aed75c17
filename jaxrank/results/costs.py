"""``CostFrontier``: which models are worth their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.results.returned import RowsOfModels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class CostFrontier(RowsOfModels):
    """Mean score against cost. Iterating gives a `Row` a model, cheapest first, ``[model]`` that of one.

    **models**: names (L,).  **scores**, **cost**: (L,).  **frontier**: bool (L,), no other model costs no more, scores
    no less, and is better in one of the two.  **probability**: (L,), share of replicates, questions drawn again, in
    which that is so.  **cost_name**: the column.  **n_replicates**: of the bootstrap.
    """

    models: tuple[str, ...]
    scores: np.ndarray
    cost: np.ndarray
    frontier: np.ndarray
    probability: np.ndarray
    cost_name: str
    n_replicates: int
    notes: tuple[str, ...]

    @property
    def ranks(self) -> np.ndarray:
        """int (L,): 1 for the highest score, ties share a rank; cost has no part in it."""
        return 1 + (self.scores[None, :] > self.scores[:, None]).sum(axis=1)

    @property
    def order(self) -> np.ndarray:
        """Indices of the models, cheapest first, the better first of equal cost."""
        return np.lexsort((-self.scores, self.cost))

    def to_frame(self) -> pd.DataFrame:
        """A row a model, cheapest first: model, the cost, score, frontier, probability."""
        import pandas as pd

        order = self.order
        columns = {
            "model": [self.models[i] for i in order],
            self.cost_name: self.cost[order],
            "score": self.scores[order],
            "frontier": self.frontier[order],
            "probability": self.probability[order],
        }
        return pd.DataFrame(columns)

    def _foot(self) -> list[str]:
        said = f"probability: of being on the frontier, {self.n_replicates:,} replicates, questions drawn again"
        return [said, *(f"note: {note}" for note in self.notes)]

    def _record(self) -> dict[str, Any]:
        return {"cost": self.cost_name, "n_replicates": self.n_replicates, "notes": list(self.notes)}

    def __repr__(self) -> str:
        return f"CostFrontier({int(self.frontier.sum())} of {len(self.models)} models)"


def on_frontier(scores: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """bool (..., L): models that no other dominates: no worse in score and cost, better in one. ``scores`` (..., L),
    ``cost`` (L,)."""
    s = scores[..., None, :], scores[..., :, None]  # of the other, own
    c = cost[None, :], cost[:, None]
    dominated = (s[0] >= s[1]) & (c[0] <= c[1]) & ((s[0] > s[1]) | (c[0] < c[1]))
    return np.asarray(~dominated.any(axis=-1))
