"""A report as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jaxrank.data.files import write_text
from jaxrank.reports.blocks import Code, Figure, Items, Section, Table, Text
from jaxrank.reports.figures import svg
from jaxrank.results.tables import bound, render, visible

TALL, TALLEST = 25, 100  # rows, above which a table scrolls within its box; of one that stands for a figure


def write_html(title: str, sections: Sequence[Section], path: Path) -> None:
    style = (files("jaxrank.reports") / "style.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#s{i}">{escape(s.title)}</a>' for i, s in enumerate(sections))
    body = "\n".join(_section(i, section) for i, section in enumerate(sections))
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<nav>{links}</nav>\n{body}\n</body>\n</html>\n"
    )
    write_text(path, page)


def escape(text: str) -> str:
    """One line of text without the meaning that its signs have in HTML or on a screen."""
    return html.escape(visible(text))


def words(text: str) -> str:
    """A sentence of the page."""
    return bound(escape(text))


def _section(number: int, section: Section) -> str:
    head = f'<section id="s{number}">\n<h2>{escape(section.title)}</h2>'
    return "\n".join([head, *map(_block, section.blocks), "</section>"])


def _block(block: Any) -> str:
    if isinstance(block, Text):
        return f'<p class="lead">{words(block.words)}</p>' if block.lead else f"<p>{words(block.words)}</p>"
    if isinstance(block, Code):
        return "<pre>" + "\n".join(map(escape, block.words.splitlines())) + "</pre>"
    if isinstance(block, Figure):
        picture = svg(block).replace(f'aria-label="{block.name}"', f'aria-label="{escape(block.alt)}"', 1)
        return f'<div class="box">{picture}</div>'
    if isinstance(block, Items):
        rows = [f'<dt class="{escape(a)}">{escape(a)}</dt><dd>{words(b)}</dd>' for a, b in block.rows]
        return "<dl>" + "\n".join(rows) + "</dl>"
    assert isinstance(block, Table)
    tall = " tall" if len(block.frame) > (TALLEST if block.bars else TALL) else ""
    box = f'<div class="box{tall}">{render(block.frame, "html", bars=block.bars)}</div>'
    return f"<details><summary>{words(block.folded)}</summary>{box}</details>" if block.folded else box
