"""Columns of a table of results: which is which, and their values as codes into a short list."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.names import nearest
from jaxrank.errors import DataError

ALIASES: dict[str, tuple[str, ...]] = {
    "model": (
        *("model", "model_name", "model_id", "llm", "llm_name", "system", "system_name", "alias", "agent", "method"),
        *("method_name", "framework", "classifier", "classifier_name", "algorithm", "algorithm_name", "estimator"),
        *("learner", "approach"),
    ),
    "question": (
        *("question_id", "question", "item_id", "item", "problem_id", "problem", "prompt_id", "query_id"),
        *("example_id", "task_id", "instance_id", "doc_id", "sample_id", "qid", "id", "task", "task_name", "dataset"),
        *("dataset_name", "benchmark", "instruction"),
    ),
    "trial": (
        *("trial", "trial_id", "epoch", "fold", "seed", "run", "run_number", "run_id", "repeat", "repetition"),
        *("attempt", "sample", "replicate"),
    ),
    "score": (
        *("correct", "is_correct", "score", "result", "acc", "accuracy", "passed", "resolved", "reward"),
        *("score_binarized", "success", "exact_match", "metric_error", "value", "grade", "f1", "auc", "error_rate"),
        *("error", "loss", "rmse", "mae", "logloss", "log_loss", "perplexity"),
    ),
    "weight": ("weight", "question_weight", "item_weight"),
    "group": ("group", "task", "task_name", "dataset", "dataset_name", "benchmark", "subset", "subject", "suite"),
    "count": ("count", "counts", "n_battles"),
    "voter": ("voter", "judge", "annotator", "user_id", "voter_id", "judge_id", "worker", "worker_id", "user"),
    "category": ("category", "category_tag", "language", "surface"),
    "order": ("order", "order_id", "list", "list_id", "ranking", "ranking_id", "ballot", "ballot_id"),
    "place": ("place", "rank"),
    "time": ("time", "timestamp", "tstamp", "date", "datetime", "match_date", "tourney_date", "created_at"),
}
"""Names that columns usually have, by what they hold; the first that a table has is taken."""
LOWER = ("error", "loss", "logloss", "rmse", "mse", "mae", "perplexity", "ppl", "wer", "cer", "regret", "err")
"""Words in the names of scores that are better when they are lower."""

_TRUE = ("true", "t", "yes", "y", "correct", "c", "right", "pass", "passed", "success", "solved", "resolved", "ok")
_FALSE = ("false", "f", "no", "n", "incorrect", "i", "wrong", "fail", "failed", "failure", "unsolved", "unresolved")
_MISSING = ("", "na", "n/a", "nan", "null", "none", "missing", "-")
WORDS: dict[str, float] = {
    **dict.fromkeys(_TRUE, 1.0),
    **dict.fromkeys(_FALSE, 0.0),
    **dict.fromkeys(_MISSING, math.nan),
}


def shown(value: Any, limit: int = 60) -> str:
    """A value for messages: on one line, and not longer than the message."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def listed(names: Iterable[Any], limit: int = 40) -> str:
    """Names of columns for messages: ``a, b, c and 3 more``, on one line."""
    names = list(names)
    texts = [t if t.isprintable() and len(t) <= 60 else shown(t) for t in map(str, names[:limit])]
    return (", ".join(texts) or "none") + (f" and {len(names) - limit} more" if len(names) > limit else "")


class Column(NamedTuple):
    """One column: ``values[codes[row]]`` is the value of a row; code -1 is a null. ``values`` are distinct."""

    codes: np.ndarray
    values: list[Any]

    def first_row(self, code: int) -> int:
        """The first row (from 0) that holds the value of this code."""
        return int(np.argmax(self.codes == code))


class Peek(NamedTuple):
    """What a table begins with: the names of its columns, and the first values of each. **whole**: its rows, where they
    were all read for that."""

    names: list[str]
    head: dict[str, list[Any]]
    whole: list[dict[str, Any]] | None = None

    def shows(self, name: str) -> str:
        """A column for messages: its name and first values."""
        values = list(dict.fromkeys(map(str, self.head.get(name, []))))
        first = [v if v.isprintable() and len(v) <= 16 else shown(v, 19) for v in values[:3]]
        return f"{listed([name])} ({', '.join(first)}{', ...' if len(values) > 3 else ''})"

    def scores(self, name: str) -> bool:
        """Whether the first values can be read as scores (and some are there)."""
        return _all(self.head.get(name, []), score_of)

    def numbers(self, name: str) -> bool:
        """Whether the first values are numbers and not words or truth values."""
        return _all(self.head.get(name, []), number_of)


def _all(values: list[Any], read: Any) -> bool:
    found = []
    for value in values:
        try:
            found.append(read(value))
        except ValueError:
            return False
    return any(number == number for number in found)


class _Places(dict):
    """Numbers new keys 0, 1, ... in order of appearance."""

    def __missing__(self, key: Any) -> int:
        self[key] = place = len(self)
        return place


class Coder:
    """Builds a `Column` from batches of Python values, in order of appearance."""

    def __init__(self) -> None:
        self._places = _Places()
        self._batches: list[np.ndarray] = []

    def add(self, values: Sequence[Any]) -> None:
        """Append a batch of values. True, 1 and 1.0 are one value; values that cannot be hashed become text."""
        try:
            codes = np.fromiter(map(self._places.__getitem__, values), np.int64, len(values))
        except TypeError:
            codes = np.fromiter(map(self._places.__getitem__, map(_hashable, values)), np.int64, len(values))
        self._batches.append(codes)

    def column(self) -> Column:
        codes = np.concatenate(self._batches) if self._batches else np.zeros(0, np.int64)
        values = list(self._places)
        nulls = [i for i, v in enumerate(values) if _null(v)]
        if nulls:
            codes[np.isin(codes, nulls)] = -1
        return Column(codes, values)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        try:
            return repr(value)
        except RecursionError:
            raise DataError("a value is nested too deeply to be read") from None
    return value


def code(values: Iterable[Any]) -> Column:
    """A `Column` from any Python values."""
    coder = Coder()
    coder.add(values if isinstance(values, list | tuple) else list(values))
    return coder.column()


def code_arrow(array: Any, clean: bool = False) -> Column:
    """A `Column` from a pyarrow Array or ChunkedArray, by arrow's own dictionary encoding. **clean**: arrow made the
    dictionary, whose entries are used and distinct."""
    import pyarrow as pa

    if pa.types.is_nested(array.type) or pa.types.is_null(array.type):
        return code(array.to_pylist())
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        # Text that was written without saying that it is text.
        try:
            array = array.cast(pa.string())
        except pa.ArrowInvalid:
            raise DataError("a column of bytes is not UTF-8 text") from None
    if not pa.types.is_dictionary(array.type):
        array, clean = array.dictionary_encode(), pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
    raw = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if clean:
        return Column(raw, array.dictionary.to_pylist())
    # A dictionary may repeat values, hold unused ones or nulls: code its few entries again.
    entries = code(array.dictionary.to_pylist())
    codes = np.append(entries.codes, -1)[raw]
    used = np.flatnonzero(np.bincount(codes + 1, minlength=len(entries.values) + 1)[1:])
    if len(used) == len(entries.values):
        return Column(codes, entries.values)
    place = np.full(len(entries.values) + 1, -1)
    place[used] = np.arange(len(used))
    return Column(place[codes], [entries.values[i] for i in used])


def numbers_arrow(array: Any) -> Column | np.ndarray:
    """float64 from a pyarrow array of numbers, or of text that holds nothing but numbers and empty fields; else a
    `Column`, whose words are read one by one."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            array = compute.if_else(compute.equal(array, ""), pa.scalar(None, array.type), array)  # pyright: ignore
        elif not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
            return code_arrow(array)
        return array.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return code_arrow(array)


def _null(value: Any) -> bool:
    # pandas.NA and NaT are not equal to themselves in a way that bool() can read.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def find(role: str, name: str | None, available: Sequence[str], where: str = "") -> str | None:
    """The column that plays ``role``: the one named by the caller, else the first alias (ignoring case and blanks);
    None where there is none. `DataError` that lists the columns where the named one is absent."""
    if name is not None and name in available:
        return name
    plain = {str(c).strip().lower(): c for c in reversed(list(available))}
    if name is None or name == role:
        return next((plain[alias] for alias in ALIASES[role] if alias in plain), None)
    near = nearest(name, available)
    meant = f"did you mean {near}? The columns" if near else "the columns"
    raise DataError(f"{where}no column {name!r} for {role}; {meant} are {listed(available)}")


def score_of(value: Any) -> float:
    """The score of one value, NaN where missing (null or a word such as "NA"); ValueError where unknown.

    Accepted: booleans, numbers, numbers as text, and the words of `WORDS` in any case
    (true, yes, correct, c, pass, passed, resolved, ... and their opposites).
    """
    if _null(value):
        return math.nan
    if isinstance(value, str):
        word = value.strip().lower()
        number = WORDS[word] if word in WORDS else float(word.replace("_", " "))  # float() takes "1_0" for 10
    else:
        try:
            number = float(value)  # numbers of any kind, also Decimal and Fraction
        except (TypeError, OverflowError):
            raise ValueError("not a score") from None
    if math.isinf(number):
        raise ValueError("infinite")
    return number


def number_of(value: Any) -> float:
    """The same for numbers alone: words and truth values are no numbers."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and value.strip().lower() in (*_TRUE, *_FALSE)):
        raise ValueError("not a number")
    return score_of(value)


def decoded(column: Column, read: Callable[[Any], float], wrong: Callable[[int], str]) -> np.ndarray:
    """The number behind each code, and NaN for code -1. **read** raises ValueError for a value that is none, and
    `DataError` then says what **wrong** makes of its code."""
    table = np.full(len(column.values) + 1, np.nan)
    for c, value in enumerate(column.values):
        try:
            table[c] = read(value)
        except ValueError:
            raise DataError(wrong(c)) from None
    return table


_REMARK = re.compile(r"\s*(?:\([^()]*\)|(?:\+/-|±)\s*[\d.eE+-]+)\s*$")


def remarked(value: Any) -> float:
    """The number before a remark, as in "0.84 (1)" or "0.84 ± 0.02"; ValueError where there is none."""
    if not isinstance(value, str) or (plain := _REMARK.sub("", value)) in ("", value):
        raise ValueError("no remark")
    return number_of(plain)


def lower_is_better(name: str) -> bool:
    """Whether a score of this name is better when it is lower, by the words of `LOWER`."""
    return bool(set(re.split(r"[^a-z]+", name.lower())) & set(LOWER))


def constant(value: str, rows: int) -> Column:
    """A column of one value."""
    return Column(np.zeros(rows, np.int64), [value])


def size_of(column: Column | np.ndarray) -> int:
    """Number of rows of a column, coded or of numbers."""
    return len(column) if isinstance(column, np.ndarray) else len(column.codes)


def coded(column: Column | np.ndarray) -> Column:
    """A column of numbers as a coded one."""
    if not isinstance(column, np.ndarray):
        return column
    values, codes = np.unique(column, return_inverse=True)
    absent = np.isnan(values)
    return Column(np.where(absent[codes], -1, codes), values.tolist())


def concatenate(parts: Sequence[Column]) -> Column:
    """The rows of several columns one after the other."""
    if len(parts) == 1:
        return parts[0]
    place: dict[Any, int] = {}
    codes = []
    for part in parts:
        new = [place.setdefault(v, len(place)) for v in part.values]
        codes.append(np.array([*new, -1], np.int64)[part.codes])
    return Column(np.concatenate(codes), list(place))
