"""Battle logs -> ``Comparisons``: FastChat and LMArena logs, one-hot winners, left and right, aggregated pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxrank.data.comparisons import A_WINS, B_WINS, TIE, Comparisons
from jaxrank.data.readers.assemble import name_of, row_number
from jaxrank.data.readers.columns import Column
from jaxrank.data.readers.logs import Format, LogOptions, list_of
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError, OptionError

SIDES = (("model_a", "model_b"), ("left", "right"), ("player_a", "player_b"))
WINNER = ("winner", "outcome", "result")
ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
BOTH_BAD = 3
TIES = ("model", "half", "drop")
BOTHBAD = ("tie", "drop")

_NONE = ("", "nan", "none", "null", "na", "error")
_WORDS = {
    **dict.fromkeys(("model_a", "a", "left", "player_a", "win"), A_WINS),
    **dict.fromkeys(("model_b", "b", "right", "player_b", "loss"), B_WINS),
    **dict.fromkeys(("tie", "draw", "both_good", "inconsistent"), TIE),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "bothbad", "tie_bothbad"), BOTH_BAD),
}


def columns_of(available: Sequence[str]) -> list[str] | None:
    """The columns of a battle log among ``available``, or None: (a, b, winner) or (a, b, three one-hot columns)."""
    for a, b in SIDES:
        if a in available and b in available:
            if all(c in available for c in ONE_HOT):
                return [a, b, *ONE_HOT]
            for w in WINNER:
                if w in available:
                    return [a, b, w]
            raise DataError(
                f"columns {a!r} and {b!r} look like battles, but there is no winner column "
                f"(one of {', '.join(WINNER)}); the columns are {', '.join(available)}"
            )
    return None


def check_options(ties: str, bothbad: str) -> None:
    for name, value, known in (("ties", ties, TIES), ("bothbad", bothbad, BOTHBAD)):
        if value not in known:
            raise OptionError(f"{name}={value!r}; it must be one of {', '.join(map(repr, known))}")


def comparisons(
    columns: Mapping[str, Column],
    *,
    ties: str = "model",
    bothbad: str = "tie",
    notes: Sequence[str] = (),
    where: str = "",
    place: Callable[[int], str] = row_number,
) -> Comparisons:
    """Battles from the columns that `columns_of` names, in that order.

    **ties**: "model" keeps ties as ties, "half" makes each half a win for both sides, "drop" leaves them out.
    **bothbad**: "tie" reads "both bad" as a tie, "drop" leaves it out. Rows without a winner are dropped and counted.
    """
    check_options(ties, bothbad)
    (name_a, side_a), (name_b, side_b), *rest = columns.items()
    if len(side_a.codes) == 0:
        raise DataError(f"{where}there are no rows")
    place_of: dict[str, int] = {}
    sides = []
    for name, side in ((name_a, side_a), (name_b, side_b)):
        if (side.codes < 0).any():
            raise DataError(f"{where}{place(int(np.argmax(side.codes < 0)))}, column {name!r}: empty")
        if any(isinstance(v, int | np.integer) for v in side.values):
            texts = [name_of(v) for v in side.values]
        else:
            texts = [str(v).strip() for v in side.values]
        codes = np.array([place_of.setdefault(t, len(place_of)) for t in texts])
        sides.append(codes[side.codes])
    outcome = _one_hot(rest, where, place) if len(rest) == 3 else _winner(*rest[0], sides, place_of, where, place)
    own = np.flatnonzero(sides[0] == sides[1])
    if len(own):
        name = list(place_of)[sides[0][own[0]]]
        raise DataError(f"{where}{place(int(own[0]))}: {name!r} is compared with itself ({len(own)} such rows)")
    notes = list(notes)
    silent = int((outcome < 0).sum())
    if silent:
        notes.append(f"{silent} of {len(outcome)} rows have no winner and were dropped")
    a, b, outcome, count = apply(sides[0], sides[1], outcome, np.ones(len(outcome)), ties, bothbad, notes)
    if len(a) == 0:
        raise DataError(f"{where}no battle is left ({'; '.join(notes)})")
    return Comparisons(a, b, CODE_VALUES[outcome], count, list(place_of), notes=notes)


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
    return a[keep], b[keep], outcome[keep], count[keep]


def _winner(
    name: str,
    winner: Column,
    sides: Sequence[np.ndarray],
    models: Mapping[str, int],
    where: str,
    place: Callable[[int], str],
) -> np.ndarray:
    """Outcome of each row from words, or from the winner's own name; -1 where there is none."""
    table = np.full(len(winner.values) + 1, -1)
    named = np.full(len(winner.values) + 1, -1)
    for c, v in enumerate(winner.values):
        word = str(v).strip().lower()
        if word in _NONE:
            continue
        if str(v).strip() in models and word not in _WORDS:
            named[c] = models[str(v).strip()]
            continue
        if word not in _WORDS:
            raise DataError(
                f"{where}{place(winner.first_row(c))}, column {name!r}: {v!r} is not an outcome "
                f"({int((winner.codes == c).sum())} such rows); it must be one of {', '.join(_WORDS)}"
            )
        table[c] = _WORDS[word]
    who = named[winner.codes]
    stranger = (who >= 0) & (who != sides[0]) & (who != sides[1])
    if stranger.any():
        row = int(np.argmax(stranger))
        raise DataError(
            f"{where}{place(row)}, column {name!r}: {winner.values[winner.codes[row]]!r} is neither of the two models"
        )
    return np.where(who < 0, table[winner.codes], np.where(who == sides[0], A_WINS, B_WINS))


def _one_hot(columns: Sequence[tuple[str, Column]], where: str, place: Callable[[int], str]) -> np.ndarray:
    flags = []
    for name, column in columns:
        table = np.zeros(len(column.values) + 1, np.int64)
        for c, v in enumerate(column.values):
            if str(v).strip().lower() not in ("0", "1", "0.0", "1.0", "true", "false"):
                raise DataError(f"{where}{place(column.first_row(c))}, column {name!r}: {v!r} is not 0 or 1")
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
    except ValueError:
        raise DataError(f"{name}: X or Y has rows of unequal lengths") from None
    models = list_of(document["models"], str, f"{name}: models")
    notes = [f"read {X.size // 2} pairs of {name} (aggregated battles)"]
    return from_pairs(X, Y, models, ties=options.ties, bothbad=options.bothbad, notes=notes, where=f"{name}: ")


PAIRS = Format("arena-pairs", lambda source: {"models", "X", "Y"} <= source.keys, read_pairs)
