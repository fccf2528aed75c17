"""What results, replicates and posteriors have in common: a ranking with intervals, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.errors import JaxrankError, OptionError
from jaxrank.numerics.interval import check_level
from jaxrank.results.convergence import Convergence
from jaxrank.results.fit import Result
from jaxrank.results.posterior import Posterior
from jaxrank.results.returned import RankedModels
from jaxrank.results.study import Study
from jaxrank.results.tiers import separated


@dataclass(frozen=True)
class View:
    """A ranking to draw.

    **frame**: best model first: rank, model, score, and where they exist lower, upper, rank_lower, rank_upper.
    **column**: of the scores in the frame. **method**: what ranked, and **score** what people call its number.
    **size**: how much data. **interval**, **rank_interval**: which intervals, in words; empty without. **near**: which
    rows of the frame are not separated from the first, with it; none where the method has no errors.
    """

    frame: Any
    column: str
    method: str
    score: str
    size: str
    interval: str
    rank_interval: str
    near: np.ndarray

    @property
    def spoken(self) -> str:
        """The name of the score without its identifier, or the identifier."""
        name = self.score.partition(" (")[0]
        return self.method if name == "score" else name

    @property
    def label(self) -> str:
        """What the axis of the scores says."""
        turned = self.column != "score"
        return f"{self.column.replace('_', ' ')} (lower is better)" if turned else self.score

    @property
    def caption(self) -> str:
        """Size, bars and the numbers at the right; what both intervals share is said once."""
        bars = self.interval and f"bars: {self.interval}"
        how = "the same way" if self.interval == self.rank_interval else self.rank_interval
        ranks = f"interval of the rank, {how}" if how else "rank"
        return "; ".join(filter(None, (self.size, bars, f"at the right: {ranks}")))


def view_of(source: Any, level: float = 0.95) -> View:
    """The ranking of a `Result`, a `Replicates` or `Summary`, or a `Posterior`, with intervals at ``level``."""
    check_level(level)
    if not isinstance(source, RankedModels):
        raise OptionError(f"a ranking is drawn from a Result, Replicates or a Posterior, not {type(source).__name__}")
    frame = source.to_frame(level=level).drop(columns=["se", "sd"], errors="ignore")
    interval = source.interval(level).words if "lower" in frame else ""
    ranks: Any = source
    rank_interval = ranks.rank_intervals(level).words if "rank_lower" in frame else ""
    try:
        near = ~separated(ranks, level)[source.order[0]][source.order]
    except JaxrankError:  # the method has no errors, or no model has a score
        near = np.zeros(len(frame), bool)
    method = ranks.method
    return View(frame, source.column, method, score_name(ranks), size_of(source), interval, rank_interval, near)


def score_name(source: Any) -> str:
    """What people call the score of a ranking, with its identifier where that is another word."""
    result, method = getattr(source, "estimate", source), source.method
    if not isinstance(result, Result):
        return f"score ({method})"
    data: Any = result.data
    trials = np.unique(data.trials) if data.questions else np.zeros(0)
    k = getattr(result.ranker, "k", None)
    said = {
        "avg": "accuracy" if data.kind == "binary" else "mean score",
        "bayes": f"Bayes@{int(trials[0])}" if len(trials) == 1 else "Bayes@N",
        "pass_at_k": f"Pass@{k}",
        "pass_hat_k": f"Pass^{k}",
        "elo": "Elo rating",
    }
    return f"{said[method]} ({method})" if method in said else f"score ({method})"


def check_source(plot: str, source: Any, *classes: type) -> None:
    """`OptionError` unless a plot's source is of one of the classes that it draws."""
    if not isinstance(source, classes):
        names = " or ".join(kind.__name__ for kind in classes)
        raise OptionError(f"{plot} is drawn from {names}, not from {type(source).__name__}")


@singledispatch
def size_of(source: Any) -> str:
    """How much data is behind a source, in words."""
    return f"{len(source.models)} models"


@size_of.register
def _(source: Data) -> str:
    return source.size


@size_of.register
def _(source: Result) -> str:
    return size_of(source.data)


@size_of.register
def _(source: Study) -> str:
    return f"{size_of(source.estimate)}, {source.n_replicates:,} replicates by {source.drawn}"


@size_of.register
def _(source: Posterior) -> str:
    chains, draws = source.draws["theta"].shape[:2]
    return f"{len(source.models)} models, {chains} chains of {draws:,} draws ({source.sampler})"


@size_of.register
def _(source: Convergence) -> str:
    size = f"{len(source.models)} models, {source.n_trials} trials"
    return f"{size}, {source.n_replicates:,} replicates by {source.scheme}"


@singledispatch
def chances_of(source: Any) -> str:
    """What the probabilities of a source are, in words."""
    raise OptionError(f"a {type(source).__name__} has no probabilities of ranks")


@chances_of.register
def _(source: Result) -> str:
    return "normal approximation from the standard errors"


@chances_of.register
def _(source: Study) -> str:
    return "shares of replicates"


@chances_of.register
def _(source: Posterior) -> str:
    return "posterior probabilities"
