"""Tables: from the columns of one file or several to ``Responses``, ``Comparisons`` or ``Rankings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import battles, lists, wide
from jaxrank.data.readers.answers import compared
from jaxrank.data.readers.assemble import assemble, row_number
from jaxrank.data.readers.columns import (
    ALIASES,
    Column,
    Peek,
    coded,
    concatenate,
    constant,
    listed,
    lower_is_better,
    size_of,
)
from jaxrank.data.readers.directions import companions, turned
from jaxrank.data.readers.options import Options
from jaxrank.data.readers.understand import Layout, own_task, understand
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

Columns = dict[str, Column | np.ndarray]
MODEL = "the path"
"""What the column of models is called that paths make."""


@dataclass
class Part:
    """One table: what it is called, how it is read, and its columns."""

    where: str
    layout: Layout
    columns: Columns
    names: Sequence[str]

    @property
    def rows(self) -> int:
        return size_of(next(iter(self.columns.values())))


def open_part(
    peek: Peek,
    load: Callable[[Callable[[Sequence[str]], list[str]], Sequence[str]], Columns],
    options: Options,
    where: str = "",
    given: Mapping[str, str] | None = None,
    *,
    path_names_model: bool = False,
) -> Part:
    """Understand a table and read the columns that it takes. **given**: columns of one value that its path says."""
    given = dict(given or {})

    def layout_of(names: Sequence[str]) -> Layout:
        seen = Peek(
            [*given, *(n for n in names if n not in given)],
            {**{n: peek.head.get(n, []) for n in names}, **{n: [v] for n, v in given.items()}},
        )
        return understand(seen, options, where, path_names_model=path_names_model)

    layout = layout_of(peek.names)

    def pick(names: Sequence[str]) -> list[str]:
        nonlocal layout
        if set(names) - set(peek.names):
            layout = layout_of(list(dict.fromkeys([*peek.names, *names])))
        more = companions(names, layout)
        return [c for c in dict.fromkeys([*layout.columns, *more]) if c not in given]

    columns = load(pick, [*layout.numbers, *companions(peek.names, layout)])
    if not columns:
        raise DataError(f"{where}all columns that are read stand in its path: there is no score")
    rows = size_of(next(iter(columns.values())))
    columns |= {name: constant(value, rows) for name, value in given.items() if name in layout.columns}
    return Part(where, layout, columns, peek.names)


def build(parts: list[Part], options: Options, notes: Sequence[str], place: Callable[[int], str] | None = None) -> Any:
    """R, battles or ordered lists from tables that were understood alike."""
    first, notes = parts[0], list(notes)
    for part in parts[1:]:
        if (part.layout.kind, part.layout.across, sorted(part.layout.roles)) != (
            first.layout.kind,
            first.layout.across,
            sorted(first.layout.roles),
        ):
            raise DataError(
                f"{part.where}has columns {listed(part.layout.columns)} where {first.where}has "
                f"{listed(first.layout.columns)}"
            )
    notes += dict.fromkeys(note for part in parts for note in part.layout.notes)
    where = first.where if len(parts) == 1 else ""
    if first.layout.kind == "lists":
        common = [n for n in first.columns if all(n in part.columns for part in parts)]
        columns = {n: joined([part.columns[n] for part in parts]) for n in common}
        kept = [n for n in first.layout.values if n in common]
        return lists.rankings(columns, first.layout.roles, kept, notes, where, place or row_number)
    if first.layout.kind == "battles":
        return _battles(parts, options, notes, where, place or row_number)
    return _trials(parts, options, notes, where, place or row_number)


def _battles(
    parts: list[Part], options: Options, notes: list[str], where: str, place: Callable[[int], str]
) -> Comparisons:
    roles = parts[0].layout.battles
    assert roles is not None
    columns = parts[0].columns
    if len(parts) > 1:
        common = [n for n in columns if all(n in part.columns for part in parts)]
        if lost := [n for n in roles.main if n not in common]:
            raise DataError(f"{parts[-1].where}the files do not share the columns {listed(lost)}")
        columns = {n: joined([part.columns[n] for part in parts]) for n in common}
        named = {role: n for role, n in roles.named.items() if n in common}
        told = roles.conversation if roles.conversation in common else None
        roles = replace(roles, named=named, kept=tuple(n for n in roles.kept if n in common), conversation=told)
    return battles.comparisons(columns, roles, options, notes=notes, where=where, place=place)


def _trials(
    parts: list[Part], options: Options, notes: list[str], where: str, place: Callable[[int], str]
) -> Responses:
    long = [_long(part, notes) for part in parts]
    layout = parts[0].layout
    columns = {role: joined([one[role] for one in long]) for role in long[0]}
    if layout.kind == "answers":
        columns["score"] = compared(columns["score"], columns["answer"], options.errors, notes)
    model, question = coded(columns["model"]), coded(columns["question"])
    group = coded(columns["group"]) if "group" in columns else None
    if group is not None:
        question, group = _grouped(question, group, layout.roles["group"], options, notes)
    width = max(len(layout.values), 1)
    score_name = layout.roles.get("score", "score") if layout.kind != "wide" else "score"
    names = [layout.roles.get(role, role) for role in ("model", "question", "trial")] + [score_name]
    if width > 1:
        names = ["model", "question", names[2], "score"]
    return assemble(
        model,
        question,
        coded(columns["trial"]) if "trial" in columns else None,
        columns["score"],
        group=group,
        weight=None if "weight" not in columns else wide.weights_of(layout.roles["weight"], columns["weight"], where),
        lower=_lower(parts, options, question, notes),
        missing=options.missing,
        names=names,
        levels=options.levels,
        threshold=options.threshold,
        notes=notes,
        where=where,
        place=place if width == 1 else lambda cell: place(cell // width),
    )


def _long(part: Part, notes: list[str]) -> Columns:
    """The columns of a table by role, one row a trial."""
    layout, columns = part.layout, part.columns
    found = {role: columns[name] for role, name in layout.roles.items()}
    if layout.kind != "wide":
        return found
    width = len(layout.values)
    label = coded(found["question" if layout.across == "models" else "model"])
    down, across, scores = wide.melt(label, layout.values, columns, notes, part.where)
    repeat = lambda column: Column(np.repeat(column.codes, width), column.values)
    out: Columns = {"score": scores}
    if layout.across == "models":
        out |= {"model": across, "question": down}
    else:
        out |= {"model": down, "question": across}
    if layout.across == "metrics" and "question" in found:
        out["question"] = _crossed(repeat(coded(found["question"])), across)
    for role in ("trial", "weight", "group"):
        if role in found and len(scores) == width * size_of(found[role]):
            out[role] = repeat(coded(found[role]))
    return out


def _crossed(question: Column, metric: Column) -> Column:
    """``question/metric`` as names."""
    codes = question.codes * len(metric.values) + metric.codes
    return Column(codes, [f"{q}/{m}" for q in question.values for m in metric.values])


def _grouped(
    question: Column, group: Column, name: str, options: Options, notes: list[str]
) -> tuple[Column, Column | None]:
    """Questions by their names within groups, where they are numbered anew in each; and the groups, if any."""
    pairs, index = np.unique(np.stack([group.codes, question.codes], axis=1), axis=0, return_inverse=True)
    if len(np.unique(pairs[:, 0])) == 1 and options.group is None:
        return question, None
    n_groups, n_questions = (len(np.unique(pairs[:, k])) for k in (0, 1))
    one_to_one = len(pairs) == n_groups == n_questions and (pairs >= 0).all()
    if one_to_one and options.question is None and options.group is None:
        return group, None  # two names of one thing, of which that of the task is the one to read
    if len(pairs) == n_questions:
        return question, group
    if not own_task(name) and options.group is None:
        return question, None
    if (pairs < 0).any():
        return question, group
    notes.append(f"questions are numbered anew for each {name!r}: they are called by both")
    texts = [f"{group.values[g]}/{question.values[q]}" for g, q in pairs.tolist()]
    return Column(index.reshape(-1), texts), group


def _lower(parts: list[Part], options: Options, question: Column, notes: list[str]) -> Any:
    """Where lower scores are better: as the caller says, else as the names of the columns say."""
    if options.lower_is_better is not None:
        return options.lower_is_better
    layout = parts[0].layout
    if layout.kind == "wide":
        low = [v for v in layout.values if layout.across != "models" and lower_is_better(v)]
        if layout.across == "metrics" and "question" in layout.roles:
            low = [q for q in map(str, question.values) if any(q.endswith(f"/{v}") for v in low)]
        found: Any = low or None
        said = listed(low, 4)
    elif layout.lower:
        found, said = True, repr(layout.roles["score"])
    else:
        found = turned([(part.layout, part.columns) for part in parts], question)
        said = listed(found or [], 4)
    if found:
        notes.append(f"lower is better for {said}, by the names of the columns; lower_is_better=False says otherwise")
    return found


def joined(columns: Sequence[Column | np.ndarray]) -> Column | np.ndarray:
    """The rows of several columns one after the other; numbers stay numbers where all are."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(list(columns))  # pyright: ignore[reportArgumentType, reportCallIssue]
    return concatenate([coded(column) for column in columns])


def name_model(part: Part, name: str) -> None:
    """Give a table without a column of models the model that its path says."""
    part.columns = {MODEL: constant(name, part.rows), **part.columns}
    part.layout = replace(part.layout, roles={"model": MODEL, **part.layout.roles})


def unread(names: Sequence[str], layout: Layout) -> list[str]:
    """A note on a column of counts that a table of trials has: nothing reads it."""
    if layout.kind in ("battles", "lists"):
        return []
    counts = [c for c in names if c.strip().lower() in ALIASES["count"] and c not in layout.columns]
    return [f"column {counts[0]!r} is not read: each row is one trial"] if counts else []
