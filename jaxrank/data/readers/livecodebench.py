"""LiveCodeBench: ``<scenario>_<n>_<temperature>_eval_all.json`` (a list of grades a question) and the site's means."""

from __future__ import annotations

import re
from typing import Any

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, from_means, list_of, whole
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

_NAME = re.compile(r"(?:Scenario\.)?(?P<scenario>[A-Za-z]+)_\d+_[\d.]+_eval_all$")
SITE_TRIALS = 10
"""Samples a question behind a percentage of the site, but for models that are named "... (n=1)"."""


def sniff(source: Source) -> bool:
    first = source.first
    if isinstance(first, list):
        return bool(first) and isinstance(first[0], dict) and {"question_id", "graded_list"} <= first[0].keys()
    return "graded_list" in source.keys or ("performances" in source.keys and "models" in source.keys)


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model: the folder of ``..._eval_all.json``, else the file's name. Trial: position in ``graded_list``."""
    if any("performances" in source.keys for source in sources):
        return _site(sources, options)
    rows = Rows(options)
    name = lambda source: source.folder.name if _NAME.match(source.stem) else source.stem
    for source, model in zip(sources, options.models_of(sources, name, rows.notes), strict=True):
        found = _NAME.match(source.stem)
        task = found["scenario"] if found else ""
        run = rows.run(model, task)
        for entry in list_of(source.document, dict, source.name):
            question = field_of(entry, "question_id", source.name)
            grades = entry.get("graded_list")
            if not isinstance(grades, list):
                raise DataError(f"{source.name}: question {shown(question)} has no graded_list")
            for trial, grade in enumerate(grades):
                rows.add(source, model, question, (run, trial), grade, task)
    return rows.finish(sources, "LiveCodeBench")


def _site(sources: list[Source], options: LogOptions) -> Responses:
    """Counts from percentages: successes out of 10, or out of 1 for models named "(n=1)", or out of ``n``."""
    cells: dict[tuple[str, str], tuple[float, float]] = {}
    for source in sources:
        for entry in list_of(
            field_of(source.document, "performances", source.name), dict, f"{source.name}: performances"
        ):
            model, question = (_entry(entry, key, str | int, source) for key in ("model", "question_id"))
            percent = _entry(entry, "pass@1", int | float, source)
            n = options.n or (1 if "(n=1)" in str(model) else SITE_TRIALS)
            key = (str(model), str(question))
            cell = (whole(float(percent) / 100, n, f"{source.name}: {shown(model)}, {shown(question)}"), float(n))
            if cells.setdefault(key, cell) != cell:
                raise DataError(f"{source.name}: {shown(model)}, {shown(question)} has two different results")
    return from_means(cells, sources, "LiveCodeBench performances", [])


def _entry(entry: dict, key: str, kind: Any, source: Source) -> Any:
    if not isinstance(entry.get(key), kind):
        raise DataError(f"{source.name}: an entry of performances has no {key!r}")
    return entry[key]


FORMAT = Format(
    "livecodebench",
    sniff,
    read,
    files="`..._eval_all.json`, the means of the site",
    trials="`graded_list`",
    options="`model`, `n`",
)
