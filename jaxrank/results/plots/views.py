"""What results, replicates and posteriors have in common: a ranking with intervals, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError
from jaxrank.results.plots.canvas import percent


@dataclass(frozen=True)
class View:
    """A ranking to draw.

    **frame**: best model first: rank, model, score, and where they exist lower, upper, rank_lower, rank_upper.
    **method**: what ranked. **size**: how much data. **interval**: which intervals, in words; empty without.
    """

    frame: Any
    method: str
    size: str
    interval: str
    rank_interval: str = ""

    @property
    def caption(self) -> str:
        return "; ".join(filter(None, (self.size, self.interval and f"bars: {self.interval}", self.rank_note)))

    @property
    def rank_note(self) -> str:
        return f"at the right: {self.rank_interval or 'rank'}"


def view_of(source: Any, level: float = 0.95) -> View:
    """The ranking of a `Result`, a `Replicates` or `Summary`, or a `Posterior`, with intervals at ``level``."""
    from jaxrank.results.fit import Result
    from jaxrank.results.posterior import Posterior
    from jaxrank.results.replicates import Replicates, Study

    if not isinstance(source, Result | Study | Posterior):
        raise OptionError(f"a ranking is drawn from a Result, Replicates or a Posterior, not {type(source).__name__}")
    frame = source.to_frame(level=level).drop(columns=["se", "sd"], errors="ignore")
    if isinstance(source, Posterior):
        kind, of_ranks = f"{percent(level)} equal-tailed credible intervals", f"{percent(level)} interval of the rank"
    elif isinstance(source, Result):
        kind, of_ranks = f"normal {percent(level)} intervals", ""
    else:
        how = "percentile" if isinstance(source, Replicates) else "normal"
        kind, of_ranks = f"{how} {percent(level)} intervals", f"{percent(level)} percentile interval of the rank"
    return View(frame, source.method, size_of(source), kind if "lower" in frame else "", of_ranks)


def size_of(source: Any) -> str:
    """How much data is behind a source, in words."""
    from jaxrank.results.convergence import Convergence
    from jaxrank.results.fit import Result
    from jaxrank.results.posterior import Posterior
    from jaxrank.results.replicates import Study

    if isinstance(source, Posterior):
        chains, draws = source.draws["theta"].shape[:2]
        return f"{len(source.models)} models, {chains} chains of {draws:,} draws ({source.sampler})"
    if isinstance(source, Convergence):
        return (
            f"{len(source.models)} models, {source.n_trials} trials, {source.n_replicates:,} replicates by "
            f"{source.scheme}"
        )
    if isinstance(source, Study):
        return f"{size_of(source.estimate)}, {source.n_replicates:,} replicates by {source.scheme}"
    if isinstance(source, Result):
        return size_of(source.data)
    if isinstance(source, Responses):
        n = source.trials[source.trials > 0]
        trials = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
        gaps = " (some cells missing)" if (source.trials == 0).any() else ""
        word = "trial" if trials == "1" else "trials"
        return f"{len(source.models)} models, {len(source.questions)} questions, {trials} {word} a cell{gaps}"
    if isinstance(source, Comparisons):
        return f"{len(source.models)} models, {source.count.sum():,.0f} battles"
    return f"{len(source.models)} models"
