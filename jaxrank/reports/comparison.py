"""The section of a report on two models: is the second better than the first?"""

from __future__ import annotations

from typing import Any

from jaxrank.errors import JaxrankError
from jaxrank.reports.blocks import Figure, Items, Section, Table, Text
from jaxrank.reports.study import Found
from jaxrank.studies.compare import compare

TITLE = "Is the new one better?"


def comparison(found: Found) -> Section | None:
    """The section where the data are trials of two models, the first of them the old one; else None."""
    data = found.data
    if len(data.models) != 2 or not data.questions:
        return None
    old, new = data.models
    try:
        seen = compare(data, new, old, level=found.level)
    except JaxrankError as error:
        return Section(TITLE, [Text(f"Not computed: {error}.")])
    rows = [("Verdict", seen.sentence), ("Interval", seen.interval().words), ("What more would do", seen.planning)]
    rows += [("note", note) for note in seen.notes[len(seen.data_notes) :]]
    blocks: list[Any] = [Items(rows), Table(seen.to_frame())]
    if len(seen.flips()):
        words = "The questions on which the two differ most"
        blocks += [
            Figure("questions", words, lambda ax: seen.plot("questions", ax)),
            Table(seen.flips(30), folded=words),
        ]
    return Section(TITLE, blocks)
