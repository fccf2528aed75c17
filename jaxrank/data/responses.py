"""``Responses``: repeated-trial results R (models x questions x trials), checked once, with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from jaxrank.data.kind import Data, check_kind, frozen, joined_notes, union
from jaxrank.data.names import as_notes, check_names, name_list, places
from jaxrank.data.outcomes import as_outcomes
from jaxrank.errors import DataError


@dataclass(frozen=True, eq=False)
class Responses(Data):
    """Results of L models on M questions in up to N trials.

    ``Responses(R)`` accepts an array or nested lists of shape (L, M) or (L, M, N): integers or floats that are
    whole numbers 0..C (binary: 0 and 1), booleans; a missing cell is NaN, None, masked, or -1 (which is a score like
    any other where ``levels`` are given); ragged lists of
    trials are padded with missing cells. Names default to the labels of a wide data frame (a row a model) or of an
    xarray.DataArray, else to ``model 0`` .. and ``question 0`` ...

    **outcomes**: int16 (L, M, N), -1 where missing; None when only counts are known (`from_counts`).
    **counts**: int64 (L, M, C+1), observed trials of each category.
    **levels**: the value of each category on the user's scale, length C+1; 0..C unless given.
    **notes**: what was read, dropped or assumed, one sentence each.

    Raises `DataError` for an empty axis, a wrong number of axes, values that are not whole categories, duplicate
    names, and models without a single observed trial.

    >>> import jaxrank as jr
    >>> data = jr.Responses([[[1, 1], [0, 1]], [[1, 0], [0]]], models=["ada", "bob"])  # one trial of bob's is missing
    >>> data
    Responses(2 models x 2 questions x 2 trials, binary, unequal trials or missing cells)
    >>> data.trials.tolist()
    [[2, 2], [2, 1]]
    """

    kind: ClassVar[str] = "responses"
    outcomes: np.ndarray | None
    counts: np.ndarray
    models: tuple[str, ...]
    questions: tuple[str, ...]
    levels: tuple[float, ...]
    notes: tuple[str, ...] = field(default=())

    def __init__(
        self,
        R: Any,
        models: Sequence[Any] | None = None,
        questions: Sequence[Any] | None = None,
        *,
        levels: Sequence[float] | None = None,
        mask: Any = None,
        notes: Sequence[str] = (),
    ) -> None:
        """``levels`` are the distinct score values in ascending order where R holds scores such as 0, 0.5, 1
        (each is replaced by its index); ``mask`` is True where a cell is missing."""
        R, (row_names, column_names) = _labelled(R)
        models = row_names if models is None else models
        questions = column_names if questions is None else questions
        outcomes, levels = as_outcomes(R, levels, mask)
        n_categories = len(levels)
        counts = np.stack([(outcomes == c).sum(axis=2) for c in range(n_categories)], axis=-1).astype(np.int64)
        self._set(outcomes, counts, models, questions, levels, notes)

    @classmethod
    def from_counts(
        cls,
        successes: Any,
        trials: Any,
        models: Sequence[Any] | None = None,
        questions: Sequence[Any] | None = None,
        *,
        notes: Sequence[str] = (),
    ) -> Responses:
        """Binary results of which only counts are known: ``successes`` (L, M) of ``trials`` (scalar or (L, M)).

        Methods that pair trials by index cannot read them; those with ``pairing="all"`` can.

        >>> import jaxrank as jr
        >>> jr.Responses.from_counts([[7, 3], [5, 2]], trials=8, models=["ada", "bob"])
        Responses(2 models x 2 questions x 8 trials, binary, counts only)
        """
        try:
            k, n = np.asarray(successes), np.asarray(trials)
        except ValueError:
            raise DataError("successes and trials need one number for every model and question") from None
        if k.ndim != 2:
            raise DataError(f"successes has shape {k.shape}; it needs two axes (models, questions)")
        try:
            n = np.broadcast_to(n, k.shape)
        except ValueError:
            raise DataError(f"trials has shape {n.shape}, successes {k.shape}; they must agree") from None
        for name, x in (("successes", k), ("trials", n)):
            if x.dtype.kind not in "iufb" or not np.all(np.isfinite(x)) or np.any(x != np.floor(x)) or np.any(x < 0):
                raise DataError(f"{name} must be whole numbers of 0 or more")
        bad = np.argwhere(k > n)
        if len(bad):
            i, m = bad[0]
            raise DataError(f"successes exceed trials at (model {i}, question {m}): {k[i, m]} of {n[i, m]}")
        k, n = k.astype(np.int64), n.astype(np.int64)
        counts = np.stack([n - k, k], axis=-1)
        self = cls.__new__(cls)
        self._set(None, counts, models, questions, (0.0, 1.0), notes)
        return self

    def _set(self, outcomes, counts, models, questions, levels, notes) -> None:
        n_models, n_questions = counts.shape[:2]
        for axis, size in (("models", n_models), ("questions", n_questions)):
            if size == 0:
                raise DataError(f"R has no {axis}: the {axis} axis is empty (shape {counts.shape[:2]})")
        model_names = check_names(models, n_models, "model")
        question_names = check_names(questions, n_questions, "question")
        silent = np.flatnonzero(counts.sum(axis=(1, 2)) == 0)
        if len(silent):
            raise DataError(
                f"no observed trial for {name_list(model_names, silent)}; "
                "leave these models out or supply their results"
            )
        object.__setattr__(self, "outcomes", None if outcomes is None else frozen(outcomes))
        object.__setattr__(self, "counts", frozen(counts))
        object.__setattr__(self, "models", model_names)
        object.__setattr__(self, "questions", question_names)
        object.__setattr__(self, "levels", tuple(float(v) for v in levels))
        object.__setattr__(self, "notes", as_notes(notes))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(models, questions, trials); trials is the largest number in any cell."""
        n_trials = self.outcomes.shape[2] if self.outcomes is not None else int(self.trials.max())
        return (*self.counts.shape[:2], n_trials)

    @property
    def n_categories(self) -> int:
        return self.counts.shape[2]

    @property
    def binary(self) -> bool:
        return self.n_categories == 2

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
        return self.outcomes is None

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
        return (self.counts if self.outcomes is None else self.outcomes, np.array(self.levels))

    def select(self, models: Any = None, questions: Any = None) -> Responses:
        """The same results restricted to the given models and questions, in the order given.

        Each is a name, names, indices or a mask (one boolean for each); None keeps all. `OptionError` for unknown
        names, with the nearest ones, and masks of another length.

        >>> import jaxrank as jr
        >>> data = jr.Responses([[1, 0, 1], [0, 0, 1]], models=["ada", "bob"])
        >>> data.select(models=["bob", "ada"], questions=[True, False, True])
        Responses(2 models x 2 questions x 1 trials, binary)
        """
        i, m = places(self.models, models, "models"), places(self.questions, questions, "questions")
        outcomes = None if self.outcomes is None else self.outcomes[np.ix_(i, m)]
        names = [self.models[j] for j in i], [self.questions[j] for j in m]
        return self._made(outcomes, self.counts[np.ix_(i, m)], *names, self.levels, self.notes)

    def _joined(self, other: Responses) -> Responses:
        models, i = union(self.models, other.models)
        questions, m = union(self.questions, other.questions)
        levels = tuple(sorted({*self.levels, *other.levels}))
        first = np.arange(len(self.models)), np.arange(len(self.questions))
        counts = np.zeros((len(models), len(questions), len(levels)), np.int64)
        for part, at in ((self, first), (other, (i, m))):
            place = np.array([levels.index(v) for v in part.levels], int)
            counts[np.ix_(at[0], at[1], place)] += part.counts
        notes = joined_notes(self, other)
        if self.outcomes is None or other.outcomes is None:
            if self.outcomes is not None or other.outcomes is not None:
                notes = (*notes, "one part is counts only, so the order of the trials of the other was dropped")
            return self._made(None, counts, models, questions, levels, notes)
        n, more = self.shape[2], other.shape[2]
        both = np.zeros(counts.shape[:2], int)
        for part, at in ((self, first), (other, (i, m))):
            both[np.ix_(*at)] += part.trials > 0
        begin = n if (both == 2).any() else 0  # further trials where a cell has both, else the same trials
        outcomes = np.full((*counts.shape[:2], max(n, begin + more)), -1, np.int16)
        for part, at, start in ((self, first, 0), (other, (i, m), begin)):
            code = np.array([*(levels.index(v) for v in part.levels), -1], np.int16)
            old = outcomes[(*np.ix_(*at), slice(start, start + part.shape[2]))]
            new = code[part.outcomes]
            outcomes[(*np.ix_(*at), slice(start, start + part.shape[2]))] = np.where(new >= 0, new, old)
        return self._made(outcomes, counts, models, questions, levels, notes)

    @classmethod
    def _made(cls, *fields: Any) -> Responses:
        out = cls.__new__(cls)
        out._set(*fields)
        return out

    def __repr__(self) -> str:
        n_models, n_questions, n_trials = self.shape
        kind = "binary" if self.binary else f"{self.n_categories} categories"
        gaps = "" if self.complete else ", unequal trials or missing cells"
        form = "" if self.outcomes is not None else ", counts only"
        return f"Responses({n_models} models x {n_questions} questions x {n_trials} trials, {kind}{gaps}{form})"


def responses_of(data: Data, who: str, remedy: str = "") -> Responses:
    """The data, where they are trials, which ``who`` reads; `UnsupportedDataError` with the remedy where not."""
    check_kind(data, (Responses.kind,), who, remedy)
    return cast(Responses, data)


def _labelled(R: Any) -> tuple[Any, tuple[Any, Any]]:
    """What to read, and the names that its rows and columns carry: None where they are but numbered."""
    if hasattr(R, "dims") and hasattr(R, "coords"):  # an xarray.DataArray
        order = [
            next((d for d in R.dims if str(d).rstrip("s") == axis), None) for axis in ("model", "question", "trial")
        ]
        wanted = [d for d in order if d is not None]
        if len(wanted) == len(R.dims):
            R = R.transpose(*wanted)
        rows, columns = (_texts(R.coords[d].values if d in R.coords else None) for d in (*R.dims, "", "")[:2])
        return R.values, (rows, columns)
    if hasattr(R, "index") and hasattr(R, "columns") and hasattr(R, "to_numpy"):  # a wide pandas frame
        return R.to_numpy(), (_texts(R.index), _texts(R.columns))
    return R, (None, None)


def _texts(labels: Any) -> list[str] | None:
    """Labels that are words, or numbers other than a mere count; else None."""
    if labels is None:
        return None
    values = list(labels)
    return None if values == list(range(len(values))) else [str(v) for v in values]
