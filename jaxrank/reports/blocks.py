"""What a report is made of, whatever it is written as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxrank.results.bars import Bars


@dataclass(frozen=True)
class Text:
    """A paragraph. **lead**: in larger letters."""

    words: str
    lead: bool = False


@dataclass(frozen=True)
class Items:
    """A list of sentences, each with a word before it in bold."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Figure:
    """A plot: ``draw(ax=figure)`` draws it. **name**: of its file. **alt**: what it shows, for those who cannot see
    it."""

    name: str
    alt: str
    draw: Callable[..., Any]


@dataclass(frozen=True)
class Table:
    """A pandas frame. **folded**: shown on demand only. **bars**: drawn within a page's table; where tables hold text
    alone the ``figure`` shows the same."""

    frame: Any
    folded: str = ""
    bars: Bars | None = None
    figure: Figure | None = None


@dataclass(frozen=True)
class Code:
    """Text in letters of equal width."""

    words: str


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Text | Items | Table | Figure | Code]
