"""``Study`` and ``Summary``: what counts over replicates tell about a ranking. Everything is NumPy here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.data.accepted import Seed
from jaxrank.errors import OptionError, UndefinedScoreError
from jaxrank.models.ranker import HasInterval
from jaxrank.numerics.contributions import Contributions
from jaxrank.numerics.interval import Interval, check_level, normal_quantile, within
from jaxrank.numerics.proportion import student
from jaxrank.numerics.separation import Superiority, rank_ends, shares_above
from jaxrank.numerics.status import Status
from jaxrank.resampling.clusters import Clusters
from jaxrank.resampling.schemes import Sample, Scheme, as_scheme
from jaxrank.resampling.tally import Tally
from jaxrank.results import storage
from jaxrank.results.fit import Result
from jaxrank.results.returned import RankedModels

if TYPE_CHECKING:
    import pandas as pd

_ALL = 1 - 1e-9  # a level that leaves no replicate out
PERCENTILES = "percentiles of replicates"


@dataclass(frozen=True, eq=False, repr=False)
class Study(RankedModels):
    """What counts over the replicates of one method tell; nothing of this needs the replicates themselves.

    **estimate**: the fit of the whole data; **scores** and **ranks** (L,) are its own, whatever the replicates.
    **unit**: what was drawn again: "trials", "questions", "clusters" (of questions or battles), "battles", "orders".
    Replicates in which some model has no rank (a score that does not exist) are left out of everything about ranks;
    ``status_counts`` says how many there are and why.
    """

    method: str
    models: tuple[str, ...]
    scheme: str
    seed: Seed
    estimate: Result
    unit: str

    if TYPE_CHECKING:  # a field of one subclass, made from the replicates in the other

        @property
        def tally(self) -> Tally: ...

    @property
    def n_replicates(self) -> int:
        return int(self.tally.n)

    @property
    def scores(self) -> np.ndarray:
        """Scores of the whole data, (L,)."""
        return self.estimate.scores

    @property
    def ranks(self) -> np.ndarray:
        """Ranks of the whole data, int (L,)."""
        return self.estimate.ranks

    @property
    def column(self) -> str:
        return self.estimate.column

    def status_counts(self) -> dict[Status, int]:
        """How the replicates ended: the number of each `Status` that occurred (``str`` of a status is a sentence)."""
        return {Status(i): int(n) for i, n in enumerate(self.tally.statuses) if n}

    @property
    def mean(self) -> np.ndarray:
        """Mean score over the finite replicates, (L,)."""
        self._need_finite(1, 0)
        return self._centre + self.tally.total / self.tally.finite

    @property
    def sd(self) -> np.ndarray:
        """Standard deviation of the score over the finite replicates, (L,): the bootstrap standard error."""
        self._need_finite(2, 0)
        n = self.tally.finite
        return np.sqrt(np.maximum(self.tally.squares - self.tally.total**2 / n, 0) / (n - 1))

    def rank_probabilities(self) -> np.ndarray:
        """(L, L): ``out[i, r]`` is the share of replicates in which model i has rank r + 1 (ties share the best)."""
        return self.tally.ranks / self._ranked()

    @property
    def p_best(self) -> np.ndarray:
        """Share of the replicates in which each model is first, (L,), sum 1: models that tie for the first place share
        it in equal parts. A share, no confidence: that a model leads for sure is for `separated` to say."""
        return self.tally.best / self._ranked()

    def superiority(self) -> Superiority:
        """For each pair the share of replicates in which one is above the other, and in which they tie."""
        return shares_above(self.tally.above, self._ranked())

    def rank_intervals(self, level: float = 0.95) -> Interval:
        """For each model the quantiles (1 - level)/2 and (1 + level)/2 of its rank over the replicates; of models that
        tie the lower end takes the best of the places that they share, the upper end the worst. Of few units the tails
        are smaller, by as much as `interval` of a score is wider than the standard deviation of the replicates says."""
        n = self._ranked()
        reach = self._wider(level) * normal_quantile(check_level(level))
        wider = min(max(level, within(reach)), _ALL) if np.isfinite(reach) else _ALL
        ends = rank_ends(self.tally.ranks, wider)[0], rank_ends(self.tally.last, wider)[1]
        return Interval(*ends, level, PERCENTILES, self.unit, n, self.n_replicates - n)

    def interval(self, level: float = 0.95) -> Interval:
        """Interval of each score, (L,): the score of the whole data plus and minus the standard deviation of the finite
        replicates, corrected for what the scheme shrinks, times the quantile of Student's t. Accuracies and the Pass@k
        family have Wilson's, at the effective number of trials or of what was drawn."""
        check_level(level)
        if (own := self._own_interval(level)) is not None:
            return own
        self._need_finite(2, 0.5)
        n = int(self.tally.finite)
        reach = self._wider(level) * normal_quantile(level) * self.sd
        ends = self.estimate.within((self.scores - reach, self.scores + reach))
        return Interval(*ends, level, "sd of replicates", self.unit, n, self.n_replicates - n)

    def _own_interval(self, level: float) -> Interval | None:
        """An interval that fits the scores better than one from the replicates: that of the estimate, where it is about
        what they draw, and Wilson's of shares."""
        data, estimate = self.estimate.data, self.estimate
        known = self.unit == "questions" or (self.unit == "trials" and self._sample and data.fewest_trials > 1)
        if known and isinstance(estimate.ranker, HasInterval) and len(data.questions) > 1:
            return estimate.interval(level, unit=self.unit)
        if self._by_unit is not None and (estimate.is_share or isinstance(estimate.ranker, HasInterval)):
            return estimate.interval_by(self._by_unit, self.unit, level)
        if not estimate.is_share or self._sample is None or self._sample.shrink <= 0:
            return None
        self._need_finite(2, 0.5)
        trials = self.unit == "trials"  # every cell has its own
        clusters = None if trials else np.full(len(self.models), self._sample.degrees + 1)
        ends = estimate.share_interval(self.sd**2 / self._sample.shrink, clusters, level)
        kind = "Wilson, effective number of trials from replicates"
        n = int(self.tally.finite)
        return Interval(*ends, level, kind, self.unit, n, self.n_replicates - n)

    @cached_property
    def _scheme(self) -> Scheme | None:
        """How replicates were drawn; None for a scheme of the user's own."""
        try:
            return as_scheme(self.scheme).bound(self.estimate.data)
        except OptionError:
            return None

    @property
    def _sample(self) -> Sample | None:
        """The sample that was drawn again."""
        return None if self._scheme is None else self._scheme.sample(self.estimate.data.shape)

    def _wider(self, level: float) -> float:
        """By how much deviations of replicates must grow to be those of an interval: the variance that a draw of few
        units lacks, and Student's t over the normal quantile."""
        if self._sample is None:
            return 1.0
        shrink, degrees = self._sample
        if shrink <= 0:
            return float("nan")
        t = float(student(np.asarray(degrees), level))
        return t / normal_quantile(level) / shrink**0.5

    @cached_property
    def _by_unit(self) -> Contributions | None:
        """What each question, or each cluster, adds to the errors of the estimate, where these were drawn."""
        if self.unit == "questions":
            return self.estimate.contributions
        columns = self._scheme.columns if isinstance(self._scheme, Clusters) else ()
        return self.estimate.by_cluster(*columns) if len(columns) == 1 else None

    def separated(self, level: float = 0.95) -> np.ndarray:
        """bool (L, L): ``out[i, j]`` where i is above j, all statements together with probability ``level``."""
        if self._by_unit is not None:
            return self.estimate.differences_by(self._by_unit, self.unit, level, simultaneous=True).lower > 0
        n_models = len(self.models)
        return self.superiority().above >= 1 - (1 - level) / max(n_models * (n_models - 1), 1)

    def to_frame(self, *, level: float | None = 0.95) -> pd.DataFrame:
        """A pandas frame, best model first: rank, model, score, sd, lower, upper, rank_lower, rank_upper, p_best;
        without lower and upper where fewer than half of the replicates have finite scores."""
        columns: dict[str, np.ndarray] = {}
        if self.tally.finite > 1:
            columns["sd"] = self.sd
        if level is not None:
            if self._half_finite:
                columns["lower"], columns["upper"] = self.interval(level)
            columns["rank_lower"], columns["rank_upper"] = self.rank_intervals(level)
        return self._table({**columns, "p_best": self.p_best})

    def words(self, level: float = 0.95) -> list[str]:
        """What the intervals at ``level`` and p_best are about, a line each."""
        ranks = self.rank_intervals(level).words
        scores = self.interval(level).words if self._half_finite else "none, as too few replicates are finite"
        lines = [f"intervals: {ranks}"] if scores == ranks else [f"intervals of scores: {scores}", f"of ranks: {ranks}"]
        few = [f"note: {self.estimate.few}"] if self.unit == "questions" and self.estimate.few else []
        said = "p_best: how often a model is first in the replicates, not how sure it is that it leads: tiers say that"
        return [*lines, *few, said]

    def _foot(self, level: float = 0.95) -> list[str]:
        ended = [f"{n} replicates: {status}" for status, n in self.status_counts().items() if status]
        told = [self.direction] if self.direction else []
        return [*self.words(level), *told, *ended]

    def _record(self) -> dict[str, Any]:
        record = storage.record_of(self.method, self.estimate.ranker, self.seed, self.estimate.status)
        return {**record, "scheme": self.scheme, "n_replicates": self.n_replicates, "unit": self.unit}

    @property
    def drawn(self) -> str:
        """What replicates draw again, in words: the scheme, or the results themselves, "battles" or "orders"."""
        return self.unit if self.scheme == "trials" and self.unit else self.scheme

    @property
    def _half_finite(self) -> bool:
        n = int(self.tally.finite)
        return n > 1 and 2 * n >= self.n_replicates

    @property
    def _centre(self) -> np.ndarray:
        return centre_of(self.estimate)

    def _ranked(self) -> int:
        n = int(self.tally.ranked)
        if n == 0:
            raise UndefinedScoreError(
                f"{self.method}: no replicate has ranks for all models ({self._reasons()}); {_REMEDY}"
            )
        return n

    def _need_finite(self, least: int, share: float) -> None:
        n, total = int(self.tally.finite), self.n_replicates
        if n < least or n < share * total:
            raise UndefinedScoreError(
                f"{self.method}: only {n} of {total} replicates have finite scores ({self._reasons()}), too few for an "
                f"interval; {_REMEDY}, or rank_intervals()"
            )

    def _reasons(self) -> str:
        return "; ".join(f"{n}: {status}" for status, n in self.status_counts().items())

    def __repr__(self) -> str:
        size = f"{self.n_replicates} replicates by {self.drawn}, {len(self.models)} models"
        return f"{type(self).__name__}({self.method}, {size})"


_REMEDY = "use a method with a prior (its _map identifier)"


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Study):
    """A study that kept its counts only."""

    tally: Tally = field(kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride]


def centre_of(estimate: Result) -> np.ndarray:
    """What sums of scores are taken about, (L,): the point estimate where it is finite, against cancellation."""
    return np.where(np.isfinite(estimate.scores), estimate.scores, 0).astype(np.float64)
