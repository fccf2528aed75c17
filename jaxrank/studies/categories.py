"""``by``: one ranking for each category of battles."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from jaxrank.data.accepted import DataLike, Dtype, as_data
from jaxrank.data.comparisons import Comparisons, comparisons_of
from jaxrank.data.names import name_list
from jaxrank.errors import DataError, JaxrankError, JaxrankWarning, OptionError
from jaxrank.models.options import shown
from jaxrank.models.pairs.battles import WithCovariates, log_likelihood
from jaxrank.models.ranker import Method
from jaxrank.results.categories import Categories, EqualStrengths
from jaxrank.results.fit import Result
from jaxrank.studies.fit import fit
from jaxrank.studies.preparation import default_method


def by(
    data: DataLike, column: str, method: Method | None = None, *, dtype: Dtype | None = None, **options: Any
) -> Categories:
    """One ranking for each category of battles, and one of all.

    **column**: of the battles, "category" or "language", say. **method**, **options**: as of `jaxrank.fit`.
    Categories in which the method has no finite scores are left out and named; `DataError` where all are.

    For a method without a prior the result has a likelihood ratio test that strengths are the same in all categories,
    which is not a test that their order is.
    """
    battles = comparisons_of(as_data(data), "jaxrank.by")
    names, code = labels_of(battles, column)
    method = default_method(battles) if method is None else method
    whole = fit(battles, method, dtype=dtype, **options)
    results, left_out = {}, {}
    for k, name in enumerate(names):
        rows = np.flatnonzero(code == k)
        present = np.union1d(battles.a[rows], battles.b[rows])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JaxrankWarning)
                results[name] = fit(battles.select(present, rows), method, dtype=dtype, **options)
        except JaxrankError as error:
            left_out[name] = str(error)
    if not results:
        raise DataError(
            f"no category of {column!r} can be ranked: {next(iter(left_out.values()))}; use a method with a prior"
        )
    return Categories(whole, results, column, left_out, _equal_strengths(whole, results, left_out))


def _equal_strengths(whole: Result, results: dict[str, Result], left_out: dict[str, str]) -> EqualStrengths | None:
    ranker = whole.ranker
    if not isinstance(ranker, WithCovariates) or ranker.prior.proper or left_out or len(results) < 2:
        return None
    if ranker.covariate_var is not None or ranker.separation == "extend":
        return None
    free = lambda r: len(r.models) - 1 + len(ranker.design.names) + ranker.likelihood.n_extra
    parts = list(results.values())
    gain = sum(_log_likelihood(r) for r in parts) - _log_likelihood(whole)
    degrees = sum(map(free, parts)) - free(whole)
    from scipy.stats import chi2  # slow to import

    statistic = max(2 * gain, 0.0)
    return EqualStrengths(statistic, degrees, float(chi2.sf(statistic, degrees)))


def _log_likelihood(result: Result) -> float:
    ranker: Any = result.ranker
    with result.precision():
        return float(log_likelihood(ranker, result.stat, result.fit))


def labels_of(battles: Comparisons, column: str, argument: str = "column") -> tuple[list[str], np.ndarray]:
    """The categories of a column, in the order met, and which each battle is of; -1 where it has none."""
    if not isinstance(column, str) or column not in battles.columns:
        have = name_list(list(battles.columns), range(len(battles.columns))) or "none"
        raise OptionError(f"{argument}={shown(column)}: the battles have no such column; there are {have}. Choose one")
    import pandas as pd

    code, names = pd.factorize(battles.columns[column])
    whole = lambda n: isinstance(n, float) and n.is_integer()
    return [str(int(n)) if whole(n) else str(n) for n in names], np.asarray(code)
