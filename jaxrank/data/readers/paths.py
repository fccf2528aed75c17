"""What the paths of files say: the model, the task, the run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxrank.data.readers.columns import ALIASES, listed
from jaxrank.data.readers.files import suffixes_of
from jaxrank.errors import DataError, OptionError, one_line

_KNOWN = sorted({alias for names in ALIASES.values() for alias in names})


class PathPattern:
    """``runs/{model}/{task}/*.json``: each name in braces becomes a column of the table, with one value a file.

    ``*`` stands for anything within one folder's name, ``**`` for any folders. The pattern is held against the end of a
    path.
    """

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str) or not re.findall(r"\{\w+\}", text):
            raise OptionError(
                f"model_from_path={one_line(text)}; it must be a pattern with names in braces, such as "
                "'runs/{model}/{task}/*.json'"
            )
        self.text = text
        self.names = re.findall(r"\{(\w+)\}", text)
        if strange := [n for n in self.names if n not in _KNOWN]:
            raise OptionError(
                f"model_from_path: {{{strange[0]}}} says nothing; use {{model}}, {{question}}, {{task}}, {{trial}}, "
                "{run}, {fold}, {weight} or {group}"
            )
        if len(set(self.names)) < len(self.names):
            raise OptionError(f"model_from_path={text!r} has one name twice")
        parts = re.split(r"(\{\w+\}|\*\*/?|\*|\?)", text.removeprefix("./"))
        self._pattern = re.compile(r"(?:.*/)?" + "".join(map(_piece, parts)))

    def columns(self, path: Path) -> dict[str, str]:
        """The values in the path of one file; `DataError` where it does not have the form of the pattern."""
        found = self._pattern.fullmatch(path.as_posix()) or self._pattern.fullmatch(os.path.abspath(path))
        if found is None:
            raise DataError(f"{path} does not have the form model_from_path={self.text!r}")
        return found.groupdict()

    def model(self, path: Path) -> str:
        """The model of a file, for logs of tools."""
        return self.columns(path)["model"]


def _piece(part: str) -> str:
    if part.startswith("{"):
        return f"(?P<{part[1:-1]}>[^/]+)"
    return {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))


def guess(paths: Sequence[Path]) -> tuple[list[str], str]:
    """The models of files that do not tell them, from the one level of their folders that differs, or from their names
    where they lie in one folder; and a note. `DataError` where two levels differ."""
    folders = [Path(os.path.abspath(path)).parent.parts for path in paths]
    stems = [suffixes_of(path)[0] for path in paths]
    depth = {len(parts) for parts in folders}
    if len(set(folders)) == 1:
        if len(set(stems)) < len(stems):
            raise DataError(
                f"{paths[0]}: no model column, and its name is that of another file; say model_from_path=..."
            )
        return stems, f"no column names the model: the names of the files do ({listed(stems, 3)})"
    if len(depth) == 1:
        differ = [k for k, parts in enumerate(zip(*folders, strict=True)) if len(set(parts)) > 1]
        if len(differ) == 1:
            names = [parts[differ[0]] for parts in folders]
            found = list(dict.fromkeys(names))
            return names, f"no column names the model: a level of the folders does ({listed(found, 3)})"
    raise DataError(
        f"{paths[0]}: no model column, and several levels of the folders differ; say which is the model, for example "
        f"model_from_path='{_example(paths[0])}'"
    )


def _example(path: Path) -> str:
    parts = list(path.parts[-3:])
    parts[0 if len(parts) > 1 else -1] = "{model}"
    return "/".join(parts)
