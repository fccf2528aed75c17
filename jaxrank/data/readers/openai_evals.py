"""OpenAI evals: one jsonl a run: a ``spec``, events, and a ``final_report``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from jaxrank.data.readers.columns import listed
from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


def sniff(source: Source) -> bool:
    return "spec" in source.keys and isinstance(source.first["spec"], dict) and "completion_fns" in source.first["spec"]


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model ``spec.completion_fns[0]``, question ``sample_id``, one file a run (in order of ``created_at``): further
    runs are further trials. The score is ``data.correct`` of "match" events, or ``data.<metric>`` of "metrics" events
    where ``metric`` is given. A sample with several match events is right when all are (counted in the notes)."""
    rows = Rows(options)
    seen: set[str] = set()
    for source in sorted(sources, key=lambda s: (str(_spec(s).get("created_at")), str(s.path))):
        spec = _spec(source)
        functions = spec["completion_fns"]
        if not isinstance(functions, list) or not functions:
            raise DataError(f"{source.name}: spec.completion_fns is empty")
        identity = str(spec.get("run_id") or source.path)
        if identity in seen:
            rows.count("files are copies of another run and were left out")
            continue
        seen.add(identity)
        model, task = (
            options.model_of(source, str(functions[0]), told=True),
            str(spec.get("base_eval") or spec.get("eval_name")),
        )
        run = rows.run(model, task)
        events = list_of(source.lines, dict, source.name)
        if not any("final_report" in event for event in events):
            rows.notes.append(f"{source.path.name} has no final report: the run may not have ended")
        scores: dict[str, list[Any]] = {}
        for event in events:
            value = _score(event, options)
            if value is not None:
                scores.setdefault(str(event.get("sample_id")), []).append(value)
        if not scores:
            types = Counter(str(event.get("type")) for event in events if "type" in event)
            what = f"metric {options.metric!r}" if options.metric else "match"
            known = listed(f"{n} {kind}" for kind, n in types.items())
            raise DataError(f"{source.name} has no {what} events; its events are {known}; choose with metric=...")
        for question, values in scores.items():
            if len(values) > 1:
                rows.count("samples have several results and are right when all are")
            rows.add(source, model, question, (run, 0), min(values), task)
    return rows.finish(sources, "OpenAI evals")


def _spec(source: Source) -> dict:
    return source.first["spec"]


def _score(event: dict, options: LogOptions) -> Any:
    data = event.get("data")
    if not isinstance(data, dict):
        return None
    wanted = ("match", "correct") if options.metric is None else ("metrics", options.metric)
    value = data.get(wanted[1]) if event.get("type") == wanted[0] else None
    return value if isinstance(value, bool | int | float) else None


FORMAT = Format(
    "openai-evals",
    sniff,
    read,
    files="one `.jsonl` a run",
    trials="runs",
    options="`errors`",
)
