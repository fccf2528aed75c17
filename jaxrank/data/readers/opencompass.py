"""OpenCompass: ``results/<model>/<dataset>.json`` with ``details``, one entry a question."""

from __future__ import annotations

from typing import Any

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

CORRECT = ("correct", "is_correct", "cascade_correct", "score")


def sniff(source: Source) -> bool:
    return "details" in source.keys and bool({"accuracy", "score", "pass@1"} & source.keys or _entries(source.first))


def _entries(document: Any) -> list[tuple[str, dict]]:
    details = document.get("details") if isinstance(document, dict) else None
    if isinstance(details, dict):
        return [(str(k), v) for k, v in details.items() if isinstance(v, dict)]
    return [(str(k), v) for k, v in enumerate(details) if isinstance(v, dict)] if isinstance(details, list) else []


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model: the folder. Task: the file's name. Score: ``correct``, or whether ``pred`` is ``answer``; a list of either
    holds the trials of the question."""
    rows = Rows(options)
    for source in sources:
        model = options.model_of(source, source.folder.name)
        run = rows.run(model, source.stem)
        entries = _entries(source.document)
        if not entries:
            raise DataError(f"{source.name} has no details: evaluate with --dump-eval-details")
        for question, entry in entries:
            where = f"{source.name}: details {shown(question)}"
            for trial, score in enumerate(_scores(entry, where)):
                rows.add(source, model, question, (run, trial), score, source.stem)
    return rows.finish(sources, "OpenCompass details")


def _scores(entry: dict, where: str) -> list[Any]:
    for key in CORRECT:
        if key in entry:
            return entry[key] if isinstance(entry[key], list) else [entry[key]]
    predictions = entry.get("pred", entry.get("predictions", entry.get("prediction")))
    answer = entry.get("answer", entry.get("references", entry.get("gold")))
    if predictions is None or answer is None:
        raise DataError(f"{where} has neither {', '.join(CORRECT)} nor pred and answer")
    first = lambda value: value[0] if isinstance(value, list) and len(value) == 1 else value
    several = predictions if isinstance(predictions, list) else [predictions]
    return [float(str(first(p)).strip() == str(first(answer)).strip()) for p in several]


FORMAT = Format(
    "opencompass",
    sniff,
    read,
    files="`results/<model>/<dataset>.json` with `details`",
    trials="a list of `correct` or `pred`, runs",
    options="`model`",
)
