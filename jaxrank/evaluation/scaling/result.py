"""What `evaluate_scaling` returns: scores, intervals and ranks of models from paired replicates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.names import listed
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.scaling.steps import Transitions
from jaxrank.models.options import check_choice, shown
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.ranks import rank_scores
from jaxrank.numerics.separation import (
    Superiority,
    count_above,
    count_ranks,
    difference_ends,
    rank_draws,
    rank_ends,
    shares_above,
)

_UNITS = {"samples": "samples", "trials": "trials", "both": "samples and trials"}
_KIND = "percentiles of replicates about the score"


class GroupScores(NamedTuple):
    """ARISE by group of samples: **groups** (G,), **arise** (G, L), **se** (G, L) its standard error over samples,
    **n** (G, L) complete samples, **cv** (L,) the sample standard deviation over groups by the size of their mean."""

    groups: tuple[Any, ...]
    arise: np.ndarray
    se: np.ndarray
    n: np.ndarray
    cv: np.ndarray


@dataclass(frozen=True, eq=False)
class ScalingResult:
    """ARISE and the scaling metric of L models; all arrays are NumPy, (L,) unless stated.

    What is estimated is ARISE of the success rates, that of endless trials of every sample at every level. **arise**,
    the published score, is ARISE of the means of N trials; it counts their noise as losses and lies below, the more so
    the fewer the trials. **cross_fit** lies above, in expectation, where tokens rise (see `cross_fit_samples`); NaN
    without two trials a cell. **null**: mean of the score where the level makes no difference and only noise is left,
    **p_value**: probability that noise alone scores as much as ``arise``; small where the model gains by more effort.
    **scaling_metric**: slope of accuracy over tokens (equation 1).

    **levels**: of each model, its number of levels. **accuracy**, **tokens** (L, J + 1): means over complete samples,
    NaN for levels that a model lacks. **samples**, **cross_fit_samples** (L, I): scores of every sample, NaN where it
    lacks a level. **falling**: share of samples whose tokens fall somewhere along the levels; there scores above 1 are
    possible. **trials**: mean number of trials of a cell. **transitions**: `Transitions` of (L, J). **draws**:
    replicates (B, L) of "arise", "cross_fit" (not where trials are drawn again) and "scaling_metric", the same samples
    and trials for all models. **resample**, **seed**: how they were drawn.
    """

    models: tuple[str, ...]
    arise: np.ndarray
    cross_fit: np.ndarray
    null: np.ndarray
    p_value: np.ndarray
    scaling_metric: np.ndarray
    levels: np.ndarray
    accuracy: np.ndarray
    tokens: np.ndarray
    samples: np.ndarray
    cross_fit_samples: np.ndarray
    falling: np.ndarray
    trials: np.ndarray
    transitions: Transitions
    draws: Mapping[str, np.ndarray] = field(repr=False)
    resample: str
    seed: Any

    @property
    def n_replicates(self) -> int:
        """Number of replicates B."""
        return len(self.draws["arise"])

    @property
    def ranks(self) -> np.ndarray:
        """Competition ranks by ``arise``, int (L,); 1 is best. Noise costs a model with rates near one half most."""
        return np.asarray(rank_scores(self.arise))

    def interval(self, level: float = 0.95, of: str = "rates") -> Interval:
        """Intervals, (L,). **of**: "rates", ARISE of the success rates: from the lower end of ``arise`` to the upper
        end of ``cross_fit``, since the truth lies between them; its upper end is infinite without two trials a cell.
        "arise", "cross_fit", "scaling_metric": the expectation of that score with as many trials as these, percentiles
        of replicates, shifted so that their mean is the score. experiments/arise has how often they hold."""
        check_level(level)
        check_choice("of", of, ("rates", *self.draws))
        if of != "rates":
            low, high = self._ends(of, level)
            return Interval(low, high, level, _KIND, _UNITS[self.resample], self.n_replicates)
        if "cross_fit" not in self.draws:
            raise OptionError(
                f'of="rates" needs resample="samples", not {self.resample!r}: trials drawn again have no cross-fit'
            )
        plain, cross = self._ends("arise", level), self._ends("cross_fit", level)
        low = np.fmin(plain[0], cross[0])
        high = np.where(np.isnan(cross[1]), np.where(np.isnan(plain[0]), np.nan, np.inf), np.fmax(plain[1], cross[1]))
        kind = "from the lower end of arise to the upper end of cross_fit"
        return Interval(low, high, level, kind, _UNITS[self.resample], self.n_replicates)

    def sd(self, of: str = "arise") -> np.ndarray:
        """Standard deviation of a score over replicates, (L,)."""
        check_choice("of", of, tuple(self.draws))
        return _quiet(np.nanstd, self.draws[of], ddof=1)

    def cv(self, of: str = "arise") -> np.ndarray:
        """`sd` by the size of the score, (L,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.sd(of) / np.abs(getattr(self, of))

    def rank_intervals(self, level: float = 0.95, of: str = "arise") -> Interval:
        """Equal-tailed intervals of the ranks over replicates, int (L,)."""
        counts = count_ranks(rank_draws(self._centred(of)))
        return Interval(
            *rank_ends(counts, level), level, "percentiles of replicates", _UNITS[self.resample], self.n_replicates
        )

    def superiority(self, of: str = "arise") -> Superiority:
        """Share of replicates in which one model scores above another, and in which they tie."""
        return shares_above(count_above(rank_draws(self._centred(of))), self.n_replicates)

    def differences(self, level: float = 0.95, of: str = "arise") -> Interval:
        """Intervals of score_i - score_j, (L, L), each for itself: replicates are paired, so what all models share
        cancels. With "arise" the models need equal trials, or the noisier one is charged for it."""
        low, high = difference_ends(self._centred(of), level)
        return Interval(low, high, level, _KIND, _UNITS[self.resample], self.n_replicates)

    def change(self, other: ScalingResult, level: float = 0.95, of: str = "arise") -> tuple[np.ndarray, Interval]:
        """Score here less that in ``other``, a run of the same models on the same samples, (L,), and its interval from
        paired replicates: both runs need the same models, samples, ``seed``, ``resample`` and ``n_replicates``."""
        if not isinstance(other, ScalingResult):
            raise OptionError(f"other={shown(other)}; it must be a ScalingResult")
        tail = (1 - check_level(level)) / 2
        for name in ("models", "seed", "resample", "n_replicates"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, int | str | tuple) and mine != theirs:
                raise OptionError(f"the two results cannot be paired: {name} is {shown(mine)} and {shown(theirs)}")
        if self.samples.shape != other.samples.shape:
            raise DataError(f"the results have {self.samples.shape[1]} and {other.samples.shape[1]} samples")
        gap = self._centred(of) - other._centred(of)
        low, high = np.quantile(gap, [tail, 1 - tail], axis=0)
        unit = _UNITS[self.resample]
        return getattr(self, of) - getattr(other, of), Interval(low, high, level, _KIND, unit, self.n_replicates)

    def by_group(self, groups: Sequence[Any]) -> GroupScores:
        """ARISE of every group of samples, such as disciplines. **groups** (I,): the label of every sample."""
        labels = [str(g) for g in listed(groups, "group")]
        if len(labels) != self.samples.shape[1]:
            raise DataError(f"groups has {len(labels)} labels for {self.samples.shape[1]} samples")
        names = tuple(dict.fromkeys(labels))
        member = np.array(labels)[None, :] == np.array(names)[:, None]
        chosen = np.where(member[:, None, :], self.samples, np.nan)
        n = np.isfinite(chosen).sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(n > 0, np.nansum(chosen, -1) / n, np.nan)
            square = np.nansum((chosen - mean[..., None]) ** 2, -1)
            se = np.where(n > 1, np.sqrt(square / (n - 1) / n), np.nan)
            cv = _quiet(np.nanstd, mean, ddof=1) / np.abs(_quiet(np.nanmean, mean))
        return GroupScores(names, mean, se, n, cv)

    def to_frame(self, level: float = 0.95) -> Any:
        """One row a model, best first: rank, model, levels, samples, trials, arise, cross_fit, lower and upper end of
        ARISE of the success rates (of ``arise`` where trials are drawn again), null, p_value, gains, losses,
        scaling_metric, falling."""
        import pandas as pd

        order = np.argsort(-self.arise, kind="stable")
        low, high = self.interval(level, "rates" if "cross_fit" in self.draws else "arise")
        columns = {
            "rank": self.ranks,
            "model": np.array(self.models, object),
            "levels": self.levels,
            "samples": np.isfinite(self.samples).sum(1),
            "trials": self.trials,
            "arise": self.arise,
            "cross_fit": self.cross_fit,
            "lower": low,
            "upper": high,
            "null": self.null,
            "p_value": self.p_value,
            "gains": self.transitions.gains.sum(-1),
            "losses": self.transitions.losses.sum(-1),
            "scaling_metric": self.scaling_metric,
            "falling": self.falling,
        }
        return pd.DataFrame({name: values[order] for name, values in columns.items()})

    def _ends(self, of: str, level: float) -> np.ndarray:
        return _quiet(np.nanquantile, self._centred(of), q=[(1 - level) / 2, (1 + level) / 2])

    def _centred(self, of: str) -> np.ndarray:
        """Replicates whose mean is the score: trials drawn again are noisier, and ARISE counts noise as losses."""
        check_choice("of", of, tuple(self.draws))
        draws = self.draws[of]
        return draws + getattr(self, of) - _quiet(np.nanmean, draws)


def _quiet(function: Any, values: np.ndarray, **options: Any) -> Any:
    """A nan-function of NumPy over the first axis, NaN for empty columns without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(values, axis=0, **options)
