"""Completions of language models, one row each: what they answered, what it is worth, and what came with them.

Tables (csv, jsonl, parquet) in long form; jsonl of nested objects is read by dotted names, such as
``processed_results.is_correct``; samples of lm-eval, logs of Inspect and details of lighteval are recognised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxrank.data.readers import inspect_log, lighteval, lm_eval
from jaxrank.data.readers.columns import ALIASES, coded, listed, number_of, score_of, shown
from jaxrank.data.readers.discover import SUFFIXES, resolve
from jaxrank.data.readers.files import suffixes_of
from jaxrank.data.readers.formats import is_companion
from jaxrank.data.readers.jsonl import parse_objects
from jaxrank.data.readers.logs import LogOptions
from jaxrank.data.readers.parquet import open_parquet
from jaxrank.data.readers.reader import read_columns
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError

NAMES: dict[str, tuple[str, ...]] = {
    "model": ALIASES["model"],
    "question": (*("question_id", "question", "data_id"), *ALIASES["question"]),
    "trial": (*ALIASES["trial"], "completion"),
    "answer": (
        *("extracted_answer", "extracted", "prediction", "predicted", "pred", "model_answer", "parsed_answer"),
        *("answer", "response", "output", "output.text", "completion_text", "text"),
    ),
    "truth": ("truth", "target", "gold", "ground_truth", "correct_answer", "reference", "expected", "answer"),
    "correct": ("correct", "is_correct", "processed_results.is_correct", "passed"),
    "score": (
        *("confidence", "probability", "reward", "score", "logprob", "mean_logprob", "completion_avg_logprob"),
        "tokens.completion_avg_logprob",
    ),
}
"""Names that columns usually have, by what they hold; the first that a table has, and that holds nothing else, counts.
"""
NEEDED = ("question", "answer")
ORDER = ("model", "question", "trial", "answer", "truth", "correct", "score")


@dataclass
class Completions:
    """Rows of completions. **columns**: what else there is of numbers, None where a row has none."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)


def read_completions(path: Any, named: Mapping[str, str], model: Any = None) -> Completions:
    """The completions of files, folders or patterns. **named**: {role: column} of tables, for the roles of `NAMES`.
    **model**: the name of the model, for files that do not say it, or a function of the path.

    Each row has model, question, trial, answer, truth, correct, score, and ``columns``, the numbers of the row by name.
    """
    paths, notes = resolve(path)
    found = Completions(notes=notes)
    options = LogOptions(model=model)
    runs: Counter[tuple[str, str]] = Counter()
    searched = len(paths) > 1
    for file in paths:
        source = Source(file)
        if searched and is_companion(source):
            continue
        read = _tool(source)
        if read is not None:
            if named:
                raise DataError(f"{source.name} is a log of a tool: it has no columns to name")
            made = read(source, options)
        else:
            made = _table(source, named, options, found)
        for row in made:  # further logs of one model and task hold further completions
            row["trial"] = (runs[str(row["model"]), row["task"]], row["trial"])
        if read is not None:
            runs.update({(str(row["model"]), row["task"]) for row in made})
        found.rows += made
        source.forget()
    if len({row["task"] for row in found.rows}) > 1:
        for row in found.rows:
            row["question"] = f"{row['task']}/{row['question']}"
    if not found.rows:
        raise DataError(f"{listed(map(str, paths), 3)}: no completions were found")
    return found


def _tool(source: Source) -> Callable[[Source, LogOptions], list[dict[str, Any]]] | None:
    for format, read in ((lm_eval, _lm_eval), (inspect_log, _inspect), (lighteval, _lighteval)):
        if format.sniff(source):
            return read
    return None


def _row(model: Any, question: Any, trial: Any, answer: Any, **more: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(ORDER),
        "task": "",
        "columns": {},
        "model": model,
        "question": question,
        "trial": trial,
        "answer": answer,
        **more,
    }


def _lm_eval(source: Source, options: LogOptions) -> list[dict[str, Any]]:
    """The filtered responses of every repeat, and the target."""
    name, told = lm_eval.model_name(source)
    model = options.model_of(source, name, told=told)
    rows, task = [], lm_eval.task_of(source)
    for sample in lm_eval.choose_filter(source.lines, source, options):
        answers = sample.get("filtered_resps")
        first = answers[0] if isinstance(answers, list) and len(answers) == 1 else answers
        for trial, answer in enumerate(first if isinstance(first, list) else answers or []):
            rows.append(_row(model, sample.get("doc_id"), trial, answer, truth=sample.get("target"), task=task))
    return rows


def _inspect(source: Source, options: LogOptions) -> list[dict[str, Any]]:
    """What the scorer took for the answer, and its verdict; samples that failed have no answer."""
    header, samples = inspect_log.open_log(source)
    model = options.model_of(source, str(header["eval"].get("model")), told=True)
    scorer = inspect_log.choose_scorer(header, samples, source, options)
    rows, task = [], str(header["eval"].get("task"))
    for sample in samples:
        score = (sample.get("scores") or {}).get(scorer.split("/")[0]) or {}
        verdict = inspect_log.value_of(sample, scorer, source)
        named = sample.get("id"), sample.get("epoch"), score.get("answer")
        rows.append(_row(model, *named, correct=verdict, task=task))
    return rows


def _lighteval(source: Source, options: LogOptions) -> list[dict[str, Any]]:
    """The texts of a document's samples, and its gold answer; ``extract`` finds the answers in them."""
    model = options.model_of(source, lighteval.model_name(source))
    with open_parquet(source.path) as file:
        entries = file.read(columns=["doc", "model_response"]).to_pylist()
    rows, task = [], lighteval.task_of(source)
    for number, entry in enumerate(entries):
        doc, texts = entry["doc"], entry["model_response"].get("text") or []
        gold = doc.get("gold_index")
        gold = gold[0] if isinstance(gold, list) and gold else gold
        choices = doc.get("choices") or []
        truth = choices[gold] if isinstance(gold, int) and gold < len(choices) else None
        for trial, text in enumerate(texts):
            rows.append(_row(model, doc.get("id", number), trial, text, truth=truth, task=task))
    return rows


def _table(source: Source, named: Mapping[str, str], options: LogOptions, told: Completions) -> list[dict[str, Any]]:
    columns = _columns(source)
    place = _places(source, list(columns), named)
    if "answer" not in named and "truth" not in place:
        _right_answers(columns, place)
    told.found.update(place)
    size = len(next(iter(columns.values())))
    given = options.model_of(source, source.stem) if "model" not in place else None
    if given is not None and options.model is None:
        told.notes.append(f"{source.path.name} has no column of the model, which is called {given!r}")
    read: dict[str, list[Any]] = {role: columns[name] for role, name in place.items()}
    for role in ("correct", "score"):
        if role in read:
            read[role] = _numbers(source, place[role], read[role], score_of if role == "correct" else number_of)
    further = {
        name: made
        for name, values in columns.items()
        if name not in place.values() and (made := _maybe_numbers(values)) is not None
    }
    rows = []
    for k in range(size):
        row = {role: values[k] for role, values in read.items()}
        row |= {"model": given} if given is not None else {}
        row.setdefault("trial", k)
        kept = {name: values[k] for name, values in further.items()}
        rows.append({**dict.fromkeys(ORDER), "task": "", **row, "columns": kept})
    return rows


def _columns(source: Source) -> dict[str, list[Any]]:
    """All columns of a table as lists, nested objects of jsonl by dotted names."""
    kind = SUFFIXES.get(suffixes_of(source.path)[1])
    if kind == "csv" or kind == "parquet":
        made = read_columns(source.path, list)
        return {name: _decoded(column) for name, column in made.items()}
    if kind != "jsonl" and not source.is_json:
        raise DataError(f"{source.name} is no csv, jsonl or parquet file, and no log that is known")
    rows = [dict(_flat(row)) for row in parse_objects(source.text, source.name)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _decoded(column: Any) -> list[Any]:
    column = coded(column)
    values = [*column.values, None]
    return [values[c] for c in column.codes]


def _flat(row: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """Names and values of an object; of lists of numbers their mean, sum and least."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list):
            known = [v for v in value if isinstance(v, int | float) and not isinstance(v, bool)]
            if known:
                yield from ((f"{before}{name}.{what.__name__}", float(what(known))) for what in (np.mean, sum, min))
        else:
            yield f"{before}{name}", value


def _places(source: Source, names: list[str], named: Mapping[str, str]) -> dict[str, str]:
    """{role: column} of a table."""
    by_name = {name.casefold(): name for name in reversed(names)}
    place: dict[str, str] = {}
    for role in ORDER:
        if role in named:
            if named[role] not in names:
                raise DataError(f"{source.name} has no column {named[role]!r}; it has {listed(names)}")
            place[role] = named[role]
    for role in ORDER:
        taken = set(place.values())
        usual = (by_name[word] for word in NAMES[role] if word in by_name and by_name[word] not in taken)
        if role not in named and (name := next(usual, None)) is not None:
            place[role] = name
    for role in NEEDED:
        if role not in place:
            raise DataError(f"{source.name} has no column of the {role}; name it with {role}=...: {listed(names)}")
    return place


def _right_answers(columns: Mapping[str, list[Any]], place: dict[str, str]) -> None:
    """A column "answer" that is the same in all completions of each question, beside a column of texts, holds the right
    answers."""
    others = [name for name in columns if name != place["answer"] and name.casefold() in NAMES["answer"]]
    if place["answer"].casefold() != "answer" or not others:
        return
    pairs = set(zip(map(str, columns[place["question"]]), map(str, columns[place["answer"]]), strict=True))
    if len(pairs) == len({question for question, _ in pairs}) < len(columns[place["question"]]):
        place["truth"], place["answer"] = (
            place["answer"],
            min(others, key=lambda n: NAMES["answer"].index(n.casefold())),
        )


def _numbers(source: Source, name: str, values: list[Any], read: Callable[[Any], float]) -> list[float]:
    known: dict[Any, float] = {}
    for k, value in enumerate(values):
        if value in known:
            continue
        try:
            known[value] = float("nan") if value is None else read(value)
        except ValueError:
            raise DataError(f"{source.name}: row {k + 1}, column {name!r}: {shown(value)} is not a number") from None
    return [known[value] for value in values]


def _maybe_numbers(values: list[Any]) -> list[float] | None:
    """The numbers of a column, None where it holds anything else."""
    try:
        known = {value: float("nan") if value is None else number_of(value) for value in dict.fromkeys(values)}
    except (ValueError, TypeError):
        return None
    return [known[value] for value in values] if any(v == v for v in known.values()) else None
