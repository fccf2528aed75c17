"""Every Eval Ever: instance-level jsonl, the common format to which converters from other tools exist."""

from __future__ import annotations

from typing import Any

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


def sniff(source: Source) -> bool:
    return {"evaluation", "model_id", "sample_id"} <= source.keys


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model ``model_id``, question ``sample_id``, trial ``evaluation_id``, score ``evaluation.is_correct``, or
    ``evaluation.score`` where ``metric="score"`` or there is no ``is_correct``."""
    rows = Rows(options)
    for source in sources:
        for entry in list_of(source.lines, dict, source.name):
            where = f"{source.name}: sample {shown(entry.get('sample_id'))}"
            model, question, trial = (field_of(entry, key, where) for key in ("model_id", "sample_id", "evaluation_id"))
            evaluation = field_of(entry, "evaluation", where)
            if not isinstance(evaluation, dict):
                raise DataError(f"{where}: evaluation is not an object")
            score: Any = evaluation.get("is_correct") if options.metric in (None, "is_correct") else None
            if score is None:
                score = evaluation.get(options.metric or "score")
            rows.add(source, str(model), question, str(trial), score, str(entry.get("evaluation_name", "")))
    return rows.finish(sources, "Every Eval Ever")


FORMAT = Format(
    "every-eval-ever",
    sniff,
    read,
    files="instance-level `.jsonl`",
    trials="evaluations",
    options="`metric`",
)
