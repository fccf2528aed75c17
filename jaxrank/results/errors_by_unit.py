"""``ErrorsByUnit``: errors of a result that hold where what comes from one question, or one voter, is alike."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from jaxrank.data.clusters import clustering
from jaxrank.data.kind import Data
from jaxrank.errors import JaxrankWarning, UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.models.ranker import Ranker
from jaxrank.numerics.contributions import Contributions
from jaxrank.resampling.contributions import deviations, has_contributions, of_clusters, of_deviations, of_questions

FEW_QUESTIONS = 10


class ErrorsByUnit:
    """Mixin of `Result`."""

    if TYPE_CHECKING:
        fit: Fit
        ranker: Ranker
        method: str
        data: Data
        stat: Any
        cluster: str | None

        def precision(self) -> contextlib.AbstractContextManager[None]: ...

    @cached_property
    def contributions(self) -> Contributions | None:
        """What each question (or cluster, of a result that is `clustered`) adds to the error of every score, for means
        over questions and paired comparison models; None for other methods, and for battles without clusters."""
        if self.cluster is not None:
            return self.by_cluster(self.cluster)
        with self.precision():
            return of_questions(self.ranker, self.stat, self.fit, self.data)

    def by_cluster(self, column: str) -> Contributions | None:
        """`contributions` of the clusters that a column makes of questions, or of battles."""
        if self.cluster is not None and column == self.cluster and not self.data.questions:
            return of_deviations(self.deviations, len(self.data.models))
        with self.precision():
            return of_clusters(self.ranker, self.stat, self.fit, self.data, column)

    @cached_property
    def deviations(self) -> tuple[np.ndarray, np.ndarray | None] | None:
        """How far each cluster of battles or lists moves strengths and coefficients, of a result that is `clustered`:
        several statements about it ask for the same. See `jaxrank.models.pairs.clusters.battle_deviations`; None for
        others."""
        if self.cluster is None or self.data.questions:
            return None
        with self.precision():
            return deviations(self.ranker, self.stat, self.fit, self.data, self.cluster)

    def clustered(self, column: str) -> Self:
        """The same ranking with errors by clusters: what is said of uncertainty then holds where results of one cluster
        are alike. ``column``: of the questions ("group"), or of battles or ordered lists ("voter").

        `OptionError` where the data have no such column; `UnsupportedDataError` for methods other than means over
        questions, paired comparison models and set models with covariates. A warning for fewer than 20 clusters.
        """
        note = clustering(self.data, column).note
        if not has_contributions(self.ranker, self.data, column):
            raise UnsupportedDataError(
                f"{self.method} has no errors by clusters in closed form; use jaxrank.bootstrap(data, {self.method!r}, "
                f"scheme=jaxrank.clusters({column!r}))"
            )
        if note:
            warnings.warn(note, JaxrankWarning, stacklevel=2)
        return replace(self, cluster=column)  # pyright: ignore[reportArgumentType, reportType]

    @property
    def few(self) -> str:
        """What to know where errors come from the spread of very few questions; empty elsewhere."""
        n = len(self.data.questions)
        if not 1 < n < FEW_QUESTIONS or self.cluster is not None or not has_contributions(self.ranker, self.data):
            return ""
        return f"no interval from {n} questions can be relied on: take {FEW_QUESTIONS} or more"

    @property
    def _sampled(self) -> str:
        """What `contributions` are of."""
        return "questions" if self.cluster is None else "clusters"
