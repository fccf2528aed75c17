"""Tables: one place decides what is rounded, aligned, folded and left out; text, terminal, HTML, LaTeX, csv follow."""

from __future__ import annotations

import html
import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jaxrank.results.bars import Bars

FORMATS = ("text", "html", "latex", "csv")
SPARE = ("error", "ess_tail", "ess_bulk", "r_hat", "expected_rank", "se", "sd")
"""Columns that leave a table which is too wide for its terminal, in this order, also to make room for bars; those that
only its own makers know to be spare (``Table.spare``) follow."""
THEN = (
    *(("df",), ("test",), ("clusters",), ("bh",), ("holm",), ("p",), ("new_score", "old_score"), ("questions",)),
    *(("same_order",), ("samples",), ("falling",), ("gains", "losses"), ("trials",)),
    tuple(f"share_{c}" for c in range(8)),
    *(("scaling_metric",), ("plain_mean",), ("dawid_skene",), ("null",), ("cross_fit",)),
    *(("exact",), ("gain_lower", "gain_upper"), ("share_stopped",), ("full_accuracy",)),
    *(
        ("rank_lower", "rank_upper"),
        ("rank_set",),
        ("p_best",),
        ("status",),
        ("lower", "upper"),
        ("levels",),
        ("options",),
        ("family",),
    ),
)
"""Columns that leave next, together those that mean nothing apart. The others leave last, from the right, where columns
of text have no `FOLDED` cells: all but the rank, the first other number, the score and the point of bars."""
DEAR = THEN[THEN.index(("lower", "upper")) :]

GAP, BARS, READABLE, FOLDED, NARROW = 2, 20, 28, 16, 8
"""Blanks between columns; cells that bars ask for; cells that a column of text keeps as long as columns of ``THEN`` can
leave, and as long as any can, and the fewest that it is folded to when none is left."""
NAMES = ("model", "candidate", "question", "old", "new", "name")
"""Columns of names, which terminals show with at most so many cells."""
LONGEST_NAME = 40
IN_UNIT = (
    *("score", "mean", "difference", "lower", "upper", "se", "sd", "plain_mean", "dawid_skene"),
    *("exact", "gain", "gain_lower", "gain_upper"),
)
"""Columns that have the unit of the intervals beside them."""
OWN_DECIMALS = {"ess_bulk": 0, "ess_tail": 0, "r_hat": 3, "expected_rank": 2, "mean_used": 1, "error": 4}
"""Decimals of columns whose further ones say nothing, with or without intervals beside them."""
MOST_DECIMALS = 8
MISSING = "-"
BETWEEN = "-_/.:"
"""Signs between the parts of a name."""
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    sign: "\\" + sign for sign in "&%$#_{}"
}


class Layout(NamedTuple):
    """A table at some width: the header, for each row its lines, the columns left out, the cells that a line uses."""

    head: str
    rows: list[list[str]]
    left_out: tuple[str, ...]
    used: int


@dataclass(frozen=True)
class Table:
    """Columns of equal length by name. **title**: said above. **notes**: said below. **unit**: columns in the unit of
    the intervals between the columns "lower" and "upper", beside those of `IN_UNIT`. **spare**: columns that leave
    after those of `SPARE`, which are main ones in other tables."""

    columns: Mapping[str, Sequence[Any] | np.ndarray]
    title: str = ""
    notes: Sequence[str] = ()
    unit: Sequence[str] = ()
    spare: Sequence[str] = ()

    @classmethod
    def of(cls, frame: Any, title: str = "", notes: Sequence[str] = (), unit: Sequence[str] = ()) -> Table:
        """A pandas frame; its index is left out."""
        return cls({str(name): frame[name].to_list() for name in frame.columns}, title, notes, unit)

    def cells(self) -> dict[str, list[str]]:
        """Every cell as text, by column: numbers with intervals with as many decimals as these give sense to."""
        return {name: self.written(name, values) for name, values in self.columns.items()}

    def written(self, name: str, values: Sequence[Any] | np.ndarray) -> list[str]:
        """Values as they are written in a column of the table."""
        return column_text(values, self._decimals if name in (*IN_UNIT, *self.unit) else OWN_DECIMALS.get(name))

    @cached_property
    def _decimals(self) -> int | None:
        """Decimals that show two digits of half the width of the middle interval; None without intervals."""
        ends = [self.columns[name] for name in ("lower", "upper") if name in self.columns]
        if len(ends) < 2 or not all(map(is_number, ends)):
            return None
        lower, upper = (
            np.array([np.nan if v is None else v for v in self.columns[n]], float) for n in ("lower", "upper")
        )
        with np.errstate(invalid="ignore"):
            half = (upper - lower) / 2
        half = half[np.isfinite(half) & (half > 0)]
        return min(max(1 - math.floor(math.log10(float(np.median(half)))), 0), MOST_DECIMALS) if len(half) else None

    def numeric(self) -> dict[str, bool]:
        """Which columns hold numbers, and so stand to the right."""
        return {name: is_number(values) for name, values in self.columns.items()}

    def lay_out(self, width: int | None = None, bars: bool = False) -> Layout:
        """The table in lines of at most ``width`` cells (None: as wide as it is). No name and no number is cut: columns
        leave in the order of `SPARE` and `THEN`, and text folds onto further lines. **bars**: keep room for them."""
        cells, numeric = self.cells(), self.numeric()
        shown = list(cells)
        own = {name: max(map(cell_width, (visible(name), *cells[name]))) for name in shown}
        left_out: list[str] = []

        def need(text: int | None = None, names: int | None = None) -> int:
            """Cells of a line whose columns of text are no wider than ``text``, those of names than ``names``."""
            most = {n: names if names and n in NAMES else text for n in shown}
            wide = (own[n] if numeric[n] or text is None else min(own[n], most[n] or text) for n in shown)
            return sum(wide) + GAP * (len(shown) - 1)

        def leave(group: Sequence[str]) -> None:
            gone = [n for n in group if n in shown]
            if len(shown) > len(gone):
                left_out.extend(gone)
                shown[:] = [n for n in shown if n not in gone]

        if width:
            room = BARS + GAP if bars else 0
            for name in (*SPARE, *self.spare):
                if need() + room > width:
                    leave([name])
            for group in THEN:
                # names are worth more than these columns, and less than intervals, for which they fold
                if need(READABLE, None if group in DEAR else LONGEST_NAME) > width:
                    leave(group)
            stay = {*[n for n in shown if numeric[n] and n != "rank"][:1], "rank", "score", *self.unit}
            for name in [n for n in reversed(shown) if numeric[n] and n not in stay]:
                if need(FOLDED) > width:
                    leave([name])
            fixed = sum(own[n] for n in shown if numeric[n]) + GAP * (len(shown) - 1)
            own |= _shared({n: own[n] for n in shown if not numeric[n]}, width - fixed)
        place = lambda text, n: " " * (own[n] - cell_width(text)) + text if numeric[n] else pad(text, own[n])
        line = lambda parts: (" " * GAP).join(place(t, n) for t, n in zip(parts, shown, strict=True)).rstrip()
        rows = []
        for row in zip(*(cells[n] for n in shown), strict=True):
            folded = [fold(text, own[n]) for text, n in zip(row, shown, strict=True)]
            height = max(map(len, folded), default=1)
            rows.append([line([part[i] if i < len(part) else "" for part in folded]) for i in range(height)])
        head = line([visible(n) for n in shown])
        used = sum(own[n] for n in shown) + GAP * (len(shown) - 1)
        return Layout(head, rows, tuple(n for n in cells if n in left_out), used)

    def text(self) -> str:
        """Title, header and rows, columns two blanks apart; numbers to the right. Nothing folds or is left out."""
        layout = self.lay_out()
        lines = [
            *([visible(self.title)] if self.title else []),
            layout.head,
            *(line for row in layout.rows for line in row),
        ]
        return "\n".join([*lines, *map(visible, self.notes)])

    def html(self, bars: Bars | None = None) -> str:
        """A ``table`` element. **bars**: drawn in a column of their own before that of their points. Columns of numbers
        have the class "number", those that leave narrow terminals "spare"."""
        cells = self.cells()
        spare = {*SPARE, *self.spare, *(name for group in THEN for name in group)}
        marks = {
            name: " ".join([*(["number"] if number else []), *(["spare"] if name in spare else [])])
            for name, number in self.numeric().items()
        }
        safe = lambda text: html.escape(visible(text))
        tag = lambda kind, mark, inner: (
            f'<{kind} class="{mark}">{inner}</{kind}>' if mark else f"<{kind}>{inner}</{kind}>"
        )
        head = {name: tag("th", marks[name], safe(name).replace("_", "_<wbr>")) for name in cells}  # may break there
        columns = {name: [tag("td", marks[name], safe(v)) for v in values] for name, values in cells.items()}
        if bars is not None:
            ends = [cells[name] for name in (bars.lower, bars.upper) if name]
            labels = [f"{p} ({' to '.join(e)})" if e else p for p, *e in zip(cells[bars.point], *ends, strict=True)]
            drawn = [tag("td", "bar", svg) for svg in bars.on_axis(self.columns).svg(labels)]
            head[bars.point] = tag("th", "bar", "") + head[bars.point]
            columns[bars.point] = [a + b for a, b in zip(drawn, columns[bars.point], strict=True)]
        body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns.values(), strict=True))
        head = "".join(head.values())
        width = len(cells) + (bars is not None)
        words = lambda text: bound(safe(text))
        caption = f"<caption>{words(self.title)}</caption>\n" if self.title else ""
        foot = f'<tfoot><tr><td colspan="{width}">{"<br>".join(map(words, self.notes))}</td></tr></tfoot>\n'
        foot = foot if self.notes else ""
        return f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n{foot}</table>"

    def latex(self) -> str:
        """A ``table`` environment; needs booktabs."""
        numeric, cells = self.numeric().values(), self.cells()
        # a bracket at the start of a row would be an option of the line break before it
        line = lambda parts: (
            " & ".join(f"{{}}{t}" if t.startswith("[") else t for t in map(latex_escape, parts)) + r" \\"
        )
        lines = [r"\begin{table}", r"\centering"]
        lines += [rf"\caption{{{latex_escape(self.title)}}}"] if self.title else []
        lines += [rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}", r"\toprule", line(cells)]
        lines += [r"\midrule", *map(line, zip(*cells.values(), strict=True)), r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\footnotesize {latex_escape(note)}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}"])


def render(
    frame: Any, format: str = "text", *, title: str = "", notes: Sequence[str] = (), bars: Bars | None = None
) -> str:
    """A pandas frame as "text", "html" (a ``table`` element, with ``bars``), "latex" (needs booktabs) or "csv" (numbers
    in full, no title, no notes)."""
    from jaxrank.models.options import check_choice  # which needs JAX; tables do not

    check_choice("format", format, tuple(FORMATS))
    if format == "csv":
        return frame.to_csv(index=False, lineterminator="\n")
    table = Table.of(frame, title, notes, (bars.point,) if bars else ())
    return {"text": table.text, "html": lambda: table.html(bars), "latex": table.latex}[format]()


def column_text(values: Sequence[Any] | np.ndarray, decimals: int | None = None) -> list[str]:
    """The cells of one column as text. Floats of a column share their decimals: as many as asked for, or else four, one
    where some reach 1,000, more where all are below 0.01; beyond a million or a millionth six significant digits."""
    floats = [float(v) for v in values if isinstance(v, float | np.floating) and math.isfinite(v)]
    top = max(map(abs, floats), default=0.0)
    if decimals is not None and top < 1e9:
        number = lambda x: f"{x:z.{decimals}f}"
    elif top == 0 or 0.01 <= top < 1e3:
        number = lambda x: f"{x:.4f}"
    elif 1e3 <= top < 1e6:
        number = lambda x: f"{x:.1f}"
    elif 1e-6 <= top < 0.01:
        decimals = 3 - math.floor(math.log10(top))
        number = lambda x: f"{x:.{decimals}f}"
    else:
        number = lambda x: f"{x:.6g}"

    def cell(value: Any) -> str:
        if value is None:
            return MISSING
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if isinstance(value, float | np.floating):
            return MISSING if math.isnan(value) else number(float(value))
        return visible(str(value))

    return [cell(v) for v in values]


def is_number(values: Sequence[Any] | np.ndarray) -> bool:
    return all(v is None or (isinstance(v, int | float | np.number) and not isinstance(v, bool)) for v in values)


def visible(text: str) -> str:
    r"""Text in one line without signs that act on a terminal or turn the direction of writing: those are written as in
    Python's source, ``\x1b``, so that names which differ still look different."""
    return "".join(
        sign if sign not in _BIDI and unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp") else _escaped(sign)
        for sign in text
    )


def bound(text: str) -> str:
    """Text in which no line ends between a number and its sign of percent."""
    return text.replace(" %", "\u00a0%")


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode() if sign.isascii() else f"\\u{ord(sign):04x}"


def cell_width(text: str) -> int:
    """Cells of a terminal that a text takes: two for wide letters, none for marks that join the letter before them."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(sign) in "WF"
        else 1
        for sign in text
    )


def pad(text: str, width: int) -> str:
    return text + " " * (width - cell_width(text))


def fold(text: str, width: int) -> list[str]:
    """The text in lines of at most ``width`` cells, broken at blanks where there are some; words that are longer after
    a sign between their parts, in the second half of a line, otherwise anywhere."""
    lines = [""]
    for number, word in enumerate(text.split(" ")):
        joined = f"{lines[-1]} {word}" if number else word
        if cell_width(joined) <= width:
            lines[-1] = joined
            continue
        if number and lines[-1]:
            lines.append("")
        for sign in word:
            if lines[-1] and cell_width(lines[-1] + sign) > width:
                end = max(lines[-1].rfind(between) for between in BETWEEN) + 1
                end = end if 2 * end >= len(lines[-1]) else len(lines[-1])
                lines[-1:] = [lines[-1][:end], lines[-1][end:]]
            lines[-1] += sign
    return lines


def _shared(widths: dict[str, int], room: int) -> dict[str, int]:
    """Widths of text columns that fill ``room`` cells: the widest give way first, to `NARROW` cells at the least."""
    room = max(room, NARROW * len(widths))
    cap = max(widths.values(), default=0)
    while cap > NARROW and sum(min(w, cap) for w in widths.values()) > room:
        cap -= 1
    return {name: min(w, cap) for name, w in widths.items()}


def shortened(names: Sequence[str], most: int = LONGEST_NAME, dots: str = "…") -> list[str]:
    """Names of at most ``most`` cells: longer ones lose their middle, at a place that keeps all names apart; where
    there is none they stay whole."""
    told = {name: name for name in names}
    long = [name for name in told if cell_width(name) > most]
    for head in sorted(range(1, most - len(dots)), key=lambda n: abs(2 * n - most)):
        cut = {name: _cut(name, head, most, dots) for name in long}
        times = Counter([*(told[name] for name in told if name not in cut), *cut.values()])
        told |= {name: text for name, text in cut.items() if times[text] == 1}
        long = [name for name in long if times[cut[name]] > 1]
        if not long:
            break
    return [told[name] for name in names]


def _cut(name: str, head: int, most: int, dots: str) -> str:
    """The first ``head`` cells of a name and as many of its last as fit."""
    first, last = "", ""
    for sign in name:
        if cell_width(first + sign) > head:
            break
        first += sign
    for sign in reversed(name):
        if cell_width(first + dots + sign + last) > most:
            break
        last = sign + last
    return first + dots + last


def latex_escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in visible(text))
