"""Battles by category, as a posterior with partial pooling reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxrank.data.comparisons import Comparisons, comparisons_of
from jaxrank.data.kind import Data
from jaxrank.data.statistics import Pairs
from jaxrank.errors import OptionError
from jaxrank.posteriors.specs import MODELS
from jaxrank.studies.categories import labels_of


@dataclass(frozen=True)
class Parts:
    """The battles of each of K categories, all with the models of the whole.

    **names** (K,).  **battles** (K,).  **cautions**: what was left out, a sentence each.
    """

    names: tuple[str, ...]
    battles: tuple[Comparisons, ...]
    cautions: tuple[str, ...]

    def pairs(self) -> list[Pairs]:
        return [Pairs.of(part) for part in self.battles]


def parts_by(data: Data, by: str, model: str) -> Parts:
    """The parts of battles by a column; raises where they are no battles, the model reads no pairs, or there is one
    category only."""
    battles = comparisons_of(data, "jaxrank.posterior(by=)")
    if model not in MODELS or MODELS[model].statistic is not Pairs:
        known = ", ".join(name for name, spec in MODELS.items() if spec.statistic is Pairs)
        raise OptionError(f"by={by!r} is for models of pairs, and {model} is none; choose one of {known}")
    names, code = labels_of(battles, by, "by")
    if len(names) < 2:
        raise OptionError(f"by={by!r}: all battles are of one category, {names}; leave it out")
    everyone = np.arange(len(battles.models))
    parts = tuple(battles.select(everyone, np.flatnonzero(code == k)) for k in range(len(names)))
    lost = battles.count[code < 0].sum()
    said = (f"{lost:g} battles have no {by} and are left out",) if lost else ()
    return Parts(tuple(names), parts, said)
