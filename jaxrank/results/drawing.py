"""How results are drawn: plots register here by the class that they draw, so that no result imports a plot. The first
that is drawn brings them in."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from jaxrank.errors import OptionError, one_line

Drawer = Callable[..., Any]
"""``drawer(source, ax, **options)`` draws a source and returns the Axes, as the functions of `jaxrank.plots` do."""

PLOTS = "jaxrank.results.plots"
"""The package that registers them when it is imported."""

KINDS: dict[type, Mapping[str, Drawer]] = {}
"""The plots of each class by ``kind``; the first is the default, and a class has those of the class it comes from."""


def register(of: type, kinds: Mapping[str, Drawer]) -> None:
    """Let objects of a class be drawn as these kinds, the first by default."""
    KINDS[of] = kinds


def kinds_of(of: type) -> Mapping[str, Drawer]:
    """The plots of a class, by kind: its own or those of the nearest class that it comes from."""
    none: Mapping[str, Drawer] = {}
    return next((KINDS[ancestor] for ancestor in of.__mro__ if ancestor in KINDS), none)


def draw(source: Any, kind: Any, ax: Any, options: Mapping[str, Any]) -> Any:
    """The plot ``kind`` (None: the default) of a source. `OptionError` names the kinds that there are."""
    importlib.import_module(PLOTS)
    kinds = kinds_of(source.__class__)
    name = next(iter(kinds), "") if kind is None else kind
    if not isinstance(name, str) or name not in kinds:
        there = f"the plots {', '.join(map(repr, kinds))}" if kinds else "no plots"
        raise OptionError(f"kind={one_line(kind)}; a {type(source).__name__} has {there}")
    known = list(inspect.signature(kinds[name]).parameters)[2:]
    for option in options:
        if option not in known:
            raise OptionError(f"the plot {name!r} has no option {option!r}; it has {', '.join(known)}")
    return kinds[name](source, ax, **options)
