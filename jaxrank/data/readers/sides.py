"""Which columns of a table of battles say who met, who won, how often, and what else is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jaxrank.data.names import nearest
from jaxrank.data.readers.columns import Peek, find, listed
from jaxrank.data.readers.conversations import NAME
from jaxrank.data.readers.options import Options
from jaxrank.errors import DataError, OptionError

_STEMS = (
    "model",
    "player",
    "team",
    "player_name",
    "team_name",
    "competitor",
    "contestant",
    "agent",
    "system",
    "fighter",
)
SIDES = (
    *(("model_a", "model_b"), ("left", "right"), ("home", "away"), ("home_team", "away_team")),
    *(("hometeam", "awayteam"), ("home_team_name", "away_team_name"), ("white", "black"), ("a", "b")),
    *((f"{stem}{first}", f"{stem}{second}") for stem in _STEMS for first, second in (("1", "2"), ("_1", "_2"))),
    *((f"{stem}_{first}", f"{stem}_{second}") for stem in _STEMS[1:] for first, second in (("a", "b"),)),
)
"""Columns that hold the two models of a battle."""
BEATEN = (
    *(("winner_name", "loser_name"), ("winner", "loser"), ("winning_team", "losing_team"), ("winner_id", "loser_id")),
    ("chosen_model", "rejected_model"),
)
"""Columns of logs that hold the winner and the loser of each battle."""
WINNER = ("winner", "outcome", "result", "verdict", "vote", "preference", "ftr")
ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
POINTS = (
    *(("home_score", "away_score"), ("home_goals", "away_goals"), ("home_points", "away_points"), ("fthg", "ftag")),
    *(("score_a", "score_b"), ("score1", "score2"), ("score_1", "score_2"), ("a_score", "b_score"), ("hg", "ag")),
    *(("white_score", "black_score"), ("score_home", "score_away"), ("goals_home", "goals_away")),
)
"""Columns that hold what either side scored."""
GAMES = (("g1_winner", "g2_winner", "side"), ("winner_ab", "winner_ba", "place"))
"""Columns of two games in both orders of presentation, and what the word for the winner of the second names: the "side"
(model_1 stays model_1) or the "place" (A is who was shown first, model_2 in the second game)."""
EXTRAS = ("voter", "category", "time", "weight", "question")
_LONG = 80
"""Characters beyond which a text is no label but an answer or a prompt."""


@dataclass(frozen=True)
class Roles:
    """The columns of a battle log.

    **winner**: what says who won: one column, three (one-hot), or none where the first side always won or **points**
    say it. **games**: the columns of two games a row, and how the second names its winner. **named**: columns of
    `EXTRAS` by role. **kept**: further columns, in the order of the table. **left**: columns that are not kept.
    **numbers**: those of the kept ones that begin with numbers. **conversation**: the column of what is known of the
    two answers, nested.
    """

    a: str
    b: str
    winner: tuple[str, ...] = ()
    points: tuple[str, str] | None = None
    games: tuple[str, str, str] | None = None
    count: str | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    conversation: str | None = None

    @property
    def main(self) -> list[str]:
        """The columns that say who met and who won."""
        said = [*self.winner, *(self.points or ()), *(self.games[:2] if self.games else ())]
        return [self.a, self.b, *said, *([] if self.count is None else [self.count])]

    @property
    def columns(self) -> list[str]:
        """All columns to read, each once."""
        nested = [] if self.conversation is None else [self.conversation]
        return list(dict.fromkeys([*self.main, *self.named.values(), *self.kept, *nested]))


def roles_of(peek: Peek, options: Options, where: str = "") -> Roles | None:
    """The columns of a battle log: those that the options name, else the usual ones; None where there are no two sides.

    Raises `DataError` for names that are absent and for sides without a winner."""
    plain = {c.strip().lower(): c for c in reversed(peek.names)}
    asked = ("a", "b", "winner", "a_score", "b_score", "count", *EXTRAS)
    own = {role: name for role in asked if (name := getattr(options, role)) is not None}
    for role, name in own.items():
        if name not in peek.names and (options.battles or role in asked[:6]):
            near = nearest(name, peek.names)
            meant = f"did you mean {near}? The columns" if near else "the columns"
            raise DataError(f"{where}no column {name!r} for {role}; {meant} are {listed(peek.names)}")
    for first, second in (("a", "b"), ("a_score", "b_score")):
        if (first in own) != (second in own):
            absent = second if first in own else first
            raise OptionError(f"{absent}=... is needed as well: battles have two sides")
    count = own.get("count") or find("count", None, peek.names)
    first = lambda pairs: next(((plain[x], plain[y]) for x, y in pairs if x in plain and y in plain), None)
    sides = (own["a"], own["b"]) if "a" in own else first(SIDES)
    if sides is None:
        beaten = first(BEATEN)
        if beaten and "winner" not in own:
            return _with_extras(Roles(beaten[0], beaten[1], count=count), peek, own)
        if options.battles:
            raise DataError(
                f"{where}no two columns of models; the columns are {listed(peek.names)}. Name them with a=... and b=..."
            )
        return None
    points = (own["a_score"], own["b_score"]) if "a_score" in own else None
    if "winner" not in own and points is None:
        if all(c in plain for c in ONE_HOT):
            return _with_extras(Roles(sides[0], sides[1], tuple(plain[c] for c in ONE_HOT), count=count), peek, own)
        if games := next((g for g in GAMES if g[0] in plain and g[1] in plain), None):
            roles = Roles(sides[0], sides[1], games=(plain[games[0]], plain[games[1]], games[2]), count=count)
            return _with_extras(roles, peek, own)
    winner = own.get("winner") or (None if points else next((plain[w] for w in WINNER if w in plain), None))
    if winner is None:
        points = points or first(POINTS)
    if winner is None and points is None:
        if not options.battles and sides[0].lower() in ("a", "b", "left", "right", "home", "away", "white", "black"):
            return None  # words that other tables have too
        raise DataError(
            f"{where}columns {sides[0]!r} and {sides[1]!r} look like battles, but there is no winner column (one of "
            f"{', '.join(WINNER)}) and no two columns of what they scored; the columns are "
            f"{', '.join(map(peek.shows, peek.names[:20]))}. Name it with winner=..., or a_score=... and b_score=..."
        )
    won = () if winner is None else (winner,)
    picked = Roles(sides[0], sides[1], won, None if winner else points, None, count)
    if len(set(picked.main)) < len(picked.main):
        raise DataError(f"{where}one column cannot play two roles: a, b, winner, count = {', '.join(picked.main)}")
    return _with_extras(picked, peek, own)


def _with_extras(roles: Roles, peek: Peek, own: Mapping[str, str]) -> Roles:
    """The same with every further column that can be kept: numbers and labels; long and nested texts are left."""
    rest = [c for c in dict.fromkeys(peek.names) if c not in roles.main]
    named = {}
    for role in EXTRAS:
        name = own.get(role) or find(role, None, [c for c in rest if c not in named.values()])
        if name is not None and (role in own or _label(peek, name)):
            named[role] = name
    nested = next((c for c in rest if c.strip().lower() == NAME and c not in named.values()), None)
    kept = [c for c in rest if c not in (*named.values(), nested) and _label(peek, c)]
    left = [c for c in rest if c not in (*named.values(), *kept, nested)]
    numbers = [c for c in (*kept, *(named[r] for r in ("time", "weight") if r in named)) if peek.numbers(c)]
    return replace(roles, named=named, kept=tuple(kept), left=tuple(left), numbers=tuple(numbers), conversation=nested)


def _label(peek: Peek, name: str) -> bool:
    values = peek.head.get(name)
    return bool(values) and all(
        value is None or (isinstance(value, str | int | float | bool) and len(str(value)) <= _LONG) or _moment(value)
        for value in values
    )


def _moment(value: object) -> bool:
    return bool(re.fullmatch(r"(datetime|date|time|Timestamp|Decimal|NaTType)", type(value).__name__))
