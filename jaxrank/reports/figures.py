"""Figures of a report: drawn without a screen, as SVG that takes the colours of the page, or as PNG."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import Any

from jaxrank.data.files import replacing
from jaxrank.reports.blocks import Figure
from jaxrank.results.plots.canvas import matplotlib

INK = "#010203"
"""The colour of letters and axes, replaced in SVG by that of the page's text."""


def svg(figure: Figure) -> str:
    """An ``svg`` element whose letters are text and whose ink is ``currentColor``."""
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    clear = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    page = {**dict.fromkeys(inked, INK), **dict.fromkeys(clear, "none")}
    file = io.StringIO()
    with matplotlib().rc_context({**page, "svg.fonttype": "none", "svg.hashsalt": figure.name}):
        _draw(figure).savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # identifiers are those of the page: make them the figure's own
    text = re.sub(r'(\bid="|"#|url\(#)', lambda m: m[1] + figure.name + "-", text)
    width = float(re.findall(r'\bwidth="([\d.]+)pt"', text)[0])
    own = f'style="--w:{width * 4 / 3:.0f}px" role="img" aria-label="{figure.name}" '
    text = re.sub(r'\s(?:width|height)="[\d.]+pt"', "", text, count=2)
    return text.replace("<svg ", f"<svg {own}", 1)


def png(figure: Figure, path: Path) -> None:
    drawn = _draw(figure)
    with replacing(path) as temporary:
        drawn.savefig(temporary, dpi=110, format="png")


def _draw(figure: Figure) -> Any:
    canvas = matplotlib("matplotlib.figure").Figure(layout="constrained")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser has fonts of its own
        figure.draw(ax=canvas)
    return canvas
