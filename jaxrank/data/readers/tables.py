"""Long tables: which columns to read, and from columns to ``Responses`` or, where they say so, ``Comparisons``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import battles
from jaxrank.data.readers.assemble import assemble, row_number
from jaxrank.data.readers.columns import ALIASES, Column, find, listed
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError, one_line


@dataclass(frozen=True)
class Options:
    """The options of `read` that concern long tables."""

    model: str | None = None
    question: str | None = None
    trial: str | None = None
    score: str | None = None
    model_a: str | None = None
    model_b: str | None = None
    winner: str | None = None
    count: str | None = None
    winner_as: str | None = None
    levels: Sequence[float] | None = None
    threshold: float | None = None
    ties: str = "model"
    bothbad: str = "tie"

    def __post_init__(self) -> None:
        for role in ("model", "question", "trial", "score", "model_a", "model_b", "winner", "count"):
            name = getattr(self, role)
            if name is not None and not isinstance(name, str):
                raise OptionError(f"{role}={one_line(name)}; it must be the name of a column")
        if self._long() and self._battles():
            raise OptionError(
                "model, question and score name the columns of trials, model_a, model_b, winner and count those of "
                "battles: give one kind"
            )

    def _long(self) -> bool:
        return any((self.model, self.question, self.score))

    def _battles(self) -> bool:
        return any((self.model_a, self.model_b, self.winner, self.count))

    def pick(self, available: Sequence[str], where: str = "") -> list[str]:
        """The columns to read: model, question, score and, where there is one, trial; or those of a battle log."""
        plain = [c for c in available if isinstance(c, str)]
        if roles := self._roles(plain, where):
            return roles.names
        hint = self._hint(plain)
        model = find("model", self.model, plain, where=where, hint=hint)
        question = find("question", self.question, self._questions(plain), where=where, hint=hint)
        score = find("score", self._score_name(plain), plain, where=where, hint=hint)
        trial = find(
            "trial", self.trial, [c for c in plain if c not in (model, question, score)], required=False, where=where
        )
        picked = [c for c in (model, question, score, trial) if c is not None]
        if len(set(picked)) < len(picked):
            raise DataError(
                f"{where}one column cannot play two roles: model, question, score, trial = {listed(picked)}"
            )
        return picked

    def unread(self, available: Iterable[str], picked: Sequence[str]) -> list[str]:
        """A note on a column of counts that a table of trials has: nothing reads it."""
        counts = [c for c in available if c.strip().lower() in battles.COUNT and c not in picked]
        return [f"column {counts[0]!r} is not read: each row is one trial"] if counts else []

    def _roles(self, available: Sequence[str], where: str = "") -> battles.Roles | None:
        if self._long():
            return None
        return battles.roles_of(available, self.model_a, self.model_b, self.winner, self.count, where)

    def _hint(self, available: list[str]) -> str:
        """A word on wide tables, which have one column for each model or for each question."""
        if self._long() or len(available) < 3:
            return ""
        known = {c.strip().lower() for c in available}
        model, question, score = (bool(known & set(ALIASES[role])) for role in ("model", "question", "score"))
        if score or model == question:
            return ""
        each = "model" if question else "question"
        return (
            f" If this is a wide table, with a column for each {each}, bring it into long form first (pandas: "
            "frame.melt), one row a score."
        )

    def _questions(self, available: list[str]) -> list[str]:
        # In frames of Inspect's samples_df, sample_id is a new identifier for every epoch and id is the question.
        uuid = "sample_id" in available and "id" in available and "epoch" in available
        return [c for c in available if c != "sample_id"] if uuid and self.question is None else available

    def _score_name(self, available: list[str]) -> str | None:
        # The same frames name the score after the scorer.
        own = [c for c in available if c.startswith("score_") and c not in ALIASES["score"]]
        known = {c.strip().lower() for c in available} & set(ALIASES["score"])
        return own[0] if self.score in (None, "score") and len(own) == 1 and not known else self.score

    def build(
        self,
        columns: Mapping[str, Column],
        *,
        notes: Sequence[str] = (),
        where: str = "",
        place: Callable[[int], str] = row_number,
    ) -> Responses | Comparisons:
        """R or battles from the columns that `pick` named, in its order."""
        names = list(columns)
        if roles := self._roles(names, where):
            return battles.comparisons(
                columns,
                roles,
                ties=self.ties,
                bothbad=self.bothbad,
                winner_as=self.winner_as,
                notes=notes,
                where=where,
                place=place,
            )
        model, question, score, *trial = names
        return assemble(
            columns[model],
            columns[question],
            columns[trial[0]] if trial else None,
            columns[score],
            names=(model, question, trial[0] if trial else "trial", score),
            levels=self.levels,
            threshold=self.threshold,
            notes=notes,
            where=where,
            place=place,
        )
