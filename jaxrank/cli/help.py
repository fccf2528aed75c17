"""Help as plain text in sections: it fits any terminal, no name of an option is ever cut, and nothing is imported."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

SECTIONS = {
    "Rank and compare": ("fit", "diff", "compare", "report", "leaderboard", "check", "list", "demo"),
    "How sure": ("bootstrap", "posterior", "converge", "methods", "evaluate"),
    "Other questions": ("answers", "rubrics", "judges", "arise"),
    "Files": ("convert", "merge"),
}
"""Commands as the help groups and orders them; others come last, under "More"."""
WIDEST = 100
"""Cells that a line of help takes at most."""
DEEPEST = 26
"""Cells of an option beyond which what it does stands on lines of its own."""
KINDS = {"int": "N", "float": "NUMBER", "path": "FILE"}
"""What is written for a value by its type, where the option does not say; TEXT for all else."""


class Command(TyperCommand):
    """A command whose options stand in the sections that they name as ``rich_help_panel``."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self, ctx, formatter)


class Group(TyperGroup):
    """Commands in the sections and the order of `SECTIONS`."""

    def list_commands(self, ctx: Any) -> list[str]:
        known = super().list_commands(ctx)
        order = [name for names in SECTIONS.values() for name in names if name in known]
        return [*order, *(name for name in known if name not in order)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        section = {name: title for title, names in SECTIONS.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {}
        shown: dict[str, str] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                told = _first_sentence(command.short_help or command.help or "")
                first = shown.setdefault(told, name)
                row = (name, told if first == name else f"Another name of {first}.")
                sections.setdefault(section.get(name, "More"), []).append(row)
        _write(sections, formatter)
        _write_options(self, ctx, formatter)


def _first_sentence(text: str) -> str:
    """As lists of commands show it; the help of a command has the rest."""
    return re.split(r"(?<=\.)\s+(?=[A-Za-z])", " ".join(text.split()), maxsplit=1)[0]


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            argument = parameter.param_type_name == "argument"
            title = getattr(parameter, "rich_help_panel", None) or ("Arguments" if argument else "Options")
            sections.setdefault(title, []).append((_plain(record[0], argument), record[1]))
    _write(sections, formatter)


def _plain(words: str, argument: bool) -> str:
    """An option without the names of Python's types."""

    def kind(found: re.Match[str]) -> str:
        column = words.split()[0].endswith("-column")
        return "COLUMN" if column else next((w for k, w in KINDS.items() if k in found[0].lower()), "TEXT")

    return re.sub(r" <[^<>]*>$", "", words) if argument else re.sub(r"<[^<>]*>$", kind, words)


def _write(sections: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows, col_max=DEEPEST)
