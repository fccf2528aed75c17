"""Tables of ordered lists in long form, a row for each model of a list -> ``Rankings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxrank.data.rankings import Rankings
from jaxrank.data.readers.assemble import check_names, note_twins
from jaxrank.data.readers.battles import LABELS, counts_of, flags_of, kept_values
from jaxrank.data.readers.columns import Column, Peek, coded, decoded, find, listed, number_of, shown
from jaxrank.data.readers.options import Options
from jaxrank.data.readers.votes import text_of_name
from jaxrank.errors import DataError

OPEN_END = "open_end"
"""The column that says that models in the last place of a list stand there in an unknown order."""


def roles_of(peek: Peek, options: Options, where: str) -> dict[str, str] | None:
    """The columns of lists: order, model and place, and count and open_end where there are such; None where the table
    holds none. Without an option that names one, order and place must both be called as usual, and nothing is a score.
    """
    if not options.lists and (options.trials or options.battles):
        return None
    model = find("model", options.model, peek.names, where)
    order, place = (find(role, getattr(options, role), peek.names, where) for role in ("order", "place"))
    if not options.lists:
        if model is None or order is None or place is None or find("score", None, peek.names) is not None:
            return None
    elif order is None:
        order = find("question", options.question, peek.names, where)
    found = {"order": order, "model": model, "place": place}
    if missing := [role for role, name in found.items() if name is None]:
        raise DataError(
            f"{where}ordered lists need columns of the list, the model and its place; the columns are "
            f"{listed(peek.names)}. Name {' and '.join(f'{role}=...' for role in missing)}"
        )
    roles = {role: name for role, name in found.items() if name is not None}
    if len(set(roles.values())) < 3:
        raise DataError(f"{where}one column cannot play two roles: {', '.join(f'{r}={c}' for r, c in roles.items())}")
    rest = [name for name in peek.names if name not in roles.values()]
    count = find("count", options.count, rest, where)
    roles |= {} if count is None else {"count": count}
    return roles | ({OPEN_END: OPEN_END} if OPEN_END in rest else {})


def rankings(
    columns: Mapping[str, Column | np.ndarray],
    roles: Mapping[str, str],
    kept: Sequence[str],
    notes: Sequence[str],
    where: str,
    place: Callable[[int], str],
) -> Rankings:
    """Ordered lists from the columns that `roles_of` found, in the order in which lists and models first appear."""
    model, order = (coded(columns[roles[role]]) for role in ("model", "order"))
    notes = list(notes)
    if not len(model.codes):
        raise DataError(f"{where}there are no rows")
    for role, column in (("model", model), ("order", order)):
        check_names(column, roles[role], where, place)
        note_twins(column, role, notes)
    names: dict[str, int] = {}
    i = np.array([names.setdefault(text_of_name(v), len(names)) for v in model.values])[model.codes]
    _, first, row = np.unique(order.codes, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))
    row, first = appearance[row.reshape(-1)], np.sort(first)
    n, shape = len(first), (len(first), len(names))
    cell = row * shape[1] + i
    _, at, times = np.unique(cell, return_index=True, return_counts=True)
    if (times > 1).any():
        r = int(at[np.argmax(times > 1)])
        raise DataError(
            f"{where}{place(r)}: the list {shown(order.values[order.codes[r]])} has {list(names)[i[r]]!r} "
            f"{int(times.max())} times; name the column that tells lists apart with order=..."
        )
    places = np.zeros(shape)
    places[row, i] = _places(coded(columns[roles["place"]]), roles["place"], where, place)
    open_end = np.zeros(n, bool)
    if OPEN_END in roles:
        marked = flags_of(roles[OPEN_END], coded(columns[OPEN_END]), where, place, "true or false")
        np.logical_or.at(open_end, row, marked)
    count = np.ones(n)
    if "count" in roles:
        counts = counts_of(roles["count"], coded(columns[roles["count"]]), where, place, "count")
        if (differs := counts != counts[first][row]).any():
            raise DataError(f"{where}{place(int(np.argmax(differs)))}: column {roles['count']!r} differs within a list")
        count = counts[first]
        said = f"column {roles['count']!r} counts the lists: {count.sum():.10g} in {n} of them"
        notes += [] if (count == 1).all() else [said]
    extra, left = {}, []
    for name in kept:
        values = kept_values(columns[name], name in LABELS)
        same = values == values[first][row]
        if values.dtype.kind == "f":
            same |= np.isnan(values) & np.isnan(values[first][row])
        if same.all():
            extra[name] = values[first]
        elif values.dtype.kind in "fiub":
            extra[name] = np.full(shape, np.nan)
            extra[name][row, i] = values
        else:
            left.append(name)
    if left:
        notes.append(f"columns of texts that differ within a list are left out: {listed(left, 6)}")
    made = Rankings.from_places(places, list(names), count, columns=extra, notes=notes)
    return Rankings._made(made.places, made.count, open_end, made.models, made.notes, made.columns)


def _places(column: Column, name: str, where: str, place: Callable[[int], str]) -> np.ndarray:
    """The place of each row, 1 the best."""

    def read(value: object) -> float:
        number = number_of(value)
        if not (number >= 1 and number == np.floor(number)):
            raise ValueError("no place")
        return number

    def wrong(code: int) -> str:
        row = column.first_row(code)
        value = "empty" if code < 0 else shown(column.values[code])
        return (
            f"{where}{place(row)}, column {name!r}: {value} is no place, a whole number of 1 (the best) or more; leave "
            "out rows of models that took no part, and where 1 marks the chosen and 0 the others write 1 and 2"
        )

    if (column.codes < 0).any():
        raise DataError(wrong(-1))
    return decoded(column, read, wrong)[column.codes]
