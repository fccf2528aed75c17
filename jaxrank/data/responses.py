"""``Responses``: repeated-trial results R (models x questions x trials), checked once, with names."""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxrank.errors import DataError, JaxrankWarning, OptionError

MAX_CATEGORY = 255
MAX_CELLS = 2**31
"""Largest R that is read; beyond it the working copies would need over 40 GB."""


@dataclass(frozen=True, eq=False)
class Responses:
    """Results of L models on M questions in up to N trials.

    ``Responses(R)`` accepts an array or nested lists of shape (L, M) or (L, M, N): integers or floats that are
    whole numbers 0..C (binary: 0 and 1), booleans; a missing cell is -1, NaN, None or masked; ragged lists of
    trials are padded with missing cells. Names default to ``model 0`` .. and ``question 0`` ...

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
        outcomes, levels = _as_outcomes(R, levels, mask)
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
        k, n = np.asarray(successes), np.asarray(trials)
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
        object.__setattr__(self, "outcomes", outcomes)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "models", model_names)
        object.__setattr__(self, "questions", question_names)
        object.__setattr__(self, "levels", tuple(float(v) for v in levels))
        object.__setattr__(self, "notes", tuple(notes))

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
    def complete(self) -> bool:
        """True when every cell has the same number of observed trials."""
        n = self.trials
        return bool((n == n.flat[0]).all())

    @property
    def coverage(self) -> np.ndarray:
        """float (L,): share of the questions on which a model has at least one observed trial."""
        return (self.trials > 0).mean(axis=1)

    def select(self, models: Sequence[int] | None = None, questions: Sequence[int] | None = None) -> Responses:
        """The same results restricted to the given models and questions (indices, in the order given)."""
        i = np.arange(len(self.models)) if models is None else np.asarray(models, int)
        m = np.arange(len(self.questions)) if questions is None else np.asarray(questions, int)
        out = Responses.__new__(Responses)
        outcomes = None if self.outcomes is None else self.outcomes[np.ix_(i, m)]
        names = [self.models[j] for j in i], [self.questions[j] for j in m]
        out._set(outcomes, self.counts[np.ix_(i, m)], *names, self.levels, self.notes)
        return out

    def __repr__(self) -> str:
        n_models, n_questions, n_trials = self.shape
        kind = "binary" if self.binary else f"{self.n_categories} categories"
        gaps = "" if self.complete else ", unequal trials or missing cells"
        form = "" if self.outcomes is not None else ", counts only"
        return f"Responses({n_models} models x {n_questions} questions x {n_trials} trials, {kind}{gaps}{form})"


def _as_outcomes(R: Any, levels: Any, mask: Any) -> tuple[np.ndarray, tuple[float, ...]]:
    values, missing = _as_float_and_missing(R)
    if values.ndim == 2:
        values, missing = values[:, :, None], missing[:, :, None]
    if values.ndim != 3:
        raise DataError(
            f"R has {values.ndim} axes, shape {values.shape}; it needs (models, questions) "
            "or (models, questions, trials)"
        )
    for axis, size in zip(("models", "questions", "trials"), values.shape, strict=True):
        if size == 0:
            raise DataError(f"R has no {axis}: the {axis} axis is empty (shape {values.shape})")
    if mask is not None:
        try:
            mask = np.asarray(mask)
        except ValueError:
            raise DataError("mask is ragged; it needs the shape of R") from None
        if mask.dtype.kind not in "biuf":
            raise DataError(f"mask holds values of type {mask.dtype}; it needs booleans, True where a cell is missing")
        mask = mask.astype(bool)
        if mask.ndim == 2:
            mask = mask[:, :, None]
        try:
            missing = missing | np.broadcast_to(mask, values.shape)
        except ValueError:
            raise DataError(f"mask has shape {mask.shape}, R has {values.shape}; they must agree") from None
    infinite = np.argwhere(np.isinf(values) & ~missing)
    if len(infinite):
        raise DataError(f"R is infinite at {tuple(infinite[0].tolist())}; outcomes are whole numbers 0..C")
    if levels is not None:
        return _by_levels(values, missing, levels)
    bad = np.argwhere(((values != np.floor(values)) | (values < 0) | (values > MAX_CATEGORY)) & ~missing)
    if len(bad):
        at = tuple(bad[0].tolist())
        raise DataError(
            f"R[{', '.join(map(str, at))}] = {values[at]:g} is not an outcome: outcomes are whole numbers 0..C "
            f"(C at most {MAX_CATEGORY}), missing cells are -1, NaN or masked; {len(bad)} such cells. "
            "For graded scores pass levels=(0, 0.5, 1)"
        )
    outcomes = np.where(missing, -1, values).astype(np.int16)
    top = max(1, int(outcomes.max()))
    return outcomes, tuple(float(c) for c in range(top + 1))


def _as_float_and_missing(R: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(R, np.ma.MaskedArray):
        values, missing = _as_float_and_missing(np.ma.getdata(R))
        return values, missing | np.ma.getmaskarray(R)
    try:
        array = np.asarray(R)
    except ValueError:
        array = _pad_ragged(R)
    if array.dtype.kind == "O":
        try:
            array = np.array([np.nan if v is None else v for v in array.ravel().tolist()], dtype=np.float64).reshape(
                array.shape
            )
        except (TypeError, ValueError):
            array = _pad_ragged(R)
    if array.size > MAX_CELLS:
        raise DataError(
            f"R has {array.size} cells, shape {array.shape}; at most {MAX_CELLS} are read. "
            "Pass successes and trials to Responses.from_counts instead"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(f"R holds values of type {array.dtype}; outcomes are whole numbers 0..C, booleans, or NaN")
    values = array.astype(np.float64)
    missing = np.isnan(values) | (values == -1)
    return np.where(missing, -1.0, values), missing


def _pad_ragged(R: Any) -> np.ndarray:
    """Nested lists with unequal numbers of trials -> float (L, M, N) with NaN after the last trial of a cell."""
    try:
        cells = [[[np.nan if v is None else float(v) for v in np.ravel(cell).tolist()] for cell in row] for row in R]
    except (TypeError, ValueError):
        raise DataError(
            "R cannot be read as numbers; it needs shape (models, questions) or (models, questions, trials)"
        ) from None
    widths = {len(row) for row in cells}
    if len(widths) > 1:
        raise DataError(
            f"the models of R have different numbers of questions: {sorted(widths)}; pad with missing cells"
        )
    n_trials = max((len(cell) for row in cells for cell in row), default=0)
    out = np.full((len(cells), widths.pop() if widths else 0, n_trials), np.nan)
    for i, row in enumerate(cells):
        for m, cell in enumerate(row):
            out[i, m, : len(cell)] = cell
    return out


def _by_levels(values: np.ndarray, missing: np.ndarray, levels: Any) -> tuple[np.ndarray, tuple[float, ...]]:
    try:
        grid = np.asarray(levels, float)
    except (TypeError, ValueError):
        grid = np.zeros(0)
    if grid.ndim != 1 or len(grid) < 2 or np.any(np.diff(grid) <= 0) or not np.all(np.isfinite(grid)):
        raise DataError(f"levels must be two or more finite numbers in ascending order, not {levels!r}")
    index = np.clip(np.searchsorted(grid, values), 0, len(grid) - 1)
    bad = np.argwhere((grid[index] != values) & ~missing)
    if len(bad):
        at = tuple(bad[0].tolist())
        raise DataError(
            f"R[{', '.join(map(str, at))}] = {values[at]:g} is not one of the levels {tuple(grid.tolist())}"
        )
    return np.where(missing, -1, index).astype(np.int16), tuple(grid.tolist())


def check_names(names: Sequence[Any] | None, size: int, kind: str) -> tuple[str, ...]:
    """Names as strings in the caller's spelling and order; `DataError` for duplicates, a warning for look-alikes.

    ``kind`` is the singular noun used in messages and default names ("model", "question").
    """
    if names is None:
        return tuple(f"{kind} {i}" for i in range(size))
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise DataError(f"{kind}s must be a list of {size} names, not {names!r}")
    values = list(names)
    if len(values) != size:
        raise DataError(f"{kind}s has {len(values)} names for {size} {kind}s")
    for i, v in enumerate(values):
        if v is None or (isinstance(v, float) and np.isnan(v)) or str(v).strip() == "":
            raise DataError(f"{kind}s[{i}] is empty ({v!r}); every {kind} needs a name")
    texts = [str(v) for v in values]
    repeated = [t for t, n in Counter(texts).items() if n > 1]
    if repeated:
        raise DataError(f"{kind}s has duplicate names: {', '.join(map(repr, repeated[:10]))}")
    for first, second in look_alikes(texts):
        warnings.warn(
            f"{kind} names {first!r} and {second!r} look the same (they differ in invisible characters or "
            "Unicode form); they are kept apart",
            JaxrankWarning,
            stacklevel=4,
        )
    return tuple(texts)


def look_alikes(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of distinct names that differ in nothing but invisible characters, outer blanks or Unicode form."""
    seen: dict[str, str] = {}
    pairs = []
    for name in names:
        plain = _plain(name)
        if plain in seen:
            pairs.append((seen[plain], name))
        seen[plain] = name
    return pairs


def _plain(text: str) -> str:
    """NFC form without format characters (zero-width spaces and the like) and outer blanks."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(ch for ch in composed if unicodedata.category(ch) != "Cf").strip()


def name_list(names: Sequence[str], indices: Any, limit: int = 8) -> str:
    """``'a', 'b' and 3 more`` for messages."""
    picked = [repr(names[i]) for i in indices]
    rest = len(picked) - limit
    return ", ".join(picked[:limit]) + (f" and {rest} more" if rest > 0 else "")


def model_index(models: Sequence[str], model: str | int, argument: str) -> int:
    """The place of a model that is given by its name or its number; ``argument`` is where it was given."""
    if isinstance(model, str):
        if model not in models:
            known = name_list(models, range(len(models)))
            raise OptionError(f"{argument}: no model is named {model!r}; the models are {known}")
        return models.index(model)
    if not 0 <= model < len(models):
        raise OptionError(f"{argument}: model {model} does not exist; models are numbered 0 to {len(models) - 1}")
    return int(model)
