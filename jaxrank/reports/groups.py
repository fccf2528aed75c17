"""The section of a report on tasks or categories: the same ranking in each, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.columns import GROUP
from jaxrank.errors import JaxrankError, JaxrankWarning
from jaxrank.reports.blocks import Items, Section, Table, Text
from jaxrank.reports.study import Found
from jaxrank.results.headline import headline
from jaxrank.results.returned import as_shown, ends_shown
from jaxrank.results.tables import Table as Cells
from jaxrank.studies.fit import fit

MOST = 12  # groups that stand beside each other
COLUMNS = (GROUP, "category")


def groups(found: Found) -> Section | None:
    """The section where questions have tasks or battles categories, 2 to `MOST` of them; else None."""
    data = found.data
    columns = data.question_columns if data.questions else getattr(data, "columns", {})
    name = next((name for name in COLUMNS if name in columns), "")
    labels = np.asarray(columns[name]).astype(str) if name else np.zeros(0)
    several = sorted(set(labels.tolist()))
    if not 2 <= len(several) <= MOST:
        return None
    order, table, told = found.result.order, {}, []
    table["model"] = [found.result.models[i] for i in order]
    for label in several:
        mask = labels == label
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JaxrankWarning)
                part = data.select(questions=mask) if data.questions else data.select(battles=mask)
                ranked = fit(part, found.result.method, dtype="float64")
            said = headline(ranked, found.level)
        except JaxrankError as error:
            told.append((label, f"not ranked: {error}."))
            continue
        told.append((label, f"{said} ({mask.sum()} {data.content if not data.questions else 'questions'})"))
        scores = dict(zip(ranked.models, _scores(ranked, found.level), strict=True))
        table[label] = [scores.get(model) for model in table["model"]]
    if len(table) < 3:
        return None
    of, one = ("tasks", "task") if name == GROUP else ("categories", "category")
    words = (
        f"The same method on the {of} one by one: each score with half the width of its interval. What is said of one "
        "is not corrected for the others."
    )
    import pandas as pd

    return Section(f"By {one}", [Items(told), Table(pd.DataFrame(table)), Text(words)])


def _scores(ranked: Any, level: float) -> Sequence[str | None]:
    """Every score as text, with half the width of its interval where there is one."""
    points = as_shown(ranked, ranked.scores)
    if not ranked.has_interval:
        return Cells({"score": points}).cells()["score"]
    lower, upper = ends_shown(ranked, ranked.interval(level))
    cells = Cells({"score": points, "lower": lower, "upper": upper, "se": (upper - lower) / 2}).cells()
    return [f"{point} ± {half}" for point, half in zip(cells["score"], cells["se"], strict=True)]
