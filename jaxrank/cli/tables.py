"""Tables: drawn with bars on a terminal, aligned text when piped, csv, json or parquet in a file."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.files import check_target, replacing, write_text

SUFFIXES = (".csv", ".json", ".parquet")


@dataclass(frozen=True)
class Bars:
    """Draw column ``point`` as a dot and ``low`` to ``high`` as a line, all rows on one axis."""

    point: str
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class Table:
    """Columns of equal length by name. **title**: said above. **bars**: how intervals are drawn. **wrap**: columns
    that may fold on a narrow terminal."""

    columns: Mapping[str, Sequence[Any] | np.ndarray]
    title: str = ""
    bars: Bars | None = None
    wrap: tuple[str, ...] = ()

    def emit(self, out: Path | None = None) -> None:
        """Print the table and, where ``out`` is given, write it there too."""
        if out is not None:
            self.save(out)
        self.show()

    def show(self) -> None:
        """Print: a drawing on a terminal, otherwise a header line and aligned columns."""
        if sys.stdout.isatty():
            self._draw()
        else:
            print("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """Header and rows as text, columns two blanks apart; numbers to the right."""
        cells = {name: [text(v) for v in values] for name, values in self.columns.items()}
        columns = []
        for name, values in cells.items():
            width = max([len(name), *map(len, values)])
            right = _is_number(self.columns[name])
            columns.append([c.rjust(width) if right else c.ljust(width) for c in (name, *values)])
        return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]

    def save(self, path: Path) -> None:
        """Write csv, json (a list of records) or parquet, as the suffix of ``path`` says; NaN is empty or null."""
        check_out(path)
        columns = {name: [_plain(v) for v in values] for name, values in self.columns.items()}
        rows = list(zip(*columns.values(), strict=True))
        if path.suffix == ".csv":
            lines = io.StringIO(newline="")
            csv.writer(lines, lineterminator="\n").writerows([list(columns), *rows])
            write_text(path, lines.getvalue())
        elif path.suffix == ".json":
            records = [dict(zip(columns, row, strict=True)) for row in rows]
            write_text(path, json.dumps(records, indent=1, ensure_ascii=False) + "\n")
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            with replacing(path) as temporary:
                pq.write_table(pa.table(columns), temporary)

    def _draw(self) -> None:
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        console = Console(highlight=False)
        drawn = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        cells = {name: [text(v) for v in values] for name, values in self.columns.items()}
        used = 0
        for name, values in cells.items():
            drawn.add_column(
                name, justify="right" if _is_number(self.columns[name]) else "left", no_wrap=name not in self.wrap
            )
            used += max([len(name), *map(len, values)]) + 2
        rows = [[Text(value) for value in row] for row in zip(*cells.values(), strict=True)]
        width = min(60, console.width - used)
        if self.bars is not None and width >= 10:
            unicode = (console.encoding or "").lower().startswith("utf")
            low, high, drawings = draw_bars(self, self.bars, width, unicode)
            drawn.add_column(f"{low}{high:>{max(1, width - len(low))}}", no_wrap=True, header_style="dim")
            for row, drawing in zip(rows, drawings, strict=True):
                row.append(Text(drawing, style="cyan"))
        for row in rows:
            drawn.add_row(*row)
        if self.title:
            console.print(Text(self.title, style="bold"))
        console.print(drawn)


def check_out(path: Path | None) -> None:
    """`OptionError` unless ``path`` is None or can be written by `Table.save`; call it before long work."""
    if path is not None:
        check_target(path, SUFFIXES, "tables")


def draw_bars(table: Table, bars: Bars, width: int, unicode: bool = True) -> tuple[str, str, list[str]]:
    """The ends of the axis as text, and one drawing of ``width`` characters a row; NaN draws nothing."""
    mid = np.asarray(table.columns[bars.point], float)
    low = np.asarray(table.columns[bars.low], float) if bars.low else mid
    high = np.asarray(table.columns[bars.high], float) if bars.high else mid
    ends = np.concatenate([x[np.isfinite(x)] for x in (low, mid, high)])
    if not len(ends):
        return "", "", [""] * len(mid)
    left, right = float(ends.min()), float(ends.max())
    line, dot = ("─", "●") if unicode else ("-", "o")

    def place(x: float) -> int:
        share = 0.5 if right == left else (min(max(x, left), right) - left) / (right - left)
        return round(share * (width - 1))

    drawings = []
    for lo, x, hi in zip(low.tolist(), mid.tolist(), high.tolist(), strict=True):
        if not math.isfinite(x):
            drawings.append("")
            continue
        start, end = (place(x) if math.isnan(e) else place(e) for e in (lo, hi))
        cells = [line if start <= i <= end else " " for i in range(width)]
        cells[place(x)] = dot
        drawings.append("".join(cells).rstrip())
    return text(left), text(right), drawings


def text(value: Any) -> str:
    """A cell: four decimals for floats of ordinary size, six digits for others, other things as they are."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        x = float(value)
        if math.isfinite(x) and (x == 0 or 1e-3 <= abs(x) < 1e4):
            return f"{x:.4f}"
        return f"{x:.6g}"
    return str(value)


def _is_number(values: Sequence[Any] | np.ndarray) -> bool:
    return all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values)


def _plain(value: Any) -> Any:
    """A value that csv, json and parquet take: Python numbers, None for NaN."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
