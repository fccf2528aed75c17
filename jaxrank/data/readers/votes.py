"""Words for who won -> codes and grades: sides, names, points, "A>>B", "much better"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxrank.data.comparisons import A_WINS, B_WINS, TIE
from jaxrank.data.readers.columns import Column
from jaxrank.errors import DataError, OptionError, one_line

BOTH_BAD = 3
NO_WINNER = -1
UNREAD = -2
"""A winner that cannot be read in one of the two ways."""
READINGS = ("name", "side")

_NONE = ("", "nan", "none", "null", "na", "error", "-")
WORDS = {
    **dict.fromkeys(("model_a", "a", "left", "player_a", "win", "model_1", "model1", "1-0"), A_WINS),
    **dict.fromkeys(("model_b", "b", "right", "player_b", "loss", "model_2", "model2", "0-1"), B_WINS),
    **dict.fromkeys(("tie", "draw", "both_good", "inconsistent", "equal", "same", "1/2-1/2"), TIE),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "bothbad", "tie_bothbad"), BOTH_BAD),
}
_ARROW = re.compile(r"\W*([ab])\s*(>+|=+|<+)\s*([ab])\W*")
_GRADED = re.compile(r"^(?:(?:model|response|answer|assistant)?[ _]?)?([ab12])[ _](?:is[ _])?(\w+?)[ _]better$")
_SIDES = {A_WINS: "a", B_WINS: "b", TIE: "tie"}
WinnerAs = str | Sequence[str] | Mapping[Any, str] | None
"""How a column of winners is read: "name", "side", what each code says, or None for what all rows allow."""
_DEGREES = {
    **dict.fromkeys(("slightly", "marginally", "somewhat", "a_bit"), 1.0),
    **dict.fromkeys(("clearly", "moderately"), 2.0),
    **dict.fromkeys(("much", "significantly", "far", "strongly"), 3.0),
}
_PLAIN = 1.5
"""The degree of a win that is said without one: more than slightly, less than much."""


def graded(word: str) -> float | None:
    """How much better the first side is, below 0 where the second is, 0 for a tie; None for other words.

    The numbers say their order alone: "A>B" is 1, "A>>B" 2, "a is slightly better" 1, "a is much better" 3.
    """
    text = word.strip().lower()
    if found := _ARROW.fullmatch(text):
        first, sign, second = found.groups()
        if first == second:
            return None
        size = 0 if sign[0] == "=" else len(sign)
        return float(size if (first == "a") == (sign[0] == ">") else -size)
    if found := _GRADED.fullmatch(text):
        side, degree = found.groups()
        if degree not in _DEGREES:
            return None
        return _DEGREES[degree] if side in "a1" else -_DEGREES[degree]
    return None


def outcomes(
    name: str,
    winner: Column,
    sides: Sequence[np.ndarray],
    models: Mapping[str, int],
    columns: tuple[str, str],
    winner_as: WinnerAs,
    at: Callable[[int], str],
) -> tuple[np.ndarray, np.ndarray | None, str | None]:
    """Outcome of each row, from the winner's name or from words for the sides, -1 where there is none; grades; and what
    codes in numbers were taken for, as a note: another table may mean the first side by 0.

    A model may be called "a" or "left". So each row is read both ways: as a name (one of the row's two models, or a
    word for a tie or for no winner) and as a word. The way in which all rows can be read is taken. **winner_as**: the
    way, or what each code says (`codes_of`), by words for sides then. **columns**: the names of the columns of the two
    sides, which are words for them too; **at** names a row in messages.
    """
    given = codes_of(winner_as)
    winner_as = winner_as if isinstance(winner_as, str) and given is None else None if given is None else "side"
    words, grades, codes = _words(name, winner, columns, given)
    named = np.full(len(winner.values) + 1, -1, np.int32)
    for c, v in enumerate(winner.values):
        named[c] = models.get(text_of_name(v), -1)
    as_word, who = words[winner.codes], named[winner.codes]
    code = lambda value: np.int8(value)  # small numbers: there may be millions of rows
    ways = [code(UNREAD), code(A_WINS), code(B_WINS)]
    as_name = np.select([who < 0, who == sides[0], who == sides[1]], ways, code(UNREAD))
    as_name = np.where((as_name == UNREAD) & ((as_word == NO_WINNER) | (as_word >= TIE)), as_word, as_name)
    read = {"name": as_name, "side": as_word}
    whole = [way for way in READINGS if (read[way] != UNREAD).all()]
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
        outcome = np.where((as_name == UNREAD) & (who < 0), as_word, as_name)
    if (bad := outcome == UNREAD).any():
        row = int(np.argmax(bad))
        if who[row] >= 0 and winner_as != "side":
            raise DataError(f"{at(row)} is neither of the two models ({int(bad.sum())} such rows)")
        known = ", ".join([*WORDS, "A>B, A>>B"])
        if given is not None:
            raise DataError(f"{at(row)} is no code of winner_as= ({int(bad.sum())} such rows); say what it means too")
        raise DataError(
            f"{at(row)} is not an outcome ({int(bad.sum())} such rows); it must be one of {known}, or the name of one "
            "of the row's two models"
        )
    meant = {A_WINS: f"{columns[0]} won", B_WINS: f"{columns[1]} won", TIE: "a tie"}
    said = None
    if codes and given is None and (outcome == as_word).all():
        told = ", ".join(f"{code} is {meant[took]}" for code, took in sorted(codes.items()))
        example = ",".join(f"{code}={_SIDES[took]}" for code, took in sorted(codes.items()))
        said = f"column {name!r} has codes, read as follows: {told}; where they mean something else, say so as this "
        said += f'reading does: winner_as="{example}"'
    return outcome, None if grades is None else grades[winner.codes], said


def codes_of(winner_as: WinnerAs) -> dict[str, int] | None:
    """The outcome that each code stands for, from "1=a,2=b,0=tie" or a mapping {1: "a", ...}; None where it is no
    such thing. Words for sides are those of any column of winners. `OptionError` for others."""
    if winner_as is None or (isinstance(winner_as, str) and winner_as in READINGS):
        return None
    pairs: list[Any] = []
    if isinstance(winner_as, Mapping):
        pairs = list(winner_as.items())
    elif isinstance(winner_as, str | list | tuple):
        texts = winner_as.split(",") if isinstance(winner_as, str) else winner_as
        pairs = [[part.strip() for part in str(text).split("=")] for text in texts]
    codes = {
        text_of_name(p[0]).lower().removesuffix(".0"): WORDS.get(str(p[1]).strip().lower())
        for p in pairs
        if len(p) == 2
    }
    if not codes or len(codes) < len(pairs) or None in codes.values():
        raise OptionError(
            f'winner_as={one_line(winner_as)}; it must be "name", "side" or None, or what each code says, such as '
            '"1=a,2=b,0=tie"'
        )
    return {code: took for code, took in codes.items() if took is not None}


def _words(
    name: str, winner: Column, columns: tuple[str, str], given: Mapping[str, int] | None
) -> tuple[np.ndarray, np.ndarray | None, dict[str, int]]:
    """The outcome that each distinct value means as a word, the grades where the words have degrees, and the codes."""
    texts = [str(v).strip().lower() for v in winner.values]
    known, codes = (given, {}) if given is not None else _vocabulary(name, texts, columns)
    if given is not None:
        texts = [text_of_name(v).lower().removesuffix(".0") for v in winner.values]
    words = np.full(len(texts) + 1, NO_WINNER, np.int8)
    degree = np.zeros(len(texts) + 1)
    for c, word in enumerate(texts):
        size = graded(word) if given is None else None
        if word in known:
            words[c] = known[word]
            degree[c] = {A_WINS: _PLAIN, B_WINS: -_PLAIN}.get(words[c], 0.0)
        elif size is not None:
            words[c], degree[c] = TIE if size == 0 else A_WINS if size > 0 else B_WINS, size
        else:
            words[c] = NO_WINNER if word in _NONE else UNREAD
    sizes = sorted(set(np.abs(degree[degree != 0])))
    if len(sizes) < 2 and (given is not None or not any(graded(word) is not None for word in texts)):
        return words, None, codes
    steps = np.searchsorted(sizes, np.abs(degree)) + 1.0
    grades = np.where(words == NO_WINNER, np.nan, np.where(degree == 0, 0.0, np.sign(degree) * steps))
    return words, grades, codes


def _vocabulary(name: str, texts: Sequence[str], columns: tuple[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """The words for sides and ties in this column: those that always are, the names of the columns of the two sides
    ("home", "white", "player2"), and letters or numbers where all values together say what they mean; and of these the
    numbers that another table may mean otherwise: those with 2 or -1 among them, not points of 0, a half and 1."""
    first, second = (c.strip().lower() for c in columns)
    known = {**WORDS, first: A_WINS, second: B_WINS}
    for end in ("_team", "team", "_name", "_team_name"):
        known |= {first.removesuffix(end) or first: A_WINS, second.removesuffix(end) or second: B_WINS}
    found = {t for t in texts if t not in _NONE}
    numbers = {t.removesuffix(".0") for t in found}
    if found & {"h", "d"} and found <= {"h", "d", "a"}:
        return known | {"h": A_WINS, "d": TIE, "a": B_WINS}, {}
    codes: dict[str, int] = {}
    if "2" in numbers and numbers <= {"1", "2", "0", "x", "tie", "draw"}:
        codes = {"1": A_WINS, "2": B_WINS, "0": TIE, "x": TIE}
    elif "-1" in numbers and numbers <= {"1", "0", "-1"}:
        codes = {"1": A_WINS, "-1": B_WINS, "0": TIE}
    elif numbers <= {"1", "0", "0.5"} and ("0.5" in numbers or name.strip().lower() != "winner"):
        return known | {"1": A_WINS, "1.0": A_WINS, "0": B_WINS, "0.0": B_WINS, "0.5": TIE}, {}
    known |= codes | {f"{code}.0": took for code, took in codes.items() if code != "x"}
    return known, {code: took for code, took in codes.items() if code in numbers}


def text_of_name(value: object) -> str:
    """A model's name as text; 3.0, which frames with gaps make of 3, is "3"."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        number = float(value)
        return str(int(number)) if number.is_integer() else str(value)
    return str(value).strip()
