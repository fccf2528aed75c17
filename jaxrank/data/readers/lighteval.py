"""lighteval details: ``details/<model>/<time>/details_<task>_<time>.parquet``, whose scores are means over samples."""

from __future__ import annotations

import re
from typing import Any

from jaxrank.data.readers.columns import listed, shown
from jaxrank.data.readers.logs import Format, LogOptions, field_of, from_means, whole
from jaxrank.data.readers.parquet import open_parquet
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

COLUMNS = {"doc", "metric", "model_response"}
_NAME = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d\-.:]+)$")
_TRIALS = re.compile(r"(?:^|[:&@])n=(\d+)")


def sniff(source: Source) -> bool:
    return source.suffix == ".parquet" and source.stem.startswith("details_") and set(_names(source)) >= COLUMNS


def _names(source: Source) -> list[str]:
    with open_parquet(source.path) as file:
        return file.schema_arrow.names


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Counts: successes are the mean times its number of samples, which the metric's name ("avg@n:n=4") or ``n`` tells.

    Model: the folders between ``details`` and the time. Question ``doc.id``. ``metric`` chooses one of several.
    The scores of single samples are not stored, so methods that pair trials cannot read the result.
    """
    cells: dict[tuple[str, str, str], tuple[float, float]] = {}
    chosen: dict[str, None] = {}
    for source in sources:
        model, task = options.model_of(source, model_name(source)), task_of(source)
        with open_parquet(source.path) as file:
            entries = file.read(columns=["doc.id", "metric"]).to_pylist()
        for entry in entries:
            metrics = entry.get("metric")
            if not isinstance(metrics, dict):
                raise DataError(f"{source.name}: a sample has no metrics")
            metric = options.metric or _choose(metrics, source)
            chosen[metric] = None
            question = str(field_of(entry, "doc.id", source.name))
            mean = metrics.get(metric)
            if not isinstance(mean, int | float):
                raise DataError(
                    f"{source.name}: doc {shown(question)} has no metric {metric!r}; it has {listed(metrics)}"
                )
            found = _TRIALS.search(metric)
            n = options.n or (int(found[1]) if found else 1)
            k = whole(float(mean), n, f"{source.name}: doc {shown(question)}, {metric}")
            before = cells.get((model, task, question), (0.0, 0.0))
            cells[model, task, question] = (before[0] + k, before[1] + n)
    tasks = {task for _, task, _ in cells}
    named = {(model, f"{task}/{q}" if len(tasks) > 1 else q): cell for (model, task, q), cell in cells.items()}
    return from_means(named, sources, "lighteval details", [f"metric {listed(chosen)}"])


def model_name(source: Source) -> str:
    parts = source.folder.parts[:-1]
    start = len(parts) - 1 - parts[::-1].index("details") if "details" in parts else len(parts) - 2
    return "/".join(parts[start + 1 :])


def task_of(source: Source) -> str:
    found = _NAME.match(source.stem)
    return found["task"] if found else source.stem.removeprefix("details_")


def _choose(metrics: dict[str, Any], source: Source) -> str:
    means = [name for name in metrics if name.startswith("avg@")]
    for candidates in (means, list(metrics)):
        if len(candidates) == 1:
            return candidates[0]
    raise DataError(f"{source.name} has metrics {listed(metrics)}; choose one with metric=...")


FORMAT = Format(
    "lighteval",
    sniff,
    read,
    files="`details_<task>_<time>.parquet`",
    trials="counts only",
    options="`n`",
)
