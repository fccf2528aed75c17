"""Pass@k and Pass^k: whether a model can, against whether it always does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.names import listed, model_index
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError
from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.interval import check_level, percent
from jaxrank.numerics.proportion import BY_QUESTION
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
from jaxrank.results.plots.views import size_of

_POINTS = 12


def pass_curves(
    data: Any,
    ax: Any = None,
    *,
    models: Sequence[str] | None = None,
    level: float = 0.95,
    max_k: int | None = None,
    return_data: bool = False,
) -> Any:
    """Pass@k (solid) and Pass^k (dashed) against the number of tries k, with bands for two models (four curves)
    at most.

    **data**: binary `Responses` or a `Result` on them. **models**: names, at most eight; by default the five with the
    highest mean. **level**: of the bands. **max_k**: by default the smallest number of trials. The frame
    has columns metric, model, k, estimate, lower, upper.
    """
    import pandas as pd

    from jaxrank.evaluation import pass_at_k, pass_hat_k

    check_flag("return_data", return_data)
    check_level(level)
    data = getattr(data, "data", data)
    if not isinstance(data, Responses):
        raise OptionError(f"pass curves are drawn from Responses, not {type(data).__name__}")
    chosen = _choose(data, models)
    part = data.select(models=chosen)
    if max_k is not None:
        check_count("max_k", max_k, 1, max(int(part.trials.max()), 1))
    most = int(part.trials[part.trials > 0].min()) if max_k is None else max_k
    ks = np.unique(np.geomspace(1, most, _POINTS).round().astype(int))
    rows = []
    for metric, of in (("pass_at_k", pass_at_k), ("pass_hat_k", pass_hat_k)):
        for k in ks:
            found = of(part, int(k), level=level, dtype="float64")
            columns = {"metric": metric, "model": list(part.models), "k": k, "estimate": np.asarray(found.point)}
            rows.append(pd.DataFrame({**columns, "lower": found.lower, "upper": found.upper}))
    frame = pd.concat(rows, ignore_index=True)
    names = labels_of(part.models)
    ax = make_axes(ax, 5.4 + text_width(names) + 0.5, 3.8)
    for metric, dashes in (("pass_at_k", "-"), ("pass_hat_k", "--")):
        for i, (name, label) in enumerate(zip(part.models, names, strict=True)):
            line = frame[(frame["metric"] == metric) & (frame["model"] == name)]
            draw_band(ax, 2 * len(names), line["k"], line["lower"], line["upper"], colour(i))
            ax.plot(
                line["k"],
                line["estimate"],
                color=colour(i),
                linestyle=dashes,
                marker="o",
                markersize=3,
                label=label if dashes == "-" else None,
            )
    bare(ax, "both")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("tries, k", fontsize=SMALL)
    ax.set_ylabel("Pass@k (solid), Pass^k (dashed)", fontsize=SMALL)
    ax.set_xscale("log")
    marks = [k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= most]
    ax.set_xticks(marks, [str(k) for k in marks], minor=False)
    ax.set_xticks([], minor=True)
    legend(ax)
    fewer = models is None and len(data.models) > len(chosen)
    of = f"the best {len(chosen)} of {data.size}" if fewer else size_of(part)
    note = band_note(2 * len(names), f"bands: {percent(level)}, {BY_QUESTION}, of each k for itself", of)
    write_caption(ax, "Succeeds once in k tries, and in all of k", note)
    return result_of(ax, frame, return_data)


def _choose(data: Responses, models: Sequence[str] | None) -> list[int]:
    if models is None:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.nanmean(np.where(data.trials > 0, data.counts[..., -1] / data.trials, np.nan), axis=1)
        return np.argsort(-share, kind="stable")[:5].tolist()
    chosen = [model_index(data.models, name, "models") for name in listed(models, "model")]
    if not 1 <= len(chosen) <= 8:
        raise OptionError(f"models holds {len(chosen)} names; from 1 to 8 curves can be told apart")
    return chosen
