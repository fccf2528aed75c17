"""EvalPlus and BigCodeBench: ``..._eval_results.json`` with ``{"eval": {task_id: [one entry a sample]}}``."""

from __future__ import annotations

from typing import Any

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

PASS = "pass"


def _entries(source: Source) -> dict[str, Any]:
    found = source.first.get("eval") if isinstance(source.first, dict) else None
    return found if isinstance(found, dict) else {}


def _holds(source: Source, key: str) -> bool:
    for samples in _entries(source).values():
        return isinstance(samples, list) and all(isinstance(s, dict) and key in s for s in samples)
    return False


def _rows(sources: list[Source], options: LogOptions, name: Any, passed: Any) -> Rows:
    rows = Rows(options)
    for source, model in zip(sources, options.models_of(sources, name, rows.notes), strict=True):
        run = rows.run(model)
        for question, samples in _entries(source).items():
            for trial, sample in enumerate(list_of(samples, dict, f"{source.name}: {shown(question)}")):
                rows.add(source, model, question, (run, trial), passed(sample, rows, source))
    return rows


def read_evalplus(sources: list[Source], options: LogOptions) -> Responses:
    """Model: the file's name before ``_eval_results``, else the folder. A sample passes when it passes the base tests
    and, unless ``tests="base"``, the plus tests; where only base tests were run, they decide (counted in the notes)."""

    def name(source: Source) -> str:
        stem = source.stem.removesuffix("eval_results").rstrip("_-.")
        return stem if stem not in ("", "samples") else source.folder.name

    def passed(sample: dict, rows: Rows, source: Source) -> float:
        base, plus = sample.get("base_status"), sample.get("plus_status")
        if not isinstance(base, str):
            raise DataError(f"{source.name}: a sample of {shown(sample.get('task_id'))} has no base_status")
        if plus is None and options.tests == "plus":
            rows.count("samples have base tests only, which decide")
        return float(base == PASS and (options.tests == "base" or plus in (PASS, None)))

    return _rows(sources, options, name, passed).finish(sources, "EvalPlus")


def read_bigcodebench(sources: list[Source], options: LogOptions) -> Responses:
    """Model: the file's name before ``--bigcodebench-``. Failures and time-outs are wrong, as in the tool;
    ``errors="missing"`` takes time-outs as missing."""

    def name(source: Source) -> str:
        return source.stem.split("--bigcodebench-")[0].removesuffix("_eval_results")

    def passed(sample: dict, rows: Rows, source: Source) -> float:
        status = sample.get("status")
        if not isinstance(status, str):
            raise DataError(f"{source.name}: a sample of {shown(sample.get('task_id'))} has no status")
        if status == "timeout":
            rows.count("samples ran out of time")
            return options.failed("zero")
        return float(status == PASS)

    return _rows(sources, options, name, passed).finish(sources, "BigCodeBench")


def _format(name: str, field: str, read: Any, options: str) -> Format:
    sniff = lambda source: _holds(source, field)
    return Format(name, sniff, read, files="`..._eval_results.json`", trials="samples of a task", options=options)


EVALPLUS = _format("evalplus", "base_status", read_evalplus, "`tests`")
BIGCODEBENCH = _format("bigcodebench", "status", read_bigcodebench, "")
