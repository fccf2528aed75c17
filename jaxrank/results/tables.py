"""Tables of results as text, HTML, LaTeX or csv."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.errors import OptionError

FORMATS = ("text", "html", "latex", "csv")
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    sign: "\\" + sign for sign in "&%$#_{}"
}


def render(frame: Any, format: str = "text", *, title: str = "", notes: Sequence[str] = ()) -> str:
    """A pandas frame as "text", "html" (a ``table`` element), "latex" (needs booktabs) or "csv" (numbers in full, no
    title, no notes); floats with four decimals."""
    if format not in FORMATS:
        raise OptionError(f"format={format!r}; it must be one of {', '.join(FORMATS)}")
    if format == "csv":
        return frame.to_csv(index=False, lineterminator="\n")
    if format == "text":
        table = frame.to_string(index=False, float_format=lambda v: f"{v:.4f}")
        return "\n".join([*([title] if title else []), table, *notes])
    names = [str(c) for c in frame.columns]
    numeric = [dtype.kind in "iuf" for dtype in frame.dtypes]
    rows = [[cell(v) for v in row] for row in frame.itertuples(index=False, name=None)]
    return (_html if format == "html" else _latex)(names, numeric, rows, title, notes)


def cell(value: Any) -> str:
    """Four decimals for floats of ordinary size, six digits for others, a dash for NaN, other things as they are."""
    if isinstance(value, float | np.floating):
        x = float(value)
        if np.isnan(x):
            return "–"
        return f"{x:.4f}" if x == 0 or 1e-3 <= abs(x) < 1e4 else f"{x:.6g}"
    return str(value)


def _html(names: list[str], numeric: list[Any], rows: list[list[str]], title: str, notes: Sequence[str]) -> str:
    kind = lambda number: ' class="number"' if number else ""
    head = "".join(f"<th{kind(n)}>{html.escape(name)}</th>" for name, n in zip(names, numeric, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind(n)}>{html.escape(v)}</td>" for v, n in zip(row, numeric, strict=True)) + "</tr>"
        for row in rows
    )
    caption = f"<caption>{html.escape(title)}</caption>\n" if title else ""
    foot = f'<tfoot><tr><td colspan="{len(names)}">{"<br>".join(map(html.escape, notes))}</td></tr></tfoot>\n'
    return (
        f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n{foot if notes else ''}</table>"
    )


def _latex(names: list[str], numeric: list[Any], rows: list[list[str]], title: str, notes: Sequence[str]) -> str:
    line = lambda cells: " & ".join(map(latex_escape, cells)) + r" \\"
    lines = [r"\begin{table}", r"\centering", *([rf"\caption{{{latex_escape(title)}}}"] if title else [])]
    lines += [rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}", r"\toprule", line(names)]
    lines += [r"\midrule", *map(line, rows), r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {latex_escape(note)}" for note in notes]
    return "\n".join([*lines, r"\end{table}"])


def latex_escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)
