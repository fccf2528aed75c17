"""MMLU-Pro: ``eval_results/<model>/<subject>_result.json``, a list of questions with ``pred`` and ``answer``."""

from __future__ import annotations

import math

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


def sniff(source: Source) -> bool:
    first = source.first
    entry = first[0] if isinstance(first, list) and first else first
    return isinstance(entry, dict) and {"question_id", "answer", "answer_index", "pred", "category"} <= entry.keys()


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model: the folder, or with ``model`` what it says. A question is right where ``pred`` is ``answer``; without a
    prediction it is wrong, or missing with ``errors="missing"``."""
    rows = Rows(options)
    for source in sources:
        model = options.model_of(source, source.folder.name)
        entries = source.document if isinstance(source.first, list) else source.lines
        subjects: dict[str, int] = {}
        for n, entry in enumerate(list_of(entries, dict, source.name), 1):
            question, answer, pred = entry.get("question_id"), entry.get("answer"), entry.get("pred")
            if question is None or answer is None:
                raise DataError(f"{source.name}: row {n} has no question_id or no answer ({shown(answer)})")
            subject = str(entry.get("category", ""))
            if subject not in subjects:
                subjects[subject] = rows.run(model, subject)
            score = float(str(pred).strip() == str(answer).strip())
            if pred in (None, ""):
                score = options.failed("zero")
                rows.count(f"questions have no prediction and are {'missing' if math.isnan(score) else 'wrong'}")
            rows.add(source, model, question, (subjects[subject], 0), score, subject)
    return rows.finish(sources, "MMLU-Pro results")


FORMAT = Format(
    "mmlu-pro",
    sniff,
    read,
    files="`eval_results/<model>/<subject>_result.json`",
    trials="runs",
    options="`model`, `errors`",
)
