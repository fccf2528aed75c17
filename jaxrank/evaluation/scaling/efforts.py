"""The order of levels of effort: by value where they are numbers, by meaning where they are known words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxrank.errors import DataError, OptionError

LADDERS = (
    ("none", "off", "no-think", "minimal", "low", "medium", "high", "xhigh", "max"),
    ("none", "off", "no-think", "think", "on"),
    ("chat", "reasoner"),
)
"""Words for levels of effort, each ladder from low to high; capitals, blanks and underscores do not matter."""


def order_levels(found: Iterable[Any], order: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """The distinct levels in ascending order of effort.

    Numbers, and text that holds numbers, go by value; words of one of `LADDERS` by their place there; ``order`` names
    all of them from low to high instead. Never the alphabet: `DataError` names words whose order is not known.
    """
    levels = list(dict.fromkeys(found))
    if order is not None:
        ranked = list(order)
        if len(set(ranked)) < len(ranked):
            raise OptionError(f"the order of the levels names a level twice: {', '.join(map(_name, ranked))}")
        absent = [v for v in levels if v not in ranked]
        if absent:
            raise OptionError(
                f"the order of the levels, {', '.join(map(_name, ranked))}, lacks {', '.join(map(_name, absent))}"
            )
        return tuple(v for v in ranked if v in levels)
    for key in (_value, *(lambda v, ladder=ladder: _step(v, ladder) for ladder in LADDERS)):
        places = [key(v) for v in levels]
        if None not in places and len(set(places)) == len(places):
            return tuple(levels[i] for i in np.argsort(np.array(places, float), kind="stable"))
    raise DataError(
        f"the order of the levels of effort ({', '.join(map(_name, levels[:8]))}) is not known; "
        "name them from low to high"
    )


def _value(level: Any) -> float | None:
    try:
        number = float(level)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _step(level: Any, ladder: tuple[str, ...]) -> int | None:
    plain = lambda word: "".join(c for c in str(word).lower() if c.isalnum())
    words = [plain(word) for word in ladder]
    return words.index(plain(level)) if plain(level) in words else None


def _name(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
