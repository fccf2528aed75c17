"""``Result``: a fit with its names, for people. Everything is NumPy here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxrank.comparisons import Comparisons
from jaxrank.fit import Fit, Status
from jaxrank.ranker import Ranker
from jaxrank.ranking import rank_scores
from jaxrank.responses import Responses


@dataclass(frozen=True, eq=False)
class Result:
    fit: Fit
    ranker: Ranker
    method: str
    data: Responses | Comparisons
    dtype: str | None
    pairing: str

    @property
    def scores(self) -> np.ndarray:
        return np.asarray(self.fit.scores)

    @property
    def ranks(self) -> np.ndarray:
        with jax.enable_x64(self.scores.dtype == np.float64):
            return np.asarray(rank_scores(self.scores, resolution=self.fit.resolution))

    @property
    def status(self) -> Status:
        return Status(int(self.fit.status))

    @property
    def params(self) -> dict[str, Any]:
        return self.fit.params

    @property
    def models(self) -> tuple[str, ...]:
        return self.data.models

    def explain(self) -> str:
        return self.status.sentence
