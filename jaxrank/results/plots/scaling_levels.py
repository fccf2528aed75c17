"""Test-time scaling: accuracy against tokens, and what gains and losses add to ARISE."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.evaluation.scaling import ScalingResult
from jaxrank.models.options import check_flag
from jaxrank.numerics.interval import check_level, percent
from jaxrank.results.plots.canvas import (
    MUTED,
    PALETTE,
    SMALL,
    bare,
    labels_of,
    layered,
    legend,
    make_axes,
    name_rows,
    result_of,
    rows_height,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import check_source


def scaling_curves(source: Any, ax: Any = None, *, return_data: bool = False) -> Any:
    """Mean accuracy against mean tokens at every level of every model, with its ARISE beside the name.

    **source**: a `ScalingResult`. The frame has columns model, level, tokens, accuracy.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a scaling curve", source, ScalingResult)
    order = np.argsort(-source.arise, kind="stable")
    names = labels_of(source.models)
    rows = [
        {"model": source.models[i], "level": j, "tokens": source.tokens[i, j], "accuracy": source.accuracy[i, j]}
        for i in order
        for j in range(source.tokens.shape[1])
        if np.isfinite(source.accuracy[i, j])
    ]
    frame = pd.DataFrame(rows, columns=["model", "level", "tokens", "accuracy"])
    told = [f"{names[i]}  {source.arise[i]:.3f} to {source.cross_fit[i]:.3f}" for i in order]
    ax = make_axes(ax, 4.6 + text_width(told), 3.6)
    for k, i in enumerate(order):
        part = frame[frame["model"] == source.models[i]]
        ax.plot(part["tokens"], part["accuracy"], label=told[k], **layered(k, len(part)))
    ax.set_xscale("log")
    bare(ax, "both")
    ax.set_xlabel("mean tokens of a trial", fontsize=SMALL)
    ax.set_ylabel("mean accuracy", fontsize=SMALL)
    legend(ax)
    note = (
        f"{len(names)} models, {source.samples.shape[1]} samples; beside the names ARISE as published and cross-fitted"
    )
    write_caption(ax, "Accuracy against tokens", note)
    return result_of(ax, frame, return_data)


def scaling_parts(source: Any, ax: Any = None, *, level: float = 0.95, return_data: bool = False) -> Any:
    """What gains and losses add to ARISE (bars), their sum (dot), the interval of ARISE of the success rates (line).

    **source**: a `ScalingResult` of drawn samples. **level**: of the interval. The frame has columns model, gains,
    losses, arise, lower, upper.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a chart of gains and losses", source, ScalingResult)
    low, high = source.interval(check_level(level))
    order = np.argsort(-source.arise, kind="stable")
    columns = {
        "model": np.array(source.models, object),
        "gains": source.transitions.gains.sum(-1),
        "losses": source.transitions.losses.sum(-1),
        "arise": source.arise,
        "lower": low,
        "upper": high,
    }
    frame = pd.DataFrame({name: values[order] for name, values in columns.items()})
    names = list(frame["model"])
    ax = make_axes(ax, 4.6 + text_width(names), rows_height(len(names)))
    rows = np.arange(len(names))
    ax.barh(rows, frame["gains"], color=PALETTE[2], alpha=0.6, height=0.6, label="gains")
    ax.barh(rows, frame["losses"], color=PALETTE[1], alpha=0.6, height=0.6, label="losses")
    widest = np.nanmax(np.abs(frame[["gains", "losses", "lower"]].to_numpy()), initial=0.1)
    ends = np.where(np.isinf(frame["upper"]), widest, frame["upper"])  # open: one trial a cell
    ax.hlines(rows, frame["lower"], ends, color=PALETTE[0], linewidth=2)
    ax.plot(frame["arise"], rows, "o", color=PALETTE[0], markersize=4, label="ARISE as published")
    ax.axvline(0, color=MUTED, linewidth=0.8)
    name_rows(ax, names)
    bare(ax)
    ax.set_xlabel("ARISE", fontsize=SMALL)
    legend(ax)
    write_caption(ax, "Gains and losses by more effort", f"lines: ARISE of the success rates, {percent(level)}")
    return result_of(ax, frame, return_data)
