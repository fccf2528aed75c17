"""Tables of battles -> ``Comparisons``: winners by side, name, points or grade, two games a row, further columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from jaxrank.data.comparisons import A_WINS, B_WINS, TIE, Comparisons
from jaxrank.data.readers import votes
from jaxrank.data.readers.assemble import check_names, note_twins, row_number
from jaxrank.data.readers.columns import Column, coded, decoded, listed, number_of, shown, size_of
from jaxrank.data.readers.conversations import conversation
from jaxrank.data.readers.options import Options
from jaxrank.data.readers.sides import Roles
from jaxrank.data.readers.votes import BOTH_BAD, NO_WINNER, UNREAD, text_of_name
from jaxrank.errors import DataError, OptionError

TIES = ("model", "half", "drop")
BOTHBAD = ("tie", "drop")
LABELS = ("question", "voter", "category")
"""Columns whose numbers are names."""


def check_options(ties: str, bothbad: str) -> None:
    for name, value, known in (("ties", ties, TIES), ("bothbad", bothbad, BOTHBAD)):
        if value not in known:
            raise OptionError(f"{name}={value!r}; it must be one of {', '.join(map(repr, known))}")


def comparisons(
    columns: MutableMapping[str, Column | np.ndarray],
    roles: Roles,
    options: Options,
    *,
    notes: Sequence[str] = (),
    where: str = "",
    place: Callable[[int], str] = row_number,
) -> Comparisons:
    """Battles from the columns that `jaxrank.data.readers.sides.roles_of` found; for the options see `jaxrank.read`.

    ``columns`` is empty in the end, and each of the ``roles.kept`` is taken out as it is made: two forms of all would
    not fit side by side.
    """
    check_options(options.ties, options.bothbad)
    votes.codes_of(options.winner_as)  # raises
    n_rows = size_of(columns[roles.a])
    if n_rows == 0:
        raise DataError(f"{where}there are no rows")
    notes = list(notes)
    models: dict[str, int] = {}
    sides = []
    for name in (roles.a, roles.b):
        column = coded(columns[name])
        check_names(column, name, where, place)
        note_twins(column, "model", notes)
        codes = np.array([models.setdefault(text_of_name(v), len(models)) for v in column.values], np.int32)
        sides.append(codes[column.codes])
    own = np.flatnonzero(sides[0] == sides[1])
    if len(own):
        name = list(models)[sides[0][own[0]]]
        raise DataError(f"{where}{place(int(own[0]))}: {name!r} is compared with itself ({len(own)} such rows)")
    extra = {role: kept_values(columns[name], role in LABELS) for role, name in roles.named.items()}
    extra |= {_free(name, extra): kept_values(columns.pop(name)) for name in roles.kept}
    if roles.conversation is not None:
        told = conversation(coded(columns[roles.conversation]))
        extra |= {_free(name, extra): values for name, values in told.items()}
        notes.append(f"column {roles.conversation!r} gives {listed(told) if told else 'nothing that is known'}")
    outcome, more = _outcome(columns, roles, sides, models, options.winner_as, where, place, notes)
    extra |= more
    a, b = sides
    count = np.ones(n_rows)
    if roles.count is not None:
        count = counts_of(roles.count, coded(columns[roles.count]), where, place, "count")
        notes.append(f"column {roles.count!r} counts the battles of a row: {count.sum():.10g} in {n_rows} rows")
    if (name := roles.named.get("weight")) is not None:
        extra["weight"] = counts_of(name, coded(columns[name]), where, place, "weight")
        notes.append(f"column {name!r} weights the battles: a battle of weight 2 counts as two")
    if roles.games is not None:
        second = _outcome(
            columns,
            Roles(roles.a, roles.b, (roles.games[1],)),
            sides,
            models,
            options.winner_as,
            where,
            place,
            [],
        )[0]
        if roles.games[2] == "side":
            second = np.array([B_WINS, A_WINS, TIE, BOTH_BAD, UNREAD, NO_WINNER], np.int8)[second]
        rows = np.repeat(np.arange(n_rows), 2)
        a, b = np.stack([a, b], 1).ravel(), np.stack([b, a], 1).ravel()
        outcome, count = np.stack([outcome, second], 1).ravel(), count[rows]
        extra = {name: values[rows] for name, values in extra.items()} | {"game": np.tile([1.0, 2.0], n_rows)}
        notes.append(f"columns {listed(roles.games[:2])} are two games a row: in each, a is who was shown first")
    del sides
    columns.clear()
    if not count.all():
        outcome = np.where((count == 0) & (outcome != NO_WINNER), UNREAD, outcome)
    if (empty := int((count == 0).sum())) > 0:
        notes.append(f"{empty} rows with a count of 0 were dropped")
    if silent := int((outcome == NO_WINNER).sum()):
        notes.append(f"{silent} of {len(outcome)} rows have no winner and were dropped")
    a, b, outcome, count, rows = apply(a, b, outcome, count, options.ties, options.bothbad, notes)
    if len(a) == 0:
        raise DataError(f"{where}no battle is left ({'; '.join(notes)})")
    if roles.left:
        notes.append(f"columns that are texts or nested are left out: {listed(roles.left, 6)}")
    for name in extra:  # one by one, so that the old one goes before the next is made; copies, for they are kept
        values = extra[name].astype(float) if extra[name].dtype.kind in "biu" else extra[name]
        extra[name] = values.copy() if rows is None else values[rows]
    return Comparisons._made(a, b, outcome, count, models, notes, extra)


def _outcome(
    columns: Mapping[str, Column | np.ndarray],
    roles: Roles,
    sides: Sequence[np.ndarray],
    models: Mapping[str, int],
    winner_as: votes.WinnerAs,
    where: str,
    place: Callable[[int], str],
    notes: list[str],
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Who won each row, and what the row says of by how much: ``grade``, or the points of both sides."""
    if roles.points is not None:
        first, second = (_points(name, coded(columns[name]), where, place) for name in roles.points)
        won = np.select([first > second, first < second, first == second], [A_WINS, B_WINS, TIE], NO_WINNER)
        return won, {"score_a": first, "score_b": second}
    if len(roles.winner) == 3:
        return _one_hot([(c, coded(columns[c])) for c in roles.winner], where, place), {}
    if not roles.winner and roles.games is None:
        return np.full(len(sides[0]), A_WINS), {}
    name = roles.winner[0] if roles.winner else (roles.games or ("",))[0]
    winner = coded(columns[name])

    def at(row: int) -> str:
        value = winner.values[winner.codes[row]] if winner.codes[row] >= 0 else None
        return f"{where}{place(row)}, column {name!r}: {shown(value)}"

    outcome, grades, said = votes.outcomes(name, winner, sides, models, (roles.a, roles.b), winner_as, at)
    if said is not None:
        notes.append(said)
    return outcome, {} if grades is None else {"grade": grades}


def kept_values(column: Column | np.ndarray, label: bool = False) -> np.ndarray:
    """A column as `Comparisons` and `Rankings` keep it: float64, or objects with None where absent; labels are always
    texts."""
    if isinstance(column, np.ndarray) and not label:
        return column
    column = coded(column)
    if label:
        texts = [v if isinstance(v, str) else text_of_name(v) for v in column.values]
        return np.array([*texts, None], object)[column.codes]
    try:
        return np.array([*map(number_of, column.values), np.nan])[column.codes]
    except ValueError:
        return np.array([*column.values, None], object)[column.codes]


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name for a column that the columns of other roles have not taken."""
    return name if name not in (*taken, "grade", "game", "score_a", "score_b") else f"{name}_column"


def _points(name: str, column: Column, where: str, place: Callable[[int], str]) -> np.ndarray:
    """What a side scored; NaN where absent."""
    at = lambda c: f"{where}{place(column.first_row(c))}, column {name!r}: {shown(column.values[c])}"
    return decoded(column, number_of, lambda c: f"{at(c)} is not a number of points")[column.codes]


CODE_VALUES = np.array([1.0, 0.0, 0.5])
"""Outcomes as `Comparisons` reads them, by code: a won, b won, tie."""


def apply(
    a: np.ndarray, b: np.ndarray, outcome: np.ndarray, count: np.ndarray, ties: str, bothbad: str, notes: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Carry out the two options on coded battles; rows with a negative code are dropped. Notes what was done. The last
    array says which row each battle comes from; None where each is its own."""
    n_rows = len(a)
    bad = outcome == BOTH_BAD
    if bad.any():
        notes.append(
            f'{count[bad].sum():.10g} "both bad" battles were {"read as ties" if bothbad == "tie" else "dropped"}'
        )
        outcome = np.where(bad, TIE if bothbad == "tie" else -1, outcome)
    tie = outcome == TIE
    if tie.any() and ties == "drop":
        notes.append(f"{count[tie].sum():.10g} ties were dropped")
        outcome = np.where(tie, -1, outcome)
    rows = np.arange(n_rows)
    if tie.any() and ties == "half":
        notes.append(f"{count[tie].sum():.10g} ties were counted as half a win for each side")
        repeat = np.where(tie, 2, 1)
        second = np.r_[False, np.diff(np.repeat(np.arange(len(a)), repeat)) == 0]
        a, b, outcome, count, tie, rows = (np.repeat(x, repeat) for x in (a, b, outcome, count, tie, rows))
        outcome = np.where(tie, np.where(second, B_WINS, A_WINS), outcome)
        count = np.where(tie, count / 2, count)
    keep = outcome >= 0
    if (tied := outcome == TIE).any():
        notes.append(
            f"{count[tied].sum():.10g} of {count[keep].sum():.10g} battles are ties; the method says how it counts them"
        )
    if keep.all() and len(keep) == n_rows:
        return a, b, outcome, count, None
    return a[keep], b[keep], outcome[keep], count[keep], rows[keep]


def counts_of(name: str, column: Column, where: str, place: Callable[[int], str], role: str) -> np.ndarray:
    """Battles of each row: finite numbers of 0 or more."""
    table = np.full(len(column.values) + 1, np.nan)
    for c, v in enumerate(column.values):
        try:
            table[c] = float(v)
        except (TypeError, ValueError, OverflowError):
            table[c] = np.nan
    count = table[column.codes]
    if (bad := ~(np.isfinite(count) & (count >= 0))).any():
        row = int(np.argmax(bad))
        what = "number of battles" if role == "count" else "weight"
        value = "empty" if column.codes[row] < 0 else shown(column.values[column.codes[row]])
        raise DataError(f"{where}{place(row)}, column {name!r}: {value} is not a {what} ({int(bad.sum())} such rows)")
    return count


def flags_of(name: str, column: Column, where: str, place: Callable[[int], str], words: str) -> np.ndarray:
    """Whether each row is marked, False where it is empty. ``words``: what the values are called where one is none."""
    table = np.zeros(len(column.values) + 1, bool)
    for c, v in enumerate(column.values):
        if str(v).strip().lower() not in ("0", "1", "0.0", "1.0", "true", "false"):
            raise DataError(f"{where}{place(column.first_row(c))}, column {name!r}: {shown(v)} is not {words}")
        table[c] = str(v).strip().lower() in ("1", "1.0", "true")
    return table[column.codes]


def _one_hot(columns: Sequence[tuple[str, Column]], where: str, place: Callable[[int], str]) -> np.ndarray:
    flags = [flags_of(name, column, where, place, "0 or 1") for name, column in columns]
    total = np.sum(flags, axis=0)
    if (total > 1).any():
        row = int(np.argmax(total > 1))
        raise DataError(f"{where}{place(row)}: {int(total[row])} of {', '.join(n for n, _ in columns)} are 1")
    return np.where(total == 1, np.argmax(flags, axis=0), -1)
