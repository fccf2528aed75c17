"""``Data``: what the three kinds of data have in common, so that every public call works with every kind.

A kind says in words what it is, counts what can be drawn from it, restricts itself to some of its models or rows, joins
another of its kind, and hands a method the statistic that it reads. Only what has mathematics of its own asks which
kind it has: `tests/test_layers.py` counts the places that do.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from jaxrank.errors import DataError, UnsupportedDataError

KINDS = ("responses", "comparisons", "rankings")
CONTENT = {"responses": "repeated trials", "comparisons": "battles", "rankings": "ordered lists"}
Same = TypeVar("Same", bound="Data")


class Data(abc.ABC):
    """Results of models: `Responses`, `Comparisons` or `Rankings`.

    **form**: which of the three, one word for messages: "responses", "comparisons" or "rankings".
    **kind**: what the scores are: of responses "binary", "graded" or "real"; of the others their form.
    **models**: names.  **questions**: names; empty where there are none.
    **notes**: what was read, dropped or assumed, one sentence each.

    Stored arrays are read-only: a method may have read them already.
    """

    form: ClassVar[str]
    models: tuple[str, ...]
    questions: Any
    notes: tuple[str, ...]

    @property
    def content(self) -> str:
        """What it holds, in words for messages."""
        return CONTENT[self.form]

    @property
    def kind(self) -> str:
        """What the scores are: "binary", "graded" or "real"; for battles and ordered lists their form."""
        return self.form

    @property
    @abc.abstractmethod
    def units(self) -> Mapping[str, float]:
        """What a bootstrap can draw, in the singular, and how many of it there are."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(models, questions, trials); battles and ordered lists, one after the other, are trials of one question."""
        return len(self.models), 1, round(self.units[self.unit])

    @property
    def unit(self) -> str:
        """What comes one after the other, in the singular: a trial, a battle, an order."""
        return next(iter(self.units))

    @property
    def n_results(self) -> float:
        """How many results there are in all."""
        return max(self.units.values())

    @property
    def n_categories(self) -> int:
        """How many outcomes a trial can have; 2 where there are no trials."""
        return 2

    @property
    def fewest_trials(self) -> int:
        """Fewest trials in a cell that has any; 0 where there are no questions."""
        return 0

    @property
    def counts_only(self) -> bool:
        """Whether it is unknown which trial came out how, and only known how many did."""
        return False

    @property
    def aligned(self) -> bool:
        """Whether trial n of every cell is one column, so that taking each n once is a study of all trials."""
        return False

    @property
    def pairing(self) -> str:
        """The ``pairing`` in which models can be compared: "all" where only counts are known."""
        return "all" if self.counts_only else "aligned"

    @property
    def size(self) -> str:
        """How much there is, in words."""
        amounts = [f"{n:,.0f} {unit}{'s' if n != 1 else ''}" for unit, n in self.units.items()]
        return ", ".join([f"{len(self.models)} models", *amounts])

    @property
    def gaps(self) -> str:
        """In words, which models lack results on questions that others have; empty where none does."""
        return ""

    @property
    def scales(self) -> str:
        """In words, which questions have scores on a much larger scale than others; empty where none has."""
        return ""

    @property
    def all_alike(self) -> str | None:
        """In words, how many ordered lists say nothing, since all models stand alike in them; empty where none does,
        None where there are no lists."""
        return None

    @property
    def hanging(self) -> str:
        """In words, what several pairs of models have in common, so that they are no independent battles; empty where
        every pair is a battle of its own."""
        return "of one trial or question" if self.questions else ""

    @property
    def coverage(self) -> np.ndarray:
        """float (L,): share of the questions on which a model has results; ones where there are no questions."""
        return np.ones(len(self.models))

    @property
    def n_seen(self) -> np.ndarray:
        """int (L,): questions on which a model has results; 0 where there are no questions."""
        return np.rint(self.coverage * len(self.questions)).astype(int)

    @property
    def partial(self) -> np.ndarray:
        """bool (L,): models with results on fewer than half of the questions, where others have half or more: too few
        to be ranked beside these."""
        few = self.coverage < 0.5
        return few & bool(self.questions) & ~few.all()

    @property
    def partial_note(self) -> str:
        """In words, which models are `partial`; empty where none is."""
        few = np.flatnonzero(self.partial)
        if not len(few):
            return ""
        seen = self.n_seen
        named = ", ".join(f"{self.models[i]!r} ({seen[i]})" for i in few[:8])
        more = f" and {len(few) - 8} more" if len(few) > 8 else ""
        return f"too few of the {len(self.questions)} questions to rank: {named}{more}"

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


class Counted(Data):
    """Battles or ordered lists: rows that came one after the other, each given ``count`` times, of no question.

    **count**: float64 (E,).  **columns**: what else is known of them, arrays by name, (E,) of a row.
    """

    count: np.ndarray
    columns: Mapping[str, np.ndarray]

    @property
    def weight(self) -> np.ndarray:
        """float64 (E,): what each row counts in an estimate, a constant of the design; ones where none is given."""
        return np.ones(len(self.count))

    @property
    def questions(self) -> tuple[str, ...]:
        """None: a battle or an order is of no question."""
        return ()

    @property
    @abc.abstractmethod
    def wins(self) -> np.ndarray:
        """float64 (L, L): how often i was better than j."""

    @property
    @abc.abstractmethod
    def ties(self) -> np.ndarray:
        """float64 (L, L), symmetric: how often i and j tied."""

    @abc.abstractmethod
    def events(self) -> np.ndarray:
        """int (E, L): the higher the better, equal where models tie, -1 for models that took no part."""

    @abc.abstractmethod
    def choices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The distinct choices (S, L) that the rows are made of, and which choice (P,) is part of which row (P,)."""

    @abc.abstractmethod
    def distinct(self) -> Self:
        """Equal rows merged, their counts added."""

    @property
    def whole(self) -> bool:
        """Whether every count is a whole number."""
        return bool(np.all(self.count == np.rint(self.count)))


def concat(parts: Iterable[Same]) -> Same:
    """Several data of one kind as one: models (and questions) are matched by name, rows follow each other.

    Trials of a question that parts have in common follow each other as further trials. ``notes`` keep those of all
    parts and say what was joined. `DataError` where the kinds differ.

    >>> import jaxrank as jr
    >>> monday, tuesday = jr.Comparisons(["ada"], ["bob"], [1]), jr.Comparisons(["cyd"], ["bob"], [0.5])
    >>> jr.concat([monday, tuesday])
    Comparisons(3 models, 2 battles, 1 ties)
    """
    if isinstance(parts, str | bytes) or not isinstance(parts, Iterable):
        raise DataError(f"concat takes a list of data, not a {type(parts).__name__}")
    several = list(parts)
    if not several:
        raise DataError("there is nothing to join: the list of data is empty")
    stranger = next((p for p in several if not isinstance(p, Data)), None)
    if stranger is not None:
        raise DataError(f"{type(stranger).__name__} cannot be joined; make it Responses, Comparisons or Rankings first")
    kinds = list(dict.fromkeys(p.form for p in several))
    if len(kinds) > 1:
        raise DataError(f"{' and '.join(kinds)} cannot be joined: all parts must be of one kind")
    whole = several[0]
    for part in several[1:]:
        whole = whole._joined(part)
    return whole


def check_kind(data: Data, kinds: tuple[str, ...], who: str, remedy: str = "") -> None:
    """`UnsupportedDataError` unless the data are of one of ``kinds``, those that ``who`` reads."""
    if data.form in kinds:
        return
    wanted = " or ".join(f"{CONTENT[kind]} (jaxrank.{kind.capitalize()})" for kind in kinds)
    said = f"{who} reads {wanted}; these data are {data.content} (jaxrank.{type(data).__name__})"
    raise UnsupportedDataError(f"{said}; {remedy}" if remedy else said)


def counted(data: Data) -> Counted:
    """The data, where they are battles or ordered lists."""
    check_kind(data, ("comparisons", "rankings"), "this method")
    return cast(Counted, data)


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
