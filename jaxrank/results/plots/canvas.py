"""What all plots share: axes of the right size, colours, names that are never cut, captions."""

from __future__ import annotations

import functools
import importlib
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.errors import OptionError

# Okabe and Ito's palette, told apart with any colour vision; yellow is left out, for it vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6BBE", "#7F7F7F")
DASHES = ("-", "--", ":", "-.")
SEQUENTIAL, DIVERGING = "Blues", "PuOr"
MUTED = "#8C8C8C"
SMALL, TINY = 8.0, 7.0
ROW = 0.19
"""Height of a row with a name, in inches."""

# Families that hold letters which matplotlib's own font lacks; those installed serve as a second choice.
_OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Segoe UI Symbol",
)


def matplotlib(module: str = "matplotlib") -> Any:
    """matplotlib or one of its modules, imported now; `OptionError` with the way to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise OptionError("plots need matplotlib: pip install matplotlib") from None


def make_axes(ax: Any, width: float, height: float) -> Any:
    """The Axes to draw into: ``ax`` itself; new ones of this size in inches; or the only ones of a given Figure, which
    gets this size."""
    if ax is None:
        pyplot = matplotlib("matplotlib.pyplot")
        return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()
    figures = matplotlib("matplotlib.figure")
    if isinstance(ax, figures.FigureBase):
        if isinstance(ax, figures.Figure):
            ax.set_size_inches(width, height)
            ax.set_layout_engine("constrained")
        return ax.add_subplot()
    if not isinstance(ax, matplotlib("matplotlib.axes").Axes):
        raise OptionError(f"ax must be matplotlib Axes or a Figure, not {type(ax).__name__}")
    return ax


def labels_of(names: Sequence[str]) -> list[str]:
    """Names in one line each."""
    return [" ".join(name.split()) for name in names]


@functools.cache
def _families() -> tuple[str, ...]:
    installed = set(matplotlib("matplotlib.font_manager").fontManager.get_font_names())
    return tuple(family for family in _OTHER_SCRIPTS if family in installed)


def name_style(size: float = SMALL) -> dict[str, Any]:
    """Text properties of names: no mathematics between dollar signs, further fonts for other scripts."""
    own = matplotlib().rcParams["font.family"]
    return {"fontsize": size, "parse_math": False, "fontfamily": [*own, *_families()]}


def text_width(texts: Sequence[str], size: float = SMALL) -> float:
    """Width in inches of the widest text."""
    if not len(texts):
        return 0.0
    style = name_style(size)
    font = matplotlib("matplotlib.font_manager").FontProperties(family=style["fontfamily"], size=size)
    renderer = matplotlib("matplotlib.backends.backend_agg").RendererAgg(8, 8, 72)
    longest = sorted(set(texts), key=len)[-12:]
    return max(renderer.get_text_width_height_descent(t, font, False)[0] for t in longest) / 72


def rows_height(n_rows: int, rest: float = 1.3, row: float = ROW) -> float:
    """Height in inches of a chart with one row a name."""
    return rest + row * max(n_rows, 4)


def name_rows(ax: Any, names: Sequence[str], size: float = SMALL) -> None:
    """One row a name, the first at the top."""
    ax.set_yticks(np.arange(len(names)), labels_of(names), **name_style(size))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def bare(ax: Any, grid: str | None = "x") -> None:
    """No box around the data, and a light grid along one axis."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    if grid:
        ax.grid(axis=grid, color=MUTED, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)


def colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def shade(number: int, of: int) -> Any:
    """The colour of one of several steps in an order, from blue through grey to ochre: told apart with any colour
    vision, and from a dark page as from a white one."""
    maps = matplotlib("matplotlib.colors").LinearSegmentedColormap
    return maps.from_list("steps", [PALETTE[0], "#7C7B78", "#C8AE5A"])(number / max(of - 1, 1))


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of one line among many: they repeat together only after 32."""
    return {"color": colour(number), "linestyle": DASHES[number // len(PALETTE) % len(DASHES)]}


def layered(number: int, n_points: int) -> dict[str, Any]:
    """One line among several that may lie on each other: of one width, later ones with gaps that show what is below;
    dots where there are few points."""
    gaps: Any = ("-", (0, (4, 4)), (0, (1, 3)), (0, (6, 3, 1, 3)))[number % 4]
    marker = "o" if n_points <= 30 else ""
    return {"color": colour(number), "linestyle": gaps, "linewidth": 1.8, "marker": marker, "markersize": 3}


BANDED = 4
"""Curves of one plot that can have bands without hiding each other."""


def draw_band(ax: Any, n_curves: int, x: Any, lower: Any, upper: Any, ink: Any, step: Any = None) -> None:
    """The band of one of ``n_curves`` curves, where there are few enough for bands (`BANDED`)."""
    if n_curves <= BANDED:
        ax.fill_between(x, lower, upper, step=step, color=ink, alpha=0.12, linewidth=0)


def band_note(n_curves: int, text: str, before: str = "") -> str:
    """A caption with what the bands are, where `draw_band` draws them; else what stands ``before``."""
    return "; ".join(filter(None, (before, text if n_curves <= BANDED else "")))


def label_ends(ax: Any, names: Sequence[str], x: Any, y: Any, colours: Sequence[Any], height: float) -> None:
    """Names at the ends of lines, as near as they fit, in place of a legend. **x**, **y**: the last point of each line,
    in data; **height**: of the area of the data in inches. Call it when the limits of the axes stand."""
    ax.get_ylim()  # which settles them
    where = ax.transData.transform(np.column_stack([x, y]))
    share = (where[:, 1] - ax.bbox.y0) / ax.bbox.height
    places = spread(share, (SMALL + 1.5) / 72 / height, 0.02, 0.98)
    for name, place, ink in zip(labels_of(names), places, colours, strict=True):
        ax.annotate(
            name, (1, place), (6, 0), xycoords="axes fraction", textcoords="offset points", va="center", color=ink,
            annotation_clip=False, **name_style(),
        )  # fmt: skip


def write_caption(ax: Any, title: str, caption: str, width: float = 5.0) -> None:
    """A title and below it, smaller, what the plot shows; ``width`` in inches is that of the data's area. Both begin
    where the names of the rows do."""
    rows = [label.get_text() for label in ax.get_yticklabels() if label.get_fontsize() <= SMALL]
    named = any(text and not text.replace("−", "").replace(".", "").isdigit() for text in rows)
    indent = 72 * text_width(rows) + 6 if named else 0.0
    width += indent / 72
    lines = textwrap.wrap(caption, max(24, int(width * 17)))
    heading = "\n".join(textwrap.wrap(title, max(20, int(width * 11))))
    said = ax.set_title(heading, loc="left", fontsize=11, fontweight="bold", pad=7 + 9.5 * len(lines), parse_math=False)
    shift = matplotlib("matplotlib.transforms").ScaledTranslation(-indent / 72, 0, ax.figure.dpi_scale_trans)
    said.set_transform(said.get_transform() + shift)
    ax.annotate(
        "\n".join(lines),
        (0, 1),
        (-indent, 4),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize=TINY,
        alpha=0.8,
        parse_math=False,
        annotation_clip=False,
    )


def legend(ax: Any, **options: Any) -> None:
    """A legend outside, to the right of the data."""
    style = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False, "fontsize": SMALL, **options}
    found = ax.legend(**style)
    for text in found.get_texts():
        text.set(parse_math=False)


def spread(positions: Any, gap: float, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
    """Places as near to ``positions`` as they can be, in the same order, ``gap`` or more apart, from ``low`` to
    ``high``."""
    values = np.asarray(positions, float)
    order = np.argsort(values, kind="stable")
    # pool adjacent violators on positions from which the gaps are taken out
    blocks: list[list[float]] = []
    for value in values[order] - gap * np.arange(len(values)):
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    level = np.concatenate([np.full(int(n), v) for v, n in blocks]) if blocks else np.zeros(0)
    out = np.empty(len(values))
    out[order] = np.clip(level, low, high - gap * (len(values) - 1)) + gap * np.arange(len(values))
    return out


def result_of(ax: Any, frame: Any, return_data: bool) -> Any:
    """What a plot returns: the Axes, or the Axes and the data frame behind them."""
    return (ax, frame) if return_data else ax
