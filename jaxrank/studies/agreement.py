"""All methods on one data set, and how far they agree."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxrank.errors import JaxrankError, JaxrankWarning, OptionError, UnknownMethodError
from jaxrank.methods import catalogue
from jaxrank.models.ranker import Ranker
from jaxrank.numerics.precision import precision
from jaxrank.numerics.ranks import kendall_tau, rank_scores
from jaxrank.results import plots, storage
from jaxrank.results.drawing import draw, register
from jaxrank.results.fit import Result
from jaxrank.results.tables import render
from jaxrank.studies.fit import as_data, as_key, compile_together, method_name, prepare, read_statistic, run

GOLD = "bayes"


@dataclass(frozen=True, eq=False, repr=False)
class FitTable:
    """Results of many methods on one data set.

    **results**: `Result` by identifier, also those that did not converge (see their status).
    **skipped**: why a method could not run on these data, by identifier.  **seconds**: time of each run, by
    identifier, without the compilation that methods share the cores for.
    """

    results: dict[str, Result]
    skipped: dict[str, str]
    seconds: dict[str, float]
    models: tuple[str, ...]

    def __getitem__(self, method: str) -> Result:
        return self.results[method]

    @property
    def methods(self) -> tuple[str, ...]:
        """Identifiers of the methods that gave every model a score."""
        return tuple(name for name, r in self.results.items() if np.all(r.ranks > 0))

    def to_frame(self) -> Any:
        """A pandas frame of competition ranks: a row a model, a column a method."""
        import pandas as pd

        return pd.DataFrame({name: self.results[name].ranks for name in self.methods}, index=list(self.models))

    def status_frame(self) -> Any:
        """A pandas frame with a row a method: status, seconds and what is to be said about it."""
        import pandas as pd

        rows = [(n, str(r.status), self.seconds[n], r.explain()) for n, r in self.results.items()]
        rows += [(n, "not run", np.nan, why) for n, why in self.skipped.items()]
        return pd.DataFrame(rows, columns=["method", "status", "seconds", "detail"])

    def summary(self, format: str = "text") -> str:
        """Ranks of every model by every method; ``format`` as in `Result.summary`."""
        frame = self.to_frame().rename_axis("model").reset_index()
        notes = [f"not run: {name}: {why}" for name, why in self.skipped.items()]
        return render(frame, format, title=repr(self), notes=notes)

    def save(self, path: str | os.PathLike) -> Path:
        """Write all results to ``.npz`` (`jaxrank.load` reads them back), or the table of ranks to ``.csv``, ``.json``
        or ``.parquet``."""
        record = {"methods": list(self.results), "skipped": self.skipped}
        if Path(path).suffix == ".npz":
            return storage.save(self, path, record)
        return storage.save_table(self.to_frame().rename_axis("model").reset_index(), path, record)

    def agreement(self, gold: str = GOLD) -> Agreement:
        """Kendall's tau-b between all methods that gave every model a score."""
        names = self.methods
        if gold not in names:
            raise OptionError(f"gold={gold!r} is not among the methods with a full ranking: {', '.join(names)}")
        ranks = np.stack([self.results[name].rank("average") for name in names])
        return Agreement(names, ranks, self.models, gold)

    def plot(self, kind: str = "agreement", ax: Any = None, **options: Any) -> Any:
        """Draw the agreement of the methods, a heat map of tau-b; options as `jaxrank.plots.agreement`. Returns the
        Axes."""
        return draw(self, kind, ax, options)

    def __repr__(self) -> str:
        return f"FitTable({len(self.results)} methods, {len(self.skipped)} not run, {len(self.models)} models)"


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Agreement of K rankings of L models. **ranks** (K, L): average ranks, 1 is best."""

    methods: tuple[str, ...]
    ranks: np.ndarray
    models: tuple[str, ...]
    gold: str = GOLD

    @cached_property
    def tau(self) -> np.ndarray:
        """Kendall's tau-b of every two methods, (K, K); NaN for a ranking that ties all models."""
        with jax.enable_x64(True):
            pairwise = jax.jit(lambda x: kendall_tau(x[:, None, :], x[None, :, :]))
            return np.asarray(pairwise(self.ranks))

    @property
    def tau_with_gold(self) -> dict[str, float]:
        """Tau-b of each method with the gold standard, highest first."""
        column = self.tau[:, self.methods.index(self.gold)]
        order = np.argsort(-np.nan_to_num(column, nan=-2), kind="stable")
        return {self.methods[i]: float(column[i]) for i in order}

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """Methods with the identical order, ties included; largest groups first."""
        found: dict[bytes, list[str]] = {}
        for name, row in zip(self.methods, self.ranks, strict=True):
            found.setdefault(row.astype(float).tobytes(), []).append(name)
        return [tuple(g) for g in sorted(found.values(), key=len, reverse=True)]

    @cached_property
    def consensus(self) -> np.ndarray:
        """Competition ranks of the mean rank over distinct orders, (L,): an order that many methods share counts
        once."""
        distinct = np.stack([self.ranks[self.methods.index(group[0])] for group in self.groups])
        with jax.enable_x64(True):
            return np.asarray(rank_scores(-distinct.mean(axis=0), resolution=1e-9))

    def to_frame(self) -> Any:
        """The matrix of tau-b as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.tau, index=list(self.methods), columns=list(self.methods))

    def plot(self, kind: str = "agreement", ax: Any = None, **options: Any) -> Any:
        """Draw the matrix of tau-b; options as `jaxrank.plots.agreement`. Returns the Axes."""
        return draw(self, kind, ax, options)

    def __repr__(self) -> str:
        n_methods, n_orders = len(self.methods), len(self.groups)
        return f"Agreement({n_methods} methods in {n_orders} distinct orders, {len(self.models)} models)"


register(FitTable, {"agreement": plots.agreement})
register(Agreement, {"agreement": plots.agreement})


def fit_all(
    data: Any,
    methods: Sequence[str | Ranker] | None = None,
    *,
    R0: Any = None,
    pairing: str = "aligned",
    dtype: str | None = None,
    seed: Any = 0,
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
    data: Any, methods: Sequence[str | Ranker] | None = None, *, gold: str = GOLD, **options: Any
) -> Agreement:
    """Tau-b matrix, groups of identical order and consensus of many methods; options as in `fit_all`.

    >>> import jaxrank as jr
    >>> jr.agreement([[1, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1]], ["bayes", "avg", "copeland"]).groups
    [('bayes', 'avg', 'copeland')]
    """
    return fit_all(data, methods, **options).agreement(gold)


def _prior_for(method: str | Ranker, R0: Any) -> Any:
    """R0 for the entries that are defined with it; the other identifiers keep their uniform prior."""
    if isinstance(method, str) and not catalogue.entry(method).options.get("needs_R0", False):
        return None
    return R0
