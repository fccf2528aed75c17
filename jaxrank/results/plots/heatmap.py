"""A matrix with names on both sides, for the plots that are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxrank.results.plots.canvas import SMALL, TINY, labels_of, make_axes, matplotlib, name_style, text_width

ANNOTATED = 16
"""Matrices with at most this many columns have their numbers written in the cells."""


def heatmap(
    ax: Any,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    colours: str,
    limits: tuple[float, float],
    unit: str,
    text: Callable[[float], str] | None = None,
    cell: float | None = None,
    power: float = 1.0,
    plain: np.ndarray | None = None,
) -> tuple[Any, float]:
    """Draw ``values`` (rows, columns), NaN empty, with a colour bar labelled ``unit``; numbers by ``text`` where they
    fit. **power**: below 1 small values get more of the colours. **plain**: cells (rows, columns) that are grey, their
    numbers written. Returns the Axes and the width of the data's area in inches."""
    n_rows, n_columns = values.shape
    tall, wide = labels_of(rows), labels_of(columns)
    written = text is not None and n_columns <= ANNOTATED
    if cell is None:
        most = max(values.shape)
        cell = 0.6 if most <= 5 else 0.42 if written else 0.19 if most <= 30 else 0.15 if most <= 70 else 0.11
    size = SMALL if cell > 0.15 else 6.5 if cell > 0.12 else 5.0
    across = max(cell * n_columns, 3.2)
    upright = max(map(len, wide), default=0) <= 2
    below = 0.2 if upright else text_width(wide, size)
    ax = make_axes(ax, across + text_width(tall, size) + 1.2, cell * n_rows + below + 1.2)
    norm = matplotlib("matplotlib.colors").PowerNorm(power, *limits)
    coloured = values if plain is None else np.where(plain, np.nan, values)
    image = ax.imshow(np.ma.masked_invalid(coloured), cmap=colours, norm=norm, aspect="auto", interpolation="none")
    ax.set_facecolor("#E8E8E8" if plain is None else "none")
    if plain is not None:
        grey = np.ma.masked_array(np.full(values.shape, 0.2), ~plain)
        ax.imshow(grey, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="none")
    ax.set_xticks(np.arange(n_columns), wide, rotation=0 if upright else 90, **name_style(size))
    ax.set_yticks(np.arange(n_rows), tall, **name_style(size))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    colour_bar(ax, image, unit, cell * n_rows)
    if written and text is not None:
        _write(ax, image, values, text, np.zeros(values.shape, bool) if plain is None else plain)
    return ax, across


def colour_bar(ax: Any, image: Any, unit: str, height: float) -> None:
    """A colour bar at the upper right, at most 2.5 inches of the ``height`` of the data."""
    shrink = min(1.0, 2.5 / height)
    bar = ax.figure.colorbar(
        image, ax=ax, fraction=0.04, pad=0.02, aspect=20, shrink=shrink, anchor=(0.0, 1.0), panchor=(1.0, 1.0)
    )
    bar.set_label(unit, fontsize=SMALL)
    bar.ax.tick_params(labelsize=TINY)
    bar.outline.set_visible(False)


def _write(ax: Any, image: Any, values: np.ndarray, text: Callable[[float], str], plain: np.ndarray) -> None:
    shade = image.cmap(image.norm(np.nan_to_num(values)))[..., :3] @ np.array([0.299, 0.587, 0.114])
    shade = np.where(plain, 1.0, shade)
    for i, j in np.ndindex(values.shape):
        if np.isfinite(values[i, j]) and (words := text(float(values[i, j]))):
            ink = "white" if shade[i, j] < 0.5 else "black"
            ax.text(j, i, words, ha="center", va="center", fontsize=TINY, color=ink)
