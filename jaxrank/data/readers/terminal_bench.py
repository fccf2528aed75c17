"""Terminal-Bench: ``results.json`` of a run, with ``run_metadata.json`` beside it."""

from __future__ import annotations

import re

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

_TRIAL = re.compile(r"\.(\d+)-of-\d+")
_DATE = re.compile(r"^\d{4}-?\d{2}-?\d{2}[_-]+")


def sniff(source: Source) -> bool:
    results = source.first.get("results") if isinstance(source.first, dict) else None
    entry = results[0] if isinstance(results, list) and results else None
    return isinstance(entry, dict) and {"task_id", "is_resolved"} <= entry.keys()


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model: ``model_name`` and ``agent_name`` of ``run_metadata.json``, else the folder without its date. A trial that
    ended before its tests (``is_resolved`` null) is not resolved, as in the tool; ``errors="missing"`` drops it."""
    rows = Rows(options)
    for source in sources:
        model = options.model_of(source, _model(source))
        run = rows.run(model)
        seen: dict[str, int] = {}
        for n, entry in enumerate(list_of(source.document["results"], dict, f"{source.name}: results"), 1):
            task, resolved = entry.get("task_id"), entry.get("is_resolved")
            if not isinstance(task, str) or not isinstance(resolved, bool | None):
                raise DataError(
                    f"{source.name}: result {n} has task_id {shown(task)} and is_resolved {shown(resolved)}"
                )
            seen[task] = seen.get(task, -1) + 1
            found = _TRIAL.search(str(entry.get("trial_name", "")))
            trial = int(found[1]) - 1 if found else seen[task]
            if resolved is None:
                rows.count("trials ended before their tests")
                rows.add(source, model, task, (run, trial), options.failed("zero"))
            else:
                rows.add(source, model, task, (run, trial), float(resolved))
    return rows.finish(sources, "Terminal-Bench results")


def _model(source: Source) -> str:
    beside = source.path.with_name("run_metadata.json")
    if beside.is_file():
        found = Source(beside).document
        names = [found.get(key) for key in ("agent_name", "model_name")] if isinstance(found, dict) else []
        if told := [name for name in names if isinstance(name, str) and name]:
            return " ".join(told)
    return _DATE.sub("", source.folder.name)


FORMAT = Format(
    "terminal-bench",
    sniff,
    read,
    files="`results.json` of a run, with `run_metadata.json`",
    trials="attempts, runs",
    options="`model`, `errors`",
)
