"""``Trials``: scores of models on questions in trials, as statistics see them; `Responses` makes and changes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from jaxrank.data.columns import DIRECTION, GROUP, WEIGHT
from jaxrank.data.gaps import codes_of
from jaxrank.data.kind import Data
from jaxrank.data.names import name_list
from jaxrank.errors import DataError

_SCALES = 100  # so many times as large as those of half of the questions, scores are on another scale


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Trials(Data):
    """What `Responses` hold, and what follows from it; the fields are described there."""

    form: ClassVar[str] = "responses"
    table: np.ndarray | None
    counts: np.ndarray
    models: tuple[str, ...]
    questions: tuple[str, ...]
    levels: tuple[float, ...]
    question_columns: Mapping[str, np.ndarray]
    model_columns: Mapping[str, np.ndarray]
    tie_within: float
    missing: str
    balance: bool
    notes: tuple[str, ...]

    @property
    def real(self) -> np.ndarray | None:
        """float64 (L, M, N), NaN where missing, of real scores, else None."""
        return self.table if self.table is not None and self.table.dtype.kind == "f" else None

    @property
    def outcomes(self) -> np.ndarray | None:
        """int (L, M, N), -1 where missing: categories; of real scores the place among the distinct ones of
        the question."""
        return self.table if self.real is None else self._coded[0]

    @cached_property
    def _coded(self) -> tuple[np.ndarray, np.ndarray]:
        return codes_of(self.real)

    @property
    def kind(self) -> str:
        return "real" if self.real is not None else "binary" if self.binary else "graded"

    @cached_property
    def oriented(self) -> np.ndarray:
        """float64 (L, M, N), NaN where missing: the scores, their sign turned where lower is better.
        `DataError` where only counts are known."""
        if self.real is not None:
            return self.real
        if self.outcomes is None:
            raise DataError(
                "these results are counts only, the score of a single trial is unknown; use jaxrank.Responses(trials)"
            )
        return np.append(np.asarray(self.levels), np.nan)[self.outcomes]

    @property
    def values(self) -> np.ndarray:
        """float64 (L, M, N), NaN where missing: the scores on the user's scale."""
        return self.oriented * np.where(self.higher_is_better, 1.0, -1.0)[:, None]

    @property
    def scales(self) -> str:
        if self.real is None:
            return ""
        size = np.max(np.abs(self.real), axis=(0, 2), initial=0, where=~np.isnan(self.real))
        half = np.sort(size)[(len(size) - 1) // 2]
        large = np.flatnonzero(size >= _SCALES * half)
        if half == 0 or not len(large):
            return ""
        of = f"scores of {name_list(self.questions, large, 4)} reach {size.max():.4g}"
        return f"{of}, and those of half of the questions stay within {half:.4g}"

    @property
    def cell_means(self) -> np.ndarray:
        """float64 (L, M), NaN where nothing was observed: the mean score of each cell, higher is better."""
        n = np.maximum(self.trials, 1)
        if self.real is None:
            mean = self.counts @ np.asarray(self.levels) / n
        else:  # each divided first, so that no sum overflows
            mean = np.nansum(self.real / n[:, :, None], axis=2)
        return np.where(self.trials > 0, mean, np.nan)

    @property
    def cell_variances(self) -> np.ndarray:
        """float64 (L, M): sample variance of the trials of each cell; NaN with fewer than two."""
        n, mean = self.trials, self.cell_means
        if self.real is None:
            square = (self.counts * (np.asarray(self.levels) - mean[:, :, None]) ** 2).sum(axis=2)
        else:
            square = np.nansum((self.real - mean[:, :, None]) ** 2, axis=2)
        return np.where(n > 1, square, np.nan) / np.maximum(n - 1, 1)

    @property
    def weights(self) -> np.ndarray:
        """float64 (M,): the weight of each question, 1 unless given."""
        return self.question_columns.get(WEIGHT, np.ones(len(self.questions)))

    @property
    def weighted(self) -> bool:
        """Whether the questions differ in weight."""
        return bool(np.any(self.weights != self.weights[0]))

    @property
    def groups(self) -> np.ndarray | None:
        """(M,), the group of each question, texts; None where there are none."""
        return self.question_columns.get(GROUP)

    @property
    def higher_is_better(self) -> np.ndarray:
        """bool (M,)."""
        return self.question_columns.get(DIRECTION, np.ones(len(self.questions), bool))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(models, questions, trials); trials is the largest number in any cell."""
        if self.real is not None:
            return self.real.shape
        n_trials = self.outcomes.shape[2] if self.outcomes is not None else int(self.trials.max())
        return (*self.counts.shape[:2], n_trials)

    @property
    def n_categories(self) -> int:
        """How many categories there are; of real scores how many distinct ones a question has, at
        least 3."""
        return self.counts.shape[2] if self.real is None else max(3, self._coded[1].shape[1])

    @property
    def question_grid(self) -> np.ndarray:
        """float64 (M, K), rising: the score of each outcome of each question, higher is better."""
        if self.real is not None:
            return self._coded[1]
        return np.broadcast_to(np.asarray(self.levels), (len(self.questions), len(self.levels)))

    @property
    def binary(self) -> bool:
        return self.real is None and self.counts.shape[2] == 2

    @property
    def trials(self) -> np.ndarray:
        """int64 (L, M): observed trials of each cell."""
        return self.counts.sum(axis=2)

    @property
    def fewest_trials(self) -> int:
        return int(self.trials.min(where=self.trials > 0, initial=np.iinfo(np.int64).max))

    @property
    def complete(self) -> bool:
        """True when every cell has the same number of observed trials."""
        n = self.trials
        return bool((n == n.flat[0]).all())

    @property
    def coverage(self) -> np.ndarray:
        """float (L,): share of the questions on which a model has at least one observed trial."""
        return (self.trials > 0).mean(axis=1)

    @property
    def unit(self) -> str:
        return "trial"

    @property
    def n_results(self) -> float:
        return int(self.trials.sum())

    @property
    def counts_only(self) -> bool:
        return self.real is None and self.outcomes is None

    @property
    def aligned(self) -> bool:
        """Whether no cell holds trials and lacks others; a cell without any is never drawn from."""
        n = self.trials
        return bool(((n == 0) | (n == self.shape[2])).all())

    @property
    def size(self) -> str:
        n = self.trials[self.trials > 0]
        trials = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
        gaps = " (some cells missing)" if (self.trials == 0).any() else ""
        word = "trial" if trials == "1" else "trials"
        return f"{len(self.models)} models, {len(self.questions)} questions, {trials} {word} a cell{gaps}"

    @property
    def gaps(self) -> str:
        tried = self.trials > 0
        models = np.flatnonzero(~tried.all(axis=1) & (tried.any(axis=0) & ~tried).any(axis=1))
        if len(models) == 0:
            return ""
        share = ", ".join(f"{self.models[i]!r} {tried[i].sum()}/{tried.shape[1]}" for i in models[:5])
        said = "model has" if len(models) == 1 else "models have"
        return f"{len(models)} {said} no result on some questions ({share}{', ...' if len(models) > 5 else ''})"

    @property
    def units(self) -> Mapping[str, float]:
        return {"question": len(self.questions), "trial": self.shape[2]}

    def arrays(self) -> tuple[np.ndarray, ...]:
        design = [np.asarray(self.weights), np.asarray(self.tie_within), np.asarray(self.balance)]
        if self.groups is not None:
            design.append(np.unique(self.groups.astype(str), return_inverse=True)[1])
        extra = design if self.question_columns or self.tie_within else []
        if self.real is not None:
            return (self.real, *extra)
        return (self.counts if self.outcomes is None else self.outcomes, np.array(self.levels), *extra)

    def __repr__(self) -> str:
        n_models, n_questions, n_trials = self.shape
        kind = f"{self.n_categories} categories" if self.kind == "graded" else self.kind
        gaps = "" if self.complete else ", unequal trials or missing cells"
        form = ", counts only" if self.counts_only else ""
        lower = int((~self.higher_is_better).sum())
        form += f", lower is better on {lower} question{'s' * (lower > 1)}" if lower else ""
        form += ", weighted questions" if self.weighted else ""
        return f"Responses({n_models} models x {n_questions} questions x {n_trials} trials, {kind}{gaps}{form})"
