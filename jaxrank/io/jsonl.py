"""Long tables as JSON: one object a line, or one list of objects."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxrank.errors import DataError
from jaxrank.io.columns import Column, code


def text_of(path: Path) -> str:
    """The text of a file, plain or gzip; `DataError` where it is not UTF-8 or empty."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except (EOFError, OSError) as error:
        raise DataError(f"{path.name} cannot be read: {error}") from None
    if not text.strip():
        raise DataError(f"{path.name} is empty")
    return text


def objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a .jsonl file or of a .json file that holds one list of objects."""
    return parse_objects(text_of(path), path.name)


def parse_objects(text: str, name: str) -> list[dict[str, Any]]:
    """The objects in ``text``; `DataError` that names the line where it is cut off or not JSON."""
    rows = []
    if text.lstrip().startswith("["):
        rows = parse(text, name)
    elif (document := _indented(text, name)) is not None:
        keys = ", ".join(map(repr, list(document)[:8]))
        raise DataError(f"{name} is one object with keys {keys}: no format that is known, and not a table of rows")
    else:
        for n, line in enumerate(text.split("\n"), 1):
            if line.strip():
                rows.append(parse(line, name, n))
    for n, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError(f"{name}: row {n} is {type(row).__name__}, not an object of named values")
    if not rows:
        raise DataError(f"{name} is empty: it holds no rows")
    return rows


def _indented(text: str, name: str) -> dict[str, Any] | None:
    """The one object that spans the lines of the text; None where every line is a value of its own."""
    first = text.lstrip().split("\n", 1)[0].rstrip()
    if not first.startswith("{"):
        return None
    try:
        json.loads(first)
    except json.JSONDecodeError:
        if first != "{" and first.endswith("}"):
            return None
        document = parse(text, name)
        return document if isinstance(document, dict) else None
    return None


def parse(text: str, name: str, line: int | None = None) -> Any:
    """One JSON value; `DataError` with the place where the text stops being JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        cut = (
            " (the file seems to be cut off)"
            if error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
            else ""
        )
        raise DataError(
            f"{name} is not JSON at line {line or error.lineno}, column {error.colno}: {error.msg}{cut}"
        ) from None
    except RecursionError:
        raise DataError(f"{name} is nested too deeply to be read") from None


def load(path: Path, pick: Callable[[Sequence[str]], list[str]]) -> dict[str, Column]:
    """The columns that ``pick`` chooses from all keys in order of appearance; a key that a row lacks is null."""
    rows = objects(path)
    keys: dict[str, None] = {}
    for shape in dict.fromkeys(map(tuple, rows)):
        keys.update(dict.fromkeys(shape))
    return {name: code([row.get(name) for row in rows]) for name in pick(list(keys))}
