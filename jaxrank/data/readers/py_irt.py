"""py-irt: one JSON object a line, ``{"subject_id": ..., "responses": {item: 0 or 1}}``."""

from __future__ import annotations

from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


def sniff(source: Source) -> bool:
    return {"subject_id", "responses"} <= source.keys


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model ``subject_id``, question: the keys of ``responses``."""
    rows = Rows(options)
    for source in sources:
        for n, entry in enumerate(list_of(source.lines, dict, source.name), 1):
            responses, subject = entry.get("responses"), entry.get("subject_id")
            if not isinstance(responses, dict) or subject is None:
                raise DataError(f"{source.name}: line {n} has no subject_id or no responses")
            model = str(subject)
            run = rows.run(model)
            for question, score in responses.items():
                rows.add(source, model, question, (run, 0), score)
    return rows.finish(sources, "py-irt responses")


FORMAT = Format(
    "py-irt", sniff, read, files="`.jsonlines` of `subject_id` and `responses`", trials="lines", options="`threshold`"
)
