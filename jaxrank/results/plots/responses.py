"""Outcomes of every model on every question: where data are missing, and what was easy."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError
from jaxrank.models.options import check_flag
from jaxrank.results.plots.canvas import SMALL, labels_of, make_axes, name_style, result_of, text_width, write_caption
from jaxrank.results.plots.heatmap import colour_bar
from jaxrank.results.plots.views import size_of


def response_matrix(source: Any, ax: Any = None, *, return_data: bool = False) -> Any:
    """Mean outcome of each cell, best model at the top and easiest question at the left; grey where there is no trial.

    **source**: `Responses`, or a `Result` on them, whose ranking then orders the models. The frame is the matrix
    (models, questions) of means, higher is better.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    data = getattr(source, "data", source)
    if not isinstance(data, Responses):
        raise OptionError(f"a response matrix is drawn from Responses, not {type(data).__name__}")
    trials = data.trials
    mean = data.cell_means
    low, high = (np.nanmin(mean), np.nanmax(mean)) if data.kind == "real" else (data.levels[0], data.levels[-1])
    known = trials > 0
    by_model = np.where(known, mean, 0).sum(axis=1) / known.sum(axis=1)
    by_question = np.where(known, mean, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    order = getattr(source, "order", None)
    order = np.argsort(-by_model, kind="stable") if order is None else order
    columns = np.argsort(-by_question, kind="stable")
    values, names = mean[np.ix_(order, columns)], [data.models[i] for i in order]
    n_models, n_questions = values.shape
    width = float(np.clip(0.14 * n_questions, 4.5, 9))
    size = SMALL if n_models <= 70 else 5.5
    row = 0.17 if n_models <= 70 else 0.11
    ax = make_axes(ax, width + text_width(names, size) + 1.0, row * max(n_models, 6) + 1.4)
    image = ax.imshow(
        np.ma.masked_invalid(values),
        cmap="cividis",
        vmin=low,
        vmax=high,
        aspect="auto",
        interpolation="none",
    )
    ax.set_facecolor("#BDBDBD")
    ax.set_yticks(np.arange(n_models), labels_of(names), **name_style(size))
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.set_xlabel("questions, easiest first", fontsize=SMALL)
    colour_bar(ax, image, "mean outcome", row * max(n_models, 6))
    missing = int((~known).sum())
    note = f"{size_of(data)}; {missing:,} of {known.size:,} cells without a trial" + (", grey" if missing else "")
    write_caption(ax, "Outcomes by model and question", note, width)
    frame = pd.DataFrame(values, index=names, columns=[data.questions[m] for m in columns])
    return result_of(ax, frame, return_data)
