"""``Data``: what the three kinds of data have in common, so that every public call works with every kind.

A kind says in words what it is, counts what can be drawn from it, restricts itself to some of its models or rows, joins
another of its kind, and hands a method the statistic that it reads. Only what has mathematics of its own asks which
kind it has (`Data.kind`).
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from jaxrank.errors import DataError, UnsupportedDataError

KINDS = ("responses", "comparisons", "rankings")
CONTENT = {"responses": "repeated trials", "comparisons": "battles", "rankings": "ordered lists"}
Same = TypeVar("Same", bound="Data")


class Data(abc.ABC):
    """Results of models: `Responses`, `Comparisons` or `Rankings`.

    **kind**: one word for messages: "responses", "comparisons" or "rankings".
    **models**: names.  **questions**: names; empty where there are none.
    **notes**: what was read, dropped or assumed, one sentence each.

    Stored arrays are read-only: a method may have read them already.
    """

    kind: ClassVar[str]
    models: tuple[str, ...]
    questions: Any
    notes: tuple[str, ...]

    @property
    def content(self) -> str:
        """What it holds, in words for messages."""
        return CONTENT[self.kind]

    @property
    @abc.abstractmethod
    def units(self) -> Mapping[str, float]:
        """What a bootstrap can draw, in the singular, and how many of it there are."""

    @property
    def coverage(self) -> np.ndarray:
        """float (L,): share of the questions on which a model has results; ones where there are no questions."""
        return np.ones(len(self.models))

    @abc.abstractmethod
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All numbers that a method can read, for a digest of the data."""

    @abc.abstractmethod
    def select(self: Same, models: Any = None) -> Same:
        """The same results restricted to some models (and rows), given by names, indices or a mask of booleans."""

    @abc.abstractmethod
    def _joined(self: Same, other: Same) -> Same:
        """Both results as one, models matched by name."""

    def statistic(self, statistic: Any, pairing: str = "aligned") -> Any:
        """What a method reads, from whole data: ``statistic`` is the class that the method names."""
        return statistic.of(self, pairing=pairing)

    def __add__(self: Same, other: Any) -> Same:
        """Both results as one; see `concat`."""
        return concat([self, other])


def concat(parts: Iterable[Same]) -> Same:
    """Several data of one kind as one: models (and questions) are matched by name, rows follow each other.

    Trials of a question that parts have in common follow each other as further trials. ``notes`` keep those of all
    parts and say what was joined. `DataError` where the kinds differ.

    >>> import jaxrank as jr
    >>> monday, tuesday = jr.Comparisons(["ada"], ["bob"], [1]), jr.Comparisons(["cyd"], ["bob"], [0.5])
    >>> jr.concat([monday, tuesday])
    Comparisons(3 models, 2 battles, 1 ties)
    """
    several = list(parts)
    if not several:
        raise DataError("there is nothing to join: the list of data is empty")
    stranger = next((p for p in several if not isinstance(p, Data)), None)
    if stranger is not None:
        raise DataError(f"{type(stranger).__name__} cannot be joined; make it Responses, Comparisons or Rankings first")
    kinds = list(dict.fromkeys(p.kind for p in several))
    if len(kinds) > 1:
        raise DataError(f"{' and '.join(kinds)} cannot be joined: all parts must be of one kind")
    whole = several[0]
    for part in several[1:]:
        whole = whole._joined(part)
    return whole


def check_kind(data: Data, kinds: tuple[str, ...], who: str, remedy: str = "") -> None:
    """`UnsupportedDataError` unless the data are of one of ``kinds``, those that ``who`` reads."""
    if data.kind in kinds:
        return
    wanted = " or ".join(f"{CONTENT[kind]} (jaxrank.{kind.capitalize()})" for kind in kinds)
    said = f"{who} reads {wanted}; these data are {data.content} (jaxrank.{type(data).__name__})"
    raise UnsupportedDataError(f"{said}; {remedy}" if remedy else said)


def frozen(array: Any, dtype: Any = None) -> np.ndarray:
    """A read-only copy of an array, so that nobody changes what was checked."""
    out = np.array(array, dtype)
    out.setflags(write=False)
    return out


def union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[tuple[str, ...], np.ndarray]:
    """All names in the order met, and the places of the second names among them."""
    names = tuple(dict.fromkeys([*first, *second]))
    at = {name: i for i, name in enumerate(names)}
    return names, np.array([at[name] for name in second], int)


def joined_notes(first: Data, second: Data) -> tuple[str, ...]:
    """The notes of both, each once, and a sentence on the joining."""
    shared = len(set(first.models) & set(second.models))
    said = (
        f"joined {len(first.models)} and {len(second.models)} models by name, {shared} of them in both: "
        f"{_amount(first)} and {_amount(second)}"
    )
    return (*dict.fromkeys([*first.notes, *second.notes]), said)


def _amount(data: Data) -> str:
    return ", ".join(f"{n:g} {unit}s" for unit, n in data.units.items())
