"""Leaderboards: one row a model with totals. They hold no results by question, which every method needs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jaxrank.data.readers.columns import ALIASES, listed
from jaxrank.data.readers.sides import BEATEN, SIDES

_TOTALS = re.compile(
    r"(^|[ _\-.])(elo|elo[+-]|rating|rank|ranking|ci|ci95|winrate|win[ _]?rate|mrr|stderr|std|sem|q\d{3}|lower|upper|"
    r"votes|num[ _]battles|n[ _]battles|pass_?(rate|num)(_\d+)?)($|[ _\-.+])|(^|_)pass@\d+$"
)
"""Words in the names of columns that sum up a model over all questions or battles."""


def totals(names: Sequence[str]) -> list[str]:
    """Columns that sum up a model over all questions or battles, by their names."""
    return [name for name in names if _TOTALS.search(name.strip().lower())]


def is_leaderboard(names: Sequence[str]) -> bool:
    """Whether the columns are those of a leaderboard: a model, totals, and neither questions nor two sides."""
    plain = {name.strip().lower() for name in names}
    models = plain & {*ALIASES["model"], "name"}
    sides = any(a in plain and b in plain for a, b in (*SIDES, *BEATEN))
    return bool(models) and not plain & set(ALIASES["question"]) and not sides and bool(totals(names))


def refusal(names: Sequence[str]) -> str:
    """What is missing in a leaderboard."""
    return (
        f"this is a leaderboard: one row a model, with totals ({listed(totals(names), 4)}). What is missing is the "
        "results by question (model, question, score), or the battles (two models and the winner): read the files from "
        "which it was made. If the columns are questions all the same, say wide='questions'"
    )
