"""``Replicates``: what a study with replicates tells about a ranking. Everything is NumPy here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.accepted import Seed
from jaxrank.data.names import model_index
from jaxrank.errors import OptionError, UndefinedScoreError
from jaxrank.models.options import check_flag, check_number, shown
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.ranks import tau_with
from jaxrank.numerics.separation import Superiority, difference_ends, rank_ends, shares_above, simultaneous_ends
from jaxrank.numerics.status import Status
from jaxrank.resampling.tally import Tally, ranks_of
from jaxrank.resampling.work import Kept
from jaxrank.results import storage
from jaxrank.results.fit import Result
from jaxrank.results.returned import RankedModels

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

REPLICATES = (".npz", ".parquet")
"""Endings of files that hold replicates."""

_TAU_ROWS = 2048  # replicates whose tau is worked out at a time
PERCENTILES = "percentiles of replicates"


@dataclass(frozen=True, eq=False, repr=False)
class Study(RankedModels):
    """What counts over the replicates of one method tell; nothing of this needs the replicates themselves.

    **estimate**: the fit of the whole data; **scores** and **ranks** (L,) are its own, whatever the replicates.
    **unit**: what was drawn again: "trials", "questions", "battles", "orders".
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
        return shares_above(self.tally.above, self._ranked())

    def rank_intervals(self, level: float = 0.95) -> Interval:
        """For each model the quantiles (1 - level)/2 and (1 + level)/2 of its rank over the replicates."""
        n = self._ranked()
        return Interval(*rank_ends(self.tally.ranks, level), level, PERCENTILES, self.unit, n, self.n_replicates - n)

    def interval(self, level: float = 0.95) -> Interval:
        """Normal interval of each score, (L,): the score of the whole data and the standard deviation of the finite
        replicates."""
        z = NormalDist().inv_cdf(0.5 + check_level(level) / 2)
        self._need_finite(2, 0.5)
        n = int(self.tally.finite)
        ends = self.scores - z * self.sd, self.scores + z * self.sd
        return Interval(
            *self.estimate.within(ends), level, "normal, sd of replicates", self.unit, n, self.n_replicates - n
        )

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
        return self._table({**columns, "p_best": self.rank_probabilities()[:, 0]})

    def _foot(self, level: float = 0.95) -> list[str]:
        ranks = self.rank_intervals(level).words
        scores = self.interval(level).words if self._half_finite else "none, as too few replicates are finite"
        lines = [f"intervals: {ranks}"] if scores == ranks else [f"intervals of scores: {scores}", f"of ranks: {ranks}"]
        return lines + [f"{n} replicates: {status}" for status, n in self.status_counts().items() if status]

    def _record(self) -> dict[str, Any]:
        record = storage.record_of(self.method, self.estimate.ranker, self.seed, self.estimate.status)
        return {**record, "scheme": self.scheme, "n_replicates": self.n_replicates, "unit": self.unit}

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

    **replicate_scores**: (B, L); **replicate_ranks**: int16 (B, L), 0 where a score is NaN; **status**: int8 (B,);
    **steps**: int32 (B,).
    """

    kept: Kept = field(kw_only=True)

    @cached_property
    def tally(self) -> Tally:
        return Tally.of(self.kept, self._centre)

    @property
    def replicate_scores(self) -> np.ndarray:
        return self.kept.scores

    @property
    def status(self) -> np.ndarray:
        return self.kept.status

    @property
    def steps(self) -> np.ndarray:
        return self.kept.steps

    @cached_property
    def replicate_ranks(self) -> np.ndarray:
        return ranks_of(self.kept.scores, self.kept.resolution)

    @cached_property
    def _finite(self) -> np.ndarray:
        return np.asarray(np.isfinite(self.replicate_scores).all(axis=1))

    def interval(self, level: float = 0.95, *, anchor: int | str | None = None, least: float = 0.5) -> Interval:
        """Percentile interval of each score, from the replicates in which all scores are finite.

        **anchor**: a model (name or index) whose score is subtracted first: intervals of differences from it. Its own
        interval then has zero width. Differences, and so the other intervals, do not depend on how scores are centred.
        **least**: refuse (`UndefinedScoreError`) where fewer than this share of the replicates is finite. Replicates
        without a finite score lie beyond the interval, so that leaving them out makes it too narrow;
        `Interval.left_out` counts them.
        """
        tail = (1 - check_level(level)) / 2
        check_number("least", least, 0, 1)
        self._need_finite(2, least)
        values = self.replicate_scores[self._finite]
        if anchor is not None:
            values = values - values[:, model_index(self.models, anchor, "anchor"), None]
        ends = np.quantile(values, [tail, 1 - tail], axis=0)
        return self._interval(ends, level, PERCENTILES, len(values))

    def difference_intervals(self, level: float = 0.95, *, simultaneous: bool = False, least: float = 0.5) -> Interval:
        """Intervals (L, L) of the differences score_i - score_j.

        ``simultaneous``: all of them hold at once with probability ``level``: point estimate plus and minus c times the
        standard error of the difference, c the quantile of the largest studentised deviation over all pairs.
        Otherwise each is a percentile interval of its own.
        """
        check_level(level)
        check_number("least", least, 0, 1)
        check_flag("simultaneous", simultaneous)
        self._need_finite(2, least)
        values = self.replicate_scores[self._finite].astype(np.float64)
        if simultaneous:
            ends = simultaneous_ends(values, self.scores, level)
            return self._interval(ends, level, "all pairs at once, from replicates", len(values))
        return self._interval(difference_ends(values, level), level, PERCENTILES, len(values))

    def rank_sets(self, level: float = 0.95) -> Interval:
        """Simultaneous confidence sets of all ranks: with probability ``level`` every model's true rank is between its
        ends. A model ranks below those that are above it in every simultaneous difference interval, and above those
        that are below.

        Source: Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for ranks".
        """
        differences = self.difference_intervals(level, simultaneous=True)
        beaten_by = (differences.upper < 0).sum(axis=1)
        beats = (differences.lower > 0).sum(axis=1)
        ends = 1 + beaten_by, len(self.models) - beats
        return self._interval(ends, level, "all ranks at once, from replicates", int(self.tally.finite))

    def top_set(self, level: float = 0.95) -> list[str]:
        """Models that are not separable from the top: those whose simultaneous rank set holds rank 1."""
        return [name for name, first in zip(self.models, self.rank_sets(level).lower, strict=True) if first == 1]

    def tau(self, reference: Result | npt.ArrayLike | None = None) -> np.ndarray:
        """Kendall's tau-b of each replicate's ranking with a reference, (B,); NaN where a replicate is constant or has
        no ranks.

        **reference**: scores (L,) (higher is better) or a `Result`; by default the ranking of the whole data.
        """
        return tau_of_ranks(self.replicate_ranks, self._reference(reference))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the study: ``.npz`` (all of it, for `jaxrank.load`; scores (B, L), ranks, status, steps, point (L,) and
        models under these names), ``.parquet`` (`long_frame`, one row a replicate and model), or the table of
        `to_frame` as ``.csv`` or ``.json``."""
        if Path(path).suffix == ".parquet":
            return storage.save_table(self.long_frame(), path, self._record())
        return super().save(path)

    def _arrays(self) -> dict[str, np.ndarray]:
        own = {"ranks": self.replicate_ranks, "point": self.scores, "models": np.array(self.models)}
        return {**self.kept.arrays(), **own}

    def _interval(self, ends: Any, level: float, kind: str, used: int) -> Interval:
        lower, upper = ends
        return Interval(lower, upper, level, kind, self.unit, used, self.n_replicates - used)

    def long_frame(self) -> pd.DataFrame:
        """A pandas frame with one row for each replicate and model: replicate, model, score, rank, status."""
        import pandas as pd

        n, n_models = self.replicate_scores.shape
        names = pd.Categorical.from_codes(np.tile(np.arange(n_models), n), list(self.models))
        return pd.DataFrame(
            {
                "replicate": np.repeat(np.arange(n), n_models),
                "model": names,
                "score": self.replicate_scores.reshape(-1),
                "rank": self.replicate_ranks.reshape(-1),
                "status": np.repeat(self.status, n_models),
            }
        )

    def _reference(self, reference: Result | npt.ArrayLike | None) -> np.ndarray:
        if reference is None or isinstance(reference, Result):
            ranks = (self if reference is None else reference).ranks
            return np.where(ranks > 0, -ranks.astype(float), np.nan)
        wanted = f"it must be {len(self.models)} scores, one for each model, or a result"
        try:
            values = np.asarray(reference, float)
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"reference={shown(reference)}; {wanted}") from None
        if values.shape != (len(self.models),):
            raise OptionError(f"reference has shape {values.shape}; {wanted}")
        return values


def centre_of(estimate: Result) -> np.ndarray:
    """What sums of scores are taken about, (L,): the point estimate where it is finite, against cancellation."""
    return np.where(np.isfinite(estimate.scores), estimate.scores, 0).astype(np.float64)


def tau_of_ranks(ranks: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """tau-b of each row of ranks (B, L), 1 best and 0 unknown, with reference scores (L,)."""
    values = np.where(ranks > 0, -ranks.astype(np.float32), np.nan)
    wanted = jnp.asarray(_descending(reference), jnp.float32)
    with jax.enable_x64(False):
        steps = range(0, len(values), _TAU_ROWS)
        padded = np.pad(values, ((0, -len(values) % min(_TAU_ROWS, len(values))), (0, 0)))
        parts = [padded[a : a + _TAU_ROWS] for a in steps]
        taus = [np.asarray(_tau(part, np.zeros(len(part), np.float32), wanted)) for part in parts]
        return np.concatenate(taus)[: len(values)]


def _descending(reference: np.ndarray) -> np.ndarray:
    """Whole ranks of reference scores, the highest first; NaN stays."""
    distinct, place = np.unique(reference, return_inverse=True)
    return np.where(np.isnan(reference), np.nan, len(distinct) - place.reshape(reference.shape))


_tau = jax.jit(tau_with)
