"""A metric of every model with its interval: what ``jaxrank.evaluation`` returns, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.names import check_names
from jaxrank.errors import OptionError
from jaxrank.evaluation.estimates import Estimate
from jaxrank.models.options import check_flag, shown
from jaxrank.numerics.ranks import rank_scores
from jaxrank.results.plots.canvas import labels_of, make_axes, result_of, rows_height, text_width, write_caption
from jaxrank.results.plots.ranking_chart import draw_rows
from jaxrank.results.plots.views import check_source


def estimates(
    source: Any, ax: Any = None, *, models: Any = None, metric: str = "metric", return_data: bool = False
) -> Any:
    """A metric of every model with its interval, best first, and at the right the rank.

    **source**: an `Estimate` of several models. **models**: their names, by default numbers. **metric**: what is
    estimated, in words. Returns the Axes, with ``return_data`` also the frame (rank, model, estimate, lower, upper);
    the estimates are the posterior means where the data alone lack one, and the ranks are those of these means.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    check_source("a metric", source, Estimate)
    if not isinstance(metric, str):
        raise OptionError(f"metric={shown(metric)}; it must be text")
    if np.ndim(source.mean) == 0:
        raise OptionError("the estimate is that of one model; a chart of models needs R of (models, questions, trials)")
    named = check_names(models, len(source.mean), "model")
    value = source.point if np.isfinite(source.point).all() else source.mean
    order = np.argsort(-source.mean, kind="stable")
    frame = pd.DataFrame(
        {
            "rank": np.asarray(rank_scores(source.mean))[order],
            "model": [named[i] for i in order],
            "estimate": value[order],
            "lower": source.lower[order],
            "upper": source.upper[order],
        }
    )
    names = labels_of(frame["model"].tolist())
    ax = make_axes(ax, 5.2 + text_width(names), rows_height(len(names)))
    draw_rows(ax, frame, names, "estimate", metric)
    caption = f"{len(names)} models; bars: {source.interval().words}; at the right: rank"
    write_caption(ax, f"Models by {metric}", caption)
    return result_of(ax, frame, return_data)
