"""``FitTable``: many methods on one data set, and ``Agreement``: how far rankings agree."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Array

from jaxrank.errors import JaxrankWarning, OptionError, UndefinedScoreError
from jaxrank.models.options import shown
from jaxrank.numerics.ranks import kendall_tau, rank_scores
from jaxrank.results.fit import Result
from jaxrank.results.returned import Returned, named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class FitTable(Returned):
    """Results of many methods on one data set. Iterating gives the `Result` of every method that ran, ``[method]`` one.

    **results**: `Result` by identifier, also those that did not converge (see their status).
    **skipped**: why a method could not run on these data, by identifier.  **seconds**: time of each run, by
    identifier, without the compilation that methods share the cores for.  **usual**: the method that ranks such data
    where none is named.
    """

    results: Mapping[str, Result]
    skipped: Mapping[str, str]
    seconds: Mapping[str, float]
    models: tuple[str, ...]
    usual: str

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results.values())

    def __getitem__(self, method: str) -> Result:
        if isinstance(method, str) and method in self.skipped:
            raise OptionError(f"{method} could not run on these data: {self.skipped[method]}")
        return list(self)[named(tuple(self.results), method, "method")]

    def __contains__(self, method: object) -> bool:
        return method in self.results

    @property
    def methods(self) -> tuple[str, ...]:
        """Identifiers of the methods that gave every model a score."""
        return tuple(name for name, r in self.results.items() if np.all(r.ranks > 0))

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame of competition ranks: a row a model, a column a method."""
        import pandas as pd

        return pd.DataFrame({name: self.results[name].ranks for name in self.methods}, index=list(self.models))

    def status_frame(self) -> pd.DataFrame:
        """A pandas frame with a row a method: status, seconds and what is to be said about it."""
        import pandas as pd

        rows = [(n, str(r.status), self.seconds[n], r.explain()) for n, r in self.results.items()]
        rows += [(n, "not run", np.nan, why) for n, why in self.skipped.items()]
        return pd.DataFrame(rows, columns=["method", "status", "seconds", "detail"])

    def agreement(self, gold: str | None = None) -> Agreement:
        """Kendall's tau-b between all methods that gave every model a score.

        ``gold``: the method that others are held against; by default the one that ranks such data where none is named
        (bayes for trials), or the first of the table. `OptionError` for a name that the table does not have; a method
        that did not rank every model is replaced with a warning.
        """
        names = self.methods
        if not names:
            why = "; ".join([*self.skipped.values(), *(r.explain() for r in self)][:3])
            raise UndefinedScoreError(f"no method gave every model a score: {why}")
        if gold is not None and not (isinstance(gold, str) and (gold in self.results or gold in self.skipped)):
            raise OptionError(f"gold={shown(gold)} is not among the methods: {', '.join(self.results)}")
        if gold is not None and gold not in names:
            why = self.skipped[gold] if gold in self.skipped else self.results[gold].explain()
            said = f"gold={gold!r} does not rank every model ({why}); {names[0]} takes its place"
            warnings.warn(said, JaxrankWarning, stacklevel=2)
        wanted = self.usual if gold is None else gold
        ranks = np.stack([self.results[name].rank("average") for name in names])
        families = tuple(type(self.results[name].ranker).__module__.rsplit(".", 1)[-1] for name in names)
        return Agreement(names, ranks, self.models, wanted if wanted in names else names[0], families)

    def _shown(self) -> pd.DataFrame:
        return self.to_frame().rename_axis("model").reset_index()

    _stored = _shown

    def _foot(self) -> list[str]:
        return [f"not run: {name}: {why}" for name, why in self.skipped.items()]

    def _record(self) -> dict[str, Any]:
        return {"methods": list(self.results), "skipped": dict(self.skipped)}

    def __repr__(self) -> str:
        return f"FitTable({len(self.results)} methods, {len(self.skipped)} not run, {len(self.models)} models)"


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Returned):
    """Agreement of K rankings of L models. Iterating gives the ranks (L,) of every method, ``[method]`` those of one.

    **ranks** (K, L): average ranks, 1 is best.  **gold**: the method that the others are compared with.
    **families**: of each method, the one that ``jaxrank list`` names: the file that defines it.
    """

    methods: tuple[str, ...]
    ranks: np.ndarray
    models: tuple[str, ...]
    gold: str
    families: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.ranks)

    def __getitem__(self, method: str) -> np.ndarray:
        return self.ranks[named(self.methods, method, "method")]

    def __contains__(self, method: object) -> bool:
        return method in self.methods

    @cached_property
    def tau(self) -> np.ndarray:
        """Kendall's tau-b of every two methods, (K, K); NaN for a ranking that ties all models."""
        with jax.enable_x64(True):
            return np.asarray(_pairwise(self.ranks))

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
        """Competition ranks of the mean rank over families of methods, (L,): each family counts once, with the mean
        rank that its methods give, however many variants of it there are."""
        _, family = np.unique(self.families, return_inverse=True)
        of_family = np.stack([self.ranks[family == f].mean(axis=0) for f in range(family.max() + 1)])
        with jax.enable_x64(True):
            return np.asarray(rank_scores(-of_family.mean(axis=0), resolution=1e-9))

    def to_frame(self) -> pd.DataFrame:
        """The matrix of tau-b as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.tau, index=list(self.methods), columns=list(self.methods))

    def _shown(self) -> pd.DataFrame:
        """One row a method: tau-b with the gold standard, the number of the order that it gives, and of those that
        give it."""
        import pandas as pd

        place = {name: (i, len(group)) for i, group in enumerate(self.groups, start=1) for name in group}
        rows = [(name, tau, *place[name]) for name, tau in self.tau_with_gold.items()]
        return pd.DataFrame(rows, columns=["method", f"tau_{self.gold}", "order", "methods_of_order"])

    def _stored(self) -> pd.DataFrame:
        return self.to_frame().rename_axis("method").reset_index()

    def _foot(self) -> list[str]:
        names = [self.models[i] for i in np.argsort(self.consensus, kind="stable")]
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return [f"consensus, each family of methods once ({len(set(self.families))}): {shown}"]

    def _record(self) -> dict[str, Any]:
        return {"methods": list(self.methods), "gold": self.gold}

    def __repr__(self) -> str:
        n_methods, n_orders = len(self.methods), len(self.groups)
        return f"Agreement({n_methods} methods in {n_orders} distinct orders, {len(self.models)} models)"


@jax.jit
def _pairwise(ranks: Array) -> Array:
    return kendall_tau(ranks[:, None, :], ranks[None, :, :])
