"""SWE-bench: folders of the experiments repository, run reports (schema 2), and the leaderboards file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jaxrank.data.readers.columns import listed, shown
from jaxrank.data.readers.files import text_of
from jaxrank.data.readers.jsonl import parse
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError

_DATE = re.compile(r"^\d{8}_")
_FAILED = {"error_ids": "ended in an error", "incomplete_ids": "were not submitted"}
_EXPERIMENT = ("no_generation", "no_logs", "resolved")


def read_experiments(sources: list[Source], options: LogOptions) -> Responses:
    """``evaluation/<split>/<date>_<system>/results/results.json``. Model: the folder without its date; folders that
    differ in the date alone are trials of one model. Instances that a file does not list are not solved, so the
    list of all instances of the split is needed: ``questions=`` (a list, or a file with one identifier a line or a
    JSON list), by default all instances that any file lists."""
    rows = Rows(options)
    lists = [(source, {key: _ids(source, key) for key in _EXPERIMENT}) for source in sources]
    known = _split(options.questions)
    if known is None:
        known = sorted({instance for _, found in lists for ids in found.values() for instance in ids})
        rows.notes.append(
            f"the {len(known)} instances that some file lists were taken as the whole split; if no system solved some "
            "instances they are missing here: pass questions=..."
        )
    for source, found in sorted(lists, key=lambda item: str(item[0].path)):
        folder = source.folder
        folder = folder.parent if folder.name == "results" else folder
        model = options.model_of(source, _DATE.sub("", folder.name))
        strangers = set().union(*found.values()) - set(known)
        if strangers:
            raise DataError(
                f"{source.name} of {folder.name} lists {shown(min(strangers))}, which is not among questions"
            )
        run = rows.run(model)
        resolved, lost = set(found["resolved"]), set(found["no_logs"])
        for instance in known:
            if instance in lost and instance not in resolved:
                rows.count("instances have no logs")
                rows.add(source, model, instance, (run, 0), options.failed("zero"))
            else:
                rows.add(source, model, instance, (run, 0), float(instance in resolved))
    return rows.finish(sources, "SWE-bench experiments")


def read_reports(sources: list[Source], options: LogOptions) -> Responses:
    """``<model>.<run_id>.json``, also with ``resolved`` for ``resolved_ids`` as Multi-SWE-bench writes it.

    Resolved is 1; unresolved and empty patches are 0. Instances with errors and instances that were never submitted
    are 0, as in the benchmark's rate, which is resolved of total; those of failed infrastructure are missing;
    ``errors`` overrides these three."""
    rows = Rows(options)
    sources = sorted(sources, key=lambda s: str(s.path))
    name = lambda source: source.stem.rpartition(".")[0] or source.stem
    for source, model in zip(sources, options.models_of(sources, name, rows.notes), strict=True):
        run = rows.run(model)
        infra = set(_ids(source, "infra_failure_ids", required=False))
        resolved = "resolved_ids" if "resolved_ids" in source.keys else "resolved"
        groups = (
            (resolved, 1.0),
            ("unresolved_ids", 0.0),
            ("empty_patch_ids", 0.0),
            ("error_ids", options.failed("zero")),
            ("incomplete_ids", options.failed("zero")),
        )
        done: set[str] = set()
        for key, score in groups:
            for instance in _ids(source, key, required=key == resolved):
                if instance in done:
                    continue
                done.add(instance)
                value = options.failed("missing") if instance in infra and score == 0 else score
                if key in _FAILED:
                    rows.count(f"instances {_FAILED[key]} and are {'missing' if value != value else 'not solved'}")
                rows.add(source, model, instance, (run, 0), value)
    return rows.finish(sources, "SWE-bench reports")


def read_leaderboards(sources: list[Source], options: LogOptions) -> Responses:
    """``leaderboards.json`` of the site: entries with ``per_instance_details``. ``metric`` names one leaderboard."""
    rows = Rows(options)
    for source in sources:
        boards = list_of(field_of(source.document, "leaderboards", source.name), dict, f"{source.name}: leaderboards")
        names = [str(board.get("name")) for board in boards]
        if options.metric is not None and options.metric not in names:
            raise DataError(f"{source.name} has no leaderboard {options.metric!r}; it has {listed(names)}")
        for name, board in zip(names, boards, strict=True):
            if options.metric not in (None, name):
                continue
            for entry in list_of(board.get("results") or [], dict, f"{source.name}: results of {name}"):
                details = entry.get("per_instance_details")
                if not isinstance(details, dict):
                    rows.count("entries have no results by instance and were left out")
                    continue
                model = str(entry.get("name"))
                run = rows.run(model, name)
                for instance, detail in details.items():
                    resolved = detail.get("resolved") if isinstance(detail, dict) else None
                    rows.add(source, model, instance, (run, 0), resolved, name)
    return rows.finish(sources, "SWE-bench leaderboards")


def _ids(source: Source, key: str, required: bool = True) -> list[str]:
    document = source.document
    if key not in document and not required:
        return []
    return list_of(field_of(document, key, source.name), str, f"{source.name}: {key}")


def _split(questions: Any) -> list[str] | None:
    if questions is None:
        return None
    if isinstance(questions, str | Path):
        path = Path(questions)
        if not path.is_file():
            raise OptionError(f"questions={str(questions)!r}: there is no such file")
        text = text_of(path)
        questions = parse(text, path.name) if text.lstrip().startswith("[") else text.split()
    if not isinstance(questions, Iterable):
        raise OptionError("questions must be a list of identifiers or a file that holds them")
    found = list(dict.fromkeys(str(q) for q in questions))
    if not found:
        raise OptionError("questions is empty")
    return found


EXPERIMENTS = Format(
    "swebench-experiments",
    lambda s: {"no_generation", "resolved"} <= s.keys,
    read_experiments,
    files="`results/results.json` of a system",
    trials="folders",
    options="`questions` (all identifiers of the split), `errors`",
)
REPORTS = Format(
    "swebench-report",
    lambda s: "total_instances" in s.keys and ("resolved_ids" in s.keys or {"resolved", "unresolved_ids"} <= s.keys),
    read_reports,
    files="`<model>.<run>.json` of SWE-bench and Multi-SWE-bench; what was not submitted is not solved",
    trials="runs",
    options="`errors`",
)
LEADERBOARDS = Format(
    "swebench-leaderboards",
    lambda s: "leaderboards" in s.keys,
    read_leaderboards,
    files="the leaderboards file of the site",
    trials="-",
    options="`metric` (one leaderboard)",
)
