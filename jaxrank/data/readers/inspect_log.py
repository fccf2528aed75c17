"""Inspect (inspect_ai) logs: ``.eval`` (a zip of JSON, deflate or Zstandard) and ``.json``.

Only the summaries of an ``.eval`` are read, not its samples. Score values "C", "I", "P", "N" are 1, 0, 0.5, 0; numbers
and booleans are themselves; of an object or list of scores one entry is chosen with ``scorer="name/key"``.
"""

from __future__ import annotations

import math
from typing import Any

from jaxrank.data.readers.columns import listed, shown
from jaxrank.data.readers.jsonl import parse
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.readers.zipped import Archive
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def sniff(source: Source) -> bool:
    if source.suffix == ".eval":
        return True
    return isinstance(source.first, dict) and {"version", "status", "eval"} <= source.keys


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model ``eval.model``, question ``id``, trial ``epoch``; logs of one model and task are further trials.

    Samples that failed are missing, as in Inspect, unless ``errors="zero"``. The scorer is ``scorer``, else the only
    one, else the headline of the log. A log whose status is not "success" is read, with a note.
    """
    rows = Rows(options)
    seen: set[str] = set()
    for source in sources:
        header, samples = open_log(source)
        task = str(field_of(header, "eval.task", source.name))
        identity = str(header["eval"].get("eval_id") or source.path)
        if identity in seen:
            rows.count("logs are copies of another log and were left out")
            continue
        seen.add(identity)
        model = options.model_of(source, str(field_of(header, "eval.model", source.name)), told=True)
        if header.get("status") != "success":
            rows.notes.append(f"{source.path.name} has status {shown(header.get('status'))}: it may lack samples")
        run = rows.run(model, task)
        scorer = choose_scorer(header, samples, source, options)
        for sample in samples:
            value = value_of(sample, scorer, source)
            if value is None:
                rows.count("samples have no score (an error or a limit)")
                value = options.failed("missing")
            rows.add(source, model, _key(sample, "id", source), (run, _key(sample, "epoch", source)), value, task)
    return rows.finish(sources, "Inspect logs")


def open_log(source: Source) -> tuple[dict, list[dict]]:
    """The header and one summary a sample and epoch."""
    if source.suffix != ".eval":
        document = source.document
        return document, list_of(document.get("samples") or [], dict, f"{source.name}: samples")
    with Archive(source.path) as archive:
        names = archive.names
        if "header.json" not in names or "summaries.json" not in names:
            started = any(name.startswith("_journal") for name in names)
            why = "the evaluation has not finished" if started else "it is no Inspect log"
            raise DataError(f"{source.name} has no header.json and summaries.json: {why}")
        header, summaries = (_json(archive.read(name), name, source) for name in ("header.json", "summaries.json"))
    if not isinstance(header, dict):
        raise DataError(f"{source.name}: header.json is not an object")
    return header, list_of(summaries, dict, f"{source.name}: summaries.json")


def _json(raw: bytes, name: str, source: Source) -> Any:
    where = f"{source.name}: {name}"
    try:
        return parse(raw.decode("utf-8-sig"), where)
    except UnicodeDecodeError:
        raise DataError(f"{where} is not UTF-8 text") from None


def _key(sample: dict, name: str, source: Source) -> Any:
    if name not in sample:
        raise DataError(f"{source.name}: a sample has no {name!r}")
    if name == "epoch" and not isinstance(sample[name], int):
        raise DataError(f"{source.name}: epoch {shown(sample[name])} is not a whole number")
    return sample[name]


def choose_scorer(header: dict, samples: list[dict], source: Source, options: LogOptions) -> str:
    names: dict[str, None] = {}
    for sample in samples:
        scores = sample.get("scores")
        names.update(dict.fromkeys(scores if isinstance(scores, dict) else ()))
    if options.scorer is not None:
        if options.scorer.split("/")[0] not in names:
            raise DataError(f"{source.name} has no scorer {options.scorer!r}; it has {listed(names)}")
        return options.scorer
    results = header.get("results")
    headline = results.get("headline") if isinstance(results, dict) else None
    chosen = headline.get("score") or headline.get("scorer") if isinstance(headline, dict) else None
    if isinstance(chosen, str) and chosen in names:
        return chosen
    if len(names) != 1:
        raise DataError(f"{source.name} has scorers {listed(names)}; choose one with scorer=...")
    return next(iter(names))


def value_of(sample: dict, scorer: str, source: Source) -> Any:
    name, _, key = scorer.partition("/")
    scores = sample.get("scores")
    score = scores.get(name) if isinstance(scores, dict) else None
    value = score.get("value") if isinstance(score, dict) else None
    if key and isinstance(value, dict):
        value = value.get(key)
    if isinstance(value, dict | list):
        keys = f" ({listed(value)})" if isinstance(value, dict) else ""
        raise DataError(f"{source.name}: scorer {name!r} gives several values{keys}; choose with scorer='{name}/...'")
    if isinstance(value, float) and math.isnan(value):
        return None
    return LETTERS.get(value, value) if isinstance(value, str) else value


FORMAT = Format(
    "inspect",
    sniff,
    read,
    files="`.eval`, `.json`",
    trials="epochs, logs",
    options="`scorer`, `errors`",
    suffixes=(".eval",),
)
