"""Long tables: which columns to read, and from columns to ``Responses`` or, where they say so, ``Comparisons``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import battles
from jaxrank.data.readers.assemble import assemble, row_number
from jaxrank.data.readers.columns import ALIASES, Column, find
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


@dataclass(frozen=True)
class Options:
    """The options of `read` that concern long tables."""

    model: str | None = None
    question: str | None = None
    trial: str | None = None
    score: str | None = None
    levels: Sequence[float] | None = None
    threshold: float | None = None
    ties: str = "model"
    bothbad: str = "tie"

    def pick(self, available: Sequence[str], where: str = "") -> list[str]:
        """The columns to read: model, question, score and, where there is one, trial; or those of a battle log."""
        plain = [c for c in available if isinstance(c, str)]
        if not any((self.model, self.question, self.score)) and (named := battles.columns_of(plain)):
            return named
        model = find("model", self.model, plain, where=where)
        question = find("question", self.question, self._questions(plain), where=where)
        score = find("score", self._score_name(plain), plain, where=where)
        trial = find(
            "trial", self.trial, [c for c in plain if c not in (model, question, score)], required=False, where=where
        )
        picked = [c for c in (model, question, score, trial) if c is not None]
        if len(set(picked)) < len(picked):
            raise DataError(
                f"{where}one column cannot play two roles: model, question, score, trial = {', '.join(picked)}"
            )
        return picked

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
        if battles.columns_of(names):
            return battles.comparisons(
                columns, ties=self.ties, bothbad=self.bothbad, notes=notes, where=where, place=place
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
