"""A file that is looked at by several formats but read once."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from jaxrank.data.readers.files import suffixes_of, text_of
from jaxrank.data.readers.jsonl import first_line, parse, parse_lines
from jaxrank.errors import DataError

TEXT = (".json", ".jsonl", ".ndjson", "")


class Source:
    """One file of logs: its path, its text and what the text holds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def name(self) -> str:
        """The whole path, as it was given, for messages."""
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        return suffixes_of(self.path)[0] if self.suffix else self.path.name

    @property
    def folder(self) -> Path:
        """The folder in which the file was found; links are not followed, for their targets have names of their own."""
        return Path(os.path.abspath(self.path)).parent

    @property
    def suffix(self) -> str:
        """The ending in lower case, "" for files without one (or with a version number in its place)."""
        suffix = suffixes_of(self.path)[1]
        return suffix if suffix[1:].isalpha() else ""

    @cached_property
    def text(self) -> str:
        return text_of(self.path)

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value; `DataError` where it is not."""
        return parse(self.text, self.name)

    @cached_property
    def lines(self) -> list[Any]:
        """The file as one JSON value a line; `DataError` that names the line where it is not."""
        return parse_lines(self.text, self.name)

    def forget(self) -> None:
        """Give the text and the values back, of which a folder of logs has more than memory should hold."""
        for name in ("text", "document", "lines"):
            self.__dict__.pop(name, None)

    @cached_property
    def is_json(self) -> bool:
        """Whether the file begins as JSON, whatever its ending."""
        start = first_line(self.path)[:1]
        return start in ("{", "[") and start != ""

    @cached_property
    def first(self) -> Any:
        """What tells the format: the first line of a file of lines, else the whole document."""
        if self.suffix not in TEXT and not self.is_json:
            return None
        line = first_line(self.path)
        # The first line of an indented document is no value of its own, that of a file of lines is one.
        if self.suffix in (".jsonl", ".ndjson") or (line.startswith("{") and line.endswith("}")):
            try:
                return parse(line, self.name, 1)
            except DataError:
                if self.suffix in (".jsonl", ".ndjson") and line not in ("", "{"):
                    raise
        return self.document

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the first object; empty for anything else."""
        return frozenset(self.first) if isinstance(self.first, dict) else frozenset()
