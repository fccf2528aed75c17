"""Performance profiles: the share of scores above every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.moments import Samples
from jaxrank.data.names import listed, model_index
from jaxrank.data.responses import Responses, responses_of
from jaxrank.errors import OptionError
from jaxrank.methods.reference_means import PerformanceProfile
from jaxrank.models.options import check_flag
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.precision import precision
from jaxrank.results.fit import Result
from jaxrank.results.plots.canvas import (
    SMALL,
    band_note,
    bare,
    draw_band,
    labels_of,
    legend,
    line_style,
    make_axes,
    result_of,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import size_of

_POINTS = 80
"""Thresholds between the lowest and the highest score, where there are more distinct scores than that."""


def profiles(
    source: Any,
    ax: Any = None,
    *,
    models: Sequence[str] | None = None,
    level: float = 0.95,
    return_data: bool = False,
) -> Any:
    """The share of trials above each threshold, averaged over questions, with bands for four models at most: a
    model whose line lies above
    another's is better whatever counts as good [agarwal2021].

    **source**: `Responses` or a `Result` on them. **models**: names, at most eight; by default the five with the
    highest mean. **level**: of the intervals by question at each threshold, those of `performance_profile`. Where lower
    scores are better, the share below. The frame has columns model, tau, share, lower, upper.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_level(level)
    data = getattr(source, "data", source)
    if not isinstance(data, Data):
        raise OptionError(f"profiles are drawn from data or a result on them, not from {type(source).__name__}")
    data = responses_of(data, "profiles")
    part = data.select(models=_chosen(data, models))
    sign = -1.0 if not part.higher_is_better.any() else 1.0
    rows, words = [], ""
    with precision("float64"):
        stat = Samples.of(part)
        for tau in _thresholds(part):
            ranker = PerformanceProfile(tau=tau)
            fit = Result(ranker(stat), ranker, "performance_profile", part, stat)
            interval = fit.interval(level)
            words = interval.words
            ends = {"lower": interval.lower, "upper": interval.upper}
            rows.append(pd.DataFrame({"model": list(part.models), "tau": sign * tau, "share": fit.scores, **ends}))
    frame = pd.concat(rows, ignore_index=True)
    names = labels_of(part.models)
    ax = make_axes(ax, 5.4 + text_width(names) + 0.5, 3.8)
    for i, (name, label) in enumerate(zip(part.models, names, strict=True)):
        line = frame.loc[frame["model"] == name].sort_values(by="tau")
        step = "post" if sign > 0 else "pre"
        style = line_style(i)
        draw_band(ax, len(names), line["tau"], line["lower"], line["upper"], style["color"], step)
        ax.plot(line["tau"], line["share"], drawstyle=f"steps-{step}", label=label, **style)
    bare(ax, "both")
    ax.set_ylim(-0.02, 1.02)
    side = "above" if sign > 0 else "below"
    ax.set_xlabel("threshold of the score", fontsize=SMALL)
    ax.set_ylabel(f"share of results {side} it", fontsize=SMALL)
    legend(ax)
    note = band_note(len(names), f"bands: {words}, of each threshold for itself", size_of(part))
    write_caption(ax, "Performance profiles", note)
    return result_of(ax, frame, return_data)


def _thresholds(data: Responses) -> np.ndarray:
    """All distinct scores, or as many values between the ends as a line needs; higher is better."""
    seen = data.oriented[~np.isnan(data.oriented)]
    distinct = np.unique(seen)
    return distinct if len(distinct) <= _POINTS else np.linspace(distinct[0], distinct[-1], _POINTS)


def _chosen(data: Responses, models: Sequence[str] | None) -> list[int]:
    if models is None:
        with np.errstate(invalid="ignore"):
            means = np.nanmean(data.oriented, axis=(1, 2))
        return np.argsort(-means, kind="stable")[:5].tolist()
    chosen = [model_index(data.models, name, "models") for name in listed(models, "model")]
    if not 1 <= len(chosen) <= 8:
        raise OptionError(f"models holds {len(chosen)} names; from 1 to 8 lines can be told apart")
    return chosen
