"""Which models can be told apart, and the tiers that follow: where a line may be drawn under a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jaxrank.errors import UnsupportedDataError
from jaxrank.numerics.interval import check_level, percent
from jaxrank.results.fit import Result
from jaxrank.results.posterior import Posterior
from jaxrank.results.replicates import Replicates
from jaxrank.results.returned import RowsOfModels
from jaxrank.results.study import Study

if TYPE_CHECKING:
    import pandas as pd

Ranked: TypeAlias = Result | Study | Posterior


@dataclass(frozen=True, eq=False, repr=False)
class Tiers(RowsOfModels):
    """The tier of every model. Iterating gives a `Row` a model, best first, ``[model]`` that of one.

    **tiers**: int (L,), 1 the best.  **order**: int (L,), indices of the models, best first.  **level**: confidence of
    the lines.  **rule**: when two models are separated, in words.
    """

    models: tuple[str, ...]
    tiers: np.ndarray
    order: np.ndarray
    level: float
    rule: str

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The names of each tier, best first."""
        return [tuple(self.models[i] for i in self.order if self.tiers[i] == t) for t in range(1, self.n_tiers + 1)]

    @property
    def n_tiers(self) -> int:
        return int(self.tiers.max())

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, best model first: tier, model."""
        import pandas as pd

        return pd.DataFrame({"tier": self.tiers[self.order], "model": [self.models[i] for i in self.order]})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.tiers.astype(dtype or int)

    def _foot(self) -> list[str]:
        return [f"a tier ends above the first model that is separated from its leader: {self.rule}"]

    def _record(self) -> dict[str, Any]:
        return {"level": self.level, "rule": self.rule}

    def __repr__(self) -> str:
        return f"Tiers({self.n_tiers} of {len(self.models)} models at {percent(self.level)})"


def separated(source: Ranked, level: float = 0.95) -> np.ndarray:
    """bool (L, L): ``out[i, j]`` where model i is above model j with confidence ``level``, in (0, 1).

    All statements hold together with probability ``level``: from simultaneous intervals of all differences, or, for a
    `Summary` of other units than questions, from the share of replicates with Bonferroni's correction.

    `UnsupportedDataError` for a result without standard errors.
    """
    check_level(level)
    if isinstance(source, Result | Posterior):
        return source.difference_intervals(level, simultaneous=True).lower > 0
    if isinstance(source, Study):
        return source.separated(level)
    raise UnsupportedDataError(f"tiers need a Result, Replicates or a Posterior, not {type(source).__name__}")


def rule_of(source: Ranked) -> str:
    """When two models are separated, in words."""
    if isinstance(source, Study) and not isinstance(source, Replicates):
        return "all statements at once"
    words = source.difference_intervals(simultaneous=True)
    return f"simultaneous intervals of all differences{f' ({words.unit} drawn again)' if words.unit else ''}"


def tiers(source: Ranked, level: float = 0.95) -> Tiers:
    """The tier of each model, 1 the best. A tier is everything down from its leader until the first model that is
    separated from that leader.

    >>> import jaxrank as jr
    >>> table = jr.tiers(jr.fit(jr.Responses([[1] * 40, [1] * 36 + [0] * 4, [0] * 40], models=["ada", "bob", "cyd"])))
    >>> table.groups
    [('ada', 'bob'), ('cyd',)]
    """
    above, order = separated(source, level), source.order
    out = np.zeros(len(order), int)
    leader, tier = order[0], 1
    for model in order:
        if above[leader, model]:
            leader, tier = model, tier + 1
        out[model] = tier
    return Tiers(source.models, out, order, level, rule_of(source))


def inseparable(source: Ranked, level: float = 0.95) -> list[tuple[int, int]]:
    """Longest stretches of the ranking without a separated pair, as first and last position (from 0), both included;
    only those of two models and more. They may overlap."""
    above, order = separated(source, level), source.order
    ordered = (above | above.T)[np.ix_(order, order)]
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and not ordered[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
