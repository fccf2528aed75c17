"""Bundled real results, each with its source and licence: ``available`` and ``load``."""

from __future__ import annotations

import difflib
import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np

from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError, one_line


@dataclass(frozen=True)
class Source:
    """Where a bundled data set comes from. **levels**: the scores of its grades, empty where outcomes are 0 and 1."""

    title: str
    source: str
    commit: str
    licence: str
    note: str = ""
    levels: tuple[float, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What it is with, where there is something, what was chosen in making it; and where it is from."""
        what = f"{self.title}; {self.note}" if self.note else self.title
        return what, f"from {self.source}, commit {self.commit}, licence {self.licence}"


@functools.cache
def sources() -> dict[str, Source]:
    """The origin of every bundled data set by its name."""
    table = tomllib.loads((_folder() / "SOURCES.toml").read_text(encoding="utf-8"))
    return {name: Source(**{**row, "levels": tuple(row.get("levels", ()))}) for name, row in table.items()}


def available() -> list[str]:
    """The names that `load` knows."""
    return list(sources())


def load(name: str, *, graded: bool = False) -> Responses:
    """A bundled data set as `Responses`, with the names of its models and questions.

    **name**: one of `available`. **graded**: True keeps partial credit, for example scores 0, 0.5 and 1; False makes
    every trial 1 where its score is the highest and 0 elsewhere. ``notes`` of the result say where it comes from.

    Raises `OptionError` for an unknown name, and for ``graded=True`` where the data hold no partial credit.

    >>> import jaxrank as jr
    >>> jr.datasets.load("lrm_token_economy")
    Responses(23 models x 19 questions x 5 trials, binary, unequal trials or missing cells)
    """
    if not isinstance(graded, bool):
        raise OptionError(f"graded={one_line(graded)}; it must be True or False")
    if not isinstance(name, str) or name not in sources():
        near = difflib.get_close_matches(str(name), available(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise OptionError(f"no bundled data set {one_line(name)}{hint} The names are: {', '.join(available())}")
    source = sources()[name]
    if graded and not source.levels:
        with_grades = [other for other, s in sources().items() if s.levels]
        raise OptionError(f"{name} holds outcomes 0 and 1 only; graded=True works for {', '.join(with_grades)}")
    with (_folder() / f"{name}.npz").open("rb") as file, np.load(file) as z:
        arrays = dict(z)
    names = arrays["models"], arrays["questions"]
    if not source.levels:
        return Responses(arrays["outcomes"], *names, notes=source.notes)
    grades = arrays["grades"]
    if graded:
        scores = np.where(grades < 0, np.nan, np.asarray(source.levels)[grades])
        return Responses(scores, *names, levels=source.levels, notes=source.notes)
    top = len(source.levels) - 1
    return Responses(np.where(grades < 0, -1, grades == top), *names, notes=source.notes)


def _folder() -> Traversable:
    return files("jaxrank.data") / "bundled"
