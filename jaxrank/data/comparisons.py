"""``Comparisons``: battles between two models, with ties and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from jaxrank.data.columns import WEIGHT
from jaxrank.data.kind import Counted, Data, check_kind, frozen, joined_notes, union
from jaxrank.data.names import as_notes, check_names, listed, name_list, places
from jaxrank.data.row_columns import absent, row_columns
from jaxrank.errors import DataError, OptionError

A_WINS, B_WINS, TIE = 0, 1, 2
_WORDS = {
    **dict.fromkeys(("a", "model_a", "left", "win", "1", "1.0"), A_WINS),
    **dict.fromkeys(("b", "model_b", "right", "loss", "0", "0.0"), B_WINS),
    **dict.fromkeys(("tie", "draw", "0.5"), TIE),
}


@dataclass(frozen=True, eq=False)
class Comparisons(Counted):
    """Outcomes of battles in the order played.

    ``Comparisons(a, b, outcome, count=None, models=None)``: ``a`` and ``b`` are names or indices, one battle a row;
    ``outcome`` is 1 where a won, 0 where b won, 0.5 for a tie, or the words "a", "b", "tie" (also "model_a",
    "left", ...); ``count`` repeats a row (a positive number, 1 by default). ``columns`` is what else is known of each
    battle, a list of E values a name: numbers (NaN where absent), or texts (None where absent). Usual names are
    "question", "voter", "category", "time", "grade" (-C..C, above 0 where a was better) and pairs such as "length_a",
    "length_b". "weight" (0 or more) is what a battle counts in estimates: 2 as two of them, though it was one battle
    and is drawn as one; ratings of a stream refuse weights other than 1.

    **a, b**: int32 (E,) indices into ``models``. **outcome**: int8 (E,), 0 a won, 1 b won, 2 tie.
    **count**: float64 (E,).  **columns**: arrays (E,) by name, float64 or objects.

    Raises `DataError` for unequal lengths, unknown outcomes (with the row), a model against itself, negative counts.

    >>> import jaxrank as jr
    >>> battles = jr.Comparisons(["x", "x", "y"], ["y", "z", "z"], [1, 0.5, 1])  # x beat y, x and z tied, y beat z
    >>> battles
    Comparisons(3 models, 3 battles, 1 ties)
    >>> battles.wins.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    form: ClassVar[str] = "comparisons"
    a: np.ndarray
    b: np.ndarray
    outcome: np.ndarray
    count: np.ndarray
    models: tuple[str, ...]
    notes: tuple[str, ...]
    columns: Mapping[str, np.ndarray]

    def __init__(
        self,
        a: Any,
        b: Any,
        outcome: Any,
        count: Any = None,
        models: Sequence[Any] | None = None,
        *,
        columns: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        try:
            a, b, outcome = np.asarray(a), np.asarray(b), np.asarray(outcome)
        except ValueError:
            raise DataError("a, b and outcome must be flat lists, one entry a battle") from None
        if a.ndim != 1 or a.shape != b.shape or a.shape != outcome.shape:
            raise DataError(
                f"a, b and outcome need one equal length; they have shapes {a.shape}, {b.shape}, {outcome.shape}"
            )
        if len(a) == 0:
            raise DataError("there are no battles: a, b and outcome are empty")
        count = np.ones(len(a)) if count is None else _floats(count, "count")
        if count.shape != a.shape or not np.all(np.isfinite(count)) or np.any(count < 0):
            raise DataError(f"count must be {len(a)} finite numbers of 0 or more")
        a, b, names = _encode(a, b, models)
        own = np.flatnonzero(a == b)
        if len(own):
            raise DataError(f"row {own[0]}: {names[a[own[0]]]!r} is compared with itself ({len(own)} such rows)")
        self._set(a, b, _outcomes(outcome), count, names, notes, _columns(columns, len(a)))

    @classmethod
    def from_matrix(cls, wins: Any, ties: Any = None, *, models: Sequence[Any] | None = None) -> Comparisons:
        """From totals: ``wins[i, j]`` times i beat j, ``ties[i, j] = ties[j, i]`` times they tied; float (L, L).

        >>> import jaxrank as jr
        >>> jr.Comparisons.from_matrix([[0, 3], [1, 0]], ties=[[0, 2], [2, 0]], models=["ada", "bob"])
        Comparisons(2 models, 6 battles, 2 ties)
        """
        w = _square(wins, "wins")
        t = np.zeros_like(w) if ties is None else _square(ties, "ties")
        if t.shape != w.shape:
            raise DataError(f"ties has shape {t.shape}, wins {w.shape}; they must agree")
        if not np.array_equal(t, t.T):
            raise DataError("ties must be symmetric: ties[i, j] and ties[j, i] are the same battles")
        i, j = np.nonzero(w)
        p, q = np.nonzero(np.triu(t))
        names = check_names(models, len(w), "model")
        first, second = np.concatenate([i, p]), np.concatenate([j, q])
        outcome = np.concatenate([np.full(len(i), A_WINS), np.full(len(p), TIE)])
        return cls._made(first, second, outcome, np.concatenate([w[i, j], t[p, q]]), names, ())

    def _set(
        self, a, b, outcome, count, models, notes, columns: Mapping[str, np.ndarray] = MappingProxyType({})
    ) -> None:
        for name, values, dtype in (("a", a, np.int32), ("b", b, np.int32), ("outcome", outcome, np.int8)):
            object.__setattr__(self, name, frozen(values, dtype))
        object.__setattr__(self, "count", frozen(count, np.float64))
        object.__setattr__(self, "models", tuple(models))
        object.__setattr__(self, "notes", as_notes(notes))
        object.__setattr__(self, "columns", MappingProxyType(dict(columns)))
        for values in columns.values():  # made for this object alone: a copy of millions of rows is saved
            values.setflags(write=False)

    @classmethod
    def _made(cls, *fields: Any) -> Comparisons:
        out = cls.__new__(cls)
        out._set(*fields)
        return out

    @property
    def units(self) -> Mapping[str, float]:
        return {"battle": float(self.count.sum())}

    @property
    def weight(self) -> np.ndarray:
        return self.columns[WEIGHT] if WEIGHT in self.columns else np.ones(len(self.count))

    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.a, self.b, self.outcome, self.count, self.weight

    def events(self) -> np.ndarray:
        """int8 (E, L): 1 for the winner, 0 for the loser, 1 for both of a tie, -1 for models that took no part."""
        outcomes = np.full((len(self.a), len(self.models)), -1, np.int8)
        rows = np.arange(len(self.a))
        outcomes[rows, self.a] = self.outcome != B_WINS
        outcomes[rows, self.b] = self.outcome != A_WINS
        return outcomes

    def choices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The distinct battles as events (S, L), which event, and of which battle: one of each."""
        kinds, index = self._kinds()
        return self._made(*kinds[:3], kinds[3], self.models, ()).events(), index, np.arange(len(self.a))

    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct a, b, outcome and weight (4, S), winner first, of ties the smaller index; and which each row
        is."""
        swap = (self.outcome == B_WINS) | ((self.outcome == TIE) & (self.a > self.b))
        a, b = np.where(swap, self.b, self.a), np.where(swap, self.a, self.b)
        outcome = np.where(self.outcome == TIE, TIE, A_WINS)
        n, weights, which = len(self.models), np.ones(1), 0
        if WEIGHT in self.columns:
            weights, which = np.unique(self.weight, return_inverse=True)
        code = ((a.astype(np.int64) * n + b) * 3 + outcome) * len(weights) + which
        kinds, index = np.unique(code, return_inverse=True)
        pair = kinds // len(weights)
        return np.stack([pair // 3 // n, pair // 3 % n, pair % 3, weights[kinds % len(weights)]]), index.reshape(-1)

    def distinct(self) -> Comparisons:
        """Equal battles of equal weight merged: winner first, ties with the smaller index first; counts are added, and
        other ``columns``, in which they may differ, are left out."""
        kinds, index = self._kinds()
        count = np.bincount(index, self.count, minlength=kinds.shape[1])
        columns = {WEIGHT: kinds[3]} if WEIGHT in self.columns else {}
        return self._made(*kinds[:3], count, self.models, self.notes, columns)

    def select(self, models: Any = None, battles: Any = None) -> Comparisons:
        """The battles among the given models, of the rows given; a note says how many others were left out.

        ``models``: names, indices or a mask; their order is that of the result. ``battles``: row numbers or a mask of
        the rows. `OptionError` for unknown names, with the nearest ones, masks of another length, and where no battle
        is left.

        >>> import jaxrank as jr
        >>> battles = jr.Comparisons(["x", "x", "y"], ["y", "z", "z"], [1, 0.5, 1])
        >>> battles.select(models=["z", "y"])
        Comparisons(2 models, 1 battles, 0 ties)
        """
        i = places(self.models, models, "models")
        rows = np.arange(len(self.a))
        if battles is not None:
            rows = places(len(rows), battles, "battles")
        new = np.full(len(self.models), -1)
        new[i] = np.arange(len(i))
        inside = (new[self.a[rows]] >= 0) & (new[self.b[rows]] >= 0)
        kept = rows[inside]
        if not len(kept):
            raise OptionError("models and battles leave no battle: choose models that met")
        names = check_names([self.models[k] for k in i], len(i), "model")
        left = len(self.a) - len(kept)
        said = (f"{left} of {len(self.a)} rows of battles were left out by select",) if left else ()
        fields = new[self.a[kept]], new[self.b[kept]], self.outcome[kept], self.count[kept]
        columns = {name: values[kept] for name, values in self.columns.items()}
        return self._made(*fields, names, (*self.notes, *said), columns)

    def _reweighted(self, factor: np.ndarray) -> Comparisons:
        """The same battles, the weight of each times a factor (E,), 0 or more: a mask leaves battles out."""
        factor = _floats(factor, "factor")
        if factor.shape != self.a.shape or not np.all(np.isfinite(factor) & (factor >= 0)):
            raise DataError(f"factor must be an array of {len(self.a)} numbers of 0 or more, one for each battle")
        fields = self.a, self.b, self.outcome, self.count, self.models, self.notes
        return self._made(*fields, {**self.columns, WEIGHT: self.weight * factor})

    def balanced(self) -> Comparisons:
        """The same battles, weights divided by how often their pair met (inverse propensity), mean 1: every pair that
        met counts the same.

        >>> import jaxrank as jr
        >>> jr.Comparisons(["x", "x", "x"], ["y", "y", "z"], [1, 0, 1]).balanced().weight.tolist()
        [0.75, 0.75, 1.5]
        """
        pair = np.minimum(self.a, self.b) * np.int64(len(self.models)) + np.maximum(self.a, self.b)
        met = np.bincount(pair, self.count)
        factor = self.count.sum() / ((met > 0).sum() * np.where(met > 0, met, 1))
        made = self._reweighted(factor[pair])
        said = "every pair that met has the same total weight"
        return self._made(*made.arrays()[:4], made.models, (*self.notes, said), made.columns)

    def _joined(self, other: Comparisons) -> Comparisons:
        models, place = union(self.models, other.models)
        names = dict.fromkeys([*self.columns, *other.columns])
        columns = {n: np.concatenate([_filled(part, n, self, other) for part in (self, other)]) for n in names}
        return self._made(
            np.concatenate([self.a, place[other.a]]),
            np.concatenate([self.b, place[other.b]]),
            np.concatenate([self.outcome, other.outcome]),
            np.concatenate([self.count, other.count]),
            models,
            joined_notes(self, other),
            columns,
        )

    def to_frame(self) -> Any:
        """One row a battle (pandas): ``model_a``, ``model_b``, ``outcome`` (1 where a won, 0 where b won, 0.5 for a
        tie), ``count``, and ``columns``; `jaxrank.from_frame` reads it back.

        >>> import jaxrank as jr
        >>> jr.Comparisons(["x", "x"], ["y", "z"], [1, 0.5]).to_frame()["outcome"].tolist()
        [1.0, 0.5]
        """
        import pandas as pd

        names = np.array(self.models, object)
        won = np.array([1.0, 0.0, 0.5])[self.outcome]
        own = {"model_a": names[self.a], "model_b": names[self.b], "outcome": won, "count": self.count}
        return pd.DataFrame({**own, **{k: v for k, v in self.columns.items() if k not in own}})

    @property
    def wins(self) -> np.ndarray:
        """float64 (L, L): ``wins[i, j]`` = times i beat j, weighted."""
        return self._totals[A_WINS] + self._totals[B_WINS].T

    @property
    def ties(self) -> np.ndarray:
        """float64 (L, L), symmetric: times i and j tied, weighted."""
        return self._totals[TIE] + self._totals[TIE].T

    @cached_property
    def _totals(self) -> np.ndarray:
        """Weighted battles (3, L, L) by outcome, a and b: fits, findings and pages ask for them often."""
        n = len(self.models)
        kind = (self.outcome * np.int64(n) + self.a) * n + self.b
        return np.bincount(kind, self.count * self.weight, 3 * n * n).reshape(3, n, n)

    def __repr__(self) -> str:
        ties = self.count[self.outcome == TIE].sum()
        return f"Comparisons({len(self.models)} models, {self.count.sum():g} battles, {ties:g} ties)"


def comparisons_of(data: Data, who: str) -> Comparisons:
    """The data, where they are battles, which ``who`` reads."""
    check_kind(data, ("comparisons",), who, "use jaxrank.fit for these")
    assert isinstance(data, Comparisons)
    return data


def _encode(a: np.ndarray, b: np.ndarray, models: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    if models is not None and (isinstance(models, str | bytes) or not isinstance(models, Iterable)):
        raise DataError(f"models must be a list of names, not {models!r}")
    models = None if models is None else list(models)
    for side, names in (("a", a), ("b", b)):
        empty = [] if names.dtype.kind in "iub" else [i for i, v in enumerate(names.tolist()) if _nameless(v)]
        if empty:
            raise DataError(f"row {empty[0]}: {side} has no name ({len(empty)} such rows)")
    both = np.concatenate([a, b])
    if both.dtype.kind in "iu":
        if both.min() < 0:
            raise DataError("a and b hold negative model indices")
        n = int(both.max()) + 1
        n_met = len(np.unique(both))
        if models is None and n > 2 * n_met:
            raise DataError(
                f"a and b hold {n_met} whole numbers from {both.min()} to {both.max()}, which are places of models: "
                f"most of {n} would have no battle; write names as text, or give the names of all models= in order"
            )
        if models is not None and n > len(list(models)):
            raise DataError(f"a or b refers to model {n - 1}, but models has {len(list(models))} names")
        names = check_names(models, len(list(models)) if models is not None else n, "model")
        return a.astype(np.int32), b.astype(np.int32), names
    texts = np.array([str(v) for v in both.tolist()])
    if models is None:
        names, code = np.unique(texts, return_inverse=True)
        return (
            code[: len(a)].astype(np.int32),
            code[len(a) :].astype(np.int32),
            check_names(names.tolist(), len(names), "model"),
        )
    names = check_names(models, len(listed(models, "model")), "model")
    place = {name: i for i, name in enumerate(names)}
    unknown = [t for t in dict.fromkeys(texts.tolist()) if t not in place]
    if unknown:
        raise DataError(f"a or b names models that are not in models: {name_list(unknown, range(len(unknown)))}")
    code = np.array([place[t] for t in texts.tolist()], np.int32)
    return code[: len(a)], code[len(a) :], names


def _outcomes(outcome: np.ndarray) -> np.ndarray:
    if outcome.dtype.kind in "biuf":
        coded = np.select([outcome == 1, outcome == 0, outcome == 0.5], [A_WINS, B_WINS, TIE], -1)
    else:
        coded = np.array([_WORDS.get(str(v).strip().lower(), -1) for v in outcome.tolist()])
    bad = np.flatnonzero(coded < 0)
    if len(bad):
        raise DataError(
            f"row {bad[0]}: outcome {outcome.tolist()[bad[0]]!r} is unknown ({len(bad)} such rows); "
            'it must be 1, 0 or 0.5, or "a", "b" or "tie"'
        )
    return coded.astype(np.int8)


def _columns(columns: Any, size: int) -> dict[str, np.ndarray]:
    """What else is known of each battle: float64 where all values are numbers or absent, else objects."""
    out = row_columns(columns, size, "battle")
    if WEIGHT in out:
        weight = out[WEIGHT]
        bad = ~(np.isfinite(weight) & (weight >= 0)) if weight.dtype.kind == "f" else np.ones(size, bool)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(f"row {row}: weight {weight[row]!r} is no number of 0 or more ({int(bad.sum())} such rows)")
    return out


def _filled(part: Comparisons, name: str, *parts: Comparisons) -> np.ndarray:
    """A column of one part; where it has none, absent values of the kind that the other has, and weights of 1."""
    if name in part.columns:
        return part.columns[name]
    if name == WEIGHT:
        return part.weight
    return absent(len(part.a), [p.columns[name] for p in parts if name in p.columns])


def _nameless(name: Any) -> bool:
    return name is None or name != name or str(name).strip() == ""


def _floats(x: Any, name: str) -> np.ndarray:
    try:
        x = np.asarray(x)
        if x.dtype.kind in "OUSmMcV":
            raise TypeError
        return x.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} cannot be read as an array of numbers") from None


def _square(x: Any, name: str) -> np.ndarray:
    x = _floats(x, name)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or x.shape[0] < 2:
        raise DataError(f"{name} has shape {x.shape}; it needs (models, models) with at least two models")
    if not np.all(np.isfinite(x)) or np.any(x < 0) or np.any(np.diag(x) != 0):
        raise DataError(f"{name} must be finite numbers of 0 or more with a zero diagonal")
    return x
