"""A report as Markdown, with its figures in a folder beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jaxrank.data.files import write_text
from jaxrank.reports import figures_folder
from jaxrank.reports.blocks import Code, Figure, Items, Section, Table, Text
from jaxrank.reports.figures import png
from jaxrank.results.tables import Table as Cells
from jaxrank.results.tables import visible


def write_markdown(title: str, sections: Sequence[Section], path: Path) -> None:
    folder = figures_folder(path)
    folder.mkdir(exist_ok=True)
    parts = [f"# {plain(title)}"]
    for section in sections:
        parts += [f"## {plain(section.title)}", *(_block(block, folder) for block in section.blocks)]
    write_text(path, "\n\n".join(parts) + "\n")


def plain(text: str) -> str:
    """Text without the meaning that its signs have in Markdown and HTML, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", visible(" ".join(text.split())))


def _block(block: Any, folder: Path) -> str:
    if isinstance(block, Text):
        return plain(block.words)
    if isinstance(block, Code):
        return "\n".join("    " + visible(line) for line in block.words.splitlines())
    if isinstance(block, Items):
        return "\n".join(f"- **{plain(a)}**: {plain(b)}" for a, b in block.rows)
    if isinstance(block, Figure):
        png(block, folder / f"{block.name}.png")
        return f"![{plain(block.alt)}]({quote(folder.name)}/{block.name}.png)"
    assert isinstance(block, Table)
    cells = Cells.of(block.frame)
    rules = ["---:" if number else "---" for number in cells.numeric().values()]
    columns = {plain(name): map(plain, values) for name, values in cells.cells().items()}
    table = "\n".join(f"| {' | '.join(r)} |" for r in (columns, rules, *zip(*columns.values(), strict=True)))
    before = f"{plain(block.folded)}:\n\n" if block.folded else ""
    before += f"{_block(block.figure, folder)}\n\n" if block.figure else ""
    return before + table
