"""The page of the papers, made from experiments/papers.toml: ``python docs/papers.py`` writes docs/papers.md."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "experiments" / "papers.toml"
PAGE = HERE / "papers.md"

VERDICTS = {
    "reproduced": "run here, and what came out agrees with what is printed",
    "implemented": "a definition or algorithm that the named code computes, checked by tests",
    "in part": "run here; the text says what agrees and what does not",
    "contradicted": "run here, and what came out speaks against what is printed",
    "not possible": "cannot be run here; the text says why",
    "nothing to run": "a picture or table of names, no result",
}
KINDS = ("figures", "tables", "algorithms", "theorems", "equations")


def papers() -> dict[str, dict[str, Any]]:
    """The papers by their short names: ``title``, ``key`` of the bibliography, how many of each kind, ``items``."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def numbers(item: str) -> tuple[str, list[int]]:
    """What an item is of, and which: "Equations 2-4, 57" is ("equations", [2, 3, 4, 57]); ("", []) without numbers."""
    found = re.fullmatch(r"(Figure|Table|Algorithm|Theorem|Equation)s? ([\d, -]+)", item)
    if not found:
        return "", []
    spans = [part.split("-") for part in found[2].replace(" ", "").split(",")]
    return f"{found[1].lower()}s", [n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]


def page() -> str:
    out = [
        "# The papers, item by item",
        "Every figure, table, algorithm and numbered definition of the papers whose methods the library holds, what "
        "computes it or which study ran it, and what came out. The response tensors of the papers are not public: "
        "studies run on mimics calibrated to the published accuracies (`experiments/mimic.py`) and say so. The page is "
        "made from `experiments/papers.toml`.",
        "\n".join(f"- **{word}**: {meaning}." for word, meaning in VERDICTS.items()),
    ]
    for paper in papers().values():
        items = paper["items"]
        count = Counter(item["verdict"] for item in items)
        total = ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word])
        out += [f"## {paper['title']}", f"[](#ref-{paper['key']}). {len(items)} rows: {total}."]
        if "note" in paper:
            out.append(paper["note"])
        cell = lambda text: " ".join(text.replace("|", "\\|").split())
        rows = ["| item | what | computed or run by | verdict | what came out |", "| --- | --- | --- | --- | --- |"]
        for item in items:
            where = ", ".join(f"`{name}`" for name in item.get("where", []))
            cells = [item["item"], item["what"], where, item["verdict"], item.get("text", "")]
            rows.append(f"| {' | '.join(map(cell, cells))} |")
        out.append("\n".join(rows))
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
