"""Long tables as JSON: one object a line, or one list of objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxrank.data.readers.columns import Coder, Column, Peek, code, listed, shown
from jaxrank.data.readers.files import open_text, reading, text_of
from jaxrank.data.readers.mappings import rows_of_document
from jaxrank.errors import DataError

if TYPE_CHECKING:
    import numpy as np

HEAD = 50
"""Rows that are looked at to understand a table."""
BATCH = 512
"""Lines that are held as Python objects at a time."""
LOOKED_AT = 5
"""Batches that are looked at for the names of all columns."""


class _Twice(ValueError):
    """One key of an object with two values."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; Python's own reader would keep the last value of a key and say nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if found[key] != value:
                raise _Twice(f"the key {shown(key)} twice, with the values {shown(value)} and {shown(found[key])}")
    return found


_plain = json.JSONDecoder().decode
_strict = json.JSONDecoder(object_pairs_hook=_object).decode


def _decode(text: str) -> Any:
    """One JSON value. The reader that looks at every object takes twice as long; a key that the plain one dropped shows
    in the number of quotes, of which every key and every text has two."""
    found = _plain(text)
    quotes = text.count('"')
    if "\\" in text:
        left = text.replace("\\\\", "")  # then a backslash before a quote says that it is one of the text
        quotes = left.count('"') - left.count('\\"')
    return found if quotes == 2 * _texts(found) else _strict(text)


def _texts(value: Any) -> int:
    """How many keys and texts a JSON value holds."""
    count, level = 0, [value]
    while level:
        kinds = list(map(type, level))
        count += kinds.count(str)
        objects = level if len(level) == kinds.count(dict) else [v for v in level if type(v) is dict]
        lists = [v for v in level if type(v) is list] if list in kinds else []
        count += sum(map(len, objects))
        level = [*chain.from_iterable(map(dict.values, objects)), *chain.from_iterable(lists)]
    return count


def parse_objects(text: str, name: str) -> list[dict[str, Any]]:
    """The objects in ``text``; `DataError` that names the line where it is cut off or not JSON."""
    rows = []
    if text.lstrip().startswith("["):
        rows = parse(text, name)
    elif (document := _indented(text, name)) is not None:
        found = rows_of_document(document)
        if found is None:
            keys = listed(map(shown, document), 8)
            raise DataError(f"{name} is one object with keys {keys}: no format that is known, and not a table of rows")
        rows = found
    else:
        rows = parse_lines(text, name)
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
        _decode(first)
    except (ValueError, RecursionError):
        if first != "{" and first.endswith("}"):
            return None
        document = parse(text, name)
        return document if isinstance(document, dict) else None
    return None


def parse(text: str, name: str, line: int | None = None) -> Any:
    """One JSON value; `DataError` with the place where the text stops being JSON."""
    try:
        return _decode(text)
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
    except _Twice as error:
        at = "" if line is None else f" at line {line}"
        raise DataError(f"{name} has an object{at} that holds {error}; keep one of them") from None
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        at = "" if line is None else f" at line {line}"
        raise DataError(f"{name} holds a number that cannot be read{at}: {str(error).split(';')[0]}") from None


def peek(path: Path) -> Peek:
    """All keys, and the first values of each; a key that a row lacks is null."""
    whole = None
    if not _is_lines(path):
        whole = parse_objects(text_of(path), str(path))
        names, first = _keys([whole]), whole
    else:
        batches = list(islice(_batches(path), LOOKED_AT))
        first = batches[0] if batches else []
        names = _keys(batches)
        if len(batches) < LOOKED_AT:
            whole = list(chain.from_iterable(batches))
    if not first:
        raise DataError(f"{path} is empty: it holds no rows")
    return Peek(names, {name: [row.get(name) for row in first[:HEAD]] for name in names}, whole)


def load(
    path: Path,
    pick: Callable[[Sequence[str]], list[str]],
    numbers: Container[str] = (),
    whole: list[dict[str, Any]] | None = None,
) -> dict[str, Column | np.ndarray]:
    """The columns that ``pick`` chooses from all keys in order of appearance; a key that a row lacks is null.
    **whole**: all rows, where `peek` has read them."""
    if whole is None and not _is_lines(path):
        whole = parse_objects(text_of(path), str(path))
    if whole is not None:
        return {name: code([row.get(name) for row in whole]) for name in pick(_keys([whole]))}
    # Keys seldom differ between rows: choose by the first rows, and read again if later rows change the choice.
    first = next(_batches(path), [])
    if not first:
        raise DataError(f"{path} is empty: it holds no rows")
    try:
        names = pick(_keys([first]))
    except DataError:
        names = pick(_keys(_batches(path)))
    columns, keys = _columns(path, names)
    if (better := pick(keys)) != names:
        columns, _ = _columns(path, better)
    return dict(columns)


def _columns(path: Path, names: list[str]) -> tuple[dict[str, Column], list[str]]:
    coders = {name: Coder() for name in names}
    keys: dict[str, None] = {}
    for rows in _batches(path):
        keys.update(dict.fromkeys(_keys([rows])))
        for name, coder in coders.items():
            coder.add([row.get(name) for row in rows])
    return {name: coder.column() for name, coder in coders.items()}, list(keys)


def _keys(batches: Iterable[list[dict[str, Any]]]) -> list[str]:
    """All keys of the rows in order of appearance."""
    keys: dict[str, None] = {}
    for rows in batches:
        for shape in dict.fromkeys(map(tuple, rows)):
            keys.update(dict.fromkeys(shape))
    return list(keys)


def _is_lines(path: Path) -> bool:
    """True where the first line that is not blank is a JSON value of its own that is no list, or is cut off."""
    first = first_line(path)
    return first.startswith("{") and first != "{" and first.endswith("}")


def first_line(path: Path) -> str:
    """The first line that is not blank, without outer blanks; "" where there is none or the file is no text."""
    try:
        with reading(path), open_text(path) as file:
            return next((line.strip() for line in file if line.strip()), "")
    except DataError:
        return ""  # `text_of` says why


def _batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file of lines, some hundred at a time; blank lines are skipped."""
    number, n_rows = 0, 0
    with reading(path), open_text(path) as file:
        while lines := list(islice(file, BATCH)):
            rows = _parse_lines(lines, str(path), number)
            for k, row in enumerate(rows, 1):
                if not isinstance(row, dict):
                    raise DataError(f"{path}: row {n_rows + k} is {type(row).__name__}, not an object of named values")
            number, n_rows = number + len(lines), n_rows + len(rows)
            yield rows


def parse_lines(text: str, name: str) -> list[Any]:
    """The values of a text of one JSON value a line; `DataError` that names the line where one is not."""
    lines = text.split("\n")
    return [value for k in range(0, len(lines), BATCH) for value in _parse_lines(lines[k : k + BATCH], name, k)]


def _parse_lines(lines: list[str], name: str, number: int) -> list[Any]:
    """One value a line; many lines at once are three times faster, and one at a time where that fails."""
    filled = [line for line in lines if line.strip()]
    try:
        rows = _decode("[" + ",".join(filled) + "]")
    except (ValueError, RecursionError):
        rows = []
    if len(rows) == len(filled):
        return rows
    return [parse(line, name, number + k) for k, line in enumerate(lines, 1) if line.strip()]
