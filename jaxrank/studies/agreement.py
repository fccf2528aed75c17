"""All methods on one data set, and how far they agree."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, Seed
from jaxrank.errors import JaxrankError, JaxrankWarning, UnknownMethodError
from jaxrank.methods import catalogue
from jaxrank.models.ranker import Method, Ranker
from jaxrank.numerics.precision import precision
from jaxrank.results.agreement import GOLD, Agreement, FitTable
from jaxrank.results.fit import Result
from jaxrank.studies.fit import as_data, as_key, compile_together, method_name, prepare, read_statistic, run


def fit_all(
    data: DataLike,
    methods: Sequence[Method] | None = None,
    *,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    seed: Seed = 0,
) -> FitTable:
    """Rank models by many methods on shared statistics.

    **methods**: identifiers or rankers; None for the whole catalogue. **R0**: prior outcomes for the methods that read
    them; methods that need them are skipped without. Other arguments as in `fit`.

    Nothing raises for a single method: those that cannot read the data are in ``skipped`` with the reason, and those
    that did not converge carry their status.

    >>> import jaxrank as jr
    >>> table = jr.fit_all([[1, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1]], ["avg", "borda", "pass_hat_k"])
    >>> table.to_frame()
             avg  borda
    model 0    1      1
    model 1    2      2
    model 2    3      3
    >>> list(table.skipped)  # it needs two trials
    ['pass_hat_k']
    """
    data = as_data(data)
    chosen = catalogue.catalogue() if methods is None else methods
    results: dict[str, Result] = {}
    skipped: dict[str, str] = {}
    seconds: dict[str, float] = {}
    statistics: dict[type, Any] = {}
    rankers: dict[str, Ranker] = {}
    with precision(dtype), warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # each method's word is in its notes
        key = as_key(seed)
        for method in chosen:
            name = method_name(method)
            try:
                ranker = prepare(method, data, _prior_for(method, R0), {})
                if ranker.statistic not in statistics:
                    statistics[ranker.statistic] = read_statistic(ranker, data, pairing)
                rankers[name] = ranker
            except UnknownMethodError:
                raise
            except JaxrankError as error:
                skipped[name] = str(error)
        runs = {n: (r, statistics[r.statistic], key if r.stochastic else None) for n, r in rankers.items()}
        ready = dict(zip(runs, compile_together(list(runs.values())), strict=True))
        # Methods on the host first, while the others compile. Only this thread runs fits: two calls of LAPACK at once
        # can wait for each other.
        for name in sorted(runs, key=lambda n: not rankers[n].host):
            ready[name].result()
            ranker, stat, own_key = runs[name]
            began = time.perf_counter()
            try:
                fit = jax.tree.map(np.asarray, run(ranker, stat, own_key))
            except JaxrankError as error:
                skipped[name] = str(error)
                continue
            seconds[name] = time.perf_counter() - began
            results[name] = Result(fit, ranker, name, data, stat, seed)
    results = {name: results[name] for name in rankers if name in results}
    return FitTable(results, skipped, seconds, data.models)


def agreement(
    data: DataLike, methods: Sequence[Method] | None = None, *, gold: str = GOLD, **options: Any
) -> Agreement:
    """Tau-b matrix, groups of identical order and consensus of many methods; options as in `fit_all`.

    >>> import jaxrank as jr
    >>> jr.agreement([[1, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1]], ["bayes", "avg", "copeland"]).groups
    [('bayes', 'avg', 'copeland')]
    """
    return fit_all(data, methods, **options).agreement(gold)


def _prior_for(method: Method, R0: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """R0 for the entries that are defined with it; the other identifiers keep their uniform prior."""
    if isinstance(method, str) and not catalogue.entry(method).options.get("needs_R0", False):
        return None
    return R0
