"""All methods on one data set, and how far they agree."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, Seed, as_data
from jaxrank.errors import JaxrankError, JaxrankWarning
from jaxrank.methods import catalogue
from jaxrank.models.options import check_flag
from jaxrank.models.ranker import Methods, Ranker, statistic_of
from jaxrank.numerics.precision import precision
from jaxrank.resampling.progress import progress_bar
from jaxrank.results.agreement import Agreement, FitTable
from jaxrank.results.fit import Result
from jaxrank.studies.fit import as_key, compile_together, digits, read_statistic, run
from jaxrank.studies.preparation import check_pairing, gold_method, named_methods, prepare, priors_for


def fit_all(
    data: DataLike,
    methods: Methods | None = None,
    *,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    seed: Seed = 0,
    progress: bool | None = None,
) -> FitTable:
    """Rank models by many methods on shared statistics.

    **data**: as in `fit`. **methods**: an identifier, a ranker, a list of them, or a dict from labels of your own to
    them; None for the whole catalogue. Rankers of one class are labelled by the options in which they differ.
    **R0**: earlier outcomes, for the methods that cannot do without (bayes_greedy), and where none of them is among
    ``methods`` for all that read a prior. **pairing**: for the methods that read pairs. **progress**: a progress bar;
    by default on a terminal only, where the methods take more than two seconds. Other arguments as in `fit`.

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
    return fit_each(data, methods, R0=R0, pairing=pairing, dtype=dtype, seed=seed, progress=progress)


def fit_each(
    data: DataLike,
    methods: Methods | None = None,
    *,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    seed: Seed = 0,
    progress: bool | None = None,
    tell: Callable[[Result], None] = lambda result: None,
) -> FitTable:
    """`fit_all` that calls ``tell`` with every result as it comes."""
    check_flag("progress", progress, optional=True)
    data = as_data(data)
    chosen = named_methods(catalogue.catalogue() if methods is None else methods)
    priors = priors_for(chosen, R0)
    check_pairing({label: catalogue.make(method) for label, method in chosen.items()}, data, pairing)
    results: dict[str, Result] = {}
    skipped: dict[str, str] = {}
    seconds: dict[str, float] = {}
    statistics: dict[type, Any] = {}
    rankers: dict[str, Ranker] = {}
    with precision(digits(data, dtype)), warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # each method's word is in its notes
        key = as_key(seed)
        for name, method in chosen.items():
            try:
                ranker = prepare(method, data, priors[name], {})
                if statistic_of(ranker, data) not in statistics:
                    statistics[statistic_of(ranker, data)] = read_statistic(ranker, data, pairing)
                rankers[name] = ranker
            except JaxrankError as error:
                skipped[name] = str(error)
        runs = {n: (r, statistics[statistic_of(r, data)], key if r.stochastic else None) for n, r in rankers.items()}
        ready = dict(zip(runs, compile_together(list(runs.values())), strict=True))
        # Methods on the host first, while the others compile. Only this thread runs fits: two calls of LAPACK at once
        # can wait for each other.
        with progress_bar("methods", len(runs), progress) as advance:
            for name in sorted(runs, key=lambda n: not rankers[n].host):
                ready[name].result()
                ranker, stat, own_key = runs[name]
                began = time.perf_counter()
                try:
                    fit = jax.tree.map(np.asarray, run(ranker, stat, own_key))
                except JaxrankError as error:
                    skipped[name] = str(error)
                else:
                    seconds[name] = time.perf_counter() - began
                    results[name] = Result(fit, ranker, name, data, stat, seed)
                    tell(results[name])
                advance(1)
    results = {name: results[name] for name in rankers if name in results}
    return FitTable(results, skipped, seconds, data.models, gold_method(data))


def agreement(data: DataLike, methods: Methods | None = None, *, gold: str | None = None, **options: Any) -> Agreement:
    """Tau-b matrix, groups of identical order and consensus of many methods; options as in `fit_all`.

    ``gold``: the method that others are held against, run too where ``methods`` leaves it out; see
    `FitTable.agreement`.

    >>> import jaxrank as jr
    >>> jr.agreement([[1, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1]], ["bayes", "avg", "copeland"]).groups
    [('bayes', 'avg', 'copeland')]
    """
    if gold is not None and methods is not None:
        methods = named_methods(methods)
        methods = methods if gold in methods else {**methods, gold: catalogue.entry(gold).name}
    elif gold is not None:
        catalogue.entry(gold)  # raises, before any work, where there is none
    return fit_all(data, methods, **options).agreement(gold)
