"""Accuracy of rules for answers against the number of completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxrank.data.names import listed, model_index
from jaxrank.errors import OptionError, one_line
from jaxrank.evaluation.answers.curves import AnswerCurves
from jaxrank.models.options import check_flag
from jaxrank.numerics.interval import percent
from jaxrank.results.plots.canvas import (
    SMALL,
    band_note,
    bare,
    colour,
    draw_band,
    labels_of,
    legend,
    make_axes,
    result_of,
    text_width,
    write_caption,
)

_MOST = 8


def answer_curves(
    curves: AnswerCurves,
    ax: Any = None,
    *,
    model: str | None = None,
    rules: Sequence[str] | None = None,
    return_data: bool = False,
) -> Any:
    """Accuracy of rules against the number of completions n, of one model, with bands for four rules at most.

    **curves**: of `Answers.curve`. **model**: its name; by default the one with the highest accuracy at the last n.
    **rules**: names, at most eight; by default the first eight. Bands hold the share ``curves.level`` of data sets with
    n completions of these questions. The frame has columns rule, model, n, accuracy, lower, upper, exact, gain, ....
    """
    check_flag("return_data", return_data)
    if not isinstance(curves, AnswerCurves):
        raise OptionError(f"answer curves are drawn from Answers.curve(...), not {type(curves).__name__}")
    i = int(curves.accuracy[..., -1].max(axis=0).argmax())
    if model is not None:
        i = model_index(curves.models, model, "model")
    chosen = list(curves.rules[:_MOST]) if rules is None else listed(rules, "rule")
    if unknown := [name for name in chosen if not isinstance(name, str) or name not in curves.rules]:
        raise OptionError(f"there is no rule {one_line(unknown[0])}; there are {', '.join(curves.rules)}")
    if not 1 <= len(chosen) <= _MOST:
        raise OptionError(f"rules holds {len(chosen)} names; from 1 to {_MOST} curves can be told apart")
    frame = curves.to_frame()
    frame = frame[(frame["model"] == curves.models[i]) & frame["rule"].isin(chosen)].reset_index(drop=True)
    names = labels_of(chosen)
    ax = make_axes(ax, 5.4 + text_width(names) + 0.5, 3.8)
    for k, (name, label) in enumerate(zip(chosen, names, strict=True)):
        line = frame[frame["rule"] == name]
        draw_band(ax, len(chosen), line["n"], line["lower"], line["upper"], colour(k))
        ax.plot(line["n"], line["accuracy"], color=colour(k), marker="o", markersize=3, label=label)
    bare(ax, "both")
    ax.set_xlabel("completions, n", fontsize=SMALL)
    ax.set_ylabel("accuracy", fontsize=SMALL)
    if len(curves.n) > 1:
        ax.set_xscale("log")
        marks = [n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if curves.n[0] <= n <= curves.n[-1]]
        ax.set_xticks(marks, [str(n) for n in marks], minor=False)
        ax.set_xticks([], minor=True)
    legend(ax)
    bands = f"bands: {percent(curves.level)} of data sets with n completions, of each n for itself"
    title = f"One answer of n completions, {labels_of([curves.models[i]])[0]}"
    write_caption(ax, title, band_note(len(chosen), bands))
    return result_of(ax, frame, return_data)
