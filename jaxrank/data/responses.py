"""``Responses``: repeated-trial results R (models x questions x trials), checked once, with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from jaxrank.data.columns import (
    DIRECTION,
    GROUP,
    NO_COLUMNS,
    WEIGHT,
    Columns,
    checked,
    directions,
    names_and_columns,
    picked,
)
from jaxrank.data.gaps import balanced_weights, in_common, worst_in_gaps
from jaxrank.data.joining import joined
from jaxrank.data.kind import Data, check_kind, frozen
from jaxrank.data.names import as_notes, check_names, name_list, places
from jaxrank.data.outcomes import as_counts, as_scores
from jaxrank.data.trials import Trials
from jaxrank.errors import DataError, OptionError, one_line

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("observed", "common", "worst")
Missing = Literal["observed", "common", "worst"]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Responses(Trials):
    """Results of L models on M questions in up to N trials.

    ``Responses(R)`` accepts an array or nested lists of shape (L, M) or (L, M, N) of numbers or booleans; a missing
    cell is NaN, None, masked, or -1 among whole numbers; ragged lists of trials are padded with missing cells. Names
    default to the labels of a wide data frame (a row a model) or of an xarray.DataArray, else to ``model 0`` .. and
    ``question 0`` ...

    **kind**: what the scores are. "binary": 0 and 1. "graded": ordered categories, whole numbers 0..C or those of
    ``levels``. "real": any other finite numbers, such as percentages, errors or F1.
    **outcomes**: int (L, M, N), -1 where missing: the category, or of real scores the place among the distinct
    ones of its question; None when only counts are known (`from_counts`).
    **counts**: int64 (L, M, C+1), observed trials of each category; of real scores (L, M, 1), observed trials.
    **levels**: the value of each category, length C+1; empty for real scores.
    **real**: float64 (L, M, N), NaN where missing, of real scores, else None.
    In these four higher is better: where lower is better the sign is turned. **values** has the scores as given.
    **question_columns**, **model_columns**: what else is known of questions and models, by name: read-only arrays.
    **tie_within**: real scores of one trial that differ by no more are level.
    **missing**: what was done about questions that a model lacks: "observed", "common" or "worst".
    **notes**: what was read, dropped or assumed, one sentence each.

    Raises `DataError` for an empty axis, a wrong number of axes, infinite values, duplicate names, columns of another
    length, and models without a single observed trial.

    >>> import jaxrank as jr
    >>> data = jr.Responses([[[1, 1], [0, 1]], [[1, 0], [0]]], models=["ada", "bob"])  # one trial of bob's is missing
    >>> data
    Responses(2 models x 2 questions x 2 trials, binary, unequal trials or missing cells)
    >>> data.trials.tolist()
    [[2, 2], [2, 1]]
    >>> jr.Responses([[0.71, 12.5], [0.69, 9.0]], models=["ada", "bob"], lower_is_better=[False, True])
    Responses(2 models x 2 questions x 1 trials, real, lower is better on 1 question)
    """

    def __init__(
        self,
        R: Any,
        models: Any = None,
        questions: Any = None,
        *,
        kind: Literal["binary", "graded", "real"] | None = None,
        levels: Sequence[float] | None = None,
        weights: Any = None,
        groups: Any = None,
        lower_is_better: Any = None,
        missing: Missing = "observed",
        tie_within: float = 0.0,
        mask: Any = None,
        notes: Sequence[str] = (),
    ) -> None:
        """**models**, **questions**: names, or a frame or mapping of columns: ``model`` and ``question`` the names, and
        any others; of questions ``weight``, ``group`` and ``higher_is_better`` have the meaning of the arguments.

        **kind**: "binary", "graded" or "real" where it is not to be told from the scores.
        **levels**: the distinct score values in ascending order where R holds scores such as 0, 0.5, 1; they are kept
        as grades. -1 is then a score like any other, as it is among real scores.
        **weights**: (M,), 0 or more: a question of weight 2 counts as if it were there twice. Default 1.
        **groups**: (M,), the group (task, subject, passage) of each question, for `balanced` and for clusters.
        **lower_is_better**: True, or one boolean for each question, or the names of the questions where it holds.
        **missing**: questions that a model lacks: "observed" means over those that it has; "common" keeps the questions
        that all models have; "worst" gives it the worst that another model has (`filled`).
        **tie_within**: real scores of one trial that differ by no more are level.
        **mask**: True where a cell is missing.
        """
        if not isinstance(missing, str) or missing not in MISSING:
            raise OptionError(f"missing={one_line(missing)}; it must be one of {', '.join(map(repr, MISSING))}")
        R, (row_names, column_names) = _labelled(R)
        scores = as_scores(R, levels, mask, kind)
        n_models, n_questions = scores.shape[:2]
        models, model_columns = names_and_columns(models, n_models, "model")
        questions, question_columns = names_and_columns(questions, n_questions, "question")
        models = row_names if models is None else models
        questions = column_names if questions is None else questions
        model_names, question_names = _names(models, questions, (n_models, n_questions))
        given = {WEIGHT: weights, GROUP: groups, DIRECTION: directions(lower_is_better, question_names)}
        question_columns |= {key: value for key, value in given.items() if value is not None}
        table = checked(question_columns, question_names, "question")
        notes = (*as_notes(notes), *scores.notes)
        outcomes, levels, real = scores.outcomes, scores.levels, scores.real
        if DIRECTION in table and not table[DIRECTION].all():
            outcomes, levels, real, said = _turned(outcomes, levels, real, table[DIRECTION], kind)
            notes = (*notes, *said)
        fields = {
            "outcomes": outcomes,
            "levels": levels,
            "real": real,
            "models": model_names,
            "questions": question_names,
            "question_columns": table,
            "model_columns": checked(model_columns, model_names, "model"),
            "tie_within": _tolerance(tie_within),
            "notes": notes,
        }
        self._set(**self._filled_in(missing, fields))

    @staticmethod
    def _filled_in(missing: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields after what ``missing`` asks for."""
        if missing == "common":
            kept, note = in_common(_seen(fields), fields["models"])
            fields = _of_questions(fields, kept) | {"notes": (*fields["notes"], *note)}
        elif missing == "worst":
            name = "outcomes" if fields["real"] is None else "real"
            table, note = worst_in_gaps(fields[name], fields["levels"], _seen(fields), fields["models"])
            fields = fields | {name: table, "notes": (*fields["notes"], *note)}
        return fields | {"missing": missing}

    @classmethod
    def from_counts(
        cls,
        successes: Any,
        trials: Any,
        models: Any = None,
        questions: Any = None,
        *,
        weights: Any = None,
        groups: Any = None,
        notes: Sequence[str] = (),
    ) -> Responses:
        """Binary results of which only counts are known: ``successes`` (L, M) of ``trials`` (scalar or (L, M)).

        Methods that pair trials by index cannot read them; those with ``pairing="all"`` can.

        >>> import jaxrank as jr
        >>> jr.Responses.from_counts([[7, 3], [5, 2]], trials=8, models=["ada", "bob"])
        Responses(2 models x 2 questions x 8 trials, binary, counts only)
        """
        k, n = as_counts(successes, trials)
        counts = np.stack([n - k, k], axis=-1)
        models, model_columns = names_and_columns(models, k.shape[0], "model")
        questions, columns = names_and_columns(questions, k.shape[1], "question")
        model_names, question_names = _names(models, questions, k.shape)
        columns |= {key: value for key, value in {WEIGHT: weights, GROUP: groups}.items() if value is not None}
        table = checked(columns, question_names, "question")
        if DIRECTION in table and not table[DIRECTION].all():
            raise DataError("successes cannot be worse than failures: give the failures as successes, and no direction")
        self = cls.__new__(cls)
        self._set(
            counts=counts,
            levels=(0.0, 1.0),
            models=model_names,
            questions=question_names,
            question_columns=table,
            model_columns=checked(model_columns, model_names, "model"),
            notes=as_notes(notes),
        )
        return self

    def _set(
        self,
        *,
        models: tuple[str, ...],
        questions: tuple[str, ...],
        levels: Sequence[float],
        outcomes: np.ndarray | None = None,
        counts: np.ndarray | None = None,
        real: np.ndarray | None = None,
        question_columns: Columns = NO_COLUMNS,
        model_columns: Columns = NO_COLUMNS,
        tie_within: float = 0.0,
        missing: str = "observed",
        balance: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        if real is not None:
            counts = (~np.isnan(real)).sum(axis=2, keepdims=True).astype(np.int64)
        elif outcomes is not None:
            categories = [(outcomes == c).sum(axis=2) for c in range(len(levels))]
            counts = np.stack(categories, axis=-1).astype(np.int64)
        assert counts is not None
        silent = np.flatnonzero(counts.sum(axis=(1, 2)) == 0)
        if len(silent):
            raise DataError(
                f"no observed trial for {name_list(models, silent)}; leave these models out or supply their results"
            )
        table = outcomes if real is None else real
        fields = {
            "table": None if table is None else frozen(table),
            "counts": frozen(counts),
            "models": tuple(models),
            "questions": tuple(questions),
            "levels": tuple(float(v) for v in levels),
            "question_columns": checked(question_columns, questions, "question"),
            "model_columns": checked(model_columns, models, "model"),
            "tie_within": tie_within,
            "missing": missing,
            "balance": balance,
            "notes": as_notes(notes),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _fields(self) -> dict[str, Any]:
        names = ("counts", "models", "questions", "levels", "real", "question_columns", "model_columns")
        own = {name: getattr(self, name) for name in (*names, "tie_within", "missing", "balance", "notes")}
        return own | {"outcomes": None if self.kind == "real" else self.outcomes}

    @classmethod
    def _made(cls, **fields: Any) -> Responses:
        out = cls.__new__(cls)
        out._set(**fields)
        return out

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
        fields = _of_questions(self._fields(), m)
        for name in ("outcomes", "counts", "real"):
            fields[name] = None if fields[name] is None else fields[name][i]
        fields["models"] = tuple(self.models[j] for j in i)
        return self._made(**fields | {"model_columns": picked(self.model_columns, i)})

    def common(self) -> Responses:
        """The questions that all models have results on; `DataError` where there are none."""
        return self._made(**self._filled_in("common", self._fields()))

    def filled(self, how: Literal["worst"] = "worst") -> Responses:
        """Every model on every question: one without results gets the trials of the model whose mean is worst there.

        >>> import jaxrank as jr
        >>> jr.Responses([[0.9, None], [0.4, 0.6], [0.5, 0.2]]).filled("worst").values[0, 1].tolist()
        [0.2]
        """
        if not isinstance(how, str) or how != "worst":
            raise OptionError(f'filled({one_line(how)}): cells can be filled with "worst" only')
        if self.counts_only:
            table, note = worst_in_gaps(self.counts, self.levels, self.trials > 0, self.models, of_counts=True)
            return self._made(**self._fields() | {"counts": table, "notes": (*self.notes, *note), "missing": how})
        return self._made(**self._filled_in(how, self._fields()))

    def balanced(self, column: str = GROUP) -> Responses:
        """The same results with weights that give every group of questions the same total, each question keeping its
        share of its group: a mean is then the mean over groups of the means of the questions of a group that a model
        has. ``column`` of the question table names the groups."""
        if not isinstance(column, str) or column not in self.question_columns:
            have = ", ".join(map(repr, self.question_columns)) or "none"
            raise OptionError(
                f"balanced({one_line(column)}): questions have no such column; there are {have}; pass groups="
            )
        group = checked({GROUP: self.question_columns[column]}, self.questions, "question")[GROUP]
        columns = dict(self.question_columns) | {GROUP: group, WEIGHT: balanced_weights(self.weights, group)}
        said = f"every {column} has the same total weight"
        return self._made(
            **self._fields() | {"question_columns": columns, "balance": True, "notes": (*self.notes, said)}
        )

    def grouped(self, groups: Any) -> Responses:
        """The same results with the group (task, subject, passage) of each question, (M,)."""
        columns = checked({GROUP: groups}, self.questions, "question")
        return self._made(**self._fields() | {"question_columns": dict(self.question_columns) | dict(columns)})

    def to_frame(self) -> pd.DataFrame:
        """A row for each observed trial: model, question, trial, score on the user's scale, and the columns that are
        known of questions and models (a model column that a question has too is called ``model_<name>``)."""
        import pandas as pd

        values = self.values
        i, m, n = np.nonzero(~np.isnan(values))
        names = np.array(self.models, object), np.array(self.questions, object)
        columns = {"model": names[0][i], "question": names[1][m], "trial": n, "score": values[i, m, n]}
        columns |= {key: column[m] for key, column in self.question_columns.items()}
        taken = set(columns)
        columns |= {f"model_{k}" if k in taken else k: column[i] for k, column in self.model_columns.items()}
        return pd.DataFrame(columns)

    def _joined(self, other: Responses) -> Responses:
        return self._made(**joined(self, other))


def _names(models: Any, questions: Any, shape: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for axis, size in zip(("models", "questions"), shape, strict=True):
        if size == 0:
            raise DataError(f"R has no {axis}: the {axis} axis is empty (shape {tuple(shape)})")
    return check_names(models, shape[0], "model"), check_names(questions, shape[1], "question")


def _seen(fields: Mapping[str, Any]) -> np.ndarray:
    """bool (L, M): cells with an observed trial."""
    if fields["real"] is not None:
        return (~np.isnan(fields["real"])).any(axis=2)
    if fields["outcomes"] is not None:
        return (fields["outcomes"] >= 0).any(axis=2)
    return fields["counts"].sum(axis=2) > 0


def _of_questions(fields: Mapping[str, Any], kept: np.ndarray) -> dict[str, Any]:
    """The fields restricted to some questions."""
    tables = {k: fields[k][:, kept] for k in ("outcomes", "counts", "real") if fields.get(k) is not None}
    columns = picked(fields["question_columns"], kept)
    names = tuple(fields["questions"][m] for m in kept)
    return {**fields, **tables, "questions": names, "question_columns": columns}


def _turned(outcomes: Any, levels: Any, real: Any, higher: np.ndarray, kind: str | None) -> tuple[Any, Any, Any, tuple]:
    """Scores with their sign turned where lower is better. Categories stay categories where that is so of all
    questions, since questions share the levels."""
    if real is not None:
        return None, (), real * np.where(higher, 1.0, -1.0)[:, None], ()
    if not higher.any():
        turned = np.where(outcomes < 0, -1, len(levels) - 1 - outcomes).astype(outcomes.dtype)
        return turned, tuple(-v for v in reversed(levels)), None, ()
    if kind in ("binary", "graded"):
        raise DataError(
            f'kind="{kind}" with lower_is_better on some questions only: categories are shared by all questions; turn '
            "the scores of these questions (1 - x) and leave the direction out"
        )
    real = np.append(np.asarray(levels), np.nan)[outcomes] * np.where(higher, 1.0, -1.0)[:, None]
    said = "lower is better on some questions only, so that the scores are taken as real numbers; turn these (1 - x)"
    return None, (), real, (f"{said} to keep categories",)


def _tolerance(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not 0 <= number < np.inf:
        raise OptionError(f"tie_within={value!r}; it must be a number of 0 or more")
    return number


def responses_of(data: Data, who: str, remedy: str = "") -> Responses:
    """The data, where they are trials, which ``who`` reads; `UnsupportedDataError` with the remedy where not."""
    check_kind(data, (Responses.form,), who, remedy)
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
