"""Mappings and JSON objects that hold scores by name: {model: [scores]}, {model: {question: score}}, {x: [rows]}."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jaxrank.data.readers.columns import ALIASES, score_of, shown
from jaxrank.data.readers.options import Options
from jaxrank.data.readers.sides import BEATEN, SIDES
from jaxrank.data.readers.wide import numbered
from jaxrank.errors import DataError

_KNOWN = {alias for names in ALIASES.values() for alias in names} | {c for pair in (*SIDES, *BEATEN) for c in pair}


def plain_mapping(frame: Mapping[str, Any], options: Options) -> tuple[Mapping[str, Any], Options, list[str]]:
    """A mapping as one of columns: as it is, or made long where it holds scores by the names of models."""
    if (rows := nested_rows(frame, options)) is not None:
        return _columns(rows), _named(options), [_said(frame, options)]
    named = options.trials or options.battles or options.wide is not None or options.question is not None
    if named or not frame or {str(k).strip().lower() for k in frame} & _KNOWN:
        return frame, options, []
    lists = {str(k): _list(v) for k, v in frame.items()}
    if any(v is None or not all(map(_scores, v)) for v in lists.values()):
        return frame, options, []
    sizes = {k: len(v or []) for k, v in lists.items()}
    if len(set(sizes.values())) > 1:
        raise DataError(
            "each model needs a score for each question: "
            + ", ".join(f"{k!r} has {n}" for k, n in [*sizes.items()][:5])
        )
    rows = [
        {"model": model, "question": f"question {m}", "trial": t, "score": score}
        for model, values in lists.items()
        for m, value in enumerate(values or [])
        for t, score in enumerate(_trials(value))
    ]
    return _columns(rows), _named(options), ["a mapping from models to their scores, one for each question"]


def _named(options: Options) -> Options:
    return replace(options, model="model", question="question", trial="trial", score="score", wide=None)


def _list(values: Any) -> list[Any] | None:
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        return None
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _trials(value: Any) -> list[Any]:
    found = _list(value)
    return [value] if found is None else found


def _scores(value: Any) -> bool:
    """Whether a value is a score, or a list of the scores of trials."""
    try:
        return all(not isinstance(v, str) and score_of(v) is not None for v in _trials(value))
    except ValueError:
        return False


def nested_rows(document: Any, options: Options | None = None) -> list[dict[str, Any]] | None:
    """{model: {question: score or list of trials}} as rows; None for other things. With questions outside (their names
    are numbered, or wide="models") the rows are turned."""
    if not isinstance(document, Mapping) or not document:
        return None
    if not all(
        isinstance(inner, Mapping) and inner and all(map(_scores, inner.values())) for inner in document.values()
    ):
        return None
    turned = _turned(document, options)
    return [
        {"model": str(y if turned else x), "question": str(x if turned else y), "trial": t, "score": score}
        for x, inner in document.items()
        for y, value in inner.items()
        for t, score in enumerate(_trials(value))
    ]


def _turned(document: Mapping[str, Any], options: Options | None) -> bool:
    if options is not None and options.wide is not None:
        return options.wide == "models"
    inner = list(dict.fromkeys(name for part in document.values() for name in part))
    return numbered(list(document)) and not numbered(inner)


def _said(document: Mapping[str, Any], options: Options | None) -> str:
    outer, inner = ("questions", "models") if _turned(document, options) else ("models", "questions")
    first = next(iter(document))
    return f"scores by name: {outer} ({shown(first)}, ...), in each of them {inner}; wide={outer!r} would turn it"


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in ("model", "question", "trial", "score")}


def rows_of_document(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of a table that a JSON object holds: scores by name, or the one list of objects in it."""
    if (rows := nested_rows(document)) is not None:
        return rows
    lists = [v for v in document.values() if isinstance(v, list) and len(v) > 0 and all(isinstance(r, dict) for r in v)]
    return lists[0] if len(lists) == 1 and len(document) <= 12 else None
