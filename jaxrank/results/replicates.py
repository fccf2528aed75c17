"""``Replicates``: what a study with replicates tells about a ranking. Everything is NumPy here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from jaxrank.data.files import check_target, replacing
from jaxrank.data.names import model_index
from jaxrank.errors import OptionError, UndefinedScoreError
from jaxrank.numerics.ranks import kendall_tau
from jaxrank.numerics.status import Status
from jaxrank.resampling.tally import Tally, ranks_of
from jaxrank.resampling.work import Kept
from jaxrank.results import storage
from jaxrank.results.drawing import draw
from jaxrank.results.fit import Result
from jaxrank.results.tables import render

REPLICATES = (".npz", ".parquet")
"""Endings of files that hold replicates."""


class Interval(NamedTuple):
    """Ends of an interval for each model, and the replicates that it is made from."""

    lower: np.ndarray
    upper: np.ndarray
    used: int
    left_out: int


class Superiority(NamedTuple):
    """Shares of replicates (L, L): model i ``above`` model j, and i and j ``tied``; above + above.T + tied = 1."""

    above: np.ndarray
    tied: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """What counts over the replicates of one method tell; nothing of this needs the replicates themselves.

    **estimate**: the fit of the whole data; point estimates and ranks are its own, whatever the replicates.
    Replicates in which some model has no rank (a score that does not exist) are left out of everything about ranks;
    ``status_counts`` says how many there are and why.
    """

    method: str
    models: tuple[str, ...]
    scheme: str
    seed: Any
    estimate: Result

    if TYPE_CHECKING:  # a field of one subclass, made from the replicates in the other

        @property
        def tally(self) -> Tally: ...

    @property
    def n_replicates(self) -> int:
        return int(self.tally.n)

    @property
    def point(self) -> np.ndarray:
        """Scores of the whole data, (L,)."""
        return self.estimate.scores

    @property
    def ranking(self) -> np.ndarray:
        """Ranks of the whole data, int (L,)."""
        return self.estimate.ranks

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

    def superiority(self) -> Superiority:
        """For each pair the share of replicates in which one is above the other, and in which they tie."""
        above = self.tally.above / self._ranked()
        return Superiority(above, 1 - above - above.T)

    def rank_intervals(self, level: float = 0.95) -> Interval:
        """For each model the quantiles (1 - level)/2 and (1 + level)/2 of its rank over the replicates."""
        _check_level(level)
        cumulative = np.cumsum(self.tally.ranks, axis=1)
        n = self._ranked()
        tail = (1 - level) / 2
        # the smallest rank r with share(rank <= r) of at least the quantile; whole numbers keep the comparison exact
        lower = 1 + (cumulative < np.ceil(tail * n - 1e-9)).sum(axis=1)
        upper = 1 + (cumulative < np.ceil((1 - tail) * n - 1e-9)).sum(axis=1)
        return Interval(lower, upper, n, self.n_replicates - n)

    def to_frame(self) -> Any:
        """A pandas frame, best model first: rank, model, score, sd, rank_lower, rank_upper, p_best."""
        import pandas as pd

        ranks = self.rank_intervals()
        columns = {"rank": self.ranking, "model": list(self.models), "score": self.point, "sd": self.sd}
        columns.update(self._interval_columns())
        columns.update(rank_lower=ranks.lower, rank_upper=ranks.upper, p_best=self.rank_probabilities()[:, 0])
        return pd.DataFrame(columns).iloc[self.estimate.order].reset_index(drop=True)

    def summary(self, format: str = "text") -> str:
        """`to_frame` with how it was made; ``format`` as in `Result.summary`."""
        notes = ["intervals: 95 %, percentiles of the replicates"]
        notes += [f"{n} replicates: {status}" for status, n in self.status_counts().items() if status]
        return render(self.to_frame(), format, title=repr(self), notes=notes)

    def plot(self, kind: str = "ranks", ax: Any = None, **options: Any) -> Any:
        """Draw the study: "ranks" (how often each model has each rank), "leaderboard", "tiers" or "superiority";
        options as the function of `jaxrank.plots` takes them. Returns the Axes."""
        return draw(self, kind, ax, options)

    def _interval_columns(self) -> dict[str, np.ndarray]:
        return {}

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
        size = f"{self.n_replicates} replicates by {self.scheme}, {len(self.models)} models"
        return f"{type(self).__name__}({self.method}, {size})"


_REMEDY = "use a method with a prior (its _map identifier)"


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Study):
    """A study that kept its counts only."""

    tally: Tally = field(kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride]


@dataclass(frozen=True, eq=False, repr=False)
class Replicates(Study):
    """The replicates themselves, and what only they can tell.

    **scores**: (B, L); **ranks**: int16 (B, L), 0 where a score is NaN; **status**: int8 (B,); **steps**: int32 (B,).
    """

    kept: Kept = field(kw_only=True)

    @cached_property
    def tally(self) -> Tally:
        return Tally.of(self.kept, self._centre)

    @property
    def scores(self) -> np.ndarray:
        return self.kept.scores

    @property
    def status(self) -> np.ndarray:
        return self.kept.status

    @property
    def steps(self) -> np.ndarray:
        return self.kept.steps

    @cached_property
    def ranks(self) -> np.ndarray:
        return ranks_of(self.kept.scores, self.kept.resolution)

    @cached_property
    def _finite(self) -> np.ndarray:
        return np.asarray(np.isfinite(self.scores).all(axis=1))

    def interval(self, level: float = 0.95, anchor: int | str | None = None, least: float = 0.5) -> Interval:
        """Percentile interval of each score, from the replicates in which all scores are finite.

        **anchor**: a model (name or index) whose score is subtracted first: intervals of differences from it. Its own
        interval then has zero width. Differences, and so the other intervals, do not depend on how scores are centred.
        **least**: refuse (`UndefinedScoreError`) where fewer than this share of the replicates is finite. Replicates
        without a finite score lie beyond the interval, so that leaving them out makes it too narrow;
        `Interval.left_out` counts them.
        """
        _check_level(level)
        self._need_finite(2, least)
        values = self.scores[self._finite]
        if anchor is not None:
            values = values - values[:, model_index(self.models, anchor, "anchor"), None]
        lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return Interval(lower, upper, len(values), self.n_replicates - len(values))

    def difference_intervals(self, level: float = 0.95, simultaneous: bool = False, least: float = 0.5) -> Interval:
        """Intervals (L, L) of the differences score_i - score_j.

        ``simultaneous``: all of them hold at once with probability ``level``: point estimate plus and minus c times the
        standard error of the difference, c the quantile of the largest studentised deviation over all pairs.
        Otherwise each is a percentile interval of its own.
        """
        _check_level(level)
        self._need_finite(2, least)
        values = self.scores[self._finite].astype(np.float64)
        left_out = self.n_replicates - len(values)
        n_models = values.shape[1]
        lower, upper = np.zeros((n_models, n_models)), np.zeros((n_models, n_models))
        if not simultaneous:
            for i in range(n_models):
                ends = np.quantile(values[:, i, None] - values, [(1 - level) / 2, (1 + level) / 2], axis=0)
                lower[i], upper[i] = ends
            return Interval(lower, upper, len(values), left_out)
        point = self.point[:, None] - self.point[None, :]
        sd = np.stack([(values[:, i, None] - values).std(axis=0, ddof=1) for i in range(n_models)])
        scale = np.where(sd > 0, sd, np.inf)
        largest = np.zeros(len(values))
        for i in range(n_models):
            off = np.abs(values[:, i, None] - values - point[i]) / scale[i]
            largest = np.maximum(largest, off.max(axis=1))
        reach = np.quantile(largest, level) * sd
        return Interval(point - reach, point + reach, len(values), left_out)

    def rank_sets(self, level: float = 0.95) -> Interval:
        """Simultaneous confidence sets of all ranks: with probability ``level`` every model's true rank is between its
        ends. A model ranks below those that are above it in every simultaneous difference interval, and above those
        that are below.

        Source: Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for ranks".
        """
        differences = self.difference_intervals(level, simultaneous=True)
        beaten_by = (differences.upper < 0).sum(axis=1)
        beats = (differences.lower > 0).sum(axis=1)
        return Interval(1 + beaten_by, len(self.models) - beats, differences.used, differences.left_out)

    def top_set(self, level: float = 0.95) -> list[str]:
        """Models that are not separable from the top: those whose simultaneous rank set holds rank 1."""
        return [name for name, first in zip(self.models, self.rank_sets(level).lower, strict=True) if first == 1]

    def tau(self, reference: Any = None) -> np.ndarray:
        """Kendall's tau-b of each replicate's ranking with a reference, (B,); NaN where a replicate is constant or has
        no ranks.

        **reference**: scores (L,) (higher is better) or a `Result`; by default the ranking of the whole data.
        """
        return tau_of_ranks(self.ranks, self._reference(reference))

    def save(self, path: str | os.PathLike) -> Path:
        """Write the replicates: ``.npz`` (the whole study, for `jaxrank.load`; scores, ranks, status, steps, point and
        models under these names) or ``.parquet`` (one row a replicate and model: replicate, model, score, rank,
        status)."""
        path = check_target(path, REPLICATES, "replicates")
        if path.suffix == ".npz":
            contents: dict[str, Any] = {**self.kept.arrays(), "ranks": self.ranks, "point": self.point}
            record = storage.record_of(self.method, self.estimate.ranker, self.seed, self.estimate.status)
            record.update(scheme=self.scheme, n_replicates=self.n_replicates)
            storage.save(self, path, record, {**contents, "models": np.array(self.models)})
        else:
            with replacing(path) as temporary:
                self.long_frame().to_parquet(temporary, index=False)
        return path

    def long_frame(self) -> Any:
        """A pandas frame with one row for each replicate and model: replicate, model, score, rank, status."""
        import pandas as pd

        n, n_models = self.scores.shape
        names = pd.Categorical.from_codes(np.tile(np.arange(n_models), n), list(self.models))
        return pd.DataFrame(
            {
                "replicate": np.repeat(np.arange(n), n_models),
                "model": names,
                "score": self.scores.reshape(-1),
                "rank": self.ranks.reshape(-1),
                "status": np.repeat(self.status, n_models),
            }
        )

    def _interval_columns(self) -> dict[str, np.ndarray]:
        if not self._finite.any() or self._finite.mean() < 0.5:
            return {}
        ends = self.interval()
        return {"lower": ends.lower, "upper": ends.upper}

    def _reference(self, reference: Any) -> np.ndarray:
        if reference is None:
            return -self.ranking.astype(float)
        if isinstance(reference, Result):
            return -reference.ranks.astype(float)
        values = np.asarray(reference, float)
        if values.shape != (len(self.models),):
            raise OptionError(
                f"reference has shape {values.shape}; it must be {len(self.models)} scores, one for each model"
            )
        return values


def centre_of(estimate: Result) -> np.ndarray:
    """What sums of scores are taken about, (L,): the point estimate where it is finite, against cancellation."""
    return np.where(np.isfinite(estimate.scores), estimate.scores, 0).astype(np.float64)


def tau_of_ranks(ranks: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """tau-b of each row of ranks (B, L), 1 best and 0 unknown, with reference scores (L,) or (B, L)."""
    values = np.where(ranks > 0, -ranks.astype(np.float32), np.nan)
    wanted = np.broadcast_to(reference.astype(np.float32), values.shape)
    with jax.enable_x64(False):
        steps = range(0, len(values), 2048)
        return np.concatenate([np.asarray(kendall_tau(values[a : a + 2048], wanted[a : a + 2048])) for a in steps])


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise OptionError(f"level={level}; it must lie between 0 and 1, for example 0.95")
