"""Item characteristic curves: whether questions behave as the model says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.names import listed, places
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError
from jaxrank.models.options import check_flag, shown
from jaxrank.results.plots.canvas import (
    SMALL,
    bare,
    legend,
    line_style,
    make_axes,
    result_of,
    text_width,
    write_caption,
)
from jaxrank.results.plots.views import size_of


def item_curves(
    result: Any, ax: Any = None, *, questions: Sequence[str | int] | None = None, return_data: bool = False
) -> Any:
    """Chance of success against ability on a few questions, and the shares that each model reached.

    **result**: a `Result` of a Rasch, 2PL or 3PL method. **questions**: names or indices; by default four from easy to
    hard. The frame has a row a question and model: question, model, ability, observed, expected, trials.
    """
    import pandas as pd

    check_flag("return_data", return_data)
    b, a, c = item_parameters(result)
    data = result.data
    chosen = _choose(data, b, questions)
    ability = result.scores
    success = lambda m, x: c[m] + (1 - c[m]) / (1 + np.exp(-a[m] * (x - b[m])))
    rows = []
    for m in chosen:
        n = data.trials[:, m]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(n > 0, data.counts[:, m, 1] / n, np.nan)
        columns = {"question": data.questions[m], "model": list(data.models), "ability": ability, "observed": share}
        rows.append(pd.DataFrame({**columns, "expected": success(m, ability), "trials": n}))
    frame = pd.concat(rows, ignore_index=True)
    labels = [f"{data.questions[m]}  b = {b[m]:.2f}" + (f", a = {a[m]:.2f}" if (a != 1).any() else "") for m in chosen]
    ax = make_axes(ax, 5.6 + text_width(labels), 3.8)
    finite = ability[np.isfinite(ability)]
    pad = 0.15 * np.ptp(finite) + 0.5
    grid = np.linspace(finite.min() - pad, finite.max() + pad, 200)
    for k, (m, label) in enumerate(zip(chosen, labels, strict=True)):
        style = line_style(k)
        ax.plot(grid, success(m, grid), label=label, **style)
        observed = frame[frame["question"] == data.questions[m]]
        ax.plot(observed["ability"], observed["observed"], "o", color=style["color"], markersize=4, alpha=0.6, mew=0)
    bare(ax, "both")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel(f"ability ({result.method})", fontsize=SMALL)
    ax.set_ylabel("chance of success", fontsize=SMALL)
    legend(ax)
    note = f"{size_of(data)}; lines: the model, dots: share of trials that each model got right"
    write_caption(ax, f"{len(chosen)} of {len(b)} questions", note)
    return result_of(ax, frame, return_data)


def item_parameters(result: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Difficulty b, discrimination a (1 in Rasch models) and guessing c (0 without) of each question."""
    params = getattr(result, "params", {})
    if "difficulty" not in params or not isinstance(getattr(result, "data", None), Responses):
        name = getattr(result, "method", type(result).__name__)
        raise OptionError(f"{name} has no item parameters; fit rasch_map, mml_rasch, rasch_2pl_map or mml_2pl")
    b = np.asarray(params["difficulty"], float)
    if b.ndim != 1:
        raise OptionError(f"{result.method} has difficulties of shape {b.shape}; a plot needs one for each question")
    a = np.asarray(params.get("discrimination", 1.0), float)
    c = np.asarray(params.get("guessing", 0.0), float)
    return b, np.broadcast_to(a, b.shape), np.broadcast_to(c, b.shape)


def _choose(data: Responses, b: np.ndarray, questions: Sequence[str | int] | None) -> list[int]:
    if questions is None:
        known = np.flatnonzero(np.isfinite(b))
        if len(known) == 0:
            raise OptionError("no question has a finite difficulty; fit a method with a prior, such as rasch_map")
        ordered = known[np.argsort(b[known], kind="stable")]
        return [int(i) for i in ordered[np.unique(np.linspace(0, len(ordered) - 1, 4).round().astype(int))]]
    chosen = []
    for question in listed(questions, "question"):
        if not isinstance(question, str | int | np.integer):
            raise OptionError(f"questions holds {shown(question)}, which is no name and no number of a question")
        chosen += places(data.questions, [question], "questions").tolist()
    if not chosen:
        raise OptionError("questions is empty; name at least one question")
    return chosen
