"""Tables as commands show them: drawn with bars on a terminal, aligned text when piped, and written to a file."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.results.bars import Bars
from jaxrank.results.tables import NAMES, fold, pad, shortened, visible
from jaxrank.results.tables import Table as Plain

LONGEST = 60
"""Cells that bars take at most."""


@dataclass(frozen=True)
class Table:
    """Columns of equal length by name. **title**: said above on a terminal. **bars**: how intervals are drawn.
    **record**: how it was made, stored in files that have room for it. **spare**: columns that a narrow terminal can do
    without in this table, beside those that leave every one."""

    columns: Mapping[str, Sequence[Any] | np.ndarray]
    title: str = ""
    bars: Bars | None = None
    record: Mapping[str, Any] | None = None
    spare: Sequence[str] = ()

    @classmethod
    def of(
        cls, frame: Any, title: str = "", bars: Bars | None = None, record: Mapping[str, Any] | None = None
    ) -> Table:
        """A pandas frame; its index is left out."""
        return cls({str(name): frame[name].to_list() for name in frame.columns}, title, bars, record or {})

    def first(self, what: str, interval: str) -> str:
        """Who is first, in a sentence: the point of the bar with its ends, written as the table has them.
        **what**: what it is first by. **interval**: what the ends are, such as "95 % interval"."""
        assert self.bars is not None
        named = next(self.columns[name] for name in NAMES if name in self.columns)
        several = [visible(str(n)) for n, rank in zip(named, self.columns["rank"], strict=True) if rank == 1]
        if len(several) > 1:
            more = f"{len(several) - 4} more" if len(several) > 5 else several.pop()
            return f"{', '.join(several[:4])} and {more} share the first place by {what}"
        written = self._plain(self.columns).written
        ends = [end for end in (self.bars.lower, self.bars.upper) if end]
        point, *told = (written(name, [self.columns[name][0]])[0] for name in (self.bars.point, *ends))
        verb = f"is first by {what} with" if len(named) > 1 else f"has {what}"
        said = f"{visible(str(named[0]))} {verb} {point}"
        return f"{said} ({interval} {' to '.join(told)})" if told else said

    def emit(self, output: Path | None = None) -> None:
        """Write the table to ``output`` where that is given, and print it."""
        if output is not None:
            self.save(output)
        self.show()

    def show(self) -> None:
        """Print: fitted to a terminal with a drawing; when piped a header line and all columns, whole."""
        if not sys.stdout.isatty():
            print(self._plain(self.columns).text())
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        unicode = (console.encoding or "").lower().startswith("utf")
        for words, bar, style in self.drawn(console.width, unicode):
            line = Text(words, style=style)
            line.append(bar, style="dim" if style == "bold" else "cyan")
            console.print(line, soft_wrap=True)

    def save(self, path: Path) -> None:
        """Write all columns as csv, json or parquet, as the suffix of ``path`` says; NaN is empty or null."""
        import pandas as pd

        from jaxrank.results.storage import save_table

        save_table(
            pd.DataFrame({name: list(values) for name, values in self.columns.items()}),
            path,
            self.record or {},
            others=(),
        )

    def drawn(self, width: int, unicode: bool = True) -> Iterator[tuple[str, str, str]]:
        """Lines of at most ``width`` cells: text, bar and style. The last say which columns had no room, and which
        names have lost their middle."""
        table = self.fitted(unicode)
        layout = table.lay_out(width, self.bars is not None)
        room = min(LONGEST, width - layout.used - 2)
        left, right, bars = "", "", [""] * len(layout.rows)
        if self.bars is not None and room >= 10:
            left, right, drawn = draw_bars(table, self.bars, room, unicode)
            if left != right and len(left) + len(right) < room:  # an axis whose ends can be read
                left, bars = f"{left}{right:>{room - len(left)}}", drawn
            else:
                left = ""
        beside = lambda words, bar: pad(words, layout.used + 2) if bar else words
        for line in fold(visible(self.title), width) if self.title else ():
            yield line, "", "bold"
        yield beside(layout.head, left), left, "bold"
        for row, bar in zip(layout.rows, bars, strict=True):
            yield beside(row[0], bar), bar, ""
            for more in row[1:]:
                yield more, "", ""
        told = []
        if layout.left_out:
            told.append(f"(no room for {', '.join(layout.left_out)}: a wider window or -o FILE shows all)")
        if any(table.columns[name] is not self.columns[name] for name in self.columns):
            told.append("(names of more than 40 letters lose their middle here: -o FILE has them whole)")
        for line in (line for words in told for line in fold(words, width)):
            yield line, "", "dim"

    def fitted(self, unicode: bool = True) -> Plain:
        """The table with long names shortened, as a terminal shows it."""
        columns = dict(self.columns)
        for name in NAMES:
            if name in columns and all(isinstance(v, str) for v in columns[name]):
                whole = [visible(v) for v in columns[name]]
                short = shortened(whole, dots="…" if unicode else "...")
                columns[name] = columns[name] if short == whole else short
        return self._plain(columns)

    def _plain(self, columns: Mapping[str, Sequence[Any] | np.ndarray]) -> Plain:
        return Plain(columns, unit=(self.bars.point,) if self.bars else (), spare=self.spare)


def draw_bars(table: Plain, bars: Bars, width: int, unicode: bool = True) -> tuple[str, str, list[str]]:
    """The ends of the axis as text, and one drawing of ``width`` characters a row; NaN draws nothing."""
    axis = bars.on_axis(table.columns)
    line, dot = ("─", "●") if unicode else ("-", "o")
    drawings = []
    for places in zip(axis.low.tolist(), axis.mid.tolist(), axis.high.tolist(), strict=True):
        if math.isnan(places[1]):
            drawings.append("")
            continue
        start, point, end = (round(place * (width - 1)) for place in places)
        cells = [line if start <= i <= end else " " for i in range(width)]
        cells[point] = dot
        drawings.append("".join(cells).rstrip())
    whole = all(np.mod([v for v in (axis.left, axis.right) if math.isfinite(v)], 1) == 0) and axis.right - axis.left > 9
    ends = [axis.left, axis.right]
    left, right = [f"{end:.0f}" for end in ends] if whole else table.written(bars.point, ends)
    return left, right, drawings
