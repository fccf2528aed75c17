"""The options of `read` and `from_frame` that concern tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxrank.errors import OptionError, one_line

TRIALS = ("model", "trial", "answer")
"""Options that only a table of trials has."""
BATTLES = ("a", "b", "winner", "a_score", "b_score", "voter", "category", "time")
"""Options that only a table of battles has."""
LISTS = ("order", "place")
"""Options that only a table of ordered lists has."""
NAMES = ("question", "weight", "group", "count", *TRIALS, *BATTLES, *LISTS)
WIDE = ("models", "questions")
MISSING = ("observed", "common", "worst")


@dataclass(frozen=True)
class Options:
    """The options of `read` that concern tables; see there."""

    model: str | None = None
    question: str | None = None
    trial: str | None = None
    score: str | Sequence[str] | None = None
    answer: str | None = None
    weight: str | None = None
    group: str | None = None
    a: str | None = None
    b: str | None = None
    winner: str | None = None
    a_score: str | None = None
    b_score: str | None = None
    count: str | None = None
    voter: str | None = None
    category: str | None = None
    time: str | None = None
    order: str | None = None
    place: str | None = None
    winner_as: str | Sequence[str] | Mapping[Any, str] | None = None
    wide: str | None = None
    lower_is_better: bool | Sequence[str] | None = None
    missing: str = "observed"
    errors: str | None = None
    levels: Sequence[float] | None = None
    threshold: float | None = None
    ties: str = "model"
    bothbad: str = "tie"

    def __post_init__(self) -> None:
        for role in NAMES:
            name = getattr(self, role)
            if name is not None and not isinstance(name, str):
                raise OptionError(f"{role}={one_line(name)}; it must be the name of a column")
        if not isinstance(self.score, str | None) and not (
            isinstance(self.score, list | tuple) and self.score and all(isinstance(c, str) for c in self.score)
        ):
            raise OptionError(f"score={one_line(self.score)}; it must be the name of a column, or a list of names")
        if not isinstance(self.wide, str | None) or self.wide not in (None, *WIDE):
            raise OptionError(f'wide={one_line(self.wide)}; it must be "models" or "questions": what the columns are')
        if not isinstance(self.missing, str) or self.missing not in MISSING:
            raise OptionError(f'missing={one_line(self.missing)}; it must be "observed", "common" or "worst"')
        lower = self.lower_is_better
        names = isinstance(lower, list | tuple) and all(isinstance(name, str) for name in lower)
        if not isinstance(lower, bool | None) and not names:
            raise OptionError(
                f"lower_is_better={one_line(lower)}; it must be True, False or the names of such questions"
            )
        if self.wide is not None and self.battles:
            raise OptionError("wide tables hold scores, a=, b= and winner= name columns of battles: give one kind")
        if self.trials and self.battles:
            raise OptionError(
                "model, trial, score and answer name the columns of trials, a, b and winner those of battles: give "
                "one kind"
            )

        if self.lists and (self.battles or self.wide is not None or self.score is not None or self.answer is not None):
            raise OptionError(
                "order and place name the columns of ordered lists, which have neither scores nor winners nor columns "
                "of models: leave these options out"
            )

    @property
    def lists(self) -> bool:
        """Whether an option says that the table holds ordered lists."""
        return any(getattr(self, name) is not None for name in LISTS)

    @property
    def trials(self) -> bool:
        """Whether an option says that the table holds trials."""
        return self.score is not None or any(getattr(self, name) is not None for name in TRIALS)

    @property
    def battles(self) -> bool:
        """Whether an option says that the table holds battles."""
        return any(getattr(self, name) is not None for name in BATTLES)

    @property
    def scores(self) -> list[str]:
        """The columns that ``score`` names."""
        return [] if self.score is None else [self.score] if isinstance(self.score, str) else list(self.score)
