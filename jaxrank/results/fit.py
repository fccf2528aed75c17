"""``Result``: one fit with its names, for people. Everything is NumPy here."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import equinox as eqx
import numpy as np

from jaxrank.data.accepted import Seed
from jaxrank.data.ballots import Ballots
from jaxrank.data.kind import Data
from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.models.options import check_choice, check_flag
from jaxrank.models.ranker import (
    Bounded,
    Explains,
    HasCovariance,
    HasInterval,
    HasStandardErrors,
    LeavesUnread,
    MeanOfCells,
    Ranker,
)
from jaxrank.numerics.contributions import Contributions
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.precision import precision
from jaxrank.numerics.proportion import Ends, of_shares
from jaxrank.numerics.ranks import RANK_METHODS, RankMethod, rank_scores
from jaxrank.numerics.separation import Superiority, normal_superiority
from jaxrank.numerics.status import Status
from jaxrank.resampling.contributions import has_contributions
from jaxrank.results import storage
from jaxrank.results.errors_by_unit import ErrorsByUnit
from jaxrank.results.own_errors import STUDENT, OwnErrors
from jaxrank.results.returned import RankedModels
from jaxrank.results.unfinished import unfinished

if TYPE_CHECKING:
    import pandas as pd

COVARIANCES = ("information", "sandwich")
UNITS = ("questions", "trials")
WILSON = "Wilson, effective number of trials"
CREDIBLE = "normal, of the posterior under its prior"
FAILURES = (Status.MAX_STEPS, Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED, Status.UNDEFINED, Status.HOST_LIMIT)
_OF = {True: "all pairs at once", False: "of differences"}


@dataclass(frozen=True, eq=False, repr=False)
class Result(RankedModels, ErrorsByUnit, OwnErrors):
    """A ranking of L models by one method.

    **scores** (L,) higher is better; **ranks** int (L,), 1 is best, ties share a rank; **order** (L,) indices best
    first;
    **status** a `Status`, whose ``str`` is a sentence; **params** what else the method estimates, by name;
    **seed** as given, of methods that draw random numbers; **cluster** the column by which errors are (`clustered`).
    """

    fit: Fit
    ranker: Ranker
    method: str
    data: Data
    stat: Any
    seed: Seed | None = None
    cluster: str | None = None

    @property
    def scores(self) -> np.ndarray:
        return np.asarray(self.fit.scores)

    @cached_property
    def ranks(self) -> np.ndarray:
        return self.rank()

    def rank(self, method: RankMethod = "competition") -> np.ndarray:
        """Ranks with ties as "competition" 1 2 2 4, "competition_max", "dense" or "average"; 0 where a score is NaN."""
        check_choice("method", method, RANK_METHODS)
        with self.precision():
            return np.asarray(rank_scores(self.scores, method, self.fit.resolution))

    @property
    def status(self) -> Status:
        return Status(int(self.fit.status))

    @property
    def converged(self) -> bool:
        return self.status not in FAILURES

    @property
    def steps(self) -> int:
        return int(self.fit.steps)

    @property
    def params(self) -> dict[str, Any]:
        return self.fit.params

    @property
    def models(self) -> tuple[str, ...]:
        return self.data.models

    @property
    def column(self) -> str:
        return self.ranker.column

    @property
    def coverage(self) -> np.ndarray:
        """Share of the questions on which each model has results, (L,); ones for battles."""
        return self.data.coverage

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: how the data were read, gaps, and how the fit ended."""
        notes = list(self.data.notes)
        notes += [*reading_notes(self.data, self.ranker), *filter(None, (self.unread, self.few))]
        if self.status != Status.CONVERGED:
            notes.append(self.explain())
        return tuple(notes)

    @cached_property
    def unread(self) -> str:
        """What the method did not read of the data, and the option that reads it; empty where it read everything."""
        with self.precision():
            return self.ranker.unread_of(self.stat, self.data) if isinstance(self.ranker, LeavesUnread) else ""

    def explain(self) -> str:
        """The status as a sentence, with the models or questions behind it and the remedy."""
        sentence = self.status.sentence
        if self.status == Status.MAX_STEPS:
            return unfinished(self.ranker, self.steps, self.scores.dtype == np.float32)
        if self.status == Status.CONVERGED or not isinstance(self.ranker, Explains):
            return sentence
        with self.precision():
            detail = self.ranker.explain(self.stat, self.fit, self.models, self.data.questions)
        return f"{sentence}: {detail}" if detail else sentence

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Standard deviation of each score, (L,).

        By question where `contributions` are known, so that trials of one question may be alike; else the method's
        own, posterior or from the observed information.
        `UnsupportedDataError` where the method has none that holds, or ranks by a quantile, which is no centre of an
        interval; `jaxrank.bootstrap` gives intervals for any method.
        """
        instead = f"use jaxrank.bootstrap(data, {self.method!r}).interval()"
        ranker = self.ranker
        if self._by_quantile:
            raise UnsupportedDataError(
                f"{self.method} ranks by a quantile of the posterior, around which no interval is centred; use the "
                f"same method without quantile= for the interval of its mean, or {instead.removeprefix('use ')}"
            )
        if not self._credible and self.contributions is not None:
            return self.contributions.errors
        if not isinstance(ranker, HasStandardErrors):
            raise UnsupportedDataError(f"{self.method} has no analytic standard errors; {instead}")
        self.refuse_dependent()
        with self.precision():
            return np.asarray(_standard_errors(ranker, self.stat, self.fit))

    @property
    def has_interval(self) -> bool:
        """Whether the method has standard errors, and its scores are the centres of their intervals."""
        own = isinstance(self.ranker, HasStandardErrors) and not self.dependent
        return not self._by_quantile and (own or has_contributions(self.ranker, self.data, self.cluster))

    @property
    def _by_quantile(self) -> bool:
        return getattr(self.ranker, "quantile", None) is not None

    @property
    def _credible(self) -> bool:
        return self.cluster is None and isinstance(self.ranker, HasStandardErrors) and self.ranker.credible

    def interval(self, level: float = 0.95, *, unit: str | None = None) -> Interval:
        """Interval of each score, (L,).

        **unit**: what could have come out otherwise. "questions": the interval is about such questions, of which these
        are a sample; it holds for these questions too, where it is too wide. "trials": about these very questions,
        whose trials could have come out otherwise; it needs two trials in every cell. By default questions, where
        there are two or more, for the methods that know what each question adds (`contributions`).

        Accuracies have Wilson intervals at the effective number of trials, the Pass@k family at that of questions;
        other means and paired comparison models Student's t by question, the rest normal intervals of
        `standard_errors` (unit None: the method's own model).
        On a scale with two ends intervals end there too.
        """
        check_level(level)
        if unit is not None:
            check_choice("unit", unit, UNITS)
        if isinstance(self.ranker, HasInterval) and self.cluster is None:
            unit = self._unit(unit)
            with self.precision():
                ends = self.ranker.interval(self.stat, self.fit, level, unit)
            graded = self.data.n_categories > 2
            return Interval(*ends, level, STUDENT if graded else WILSON, unit)
        own = "trials" if self._credible else self._sampled if self.contributions is not None else None
        if unit is not None and unit != own:
            self._refuse(unit, own)
        if own == self._sampled and self.contributions is not None:
            return self.interval_by(self.contributions, self._sampled, level)
        reach, kind = self._reach(level) * self.standard_errors, CREDIBLE if self._credible else self._by_model
        return Interval(*self.within((self.scores - reach, self.scores + reach)), level, kind, own)

    def interval_by(self, several: Contributions, unit: str, level: float) -> Interval:
        """Interval of each score from what each ``unit`` adds to its error: Wilson's of shares, else Student's t."""
        if self.is_share:
            ends = self.share_interval(several.errors**2, several.n_seen, level)
            return Interval(*ends, level, f"Wilson, effective number of {unit}", unit)
        reach = several.student(level) * several.errors
        return Interval(*self.within((self.scores - reach, self.scores + reach)), level, STUDENT, unit)

    @property
    def is_share(self) -> bool:
        """Whether each score is a mean of shares, accuracy and the Pass@k family, so that Wilson's interval fits it."""
        ranker = self.ranker
        share = isinstance(ranker, MeanOfCells) and isinstance(ranker, Bounded) and not self._credible
        return share and self.data.kind != "real" and (ranker.binary or self.data.n_categories == 2)

    def share_interval(self, variance: np.ndarray, clusters: np.ndarray | None, level: float) -> Ends:
        """Wilson's interval of scores that are shares (`is_share`), of estimated ``variance`` (L,) from so many
        ``clusters`` (L,), None where every trial is one."""
        with self.precision():
            low, high = (float(x) for x in self.ranker.bounds(self.stat))  # pyright: ignore
            trials = np.asarray(self.stat.trials, float).sum(axis=1)
        if clusters is None:
            trials = trials / float(getattr(self.ranker, "k", 1))  # so many tries
        ends = of_shares(self.scores.astype(float) - low, variance, trials, clusters, level, high - low)
        return Ends(low + ends.lower, low + ends.upper)

    def _unit(self, unit: str | None) -> str:
        """The unit of a method that knows both; `OptionError` where the data have too little for it."""
        several = len(self.data.questions) > 1
        if unit is None:
            return "questions" if several else "trials"
        if unit == "questions" and not several:
            raise OptionError('unit="questions" needs two questions or more; use unit="trials"')
        if unit == "trials" and self.data.fewest_trials < 2:
            raise OptionError(
                'unit="trials" needs two trials in every cell, and some have one, which says nothing about how trials '
                'differ; use unit="questions"'
            )
        return unit

    def _refuse(self, unit: str, own: str | None) -> None:
        scheme = "questions" if unit == "questions" else "independent"
        why = f"about {own}" if own else "what its model says"
        raise UnsupportedDataError(
            f"the interval of {self.method} is {why}; for unit={unit!r} use "
            f"jaxrank.bootstrap(data, {self.method!r}, scheme={scheme!r}).interval()"
        )

    def within(self, ends: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Ends of intervals of scores, cut where the scale of the method ends."""
        if not isinstance(self.ranker, Bounded):
            return ends
        with self.precision():
            low, high = map(np.asarray, self.ranker.bounds(self.stat))
        return np.clip(ends[0], low, high), np.clip(ends[1], low, high)

    def difference_intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """Intervals (L, L) of the differences score_i - score_j, each for itself, or with ``simultaneous`` all at once
        with probability ``level``.

        By question where `contributions` are known: Student's t for a single difference; for all at once the quantile
        of the largest studentised difference over all pairs when the questions are drawn again (`Contributions.reach`).
        Else normal, with the quantile of the largest difference of normal draws, always the same ones.
        """
        level = check_level(level)
        check_flag("simultaneous", simultaneous)
        if self.contributions is not None:
            return self.differences_by(self.contributions, self._sampled, level, simultaneous=simultaneous)
        gap, spread = self.differences()
        reach = (self._reach_of_all(level) if simultaneous else self._reach(level)) * spread
        return Interval(gap - reach, gap + reach, level, f"{self._by_model}, {_OF[simultaneous]}")

    def differences_by(self, several: Contributions, unit: str, level: float, *, simultaneous: bool) -> Interval:
        """`difference_intervals` from what each ``unit`` adds to the errors."""
        gap = self._gaps
        reach = (several.reach(level) if simultaneous else several.student(level)) * several.told(gap)
        return Interval(gap - reach, gap + reach, level, f"{STUDENT}, {_OF[simultaneous]}", unit)

    def superiority(self) -> Superiority:
        """For each pair the probability that one is above the other, normal with the standard errors of `differences`;
        Student's where a method estimates their variance."""
        degrees = self._degrees if self.contributions is None else np.inf
        return normal_superiority(*self.differences(), degrees)

    def differences(self) -> tuple[np.ndarray, np.ndarray]:
        """Differences of scores (L, L) and their standard errors: by question where `contributions` are known, else
        from the covariance where the method has one, else of independent scores. NaN where nothing is known: of models
        with fewer than two questions, and where fewer than ten questions all tell two models apart by the same."""
        gap = self._gaps
        if self.contributions is not None:
            return gap, self.contributions.told(gap)
        variance = np.diag(self._covariance)
        with np.errstate(invalid="ignore"):  # nor of two infinite variances
            square = variance[:, None] + variance[None, :] - 2 * self._covariance
        np.fill_diagonal(square, 0)
        return gap, np.sqrt(np.maximum(square, 0))

    @property
    def _gaps(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # of two infinite scores nothing is known
            return self.scores[:, None] - self.scores[None, :]

    @cached_property
    def _covariance(self) -> np.ndarray:
        """Covariance of the scores (L, L), of independent ones where the method has no other."""
        if self.contributions is not None or isinstance(self.ranker, HasCovariance):
            return self.covariance().astype(np.float64)
        return np.diag(self.standard_errors.astype(np.float64) ** 2)

    def covariance(self, kind: str | None = None, *, cluster: str | None = None) -> np.ndarray:
        """Covariance (L, L) of the scores: "sandwich" (clustered by question, which holds when trials of one question
        are more alike than the model says) or "information" (inverse observed information). By default the sandwich
        where the data have questions and the method knows what each adds.

        ``cluster``: the sandwich by the clusters of this column, corrected by G / (G - 1) alone as it is usually given;
        the errors of `clustered` allow for clusters of unequal size too.
        """
        if kind is not None:
            check_choice("kind", kind, COVARIANCES)
        if cluster is not None:
            found = None if kind == "information" else self.clustered(cluster).contributions
            if found is None:
                raise OptionError(f'cluster={cluster!r} is for covariance("sandwich") of finite scores')
            return found.sandwich
        if kind != "information" and self.contributions is not None:
            return self.contributions.covariance
        if kind is None:
            self.refuse_dependent()
        if kind != "sandwich" and isinstance(self.ranker, HasCovariance):
            with self.precision():
                return np.asarray(_covariance(self.ranker, self.stat, self.fit))
        if kind == "sandwich" and not self.data.questions:
            remedy = 'name the column that has the clusters, as cluster="voter"'
            raise UnsupportedDataError(
                f'covariance("sandwich") clusters by question, and {self.data.content} have none; {remedy}'
            )
        said = f"{kind} covariance" if kind else "covariance"
        raise UnsupportedDataError(f"{self.method} has no analytic {said}; use jaxrank.bootstrap")

    def to_frame(self, *, level: float | None = 0.95) -> pd.DataFrame:
        """A pandas frame, best model first: rank, model, score, and where the method has them se, lower and upper."""
        columns: dict[str, Any] = {}
        if level is not None and self.has_interval:
            lower, upper = self.interval(level)
            columns = {"se": self.standard_errors, "lower": lower, "upper": upper}
        return self._table(columns)

    def _title(self) -> str:
        return f"{self.method}: {self.data!r}"

    def _foot(self, level: float = 0.95) -> list[str]:
        interval = [f"interval: {self.interval(level).words}"] if self.has_interval else []
        told = [self.direction] if self.direction else []
        return [*interval, *told, f"status: {self.status}", *(f"note: {n}" for n in self.notes)]

    def _record(self) -> dict[str, Any]:
        return storage.record_of(self.method, self.ranker, self.seed, self.status)

    def precision(self) -> contextlib.AbstractContextManager[None]:
        """The context in which the fit was made: 64-bit where its scores are."""
        return precision("float64" if self.scores.dtype == np.float64 else "float32")

    def __repr__(self) -> str:
        top = ", ".join(self.models[i] for i in self.order[:3])
        return f"Result({self.method}, {len(self.models)} models, best: {top}; {self.status})"


def reading_notes(data: Data, ranker: Ranker) -> list[str]:
    """A sentence where models were not tried on the same questions, and one where the scores of some questions are on
    another scale, with what the method makes of it."""
    gaps = f"{data.gaps}; {ranker.gaps}" if ranker.statistic in (Counts, Ballots) and data.gaps else ""
    remedy = "normalized_mean and mean_rank give every question the same say"
    scales = f"{data.scales}; the former rule the mean: {remedy}" if ranker.adds_scores and data.scales else ""
    return [said for said in (gaps, scales) if said]


@eqx.filter_jit
def _covariance(ranker: Any, stat: Any, fit: Fit) -> Any:
    return ranker.covariance(stat, fit)


@eqx.filter_jit
def _standard_errors(ranker: Any, stat: Any, fit: Fit) -> Any:
    return ranker.standard_errors(stat, fit)
