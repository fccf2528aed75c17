"""One finding about the data, and what its texts are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxrank.data.names import name_list
from jaxrank.methods.catalogue import entries

NOTE, CAUTION, PROBLEM = "note", "caution", "problem"
PAIRED_ML = (
    "bradley_terry",
    "bradley_terry_davidson",
    "rao_kupper",
    "plackett_luce",
    "bradley_terry_luce",
    "davidson_luce",
)
JOINT_ML = ("rasch", "rasch_2pl", "rasch_3pl")


@dataclass(frozen=True)
class Finding:
    """One thing found in the data.

    **name**: a short identifier. **severity**: "note", "caution" (some methods compare unlike with unlike) or
    "problem" (some methods have no answer). **says**: what was found, where. **means**: what follows for which methods.
    **models**, **questions**: those concerned. **methods**: identifiers of the catalogue that are concerned.
    """

    name: str
    severity: str
    says: str
    means: str
    models: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def sentences(self) -> str:
        """Name, what was found and what it means."""
        return f"{self.name}: {self.says}{'' if self.says.endswith('.') else '.'} {self.means}".strip()


def reads(name: str, kind: str) -> bool:
    """Whether a method of the catalogue reads data of a kind."""
    ranker = entries()[name].ranker()
    return kind in (ranker.kinds or ranker.statistic.kinds)


def of_statistic(*names: str, kind: str) -> tuple[str, ...]:
    """Methods that read one of these statistics, of data of this kind."""
    return tuple(k for k, e in entries().items() if e.ranker().statistic.name in names and reads(k, kind))


def pick(names: Sequence[str], where: Any) -> tuple[str, ...]:
    return tuple(names[i] for i in np.flatnonzero(where).tolist())


def few(names: Sequence[str]) -> str:
    return name_list(names, range(len(names)), limit=5)
