"""``--plot FILE``: what a command found, drawn into files."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.errors import OptionError

SUFFIXES = (".svg", ".png", ".pdf")
DOTS = 160  # per inch of a png

Plots = Annotated[
    list[str],
    typer.Option(
        "--plot",
        metavar="[KIND=]FILE",
        help="Draw the result into this svg, png or pdf file; KIND=FILE for another kind of plot; may be repeated.",
    ),
]
Asked = list[tuple[str, Path]]
"""Kinds of plots and the files that they go to."""


def check_plots(texts: Sequence[str], of: type | Mapping[str, Callable[..., Any]]) -> Asked:
    """What ``--plot`` asks for, the first kind by default; called before the work. **of**: the class of the result, or
    its plots by kind."""
    if not texts:
        return []
    from jaxrank.data.files import check_target
    from jaxrank.results.drawing import PLOTS, kinds_of

    importlib.import_module(PLOTS)
    kinds = list(kinds_of(of) if isinstance(of, type) else of)
    found = []
    for text in texts:
        kind, equals, file = text.partition("=")
        if not equals or "/" in kind or "\\" in kind:
            kind, file = kinds[0], text
        if kind not in kinds:
            near = difflib.get_close_matches(kind, kinds, n=1)
            hint = f"did you mean {near[0]}? The plots" if near else "the plots"
            raise OptionError(f"--plot {text}: there is no plot {kind!r}; {hint} are {', '.join(kinds)}")
        found.append((kind, check_target(file, SUFFIXES, "plots")))
    return found


def draw_plots(
    source: Any, asked: Asked, kinds: Mapping[str, Callable[..., Any]] | None = None, **options: Any
) -> None:
    """Draw them. **kinds**: functions of the source and Axes, where the source has no plots of its own. **options**:
    for the plots that have them, such as a level."""
    if not asked:
        return
    import inspect

    from jaxrank.cli.runtime import say
    from jaxrank.data.files import replacing
    from jaxrank.results.drawing import kinds_of
    from jaxrank.results.plots.canvas import matplotlib

    for kind, path in asked:
        draw = (kinds or kinds_of(source.__class__))[kind]
        known = inspect.signature(draw).parameters
        figure = matplotlib("matplotlib.figure").Figure(layout="constrained")
        draw(source, ax=figure, **{name: value for name, value in options.items() if name in known})
        with replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=DOTS)
        say(f"drew {path}")
