"""Bars: a point with its interval in every row of a table, all rows on one axis."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

WIDTH, HEIGHT, MARGIN = 160, 14, 4  # of a drawing in a page, in pixels
POINT, LINE = "#0072b2", "#56b4e9"


@dataclass(frozen=True)
class Bars:
    """Draw column ``point`` as a dot and ``lower`` to ``upper`` as a line."""

    point: str
    lower: str | None = None
    upper: str | None = None

    def on_axis(self, columns: Mapping[str, Sequence[Any] | np.ndarray]) -> Axis:
        """The axis that holds every finite point and end, and where each row lies on it."""
        mid = np.asarray(columns[self.point], float)
        low = np.asarray(columns[self.lower], float) if self.lower else mid
        high = np.asarray(columns[self.upper], float) if self.upper else mid
        ends = np.concatenate([x[np.isfinite(x)] for x in (low, mid, high)])
        left, right = (float(ends.min()), float(ends.max())) if len(ends) else (float("nan"), float("nan"))

        def place(x: np.ndarray) -> np.ndarray:
            if not right > left:
                return np.where(np.isfinite(mid), 0.5, np.nan)
            x = np.where(np.isnan(x), mid, x)  # an unknown end is drawn at the point
            return (np.clip(x, left, right) - left) / (right - left)

        return Axis(left, right, *(np.where(np.isfinite(mid), place(x), np.nan) for x in (low, mid, high)))


class Axis(NamedTuple):
    """Ends of an axis, NaN where no row has a number, and the places of every row's line and point on it, 0 to 1, NaN
    where the row has no point."""

    left: float
    right: float
    low: np.ndarray
    mid: np.ndarray
    high: np.ndarray

    def svg(self, labels: Sequence[str]) -> list[str]:
        """An ``svg`` element for every row, empty where it has no point. **labels**: what each says, for those who
        cannot see it."""
        at = lambda share: f"{MARGIN + share * (WIDTH - 2 * MARGIN):.1f}"
        drawings = []
        for low, mid, high, label in zip(self.low, self.mid, self.high, labels, strict=True):
            drawings.append(
                f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
                f'aria-label="{html.escape(label)}"><line x1="{at(low)}" x2="{at(high)}" y1="{HEIGHT / 2}" '
                f'y2="{HEIGHT / 2}" stroke="{LINE}" stroke-width="4"/><circle cx="{at(mid)}" cy="{HEIGHT / 2}" r="3.5" '
                f'fill="{POINT}"/></svg>'
                if np.isfinite(mid)
                else ""
            )
        return drawings
