"""What further battles did to a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxrank.data.comparisons import comparisons_of
from jaxrank.data.names import model_index
from jaxrank.errors import OptionError
from jaxrank.numerics.ranks import rank_scores
from jaxrank.results.fit import Result


@dataclass(frozen=True)
class Changes:
    """The models of the later of two fits, and what they were in the earlier one, (L,) each.

    **rank_before**: 0 of a model that had none.  **change**: of the score, NaN of a model that had none.
    **battles**: how many each fought since.
    """

    models: tuple[str, ...]
    rank_before: np.ndarray
    change: np.ndarray
    battles: np.ndarray

    def beside(self, frame: Any, factor: float = 1.0) -> Any:
        """A frame with a row a model, and behind its columns rank_before, change (times ``factor``) and new_battles."""
        import pandas as pd

        place = [self.models.index(model) for model in frame["model"]]
        before = pd.Series([rank or None for rank in self.rank_before[place].tolist()], dtype=object)
        return frame.assign(rank_before=before, change=factor * self.change[place], new_battles=self.battles[place])

    @property
    def joined(self) -> list[str]:
        """The models that had no score before."""
        return [model for model, rank in zip(self.models, self.rank_before, strict=True) if not rank]


def changes(old: Result, new: Result, *, anchor: str | None = None, rule: Any = "competition") -> Changes:
    """How scores and ranks of ``new``, whose battles begin with those of ``old``, differ from those of ``old``.

    **anchor**: a model whose score is taken for the same in both; None for the mean of the models that both rank, which
    does not move when a model joins. **rule**: of ties in ranks, as for `jaxrank.rank_scores`.
    `OptionError` for an anchor that ``old`` does not rank.
    """
    place = np.array([old.models.index(m) if m in old.models else -1 for m in new.models])
    with old.precision():
        ranks = np.asarray(rank_scores(old.scores, rule, old.fit.resolution))
    before = np.where(place >= 0, old.scores[place], np.nan).astype(np.float64)
    moved = new.scores.astype(np.float64) - before
    if anchor is None:
        level = moved[np.isfinite(moved)].mean() if np.isfinite(moved).any() else 0.0
    else:
        level = moved[model_index(new.models, anchor, "model")]
        if not np.isfinite(level):
            raise OptionError(f"anchor: {anchor!r} had no score before; choose a model that had one")
    earlier, later = (comparisons_of(result.data, "--since") for result in (old, new))
    first = len(earlier.a)
    count = later.count[first:]
    battles = sum(np.bincount(side[first:], count, len(new.models)) for side in (later.a, later.b))
    battles = np.asarray(battles)
    if np.all(battles % 1 == 0):
        battles = battles.astype(int)  # as people count
    return Changes(new.models, np.where(place >= 0, ranks[place], 0), moved - level, battles)
