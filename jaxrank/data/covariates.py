"""Covariates: which a model reads, and columns of a battle table as differences between the two sides of a battle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.names import name_list
from jaxrank.errors import DataError, OptionError, UnsupportedDataError
from jaxrank.numerics.solve.linear import pseudo_inverse

SIDE = "side"
"""The name of the coefficient of having been shown first."""
_FEW = 2**14  # battles that are looked at first
_FLAT = 1e-9  # of its sum of squares: what is left of a covariate that is a function of the models


@dataclass(frozen=True)
class Design:
    """Which covariates a model reads. Of ordered lists: `jaxrank.data.slates`.

    **columns**: names.  **side**: whether a was shown first, as a covariate of its own, the last.  **relative**: how a
    pair of columns ``<name>_a``, ``<name>_b`` enters: as (a - b) / (a + b), 0 where both are 0, over its root mean
    square over all battles; else as a - b. A single column ``<name>`` is the difference already and enters as it is.
    """

    columns: tuple[str, ...] = ()
    side: bool = False
    relative: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients in their order."""
        return (*self.columns, *([SIDE] if self.side else []))

    def values(self, data: Comparisons) -> tuple[np.ndarray, np.ndarray]:
        """The covariates of every battle, float64 (C, E), in favour of a, and the unit (C,) of each: its root mean
        square over the battles where it is relative, else 1."""
        count = data.count * data.weight
        x, scale = np.ones((len(self.names), len(data.a))), np.ones(len(self.names))
        for k, name in enumerate(self.columns):
            x[k], ratio = _difference(data, name, self.relative)
            scale[k] = _size(x[k], count) if ratio else 1
        return x, scale

    def ratios(self, data: Comparisons) -> np.ndarray:
        """bool (C,): which covariates are ratios, whose unit depends on all battles."""
        return np.array([self.relative and c not in data.columns for c in self.columns] + [False] * self.side, bool)

    def check(self, data: object, identified: bool = True) -> None:
        """`OptionError` or `DataError` for data that have no such columns, and, where they must be ``identified``
        without a prior, for covariates that say nothing beside the models."""
        if not isinstance(data, Comparisons):
            lists = getattr(data, "form", "") == "rankings"
            remedy = "use plackett_luce_rankings for lists" if lists else "leave covariates and side out"
            raise OptionError(
                f"{self.given}: covariates are columns of battles (jaxrank.Comparisons), and these data are none; "
                f"{remedy}"
            )
        few = data.select(battles=np.arange(min(len(data.a), _FEW)))
        if not identified or unidentified(few, self.values(few)[0]) is None:
            return  # what some battles identify all of them do
        self.refuse(unidentified(data, self.values(data)[0]), data.unit)

    @property
    def given(self) -> str:
        """The options, as they were given."""
        return f"covariates={self.columns!r}" if self.columns else "side=True"

    def refuse(self, flat: np.ndarray | None, unit: str) -> None:
        """`OptionError` where a combination (C,) of covariates says nothing beside the models."""
        if flat is None:
            return
        named = name_list(self.names, np.flatnonzero(np.abs(flat) > 0.1 * np.abs(flat).max()))
        raise OptionError(
            f"covariates: {named} is the same function of the models in every {unit}, so that no {unit} tells its "
            "coefficient from their strengths; leave it out, or give coefficients a prior (covariate_var=)"
        )


def _difference(data: Comparisons, name: str, relative: bool) -> tuple[np.ndarray, bool]:
    """The column, in favour of a, and whether it is relative to what both sides have."""
    known = data.columns
    pair = (f"{name}_a", f"{name}_b")
    single = name in known
    if not single and not all(c in known for c in pair):
        numbers = [c for c, v in known.items() if v.dtype.kind == "f"]
        have = ", ".join(map(repr, numbers)) or "none"
        raise OptionError(
            f"covariates: the battles have no numbers called {name!r}, nor {pair[0]!r} and {pair[1]!r}; their columns "
            f"of numbers are {have}. Choose among these"
        )
    read = [known[c] for c in ((name,) if single else pair)]
    for column, values in zip((name,) if single else pair, read, strict=True):
        if values.dtype.kind != "f":
            raise UnsupportedDataError(f"covariates: column {column!r} holds texts; use a column of numbers")
        if (bad := ~np.isfinite(values)).any():
            raise DataError(
                f"covariates: column {column!r} has no number in {int(bad.sum())} of {len(bad)} battles, the first is "
                f"row {int(np.argmax(bad))}; leave these out with select(battles=...), or fill them in"
            )
    if single:
        return read[0], False
    a, b = read
    if not relative:
        return a - b, False
    if min(a.min(initial=0), b.min(initial=0)) < 0:
        row = int(np.argmax((a < 0) | (b < 0)))
        raise DataError(
            f"covariates: {name!r} is below 0 in row {row}, and a ratio needs counts of 0 or more; use relative=False"
        )
    total = a + b
    total[total == 0] = 1  # and a - b is 0
    return (a - b) / total, True


def _size(x: np.ndarray, count: np.ndarray) -> float:
    mean_square = float(np.dot(count, x * x) / count.sum()) if count.sum() > 0 else 0.0
    return mean_square**0.5 or 1.0


def unidentified(data: Comparisons, x: np.ndarray) -> np.ndarray | None:
    """A combination (C,) of covariates (C, E) that is a difference of something that each model has, up to rounding;
    None where there is none.

    What is left of the covariates' products after the models are taken out (a Schur complement) is then singular.
    """
    n = len(data.models)
    met = np.bincount(data.a * n + data.b, data.count, n * n).reshape(n, n)
    met = met + met.T
    pull = np.stack([np.bincount(data.a, data.count * v, n) - np.bincount(data.b, data.count * v, n) for v in x])
    return flat_combination(np.diag(met.sum(axis=1)) - met, pull, (x * data.count) @ x.T)


def flat_combination(laplacian: np.ndarray, pull: np.ndarray, products: np.ndarray) -> np.ndarray | None:
    """`unidentified` from sums of products: of the models (L, L), of covariates with models (C, L), of covariates
    (C, C)."""
    size = np.sqrt(np.diag(products))
    if (size == 0).any():
        return (size == 0).astype(float)
    pull = pull / size[:, None]
    left = products / size[:, None] / size - pull @ pseudo_inverse(laplacian) @ pull.T
    values, vectors = np.linalg.eigh(left)
    return vectors[:, 0] if values[0] < _FLAT * len(products) else None
