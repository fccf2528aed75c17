"""``Result``: one fit with its names, for people. Everything is NumPy here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import equinox as eqx
import jax
import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.models.covariance import COVARIANCES, score_covariance
from jaxrank.models.fit import Fit
from jaxrank.models.pairs.fit import PairedModel
from jaxrank.models.ranker import Explains, HasStandardErrors, Ranker
from jaxrank.numerics.ranks import RankMethod, rank_scores
from jaxrank.numerics.status import Status
from jaxrank.results import storage
from jaxrank.results.drawing import draw
from jaxrank.results.tables import render

FAILURES = (Status.MAX_STEPS, Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED, Status.UNDEFINED, Status.HOST_LIMIT)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A ranking of L models by one method.

    **scores** (L,) higher is better; **ranks** int (L,), 1 is best, ties share a rank; **order** (L,) indices best
    first;
    **status** a `Status`, whose ``str`` is a sentence; **params** what else the method estimates, by name;
    **seed** as given, of methods that draw random numbers.
    """

    fit: Fit
    ranker: Ranker
    method: str
    data: Responses | Comparisons
    stat: Any
    seed: Any = None

    @property
    def scores(self) -> np.ndarray:
        return np.asarray(self.fit.scores)

    @cached_property
    def ranks(self) -> np.ndarray:
        return self.rank()

    def rank(self, method: RankMethod = "competition") -> np.ndarray:
        """Ranks with ties as "competition" 1 2 2 4, "competition_max", "dense" or "average"; 0 where a score is NaN."""
        with self.precision():
            return np.asarray(_ranks(self.scores, method, self.fit.resolution))

    @property
    def order(self) -> np.ndarray:
        """Indices of the models, best first; ties in the order given, models without a score last."""
        key = np.where(self.ranks > 0, self.ranks, len(self.ranks) + 1)
        return np.argsort(key, kind="stable")

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
    def coverage(self) -> np.ndarray:
        """Share of the questions on which each model has results, (L,); ones for battles."""
        return self.data.coverage if isinstance(self.data, Responses) else np.ones(len(self.models))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: how the data were read, gaps, and how the fit ended."""
        notes = list(self.data.notes)
        gap = coverage_note(self.data) if isinstance(self.stat, Counts) else ""
        if gap:
            notes.append(gap)
        if self.status != Status.CONVERGED:
            notes.append(self.explain())
        return tuple(notes)

    def explain(self) -> str:
        """The status as a sentence, with the models or questions behind it and the remedy."""
        sentence = self.status.sentence
        if self.status == Status.MAX_STEPS:
            return f"{sentence} ({self.steps} steps); allow more steps in the solver, or use a prior"
        if self.status == Status.CONVERGED or not isinstance(self.ranker, Explains):
            return sentence
        questions = self.data.questions if isinstance(self.data, Responses) else ()
        with self.precision():
            detail = self.ranker.explain(self.stat, self.fit, self.models, questions)
        return f"{sentence}: {detail}" if detail else sentence

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Standard deviation of each score, (L,): posterior, or from the observed information.

        `UnsupportedDataError` where the method has no analytic one; `jaxrank.bootstrap` gives intervals for any method.
        """
        if not isinstance(self.ranker, HasStandardErrors):
            raise UnsupportedDataError(
                f"{self.method} has no analytic standard errors; "
                f"use jaxrank.bootstrap(data, {self.method!r}).interval()"
            )
        with self.precision():
            return np.asarray(_standard_errors(self.ranker, self.stat, self.fit))

    @property
    def has_interval(self) -> bool:
        return isinstance(self.ranker, HasStandardErrors)

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends (L,), (L,) of the normal interval of each score at ``level`` in (0, 1)."""
        if not 0 < level < 1:
            raise OptionError(f"level={level}; it must lie between 0 and 1, for example 0.95")
        z = NormalDist().inv_cdf(0.5 + level / 2)
        return self.scores - z * self.standard_errors, self.scores + z * self.standard_errors

    def covariance(self, kind: str = "information") -> np.ndarray:
        """Covariance (L, L) of the scores: "information" (inverse observed information) or "sandwich" (clustered by
        question, which holds when trials of one question are more alike than the model says)."""
        if kind not in COVARIANCES:
            raise OptionError(f"kind={kind!r}; it must be one of {', '.join(COVARIANCES)}")
        ranker = self.ranker
        if not isinstance(ranker, PairedModel):
            raise UnsupportedDataError(f"{self.method} has no analytic covariance; use jaxrank.bootstrap")
        with self.precision():
            return np.asarray(score_covariance(ranker, self.stat, self.fit, self.data, kind))

    def to_frame(self, interval: float | None = 0.95) -> Any:
        """A pandas frame, best model first: rank, model, score, and where the method has them se, lower and upper."""
        import pandas as pd

        columns: dict[str, Any] = {"rank": self.ranks, "model": list(self.models), "score": self.scores}
        if interval is not None and self.has_interval:
            lower, upper = self.interval(interval)
            columns.update(se=self.standard_errors, lower=lower, upper=upper)
        return pd.DataFrame(columns).iloc[self.order].reset_index(drop=True)

    def summary(self, interval: float = 0.95, format: str = "text") -> str:
        """The ranking with the method, the interval and the notes; ``format``: "text", "html", "latex" or "csv" (the
        numbers alone, in full)."""
        foot = [f"interval: normal, {interval:.0%}"] if self.has_interval else []
        notes = [*foot, f"status: {self.status}", *(f"note: {n}" for n in self.notes)]
        return render(self.to_frame(interval), format, title=f"{self.method}: {self.data!r}", notes=notes)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the result whole to ``.npz`` (`jaxrank.load` reads it back), or its table to ``.csv``, ``.json`` or
        ``.parquet``; with versions, method, options and seed (not in csv)."""
        record = storage.record_of(self.method, self.ranker, self.seed, self.status)
        if Path(path).suffix == ".npz":
            return storage.save(self, path, record)
        return storage.save_table(self.to_frame(), path, record)

    def plot(self, kind: str = "leaderboard", ax: Any = None, **options: Any) -> Any:
        """Draw the result: "leaderboard", "tiers", "superiority" (methods with standard errors), "wins", "responses",
        "pass", "items" and "wright" (Rasch models and their kin), "hodge"; options as the function of `jaxrank.plots`
        takes them. Returns the Axes."""
        return draw(self, kind, ax, options)

    def precision(self) -> Any:
        """The context in which the fit was made: 64-bit where its scores are."""
        return jax.enable_x64(self.scores.dtype == np.float64)

    def __repr__(self) -> str:
        top = ", ".join(self.models[i] for i in self.order[:3])
        return f"Result({self.method}, {len(self.models)} models, best: {top}; {self.status})"


def coverage_note(data: Responses | Comparisons) -> str:
    """A sentence where models were not tried on the same questions; empty otherwise."""
    if not isinstance(data, Responses):
        return ""
    tried = data.trials > 0
    gaps = np.flatnonzero(~tried.all(axis=1) & (tried.any(axis=0) & ~tried).any(axis=1))
    if len(gaps) == 0:
        return ""
    share = ", ".join(f"{data.models[i]!r} {tried[i].sum()}/{tried.shape[1]}" for i in gaps[:5])
    return (
        f"{len(gaps)} models have no result on some questions ({share}{', ...' if len(gaps) > 5 else ''}); "
        f"means are over the questions that each model has, which may differ in difficulty"
    )


_ranks = jax.jit(rank_scores, static_argnums=1)


@eqx.filter_jit
def _standard_errors(ranker: Any, stat: Any, fit: Fit) -> Any:
    return ranker.standard_errors(stat, fit)
