"""``style``: how an answer is written, in counts."""

from __future__ import annotations

import re

from jaxrank.errors import DataError, one_line

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADER = re.compile(r" {0,3}#{1,6}(\s|$)")
_ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])\s+\S")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<!\w)__(?=\S)(.+?)(?<=\S)__(?!\w)")


def style(text: str) -> dict[str, int]:
    """Counts of what leaves a mark on a reader of a Markdown ``text``: ``tokens`` (by white space), ``headers``,
    ``list_items``, ``bold`` and ``code_blocks``.

    Inside a fence nothing is counted but tokens. ``**x**`` and ``__x__`` are bold; ``-``, ``*``, ``+``, ``1.`` and
    ``4)`` start items. `DataError` for anything but a text.

    >>> import jaxrank as jr
    >>> jr.evaluation.style("# Title\\n\\n- **one**\\n- two")
    {'tokens': 6, 'headers': 1, 'list_items': 2, 'bold': 1, 'code_blocks': 0}
    """
    if not isinstance(text, str):
        raise DataError(f"text={one_line(text)}; style reads a text, make it one")
    counts = {"tokens": len(text.split()), "headers": 0, "list_items": 0, "bold": 0, "code_blocks": 0}
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            counts["code_blocks"] += 1
            continue
        counts["headers"] += bool(_HEADER.match(line))
        counts["list_items"] += bool(_ITEM.match(line))
        counts["bold"] += len(_BOLD.findall(line))
    return counts
