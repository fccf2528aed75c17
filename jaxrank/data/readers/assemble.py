"""Rows of (model, question, trial, score) -> ``Responses``: duplicates, missing scores, trial order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxrank.data.outcomes import MAX_CELLS
from jaxrank.data.readers.columns import Column, coded, decoded, score_of, shown, size_of
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError, one_line

LOW = "{} {} of -1 are scores, below the threshold; where they mean missing, leave them empty"


def row_number(row: int) -> str:
    """How a row (from 0) is named in messages: from 1, without the header."""
    return f"row {row + 1}"


def assemble(
    model: Column,
    question: Column,
    trial: Column | None,
    score: Column | np.ndarray,
    *,
    group: Column | None = None,
    weight: np.ndarray | None = None,
    lower: Any = None,
    missing: str = "observed",
    names: Sequence[str] = ("model", "question", "trial", "score"),
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    notes: Sequence[str] = (),
    where: str = "",
    place: Callable[[int], str] = row_number,
) -> Responses:
    """Build R from one row a trial.

    **group**, **weight**: of the question of each row; every row of a question says the same. **lower**, **missing**:
    see `jaxrank.Responses` (``lower_is_better``, ``missing``). **names** are the columns' names for messages, **where**
    a prefix such as "results.csv: ", **place** names a row.
    **levels**: the distinct scores in ascending order, where they are not 0..C; **threshold**: scores of at least
    this count as right. Models and questions keep their order of appearance. Rows without a score are missing cells;
    identical duplicates are dropped; both are counted in ``Responses.notes``.

    Raises `DataError` that names row and column for empty names, unknown scores and conflicting duplicates.
    """
    notes = list(notes)
    n_rows = size_of(score)
    if n_rows == 0:
        raise DataError(f"{where}there are no rows")
    for name, column in zip(names, (model, question), strict=False):
        check_names(column, name, where, place)
    scores = _scores(score, names[3], levels, threshold, notes, where, place)
    i, models = _named(model, "model", notes)
    m, questions = _named(question, "question", notes)
    observed = ~np.isnan(scores)
    if not observed.all():
        notes.append(f"{int((~observed).sum())} of {n_rows} rows have no score and are missing cells")
    cell = i.astype(np.int64) * len(questions) + m
    if trial is None:
        t, n_trials = _count_up(cell)
        if n_trials > 1:
            notes.append("there is no trial column: the rows of a cell are trials in order of appearance")
        keep = observed
    else:
        t, n_trials, keep = _labelled(cell, trial, i, scores, observed, names, models, questions, notes, where, place)
    shape = (len(models), len(questions), n_trials)
    if np.prod([float(s) for s in shape]) > MAX_CELLS:
        raise DataError(
            f"{where}{n_rows} rows make {shape[0]} models x {shape[1]} questions x {shape[2]} trials, more than "
            f"{MAX_CELLS} cells; check that {names[1]!r} and {names[2]!r} repeat between models"
        )
    R = np.full(shape, np.nan)
    R[i[keep], m[keep], t[keep]] = scores[keep]
    about = {
        "groups": None if group is None else _of_questions(group, m, questions, "group", where, place),
        "weights": None if weight is None else _of_questions(coded(weight), m, questions, "weight", where, place),
    }
    silent = np.asarray(np.isnan(R).all(axis=(0, 2)))
    if silent.any() and not silent.all():
        notes.append(f"{int(silent.sum())} questions have no score at all and were left out")
        R, questions = R[:, ~silent], [q for q, empty in zip(questions, silent, strict=True) if not empty]
        about = {
            k: None if v is None else [x for x, no in zip(v, silent, strict=True) if not no] for k, v in about.items()
        }
    about |= {"lower_is_better": lower, "missing": missing if missing != "observed" else None}
    given: dict[str, Any] = {key: value for key, value in about.items() if value is not None}
    return Responses(R, models, questions, levels=None if threshold is not None else levels, notes=notes, **given)


def _of_questions(
    column: Column, m: np.ndarray, questions: Sequence[str], what: str, where: str, place: Callable[[int], str]
) -> list[Any]:
    """The one value that all rows of a question have; `DataError` where they differ."""
    first = np.full(len(questions), -2)
    first[m[::-1]] = column.codes[::-1]
    if (bad := first[m] != column.codes).any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{where}{place(row)}: question {questions[m[row]]!r} has another {what} than in an earlier row"
        )
    return [column.values[c] if c >= 0 else None for c in first]


def check_scale(levels: Any, threshold: Any) -> None:
    """`OptionError` unless at most one of the two is given, in a readable form."""
    if levels is not None and threshold is not None:
        raise OptionError("give levels or threshold, not both")
    try:
        numbers = [float(v) for v in ([] if levels is None else list(levels) or [np.nan])]
        numbers += [np.nan] * isinstance(levels, bytes)
        numbers += [] if threshold is None else [float(threshold)]
    except (TypeError, ValueError, OverflowError):
        numbers = [np.nan]
    if not np.all(np.isfinite(numbers)):
        raise OptionError(f"levels={one_line(levels)}, threshold={one_line(threshold)}; they must be finite numbers")


def check_names(column: Column, name: str, where: str, place: Callable[[int], str]) -> None:
    """`DataError` for rows whose name is absent, empty, or no text that could be shown."""
    if (column.codes < 0).any():
        row = int(np.argmax(column.codes < 0))
        raise DataError(f"{where}{place(row)}, column {name!r}: empty ({int((column.codes < 0).sum())} such rows)")
    for c, v in enumerate(column.values):
        text = str(v)
        odd = (
            text.strip() == ""
            or "\0" in text
            or (not text.isascii() and any("\ud800" <= ch <= "\udfff" for ch in text))
        )
        if odd and (column.codes == c).any():
            what = "empty" if text.strip() == "" else f"{shown(v)} is no text"
            rows = int((column.codes == c).sum())
            raise DataError(f"{where}{place(column.first_row(c))}, column {name!r}: {what} ({rows} such rows)")


def _named(column: Column, kind: str, notes: list[str]) -> tuple[np.ndarray, list[str]]:
    """Codes by name as text (the number 7 and the text "7" are one name), in order of appearance."""
    place: dict[str, int] = {}
    new = np.array([place.setdefault(name_of(v), len(place)) for v in column.values], np.int64)
    note_twins(column, kind, notes)
    return new[column.codes], list(place)


def note_twins(column: Column, kind: str, notes: list[str]) -> None:
    """Note names that were made one, because they differ in outer blanks, and names that are one number."""
    written: dict[str, str] = {}
    numbers: dict[float, str] = {}
    blanks, twins = [], []
    for text in (v for v in column.values if isinstance(v, str)):
        name = text.strip()
        if (other := written.setdefault(name, text)) != text:
            blanks.append(f"{other!r} and {text!r}")
        elif (number := _number(name)) is not None and (other := numbers.setdefault(number, name)) != name:
            twins.append(f"{other!r} and {name!r}")
    for pairs, what in (
        (blanks, "differ in outer blanks and were read as one"),
        (twins, "are one number and two names: they are kept apart"),
    ):
        if pairs:
            more = f" ({len(pairs)} such pairs)" if len(pairs) > 1 else ""
            notes.append(f"{kind}s {pairs[0]} {what}{more}")


def _number(text: str) -> float | None:
    """The number that a text of digits is."""
    try:
        return float(text) if text[:1].isdigit() else None
    except ValueError:
        return None


def name_of(value: Any) -> str:
    """A name as text; 3.0, which frames with gaps make of 3, is "3"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _scores(
    score: Column | np.ndarray,
    name: str,
    levels: Any,
    threshold: Any,
    notes: list[str],
    where: str,
    place: Callable[[int], str],
) -> np.ndarray:
    """float64 per row, NaN where missing; every distinct value is read once. -1 is missing where the scores are
    0, 1, ..., and a score like any other where ``levels`` or a ``threshold`` say what the scores mean."""
    check_scale(levels, threshold)
    table = score.copy() if isinstance(score, np.ndarray) else _read_scores(score, name, where, place)
    rows: Any = slice(None) if isinstance(score, np.ndarray) else score.codes
    row = lambda c: c if isinstance(score, np.ndarray) else score.first_row(c)
    if (bad := np.isinf(table)).any():
        c = int(np.argmax(bad))
        raise DataError(f"{where}{place(row(c))}, column {name!r}: {table[c]:g} is not a score; it must be finite")
    if threshold is not None:
        if (low := table == -1).any():
            notes.append(LOW.format(int(low[rows].sum()), "rows"))
        table = np.where(np.isnan(table), np.nan, table >= threshold)
    elif levels is not None:
        if (strange := ~np.isnan(table) & ~np.isin(table, list(levels))).any():
            c = int(np.argmax(strange))
            raise DataError(
                f"{where}{place(row(c))}, column {name!r}: {table[c]:g} is not one of the levels {tuple(levels)}"
            )
    elif np.all(np.isnan(table) | ((table == np.floor(table)) & (table >= -1))):
        table[table == -1] = np.nan
    return table[rows]


def _read_scores(score: Column, name: str, where: str, place: Callable[[int], str]) -> np.ndarray:
    """The number behind each code, and NaN for code -1."""

    def wrong(c: int) -> str:
        return (
            f"{where}{place(score.first_row(c))}, column {name!r}: {shown(score.values[c])} is not a score "
            f"({int((score.codes == c).sum())} such rows); a score is true or false, a number, or a word such as "
            "correct, incorrect, pass, fail"
        )

    return decoded(score, score_of, wrong)


def _count_up(cell: np.ndarray) -> tuple[np.ndarray, int]:
    """Position of each row among the rows of its cell, and the largest number of rows in a cell."""
    order = np.argsort(cell, kind="stable")
    ordered = cell[order]
    start = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    length = np.diff(np.r_[start, len(cell)])
    position = np.empty(len(cell), np.int64)
    position[order] = np.arange(len(cell)) - np.repeat(start, length)
    return position, int(length.max())


def _labelled(
    cell: np.ndarray,
    trial: Column,
    i: np.ndarray,
    scores: np.ndarray,
    observed: np.ndarray,
    names: Sequence[str],
    models: list[str],
    questions: list[str],
    notes: list[str],
    where: str,
    place: Callable[[int], str],
) -> tuple[np.ndarray, int, np.ndarray]:
    """Trial index of each row, number of trials, and the rows kept (observed, first of identical duplicates)."""
    check_names(trial, names[2], where, place)
    label, n_labels = _ordered(trial)
    key = cell * n_labels + label
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    new = np.r_[True, ordered[1:] != ordered[:-1]]
    first = order[np.repeat(np.flatnonzero(new), np.diff(np.r_[np.flatnonzero(new), len(order)]))]
    rows = order[~new]
    if len(rows):
        a, b = scores[first[~new]], scores[rows]
        clash = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if clash.any():
            worst = np.flatnonzero(clash)[np.argmin(rows[clash])]
            row, other = int(rows[worst]), int(first[~new][worst])
            labels = (
                f"{models[i[row]]!r}, {questions[cell[row] % len(questions)]!r}, {trial.values[trial.codes[row]]!r}"
            )
            raise DataError(
                f"{where}{place(row)} contradicts {place(other)}: both are {', '.join(names[:3])} = {labels}, "
                f"with scores {b[worst]:g} and {a[worst]:g} ({int(clash.sum())} such rows); "
                f"rows of different runs need different values of {names[2]!r}"
            )
        by = np.argsort(rows)[:5]
        pairs = [f"{place(int(rows[k]))} repeats {place(int(first[~new][k]))}" for k in by]
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        notes.append(f"{len(rows)} rows were identical duplicates and were dropped: {', '.join(pairs)}{more}")
    keep = observed.copy()
    keep[rows] = False
    unique = np.zeros(len(key), bool)
    unique[order[new]] = True
    most = _count_up(cell[unique])[1]
    if n_labels > most and not _dense(trial, most) and not _shared(label, i, n_labels, len(models)):
        # Labels such as run identifiers belong to one model each: they order the trials of a cell but align nothing.
        rank = np.zeros(len(key), np.int64)
        rows = np.flatnonzero(unique)
        by_label = rows[np.argsort(label[rows], kind="stable")]
        rank[by_label], most = _count_up(cell[by_label])
        notes.append(
            f"{names[2]!r} has {n_labels} values that models do not share: they order the trials of a cell, "
            "trials of different models are not aligned"
        )
        return rank, most, keep
    return label, n_labels, keep


def _ordered(trial: Column) -> tuple[np.ndarray, int]:
    """Trial labels as 0, 1, ...: numbers ascend ("1" and "1.0" are one), others keep their order of appearance."""
    labels = [name_of(v) for v in trial.values]
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        numbers = []
    if numbers and np.all(np.isfinite(numbers)):
        found, rank = np.unique(numbers, return_inverse=True)
        return rank[trial.codes], len(found)
    texts: dict[str, int] = {}
    code = np.array([texts.setdefault(label, len(texts)) for label in labels], np.int64)
    return code[trial.codes], len(texts)


def _dense(trial: Column, most: int) -> bool:
    """True when the labels are whole numbers with few gaps, such as 0..N-1, for ``most`` trials in the fullest cell."""
    try:
        numbers = [float(v) for v in trial.values]
    except (TypeError, ValueError, OverflowError):
        return False
    return all(v.is_integer() for v in numbers) and max(numbers) - min(numbers) + 1 < 2 * most


def _shared(label: np.ndarray, i: np.ndarray, n_labels: int, n_models: int) -> bool:
    """True when every trial label occurs with two models at least (or there is one model)."""
    if n_models == 1:
        return True
    pairs = np.unique(label * n_models + i) // n_models
    return bool((np.bincount(pairs, minlength=n_labels) >= 2).all())
