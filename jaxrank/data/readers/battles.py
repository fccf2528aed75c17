"""Battle logs -> ``Comparisons``: FastChat and LMArena logs, one-hot winners, left and right, aggregated pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.comparisons import A_WINS, B_WINS, TIE, Comparisons
from jaxrank.data.readers.assemble import check_names, name_of, note_twins, row_number
from jaxrank.data.readers.columns import Column, listed, shown
from jaxrank.data.readers.logs import Format, LogOptions, list_of
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError, OptionError

SIDES = (
    ("model_a", "model_b"),
    ("left", "right"),
    ("player_a", "player_b"),
    ("player1", "player2"),
    ("player_1", "player_2"),
    ("model1", "model2"),
    ("model_1", "model_2"),
)
WINNER = ("winner", "outcome", "result")
BEATEN = (("winner_name", "loser_name"), ("winner", "loser"))
"""Columns of logs that hold the winner and the loser of each battle."""
ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
COUNT = ("count", "counts", "n_battles")
BOTH_BAD = 3
TIES = ("model", "half", "drop")
BOTHBAD = ("tie", "drop")
READINGS = ("name", "side")

_UNREAD = -2
"""A winner that cannot be read in one of the two ways."""
_NONE = ("", "nan", "none", "null", "na", "error")
_WORDS = {
    **dict.fromkeys(("model_a", "a", "left", "player_a", "win"), A_WINS),
    **dict.fromkeys(("model_b", "b", "right", "player_b", "loss"), B_WINS),
    **dict.fromkeys(("tie", "draw", "both_good", "inconsistent"), TIE),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "bothbad", "tie_bothbad"), BOTH_BAD),
}


class Roles(NamedTuple):
    """The columns of a battle log: the two sides, what says who won (one column, three, or none where the first side
    always won), and the column of counts."""

    a: str
    b: str
    winner: tuple[str, ...]
    count: str | None

    @property
    def names(self) -> list[str]:
        return [self.a, self.b, *self.winner, *([] if self.count is None else [self.count])]


def roles_of(
    available: Sequence[str],
    a: str | None = None,
    b: str | None = None,
    winner: str | None = None,
    count: str | None = None,
    where: str = "",
) -> Roles | None:
    """The columns of a battle log among ``available``: those that the caller names, else the usual ones; None where
    there are no two sides. Raises `DataError` for names that are absent and for sides without a winner."""
    plain = {c.strip().lower(): c for c in reversed(available)}
    own = {"model_a": a, "model_b": b, "winner": winner, "count": count}
    for role, name in own.items():
        if name is not None and name not in available:
            raise DataError(f"{where}no column {name!r} for {role}; the columns are {listed(available)}")
    if (a is None) != (b is None):
        raise OptionError(f"{'model_b' if b is None else 'model_a'}=... is needed as well: battles have two sides")
    count = count or next((plain[c] for c in COUNT if c in plain), None)
    if a is not None and b is not None:
        sides = (a, b)
    else:
        sides = next(((plain[x], plain[y]) for x, y in SIDES if x in plain and y in plain), None)
    if sides is None:
        beaten = next(((plain[x], plain[y]) for x, y in BEATEN if x in plain and y in plain), None)
        if beaten and winner is None:
            return Roles(*beaten, (), count)
        if winner is not None or own["count"] is not None:
            raise DataError(
                f"{where}no two columns of models; the columns are {listed(available)}. Name them with model_a=... and "
                "model_b=..."
            )
        return None
    if winner is None and all(c in plain for c in ONE_HOT):
        return Roles(*sides, tuple(plain[c] for c in ONE_HOT), count)
    winner = winner or next((plain[w] for w in WINNER if w in plain), None)
    if winner is None:
        raise DataError(
            f"{where}columns {sides[0]!r} and {sides[1]!r} look like battles, but there is no winner column "
            f"(one of {', '.join(WINNER)}); the columns are {listed(available)}. Name it with winner=..."
        )
    picked = Roles(*sides, (winner,), count)
    if len(set(picked.names)) < len(picked.names):
        raise DataError(
            f"{where}one column cannot play two roles: model_a, model_b, winner, count = {', '.join(picked.names)}"
        )
    return picked


def check_options(ties: str, bothbad: str) -> None:
    for name, value, known in (("ties", ties, TIES), ("bothbad", bothbad, BOTHBAD)):
        if value not in known:
            raise OptionError(f"{name}={value!r}; it must be one of {', '.join(map(repr, known))}")


def comparisons(
    columns: Mapping[str, Column],
    roles: Roles,
    *,
    ties: str = "model",
    bothbad: str = "tie",
    winner_as: str | None = None,
    notes: Sequence[str] = (),
    where: str = "",
    place: Callable[[int], str] = row_number,
) -> Comparisons:
    """Battles from the columns that `roles_of` found.

    **ties**: "model" keeps ties as ties, "half" makes each half a win for both sides, "drop" leaves them out.
    **bothbad**: "tie" reads "both bad" as a tie, "drop" leaves it out. Rows without a winner are dropped and counted.
    **winner_as**: the column of winners holds the "name" of the winner, or its "side"; by default what all rows allow.
    """
    check_options(ties, bothbad)
    if winner_as not in (None, *READINGS):
        raise OptionError(f'winner_as={winner_as!r}; it must be "name", "side" or None')
    n_rows = len(columns[roles.a].codes)
    if n_rows == 0:
        raise DataError(f"{where}there are no rows")
    notes = list(notes)
    models: dict[str, int] = {}
    sides = []
    for name in (roles.a, roles.b):
        check_names(columns[name], name, where, place)
        note_twins(columns[name], "model", notes)
        codes = np.array([models.setdefault(_text(v), len(models)) for v in columns[name].values], np.int64)
        sides.append(codes[columns[name].codes])
    own = np.flatnonzero(sides[0] == sides[1])
    if len(own):
        name = list(models)[sides[0][own[0]]]
        raise DataError(f"{where}{place(int(own[0]))}: {name!r} is compared with itself ({len(own)} such rows)")
    if not roles.winner:
        outcome = np.full(n_rows, A_WINS)
    elif len(roles.winner) == 3:
        outcome = _one_hot([(c, columns[c]) for c in roles.winner], where, place)
    else:
        outcome = _winner(roles.winner[0], columns[roles.winner[0]], sides, models, winner_as, where, place)
    count = np.ones(n_rows)
    if roles.count is not None:
        count = _counts(roles.count, columns[roles.count], where, place)
        notes.append(f"column {roles.count!r} counts the battles of a row: {count.sum():g} in {n_rows} rows")
        outcome = np.where(count == 0, _UNREAD, outcome)
        if (count == 0).any():
            notes.append(f"{int((count == 0).sum())} rows with a count of 0 were dropped")
    silent = int((outcome == -1).sum())
    if silent:
        notes.append(f"{silent} of {n_rows} rows have no winner and were dropped")
    a, b, outcome, count = apply(sides[0], sides[1], outcome, count, ties, bothbad, notes)
    if len(a) == 0:
        raise DataError(f"{where}no battle is left ({'; '.join(notes)})")
    return Comparisons(a, b, CODE_VALUES[outcome], count, list(models), notes=notes)


def _text(value: Any) -> str:
    return name_of(value) if isinstance(value, int | float | np.number) else str(value).strip()


CODE_VALUES = np.array([1.0, 0.0, 0.5])
"""Outcomes as `Comparisons` reads them, by code: a won, b won, tie."""


def apply(
    a: np.ndarray, b: np.ndarray, outcome: np.ndarray, count: np.ndarray, ties: str, bothbad: str, notes: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Carry out the two options on coded battles; rows with a negative code are dropped. Notes what was done."""
    bad = outcome == BOTH_BAD
    if bad.any():
        notes.append(
            f'{count[bad].sum():g} "both bad" battles were {"read as ties" if bothbad == "tie" else "dropped"}'
        )
        outcome = np.where(bad, TIE if bothbad == "tie" else -1, outcome)
    tie = outcome == TIE
    if tie.any() and ties == "drop":
        notes.append(f"{count[tie].sum():g} ties were dropped")
        outcome = np.where(tie, -1, outcome)
    if tie.any() and ties == "half":
        notes.append(f"{count[tie].sum():g} ties were counted as half a win for each side")
        repeat = np.where(tie, 2, 1)
        second = np.r_[False, np.diff(np.repeat(np.arange(len(a)), repeat)) == 0]
        a, b, outcome, count, tie = (np.repeat(x, repeat) for x in (a, b, outcome, count, tie))
        outcome = np.where(tie, np.where(second, B_WINS, A_WINS), outcome)
        count = np.where(tie, count / 2, count)
    keep = outcome >= 0
    if (tied := outcome == TIE).any():
        notes.append(
            f"{count[tied].sum():g} of {count[keep].sum():g} battles are ties; the method says how it counts them"
        )
    return a[keep], b[keep], outcome[keep], count[keep]


def _winner(
    name: str,
    winner: Column,
    sides: Sequence[np.ndarray],
    models: Mapping[str, int],
    winner_as: str | None,
    where: str,
    place: Callable[[int], str],
) -> np.ndarray:
    """Outcome of each row, from the winner's name or from words for the sides; -1 where there is none.

    A model may be called "a" or "left". So each row is read both ways: as a name (one of the row's two models, or a
    word for a tie or for no winner) and as a word. The way in which all rows can be read is taken.
    """
    words = np.full(len(winner.values) + 1, -1)
    named = np.full(len(winner.values) + 1, -1)
    for c, v in enumerate(winner.values):
        word = str(v).strip().lower()
        words[c] = -1 if word in _NONE else _WORDS.get(word, _UNREAD)
        named[c] = models.get(_text(v), -1)
    as_word, who = words[winner.codes], named[winner.codes]
    as_name = np.select([who < 0, who == sides[0], who == sides[1]], [_UNREAD, A_WINS, B_WINS], _UNREAD)
    as_name = np.where((as_name == _UNREAD) & ((as_word == -1) | (as_word >= TIE)), as_word, as_name)

    def at(row: int) -> str:
        return f"{where}{place(row)}, column {name!r}: {shown(winner.values[winner.codes[row]])}"

    read = {"name": as_name, "side": as_word}
    whole = [way for way in READINGS if (read[way] != _UNREAD).all()]
    if winner_as is None and len(whole) == 2 and (differ := as_name != as_word).any():
        row = int(np.argmax(differ))
        raise DataError(
            f"{at(row)} is the name of a model and a word for a side, and the two differ ({int(differ.sum())} such "
            'rows); say winner_as="name" or winner_as="side"'
        )
    if winner_as is not None or whole:
        outcome = read[winner_as or whole[0]]
    else:
        # Some rows can only be read as names, others as words: a name of a model that is not in its row is neither.
        outcome = np.where((as_name == _UNREAD) & (who < 0), as_word, as_name)
    if (bad := outcome == _UNREAD).any():
        row = int(np.argmax(bad))
        if who[row] >= 0 and winner_as != "side":
            raise DataError(f"{at(row)} is neither of the two models ({int(bad.sum())} such rows)")
        raise DataError(
            f"{at(row)} is not an outcome ({int(bad.sum())} such rows); it must be one of {', '.join(_WORDS)}, or the "
            "name of one of the row's two models"
        )
    return outcome


def _counts(name: str, column: Column, where: str, place: Callable[[int], str]) -> np.ndarray:
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
        value = "empty" if column.codes[row] < 0 else shown(column.values[column.codes[row]])
        raise DataError(
            f"{where}{place(row)}, column {name!r}: {value} is not a number of battles ({int(bad.sum())} such rows)"
        )
    return count


def _one_hot(columns: Sequence[tuple[str, Column]], where: str, place: Callable[[int], str]) -> np.ndarray:
    flags = []
    for name, column in columns:
        table = np.zeros(len(column.values) + 1, np.int64)
        for c, v in enumerate(column.values):
            if str(v).strip().lower() not in ("0", "1", "0.0", "1.0", "true", "false"):
                raise DataError(f"{where}{place(column.first_row(c))}, column {name!r}: {shown(v)} is not 0 or 1")
            table[c] = str(v).strip().lower() in ("1", "1.0", "true")
        flags.append(table[column.codes])
    total = np.sum(flags, axis=0)
    if (total > 1).any():
        row = int(np.argmax(total > 1))
        raise DataError(f"{where}{place(row)}: {int(total[row])} of {', '.join(n for n, _ in columns)} are 1")
    return np.where(total == 1, np.argmax(flags, axis=0), -1)


def from_pairs(
    pairs: Any,
    totals: Any,
    models: Sequence[Any] | None,
    *,
    ties: str = "model",
    bothbad: str = "tie",
    notes: Sequence[str] = (),
    where: str = "",
) -> Comparisons:
    """Aggregated battles: index pairs (E, 2) and counts (E, 3 or 4) of a's wins, b's wins, ties and "both bad"."""
    check_options(ties, bothbad)
    X, Y = np.asarray(pairs), np.asarray(totals)
    if X.ndim != 2 or X.shape[1] != 2 or X.dtype.kind not in "iu":
        raise DataError(f"{where}pairs of models need whole numbers of shape (pairs, 2), not {X.dtype} {X.shape}")
    if Y.ndim != 2 or len(Y) != len(X) or Y.shape[1] not in (3, 4) or Y.dtype.kind not in "iuf":
        raise DataError(f"{where}counts of battles need shape ({len(X)}, 3) or ({len(X)}, 4), not {Y.dtype} {Y.shape}")
    if not np.all(np.isfinite(Y)) or np.any(Y < 0):
        raise DataError(f"{where}counts of battles must be finite numbers of 0 or more")
    row, outcome = np.nonzero(Y)
    notes = list(notes)
    a, b, outcome, count = apply(X[row, 0], X[row, 1], outcome, Y[row, outcome].astype(float), ties, bothbad, notes)
    return Comparisons(a, b, CODE_VALUES[outcome], count, models, notes=notes)


def read_pairs(sources: list[Source], options: LogOptions) -> Comparisons:
    """A JSON object of aggregated battles: ``models``, ``X`` (index pairs) and ``Y`` (wins, losses, ties, both bad)."""
    if len(sources) > 1:
        raise DataError(f"a file of aggregated battles holds all of them; read one at a time, not {len(sources)} files")
    document, name = sources[0].document, sources[0].name
    try:
        X, Y = np.array(document["X"]), np.array(document["Y"])
    except (ValueError, OverflowError):
        raise DataError(f"{name}: X or Y has rows of unequal lengths, or numbers that are too large") from None
    models = list_of(document["models"], str, f"{name}: models")
    notes = [f"read {X.size // 2} pairs of {sources[0].path.name} (aggregated battles)"]
    return from_pairs(X, Y, models, ties=options.ties, bothbad=options.bothbad, notes=notes, where=f"{name}: ")


PAIRS = Format("arena-pairs", lambda source: {"models", "X", "Y"} <= source.keys, read_pairs)
