"""``OwnErrors``: how far errors reach that a method has by its own model."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.errors import UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.models.ranker import HasStandardErrors, Ranker
from jaxrank.numerics.proportion import student
from jaxrank.numerics.separation import normal_reach
from jaxrank.resampling.contributions import has_contributions

BY_MODEL = "normal, as its model has it"
STUDENT = "Student's t"


class OwnErrors:
    """Mixin of `Result`."""

    if TYPE_CHECKING:
        fit: Fit
        ranker: Ranker
        data: Data
        method: str

        def differences(self) -> tuple[np.ndarray, np.ndarray]: ...

        @property
        def _covariance(self) -> np.ndarray: ...

    @cached_property
    def dependent(self) -> str:
        """What of these data the method takes for independent battles and is not (`Data.hanging`), where it knows no
        other errors; else empty."""
        ranker, data = self.ranker, self.data
        counts = isinstance(ranker, HasStandardErrors) and ranker.independent and not has_contributions(ranker, data)
        return data.hanging if counts else ""

    def refuse_dependent(self) -> None:
        """`UnsupportedDataError` where the method's own errors are too small for what it takes for independent."""
        if self.dependent:
            raise UnsupportedDataError(
                f"{self.method} takes all pairs of models for independent battles, which those {self.dependent} are "
                f"not, so that its deviations are too small; use jaxrank.bootstrap(data, {self.method!r}).interval()"
            )

    @cached_property
    def _degrees(self) -> float:
        """Degrees of freedom of the variance behind them."""
        return self.ranker.degrees(self.fit) if isinstance(self.ranker, HasStandardErrors) else np.inf

    @property
    def _by_model(self) -> str:
        """The kind of their intervals."""
        return STUDENT if np.isfinite(self._degrees) else BY_MODEL

    def _reach(self, level: float) -> float:
        """How many of them the interval of one number reaches."""
        return float(student(np.asarray(self._degrees), level))

    def _reach_of_all(self, level: float) -> float:
        """How many of them all differences keep within at once: intervals and tiers ask for the same."""
        if level not in self._reaches:
            self._reaches[level] = normal_reach(self._covariance, self.differences()[1], level, self._degrees)
        return self._reaches[level]

    @cached_property
    def _reaches(self) -> dict[float, float]:
        return {}
