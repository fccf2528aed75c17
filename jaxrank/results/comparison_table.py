"""``ComparisonTable``: many comparisons, whose verdicts and intervals hold at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.numerics.adjusted import holm
from jaxrank.numerics.interval import percent
from jaxrank.results.comparison import Evidence
from jaxrank.results.returned import Returned, Row, named, row_of, rows_of

if TYPE_CHECKING:
    import pandas as pd


def adjusted(evidence: Sequence[Evidence], alpha: float) -> tuple[tuple[str, ...], ...]:
    """The statements that hold of each comparison, so that any false one of a kind has at most the probability
    ``alpha`` among all: p-values adjusted by Holm."""
    p, small, worse = (holm(np.array([getattr(e, name) for e in evidence])) for name in ("p", "p_small", "p_worse"))
    return tuple(Evidence(e.sign, *own).holding(alpha) for e, *own in zip(evidence, p, small, worse, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTable(Returned):
    """P comparisons. Iterating gives a `Row` each; ``["new - old"]``, or the name of a group, gives one.

    **new**, **old**: names (P,).  **groups**: the group of questions of each line, values of the column **by**; empty
    without one.  **difference**, **se**, **lower**, **upper**: (P,), intervals that hold at once.  **p**: of each for
    itself; **holm**, **bh**: adjusted.  **holding**: the statements that hold of each by
    Holm's, the strongest first.  **n_questions**, **n_clusters**: (P,).
    """

    new: tuple[str, ...]
    old: tuple[str, ...]
    groups: tuple[str, ...]
    by: str
    difference: np.ndarray
    se: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p: np.ndarray
    holm: np.ndarray
    bh: np.ndarray
    holding: tuple[tuple[str, ...], ...]
    n_questions: np.ndarray
    n_clusters: np.ndarray
    unit: str
    cluster: str
    margin: float
    level: float
    notes: tuple[str, ...]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The strongest statement of each comparison, or "undecided" (P,)."""
        return tuple(next(iter(held), "undecided") for held in self.holding)

    @property
    def names(self) -> tuple[str, ...]:
        """What each line is called: its group, or "new - old", or both."""
        pairs = [f"{a} - {b}" for a, b in zip(self.new, self.old, strict=True)]
        if not self.groups:
            return tuple(pairs)
        if len(set(pairs)) == 1:
            return self.groups
        return tuple(f"{group}: {pair}" for group, pair in zip(self.groups, pairs, strict=True))

    def to_frame(self) -> pd.DataFrame:
        """A row a comparison: the group, new, old, verdict, difference, lower, upper, p, holm, bh, questions,
        clusters."""
        import pandas as pd

        head = {self.by: list(self.groups)} if self.groups else {}
        columns = {
            "new": list(self.new),
            "old": list(self.old),
            "verdict": list(self.verdicts),
            "difference": self.difference,
            "lower": self.lower,
            "upper": self.upper,
            "se": self.se,
            "p": self.p,
            "holm": self.holm,
            "bh": self.bh,
            "questions": self.n_questions,
            "clusters": self.n_clusters,
        }
        return pd.DataFrame({**head, **columns})

    def __len__(self) -> int:
        return len(self.new)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.to_frame())

    def __getitem__(self, name: str) -> Row:
        return row_of(self.to_frame(), named(self.names, name, "comparison"))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _foot(self) -> list[str]:
        alpha = percent(1 - self.level)
        how = "Student's t by question, all at once" if self.unit == "questions" else "Welch's t of the trials"
        said = f"lower, upper: {percent(self.level)}, {how} ({self.unit} drawn again)"
        verdicts = f"verdicts: any false one among all lines at most {alpha} (p-values adjusted by Holm)"
        return [said, verdicts, *(f"note: {note}" for note in self.notes)]

    def _record(self) -> dict[str, Any]:
        names = ("unit", "cluster", "margin", "level", "by")
        return {name: getattr(self, name) for name in names} | {"notes": list(self.notes)}

    def __repr__(self) -> str:
        counts = {v: self.verdicts.count(v) for v in dict.fromkeys(self.verdicts)}
        said = ", ".join(f"{n} {v}" for v, n in counts.items())
        return f"ComparisonTable({len(self)} comparisons: {said})"
