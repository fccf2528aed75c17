"""Coefficients of covariates of fits of battles and ordered lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.errors import UnsupportedDataError
from jaxrank.models.pairs.fit import slopes_of
from jaxrank.models.ranker import HasCoefficients
from jaxrank.numerics.contributions import contributions
from jaxrank.numerics.interval import check_level, normal_quantile
from jaxrank.results.bars import Bars
from jaxrank.results.fit import Result
from jaxrank.results.own_errors import STUDENT
from jaxrank.results.replicates import Replicates
from jaxrank.results.returned import Returned, Row, named, row_of, rows_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Returned):
    """The coefficients of covariates, (C,). Iterating gives a `Row` a covariate, ``[name]`` that of one.

    **names**: the covariates, "side" for having been shown first.  **estimates**, **standard_errors**, **lower**,
    **upper**: log-odds of winning, of battles (of ordered lists: of two models) that differ by one unit of the
    covariate (its root mean square where it is a ratio of two columns).  **units**: that unit.  **level**, **kind**: of
    the intervals, in words.
    """

    names: tuple[str, ...]
    estimates: np.ndarray
    standard_errors: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    units: np.ndarray
    level: float
    kind: str

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, one row a covariate: covariate, coefficient, se, lower, upper, odds (what the odds of winning
        are multiplied by), unit."""
        import pandas as pd

        columns = {
            "covariate": list(self.names),
            "coefficient": self.estimates,
            "se": self.standard_errors,
            "lower": self.lower,
            "upper": self.upper,
            "odds": np.exp(self.estimates),
            "unit": self.units,
        }
        return pd.DataFrame(columns)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.to_frame())

    def __getitem__(self, name: str) -> Row:
        return row_of(self.to_frame(), named(self.names, name, "covariate"))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _bars(self, frame: pd.DataFrame, point: str = "coefficient") -> Bars | None:
        return super()._bars(frame, point)

    def _title(self) -> str:
        return f"coefficients of {len(self)} covariates"

    def _foot(self) -> list[str]:
        return [f"interval: {self.kind}"]

    def __repr__(self) -> str:
        said = ", ".join(f"{n} {b:.3g}" for n, b in zip(self.names, self.estimates, strict=True))
        return f"Coefficients({said}; {self.kind})"


def coefficients(result: Result | Replicates, *, level: float = 0.95) -> Coefficients:
    """The coefficients of a fit of battles or ordered lists with ``covariates`` or ``side``, with their errors: by the
    clusters of a result that is `Result.clustered`, else those of its method. Of `Replicates` the standard
    deviation of the finite ones, and percentile intervals (`Replicates.coefficient_interval`).

    `UnsupportedDataError` for a fit without covariates.

    >>> import jaxrank as jr
    >>> battles = jr.Comparisons(["x", "y", "x", "y", "x"], ["y", "x", "y", "x", "y"], [1, 1, 1, 0, 0])
    >>> jr.coefficients(jr.fit(battles, "bradley_terry", side=True)).names
    ('side',)
    """
    check_level(level)
    if isinstance(result, Replicates):
        return _of_replicates(result, level)
    ranker = result.ranker if isinstance(result, Result) else None
    if not isinstance(ranker, HasCoefficients) or not ranker.design.names:
        raise UnsupportedDataError(
            "coefficients are of fits of battles or ordered lists with covariates: make one with "
            'jaxrank.fit(battles, "bradley_terry", covariates=[...], side=True)'
        )
    n, names = len(result.models), ranker.design.names
    beta = np.concatenate(slopes_of(result.fit)).astype(np.float64)
    with result.precision():
        if result.cluster is None:
            variance = np.diag(np.asarray(ranker.parameter_covariance(result.stat, result.fit)))
            errors, quantile, kind = np.sqrt(variance)[n : n + len(beta)], normal_quantile(level), "normal"
        else:
            assert result.deviations is not None
            moved, shares = result.deviations
            by_cluster = contributions(moved[:, n : n + len(beta)], shares=shares)
            errors, quantile = by_cluster.errors, by_cluster.student(level)
            kind = f"{STUDENT} (clusters drawn again)"
    scale = np.asarray(result.stat.scale, np.float64)
    ends = beta - quantile * errors, beta + quantile * errors
    return Coefficients(names, beta, errors.astype(np.float64), *ends, scale, level, f"{100 * level:g} %, {kind}")


def _of_replicates(rep: Replicates, level: float) -> Coefficients:
    interval = rep.coefficient_interval(level)
    assert rep.replicate_coefficients is not None
    estimate: Any = rep.estimate
    beta = np.concatenate(slopes_of(estimate.fit)).astype(np.float64)
    errors = rep.replicate_coefficients[rep._finite].std(axis=0, ddof=1)
    return Coefficients(
        estimate.ranker.design.names,
        beta,
        errors.astype(np.float64),
        interval.lower,
        interval.upper,
        np.asarray(estimate.stat.scale, np.float64),
        level,
        interval.words,
    )
