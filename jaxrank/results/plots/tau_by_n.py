"""How many trials suffice: agreement with the reference ranking against the number of trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jaxrank.errors import OptionError
from jaxrank.models.options import check_flag, shown
from jaxrank.numerics.interval import percent
from jaxrank.results.convergence import Convergence
from jaxrank.results.plots.canvas import (
    SMALL,
    band_note,
    bare,
    draw_band,
    label_ends,
    layered,
    make_axes,
    result_of,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source, size_of
from jaxrank.results.returned import named

REFERENCES = {"gold": "Bayes@N on all trials", "self": "each method on all trials", "given": "the given scores"}


def tau_curve(
    con: Any, ax: Any = None, *, methods: Sequence[str] | None = None, level: float = 0.95, return_data: bool = False
) -> Any:
    """Kendall's tau-b of the ranking after n trials with the reference: mean, and a band of the replicates.

    **con**: a `Convergence` with tau. **level**: share of the replicates in the band, drawn for four methods at most.
    The frame has columns method, n, tau, lower, upper.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a curve of tau", con, Convergence)
    chosen = methods_of(con, methods)
    parts = []
    for name in chosen:
        low, high = con.tau_band(name, level)
        columns = {"method": name, "n": con.grid, "tau": con.tau(name), "lower": low, "upper": high}
        parts.append(pd.DataFrame(columns))
    frame = pd.concat(parts, ignore_index=True)
    ax = make_axes(ax, 5.6 + text_width(chosen) + 0.5, 3.6)
    last = []
    for k, name in enumerate(chosen):
        rows = frame[frame["method"] == name]
        style = layered(k, len(rows))
        draw_band(ax, len(chosen), rows["n"], rows["lower"], rows["upper"], style["color"])
        ax.plot(rows["n"], rows["tau"], **style)
        last.append((name, con.grid[-1], con.tau(name)[-1], style["color"]))
    bare(ax, "both")
    ax.set_xlabel("trials of each question", fontsize=SMALL)
    ax.set_ylabel("tau-b with the reference", fontsize=SMALL)
    whole_numbers(ax)
    label_ends(ax, *zip(*last, strict=True), height=2.6)
    note = f"{size_of(con)}; lines: means; reference: {REFERENCES[con.reference]}"
    note = band_note(len(chosen), f"bands: central {percent(level)} of the replicates", note)
    write_caption(ax, "Agreement with the reference ranking", note)
    return result_of(ax, frame, return_data)


def methods_of(con: Convergence, methods: Sequence[str] | None) -> list[str]:
    """The methods to draw, all by default; `OptionError` for those that the study does not have, and for none."""
    if methods is None:
        return list(con.methods)
    if not isinstance(methods, str | Iterable) or isinstance(methods, bytes):
        raise OptionError(f"methods={shown(methods)}; it must be a list of methods")
    chosen = [methods] if isinstance(methods, str) else list(methods)
    if not chosen:
        raise OptionError("methods is empty; name at least one method")
    return [list(con.methods)[named(con.methods, method, "method")] for method in chosen]


def whole_numbers(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
