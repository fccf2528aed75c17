"""``Replicates``: what a study with replicates tells about a ranking. Everything is NumPy here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxrank.data.names import model_index
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.models.options import check_flag, check_number, shown
from jaxrank.models.pairs.fit import slopes_of
from jaxrank.numerics.interval import Interval, check_level, percentile_ends
from jaxrank.numerics.ranks import tau_with
from jaxrank.numerics.separation import difference_ends, simultaneous_ends
from jaxrank.resampling.tally import Tally, ranks_of
from jaxrank.resampling.work import Kept
from jaxrank.results import storage
from jaxrank.results.fit import Result
from jaxrank.results.study import PERCENTILES, Study

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

REPLICATES = (".npz", ".parquet")
"""Endings of files that hold replicates."""

_TAU_ROWS = 2048  # replicates whose tau is worked out at a time


@dataclass(frozen=True, eq=False, repr=False)
class Replicates(Study):
    """The replicates themselves, and what only they can tell.

    **replicate_scores**: (B, L); **replicate_ranks**: int16 (B, L), 0 where a score is NaN; **status**: int8 (B,);
    **steps**: int32 (B,).  **replicate_coefficients**: (B, C) of data with covariates, else None, whose intervals
    `jaxrank.coefficients` gives.
    """

    kept: Kept = field(kw_only=True)

    @cached_property
    def tally(self) -> Tally:
        return Tally.of(self.kept, self._centre)

    @property
    def replicate_scores(self) -> np.ndarray:
        return self.kept.scores

    @property
    def replicate_coefficients(self) -> np.ndarray | None:
        return self.kept.coefficients

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
        """Percentile interval of each score, from the replicates in which all scores are finite; its ends are as much
        farther from the score as the scheme shrinks deviations and Student's t exceeds the normal quantile. Accuracies
        and the Pass@k family have Wilson's, at the effective number of trials or of what was drawn.

        **anchor**: a model (name or index) whose score is subtracted first: intervals of differences from it. Its own
        interval then has zero width. Differences, and so the other intervals, do not depend on how scores are centred.
        **least**: refuse (`UndefinedScoreError`) where fewer than this share of the replicates is finite. Replicates
        without a finite score lie beyond the interval, so that leaving them out makes it too narrow;
        `Interval.left_out` counts them.
        """
        level = check_level(level)
        check_number("least", least, 0, 1)
        if anchor is None and (own := self._own_interval(level)) is not None:
            return own
        self._need_finite(2, least)
        values, point = self.replicate_scores[self._finite], self.scores
        if anchor is not None:
            place = model_index(self.models, anchor, "anchor")
            values, point = values - values[:, place, None], point - point[place]
        ends = self._percentiles(values, point, level)
        return self._interval(
            ends if anchor is not None else self.estimate.within(ends), level, PERCENTILES, len(values)
        )

    def coefficient_interval(self, level: float = 0.95) -> Interval:
        """Percentile interval of each coefficient of data with covariates, (C,), as `interval` of a score."""
        if self.replicate_coefficients is None:
            raise UnsupportedDataError(
                f"coefficients are of data with covariates, and {self.method} was run without: use "
                'jaxrank.bootstrap(battles, "bradley_terry", covariates=[...], side=True)'
            )
        level = check_level(level)
        self._need_finite(2, 0.5)
        values, point = self.replicate_coefficients[self._finite], np.concatenate(slopes_of(self.estimate.fit))
        return self._interval(self._percentiles(values, point, level), level, PERCENTILES, len(values))

    def _percentiles(self, values: np.ndarray, point: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Quantiles of replicates' values (B, ...), as much farther from the ``point`` as the scheme shrinks them."""
        lower, upper = percentile_ends(values, level)
        wider = self._wider(level)
        return point + wider * (lower - point), point + wider * (upper - point)

    def difference_intervals(self, level: float = 0.95, *, simultaneous: bool = False, least: float = 0.5) -> Interval:
        """Intervals (L, L) of the differences score_i - score_j.

        ``simultaneous``: all of them hold at once with probability ``level``. Where questions were drawn, or clusters
        of them, and what each adds is known, the error is worked out again in every draw
        (`Result.difference_intervals`). Else the point estimate plus and minus c times the standard error of the
        difference, c the quantile of the largest studentised deviation over all pairs, or that of the studentised range
        where few units were drawn. Otherwise each is a percentile interval of its own, widened as in `interval`.
        """
        level = check_level(level)
        check_number("least", least, 0, 1)
        check_flag("simultaneous", simultaneous)
        if simultaneous and self._by_unit is not None:
            return self.estimate.differences_by(self._by_unit, self.unit, level, simultaneous=True)
        self._need_finite(2, least)
        values = self.replicate_scores[self._finite].astype(np.float64)
        if simultaneous:
            if level not in self._all_at_once:  # sets of ranks and tiers ask for the same
                shrink, degrees = self._sample or (1.0, np.inf)
                self._all_at_once[level] = simultaneous_ends(values, self.scores, level, shrink, degrees)
            return self._interval(self._all_at_once[level], level, "all pairs at once, from replicates", len(values))
        gap, wider = self.scores[:, None] - self.scores, self._wider(level)
        lower, upper = difference_ends(values, level)
        ends = gap + wider * (lower - gap), gap + wider * (upper - gap)
        return self._interval(ends, level, PERCENTILES, len(values))

    @cached_property
    def _all_at_once(self) -> dict[float, tuple[np.ndarray, np.ndarray]]:
        return {}

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

    def separated(self, level: float = 0.95) -> np.ndarray:
        return self.difference_intervals(level, simultaneous=True).lower > 0

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


def tau_of_ranks(ranks: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """tau-b of each row of ranks (B, L), 1 best and 0 unknown, with reference scores (L,)."""
    values = np.where(ranks > 0, -ranks.astype(np.float32), np.nan)
    wanted = _descending(reference).astype(np.float32)
    with jax.enable_x64(False):
        steps = range(0, len(values), _TAU_ROWS)
        padded = np.pad(values, ((0, -len(values) % min(_TAU_ROWS, len(values))), (0, 0)))
        parts = [padded[a : a + _TAU_ROWS] for a in steps]
        taus = [np.asarray(tau_with(part, np.zeros(len(part), np.float32), wanted)) for part in parts]
        return np.concatenate(taus)[: len(values)]


def _descending(reference: np.ndarray) -> np.ndarray:
    """Whole ranks of reference scores, the highest first; NaN stays."""
    distinct, place = np.unique(reference, return_inverse=True)
    return np.where(np.isnan(reference), np.nan, len(distinct) - place.reshape(reference.shape))
