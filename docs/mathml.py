"""Formulas as MathML, which browsers draw themselves: pages need no script and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _display(translator: Any, node: Any) -> None:
    # blank lines part the lines of a formula
    lines = [" ".join(part.split()) for part in node.astext().split("\n\n") if part.strip()]
    formulas = "".join(convert(line, display="block") for line in lines)
    translator.body.append(f'<div class="formula">{formulas}</div>')
    raise nodes.SkipNode
