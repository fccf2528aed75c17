"""``read_answers``: files of completions as `Answers`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jaxrank.data.labels import Normalizer, normalizer, plain
from jaxrank.data.names import name_list
from jaxrank.data.readers.assemble import name_of
from jaxrank.data.readers.columns import code, listed, shown
from jaxrank.data.readers.completions import Completions, read_completions
from jaxrank.errors import DataError, OptionError, one_line
from jaxrank.evaluation.answers.table import Answers

Extract = str | Callable[[str], Any] | None


def read_answers(
    path: Any,
    *,
    model: Any = None,
    model_column: str | None = None,
    question_column: str | None = None,
    trial_column: str | None = None,
    answer_column: str | None = None,
    truth_column: str | None = None,
    correct_column: str | None = None,
    score_column: str | None = None,
    extract: Extract = None,
    normalize: str | Normalizer = "number",
) -> Answers:
    """`Answers` of files of completions: a table in long form (csv, jsonl, parquet; a row a completion), samples of
    lm-eval, logs of Inspect, details of lighteval.

    **path**: a file, a folder, a pattern or a list of these.  **..._column**: columns of a table where they are not
    called as usual; of jsonl with nested objects by dotted names (``processed_results.is_correct``).  **model**: the
    name of the model of files that do not say it, or a function of the path.
    **extract**: how an answer is found in a text: "boxed" takes the last ``\\boxed{...}``, a regular expression its
    last match (the first group, where it has one), a function what it returns; None takes the column as it is.
    **normalize**: which answers are the same, as of `Answers`.

    The first score column that there is (confidence, reward, logprob, ...) becomes ``answers.scores``; other numbers
    are kept as ``answers.columns``, lists of numbers by their mean, sum and least (``tokens.logprobs.mean``), and
    `Answers.scored_by` makes one of them the score. Where the cells have unequal numbers of completions, the first so
    many of each are read as the shortest has; a note says how many were left out.

    `DataError` for files without the columns, two rows of one completion, models without some of the questions, and
    right answers of one question that differ.
    """
    named = {
        "model": model_column,
        "question": question_column,
        "trial": trial_column,
        "answer": answer_column,
        "truth": truth_column,
        "correct": correct_column,
        "score": score_column,
    }
    found = read_completions(path, {role: name for role, name in named.items() if name is not None}, model)
    return _assembled(found, _extractor(extract), normalize)


def _assembled(found: Completions, extract: Callable[[Any], Any], normalize: str | Normalizer) -> Answers:
    rows, notes = found.rows, [*found.notes, *_told(found)]
    models, questions = (_codes([row[role] for row in rows], role) for role in ("model", "question"))
    shape = (len(models[1]), len(questions[1]))
    cell = models[0] * shape[1] + questions[0]
    order = np.lexsort((_ranks([row["trial"] for row in rows]), cell))
    counts = np.bincount(cell, minlength=shape[0] * shape[1])
    _check(rows, cell, counts, models[1], questions[1])
    size = int(counts.min())
    if counts.max() > size:
        left = int((counts - size).sum())
        notes.append(f"cells have {size} to {counts.max()} completions: the first {size} of each are read, {left} not")
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    kept = order[(start[:, None] + np.arange(size)[None]).ravel()].reshape(*shape, size)
    labels = np.empty((*shape, size), object)
    for place in np.ndindex(labels.shape):
        labels[place] = extract(rows[int(kept[place])]["answer"])
    pick = lambda of: np.array([of(rows[k]) for k in kept.ravel()], float).reshape(kept.shape)
    if rows and all(plain(label) is None for label in labels.flat):
        where = f"column {found.found['answer']!r}" if "answer" in found.found else "the files"
        raise DataError(
            f"none of the {labels.size:,} completions has an answer in {where}: say where it stands with extract=... "
            "(boxed, or a regular expression) and answer_column=..."
        )
    verdicts, scores = (
        pick(lambda row, role=role: np.nan if row[role] is None else row[role])
        if any(row[role] is not None for row in rows)
        else None
        for role in ("correct", "score")
    )
    if scores is not None and (lost := ~np.isfinite(scores) & (labels != np.array(None))).any():
        notes.append(f"{int(lost.sum())} completions have no score: scores are left out")
        scores = None
    truth = None if verdicts is not None else _truth(rows, questions, normalize)
    names = dict.fromkeys(name for row in rows for name in row["columns"])
    columns = {name: pick(lambda row, name=name: row["columns"].get(name, np.nan)) for name in names}
    return Answers(
        labels,
        scores,
        truth,
        correct=verdicts,
        models=models[1],
        questions=questions[1],
        normalize=normalize,
        columns=columns,
        notes=notes,
    )


def _told(found: Completions) -> list[str]:
    """What the columns of a table were taken for."""
    said = [f"{role} {name!r}" for role, name in found.found.items() if role != name]
    return [f"columns read as {', '.join(said)}"] if said else []


def _codes(values: list[Any], role: str) -> tuple[np.ndarray, list[str]]:
    column = code([None if value is None else name_of(value) for value in values])
    if (column.codes < 0).any():
        raise DataError(f"{int((column.codes < 0).sum())} completions have no {role}")
    return column.codes, [str(value) for value in column.values]


def _ranks(trials: list[Any]) -> np.ndarray:
    """The order of completions: by run, then numbers by size, else as they come."""
    numbers: list[tuple[int, float]] = []
    for run, label in trials:
        try:
            numbers.append((run, float(label)))
        except (TypeError, ValueError):
            return np.argsort(np.argsort([run for run, _ in trials], kind="stable"), kind="stable")
    keys = np.array(numbers)
    return np.lexsort((np.arange(len(keys)), keys[:, 1], keys[:, 0])).argsort()


def _check(
    rows: list[dict[str, Any]], cell: np.ndarray, counts: np.ndarray, models: list[str], questions: list[str]
) -> None:
    seen = Counter(zip(cell.tolist(), [shown(row["trial"]) for row in rows], strict=True))
    if twice := [key for key, n in seen.items() if n > 1]:
        i, m = divmod(twice[0][0], len(questions))
        raise DataError(
            f"{len(twice)} completions stand twice, the first of model {models[i]!r}, question {questions[m]!r}; name "
            "the column that tells completions apart with trial_column=..."
        )
    if not counts.all():
        lacking = np.flatnonzero((counts.reshape(len(models), -1) == 0).any(axis=1))
        raise DataError(
            f"{int((counts == 0).sum())} questions have no completion of some models ({name_list(models, lacking)}); "
            "read the questions that all models have, or the models one by one"
        )


def _truth(
    rows: list[dict[str, Any]], questions: tuple[np.ndarray, list[str]], normalize: str | Normalizer
) -> list[Any] | None:
    if all(row["truth"] is None for row in rows):
        return None
    same = normalizer(normalize)
    truth: dict[int, Any] = {}
    for m, row in zip(questions[0].tolist(), rows, strict=True):
        value = row["truth"]
        if plain(value) is None:
            continue
        if m in truth and same(truth[m]) != same(value):
            where = f"question {questions[1][m]!r} has two right answers, {shown(truth[m])} and {shown(value)}"
            raise DataError(f"{where}; name the column of the right one with truth_column=...")
        truth.setdefault(m, value)
    if lacking := [name for m, name in enumerate(questions[1]) if m not in truth]:
        raise DataError(f"{len(lacking)} questions have no right answer: {listed(lacking, 5)}")
    return [truth[m] for m in range(len(questions[1]))]


def _extractor(extract: Extract) -> Callable[[Any], Any]:
    if extract is None:
        return lambda text: text
    find = boxed if extract == "boxed" else extract if callable(extract) else partial(_last, _pattern(extract))
    return lambda text: None if plain(text) is None else find(str(text))


def _pattern(extract: str) -> re.Pattern[str]:
    try:
        return re.compile(extract)
    except (re.error, TypeError) as error:
        raise OptionError(f"extract={one_line(extract)} is not a regular expression: {error}") from None


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    """The last match of a pattern in a text: its first group, where it has one."""
    matches = list(pattern.finditer(text))
    return (matches[-1][1] if pattern.groups else matches[-1][0]) if matches else None


def boxed(text: str) -> str | None:
    """What the last ``\\boxed{...}`` of a text holds, braces within it in pairs; None where there is none.

    >>> boxed("so \\\\boxed{2}, no: \\\\boxed{\\\\frac{1}{2}}.")
    '\\\\frac{1}{2}'
    """
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 0, start + len("\\boxed{")
    for place in range(begin - 1, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if not depth:
            return text[begin:place].strip() or None
    return None
