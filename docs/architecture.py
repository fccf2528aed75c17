"""The picture of the rooms, made from the imports: ``python docs/architecture.py`` writes docs/figures/rooms.svg."""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "jaxrank"
PICTURE = HERE / "figures" / "rooms.svg"

# Lowest first; what a room is for, as the picture says it.
ROOMS = {
    "errors": "every error says what is wrong and what to do",
    "numerics": "arrays in, arrays out: ranks, graphs, solvers, chains",
    "data": "trials, battles, ordered lists; what methods read; readers",
    "models": "Fit, Ranker, options, likelihoods, priors",
    "methods": "one family a file, and the catalogue",
    "resampling": "draws, schemes, chunks, devices, checkpoints",
    "evaluation": "metrics, decisions, rubrics, answers, judges, scaling",
    "posteriors": "NumPyro models, checks of chains, files of draws",
    "results": "what calls return: tables, intervals, plots, files",
    "studies": "the public calls",
    "reports": "one page to send",
    "cli": "the command line: parses and prints",
}
NAMES = list(ROOMS)

ROW, TOP, LEFT, CELL = 34, 78, 470, 40
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.name { font-weight: 600 } .small { font-size: 11px; fill: #57606a } .head { font-size: 11px }
.dot { fill: #0072B2 } .box { fill: #f3f5f7; stroke: #d0d7de } .own { fill: #e3e6ea }
@media (prefers-color-scheme: dark) {
  .dot { fill: #56B4E9 }
  text { fill: #e6edf3 } .small { fill: #9da7b1 } .box { fill: #20262d; stroke: #3d444d } .own { fill: #353b43 }
}
"""


def arrows() -> set[tuple[str, str]]:
    """The pairs of rooms (importing, imported) of which a file of the first imports a module of the second.

    Imports inside functions and for type checkers count too.
    """
    files = {_module(path): path for path in PACKAGE.rglob("*.py")}
    found: set[tuple[str, str]] = set()
    for module, path in files.items():
        if (own := _room(module)) is None:
            continue
        used: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                used |= {n if (n := f"{node.module}.{a.name}") in files else node.module for a in node.names}
        found |= {(own, room) for name in used if name in files and (room := _room(name)) is not None}
    return found


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str | None:
    """The room of a module; None for ``jaxrank`` itself, which names what is public, and for ``__main__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else None


def picture() -> str:
    """An SVG: the rooms, the highest at the top, and a dot where one (row) imports another (column)."""
    uses = arrows()
    place = {room: TOP + ROW * (len(NAMES) - 1 - i) for i, room in enumerate(NAMES)}
    column = {room: LEFT + CELL * (len(NAMES) - 1 - i) for i, room in enumerate(NAMES)}
    width, height = LEFT + CELL * len(NAMES) + 12, TOP + ROW * len(NAMES) + 34
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="The twelve rooms of jaxrank and which of them imports which">',
        f"<style>{STYLE}</style>",
    ]
    for room in NAMES:
        x, y = column[room] + CELL / 2 + 4, TOP - 10
        out.append(f'<text class="head" transform="translate({x},{y}) rotate(-45)">{room}</text>')
    for room, words in ROOMS.items():
        y = place[room]
        out.append(f'<rect class="box" x="8" y="{y}" width="{LEFT - 16}" height="{ROW - 5}" rx="4"/>')
        out.append(f'<text class="name" x="18" y="{y + 19}">{room}</text>')
        out.append(f'<text class="small" x="104" y="{y + 19}">{escape(words)}</text>')
        x, size = column[room], f'width="{CELL - 2}" height="{ROW - 5}"'
        out.append(f'<g><title>{room}</title><rect class="own" x="{x}" y="{y}" {size} rx="3"/></g>')
        for other in NAMES[: NAMES.index(room)]:
            x, says = column[other] + CELL / 2 - 1, f"{room} imports {other}"
            if (room, other) in uses:
                out.append(f'<g><title>{says}</title><circle class="dot" cx="{x}" cy="{y + ROW / 2 - 2.5}" r="6"/></g>')
    foot = "a dot: files of the row's room import modules of the column's; nothing stands left of the diagonal"
    out.append(f'<text class="small" x="8" y="{height - 12}">{escape(foot)}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(HERE.parent)}")
