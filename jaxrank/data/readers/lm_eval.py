"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl`` (``--log_samples``), beside ``results_<time>.json``.

With ``repeats`` above 1 the harness logs the texts of all trials but scores one of them. Three ways lead to R: several
runs with different seeds (files of one model are trials); ``rescore=``, which scores the logged texts; or a task whose
filter is ``take_first_k`` and whose ``process_results`` returns, beside the usual mean, a list with one score a repeat
(here as the metric "trials"), with an aggregation that averages its first entries::

    def process_results(doc, results):
        scores = [float(r == doc["answer"]) for r in results[0]]
        return {"exact_match": sum(scores) / len(scores), "trials": scores}

A file with repeats and none of these is refused: one score of several trials is not R.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from jaxrank.data.readers.columns import listed, shown
from jaxrank.data.readers.files import PACKED
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d\-.:]+)$")


def sniff(source: Source) -> bool:
    return {"doc_id", "resps", "filter"} <= source.keys


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model: ``results_<time>.json`` beside the samples, else the folder. Question: ``doc_id``, which must be the same
    document in all files (``doc_hash``). Trial: the repeat; files of one model and task are further trials."""
    rows = Rows(options)
    hashes: dict[tuple[str, str], Any] = {}
    seen: set[tuple[str, bytes]] = set()
    for source in sorted(sources, key=lambda s: (s.path.parent, _time(s))):
        content = hashlib.sha256(source.text.encode()).digest()
        if (source.stem, content) in seen:
            rows.count("files are copies of another run and were left out")
            continue
        seen.add((source.stem, content))
        samples = list_of(source.lines, dict, source.name)
        task = task_of(source)
        name, told = model_name(source)
        model = options.model_of(source, name, told=told)
        run = rows.run(model, task)
        chosen = choose_filter(samples, source, options)
        score = _scorer(chosen, source, options)
        for sample in chosen:
            question = field_of(sample, "doc_id", source.name)
            known = hashes.setdefault((task, str(question)), sample.get("doc_hash"))
            if known != sample.get("doc_hash"):
                raise DataError(
                    f"{source.name}: doc_id {shown(question)} of {task!r} is another document than in other files"
                )
            for trial, value in enumerate(score(sample)):
                rows.add(source, model, question, (run, trial), value, task)
        source.forget()
    return rows.finish(sources, "lm-eval samples")


def _time(source: Source) -> str:
    found = _NAME.match(source.stem)
    return found["time"] if found else source.path.name


def task_of(source: Source) -> str:
    found = _NAME.match(source.stem)
    return found["task"] if found else source.stem.removeprefix("samples_")


def model_name(source: Source) -> tuple[str, bool]:
    """The model's name, and whether the results file says it; else it is the folder's."""
    plain = source.path.with_name(f"results_{_time(source)}.json")
    results = next((p for p in (plain, *(plain.with_name(plain.name + end) for end in PACKED)) if p.exists()), None)
    document = None if results is None else Source(results).document
    name = document.get("model_name") if isinstance(document, dict) else None
    return (str(name), True) if name else (source.folder.name.replace("__", "/"), False)


def choose_filter(samples: list[dict], source: Source, options: LogOptions) -> list[dict]:
    names = list(dict.fromkeys(str(sample.get("filter")) for sample in samples))
    wanted = options.filter
    if wanted is None:
        if not names:
            raise DataError(f"{source.name} holds no samples")
        if len(names) > 1 and options.rescore is None:
            raise DataError(f"{source.name} has several filters, {listed(names)}; choose one with filter=...")
        wanted = names[0]
    elif wanted not in names:
        raise DataError(f"{source.name} has no filter {wanted!r}; it has {listed(names)}")
    return [sample for sample in samples if str(sample.get("filter")) == wanted]


def _scorer(samples: list[dict], source: Source, options: LogOptions) -> Callable[[dict], list[Any]]:
    """sample -> its scores, one a trial."""
    repeats = max((_repeats(sample) for sample in samples), default=1)
    if options.rescore is not None:
        return _rescorer(options.rescore, source)
    metric = options.metric or _choose_metric(samples[0], repeats, source)
    if not any(metric in sample for sample in samples):
        known = listed(_metrics(samples[0]))
        raise DataError(f"{source.name} has no metric {metric!r}; it has {known}")

    def score(sample: dict) -> list[Any]:
        value = sample.get(metric)
        if isinstance(value, list):
            if len(value) != _repeats(sample) or not all(isinstance(v, int | float) for v in value):
                raise DataError(
                    f"{source.name}: doc_id {shown(sample.get('doc_id'))}: metric {metric!r} is a list that is not "
                    "one score a trial; use rescore=... or another metric"
                )
            return value
        if repeats > 1:
            raise DataError(
                f"{source.name} was run with repeats: {repeats}, but {metric!r} scores only one of them; pass "
                "rescore=... to score the logged texts, run the task several times with repeats: 1 and other seeds, or "
                "log a metric with one score a repeat (see jaxrank.data.readers.lm_eval)"
            )
        return [value]

    return score


def _repeats(sample: dict) -> int:
    requests = sample.get("resps")
    first = requests[0] if isinstance(requests, list) and requests else None
    return len(first) if isinstance(first, list) else 1


def _metrics(sample: dict) -> list[str]:
    names = sample.get("metrics")
    return [str(name) for name in names] if isinstance(names, list) else []


def _choose_metric(sample: dict, repeats: int, source: Source) -> str:
    names = _metrics(sample)
    lists = [name for name in names if isinstance(sample.get(name), list)]
    for candidates in (lists if repeats > 1 else [], names):
        if len(candidates) == 1:
            return candidates[0]
    raise DataError(f"{source.name} has metrics {listed(names)}; choose one with metric=...")


def _rescorer(rescore: Any, source: Source) -> Callable[[dict], list[Any]]:
    """From a function (response, target, doc) -> score, or a regular expression whose first group is the answer."""
    if isinstance(rescore, str):
        try:
            pattern = re.compile(rescore)
        except re.error as error:
            raise OptionError(f"rescore={rescore!r} is not a regular expression: {error}") from None

        def judge(response: str, target: Any, doc: Any) -> Any:
            found = pattern.search(response)
            answer = (found[1] if pattern.groups else found[0]) if found else None
            return float(answer is not None and answer.strip() == str(target).strip())

    elif callable(rescore):
        judge = rescore
    else:
        raise OptionError("rescore must be a function (response, target, doc) -> score or a regular expression")

    def score(sample: dict) -> list[Any]:
        requests = sample.get("resps")
        texts = requests[0] if isinstance(requests, list) and len(requests) == 1 else None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DataError(
                f"{source.name}: doc_id {shown(sample.get('doc_id'))} has no generated texts that rescore could read "
                "(a task of likelihoods?)"
            )
        return [judge(text, sample.get("target"), sample.get("doc")) for text in texts]

    return score


FORMAT = Format(
    "lm-eval",
    sniff,
    read,
    files="`samples_<task>_<time>.jsonl`",
    trials="repeats, runs",
    options="`filter`, `metric`, `rescore`",
)
