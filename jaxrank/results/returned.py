"""What everything that a call returns can do: a table in four formats, in a notebook, in a file; plots; rows by name.

`Returned` is any of them, `RankedModels` those that rank models.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.data.names import model_index
from jaxrank.errors import OptionError
from jaxrank.models.options import shown
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.separation import Superiority
from jaxrank.results import storage
from jaxrank.results.bars import Bars
from jaxrank.results.drawing import draw
from jaxrank.results.tables import render

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NOTEBOOK_ROWS = 30
_MEANT = {
    **dict.fromkeys(("ci", "conf_int", "confidence_interval", "intervals"), ".interval(0.95)"),
    **dict.fromkeys(("to_csv", "to_json", "to_parquet", "write", "export"), '.save("ranking.csv")'),
    **dict.fromkeys(("to_pandas", "to_df", "df", "dataframe", "table", "ranking", "leaderboard"), ".to_frame()"),
    **dict.fromkeys(("rating", "ratings", "score", "coef_", "strengths"), ".scores"),
    **dict.fromkeys(("winner", "best", "top"), ".order, the places of the models, best first"),
    **dict.fromkeys(("show", "draw", "figure"), ".plot()"),
    **dict.fromkeys(("pvalue", "p_value", "pvalues"), ".superiority() or jaxrank.compare(data, new, old)"),
    **dict.fromkeys(("summary_frame", "describe"), ".summary()"),
    **dict.fromkeys(("rank_", "rank_of"), ".ranks"),
    **dict.fromkeys(
        ("predict", "predict_proba", "win_probability", "expected_score"),
        "jaxrank.ratings(fit), points of Elo, of which a difference of d is odds of 10 ** (d / 400)",
    ),
}
"""Attributes that people try on results, and what does the same."""


class Row(dict[str, Any]):
    """One line of a table: ``row["score"]`` and ``row.score`` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the row has no {name!r}; it has {', '.join(self)}") from None

    def __repr__(self) -> str:
        said = lambda value: f"{value:.4g}" if isinstance(value, float) else repr(value)
        return f"Row({', '.join(f'{name}={said(value)}' for name, value in self.items())})"


class Returned(abc.ABC):
    """A table with a title and notes.

    Iterating gives what ``[name]`` gives, in the order of the table, and ``len`` counts them.
    """

    @abc.abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The whole table as a pandas frame."""

    @abc.abstractmethod
    def __len__(self) -> int: ...

    @abc.abstractmethod
    def __iter__(self) -> Iterator[Any]: ...

    @abc.abstractmethod
    def __contains__(self, name: object) -> bool: ...

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Any:
            """Never found: where it is, for names that people try."""
            if name in _MEANT and not hasattr(type(self), name):
                meant = ".p" if name.startswith("p") and "p" in vars(self) else _MEANT[name]
                raise AttributeError(f"a {type(self).__name__} has no {name!r}; did you mean {meant}?", name=name)
            return object.__getattribute__(self, name)  # raises what there is to say

    def summary(self, format: str = "text") -> str:
        """The table with how it was made; ``format``: "text", "html", "latex" or "csv" (the numbers alone, in full)."""
        frame = self._shown()
        return render(frame, format, title=self._title(), notes=self._foot(), bars=self._bars(frame))

    def _repr_html_(self) -> str:
        """The summary as a notebook shows it, the first 30 rows."""
        frame = self._shown()
        more = len(frame) - NOTEBOOK_ROWS
        notes = [*([f"and {more} more rows"] if more > 0 else []), *self._foot()]
        top = frame.head(NOTEBOOK_ROWS)
        return render(top, "html", title=self._title(), notes=notes, bars=self._bars(top))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``.npz`` (`jaxrank.load` reads it back), or the table of `to_frame` to ``.csv``,
        ``.json`` or ``.parquet``, with how it was made (not in csv)."""
        if Path(path).suffix == ".npz":
            return storage.save(self, path, self._record(), self._arrays())
        return storage.save_table(self._stored(), path, self._record())

    def plot(self, kind: str | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw it; ``kind`` is one of the plots of its class, the first by default, and ``options`` those of the
        function of `jaxrank.plots`. Returns the Axes.

        `Result`: "leaderboard", "tiers", "superiority" (with standard errors), "wins", "responses", "pass", "items",
        "profiles", "critical_difference", "wright", "hodge". `Replicates`, `Summary`: "ranks", "leaderboard", "tiers",
        "superiority". `Posterior`: the same, and "trace", "chain_ranks", "ess". `PosteriorByCategory`: these after
        "categories". `Convergence`: "tau", "convergence",
        "bump". `FitTable`, `Agreement`: "agreement". `Comparison`: "questions", "forest". `ComparisonTable`: "forest".
        `CostFrontier`: "frontier". `OptionError` names the kinds where there is none of this name.
        """
        return draw(self, kind, ax, options)

    def _shown(self) -> pd.DataFrame:
        """The table of the summary, names as columns."""
        return self.to_frame()

    def _bars(self, frame: pd.DataFrame, point: str = "score") -> Bars | None:
        """What a page draws beside the numbers of a table: scores with their intervals, where it has them."""
        return Bars(point, "lower", "upper") if {point, "lower", "upper"} <= {*frame.columns} else None

    def _stored(self) -> pd.DataFrame:
        """The table of files."""
        return self.to_frame()

    def _title(self) -> str:
        return repr(self)

    def _foot(self) -> list[str]:
        return []

    def _record(self) -> dict[str, Any]:
        return {}

    def _arrays(self) -> dict[str, np.ndarray]:
        """Arrays that an npz file holds under names of their own, for other programs."""
        return {}


class RowsOfModels(Returned):
    """A table with a row a model. Iterating gives a `Row` each, in the ``order`` of the table; ``[model]``, a name or a
    number, gives the row of one."""

    if TYPE_CHECKING:  # fields or properties of the subclasses

        @property
        def models(self) -> tuple[str, ...]: ...

        @property
        def order(self) -> np.ndarray: ...

    @cached_property
    def _rows(self) -> pd.DataFrame:
        return self.to_frame()

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self._rows)

    def __getitem__(self, model: str | int) -> Row:
        place = model_index(self.models, model, "model")
        return row_of(self._rows, int(np.flatnonzero(self.order == place)[0]))

    def __contains__(self, model: object) -> bool:
        return model in self.models


class RankedModels(RowsOfModels):
    """A ranking of L models, with its uncertainty, best model first."""

    if TYPE_CHECKING:  # fields or properties of the subclasses

        @property
        def scores(self) -> np.ndarray: ...

        @property
        def ranks(self) -> np.ndarray: ...

    @abc.abstractmethod
    def to_frame(self, *, level: float | None = 0.95) -> pd.DataFrame:
        """A pandas frame, best model first; intervals at ``level``, none where it is None. The score stands under
        `column`."""

    @abc.abstractmethod
    def interval(self, level: float = 0.95) -> Interval:
        """Interval of each score, (L,)."""

    @abc.abstractmethod
    def superiority(self) -> Superiority:
        """For each pair how likely one is above the other, and that they are equal."""

    @property
    def column(self) -> str:
        """What a score is called in tables: "score", or the name of the number that is shown in its place where people
        know the method by one that is better when it is lower, such as "mean_rank", which is minus the score."""
        return "score"

    @property
    def direction(self) -> str:
        """In words, that the numbers shown are better when they are lower; empty where they are scores."""
        return "" if self.column == "score" else f"{self.column}: lower is better"

    @property
    def order(self) -> np.ndarray:
        """Indices of the models, best first; ties in the order given, models without a score last."""
        key = np.where(self.ranks > 0, self.ranks, len(self.ranks) + 1)
        return np.argsort(key, kind="stable")

    def summary(self, format: str = "text", *, level: float = 0.95) -> str:
        """The ranking with how it was made, intervals at ``level``; ``format``: "text", "html", "latex" or "csv" (the
        numbers alone, in full)."""
        check_level(level)
        frame = self.to_frame(level=level)
        return render(frame, format, title=self._title(), notes=self._foot(level), bars=self._bars(frame))

    def _foot(self, level: float = 0.95) -> list[str]:
        return []

    def _bars(self, frame: pd.DataFrame, point: str | None = None) -> Bars | None:
        return super()._bars(frame, point or self.column)

    def _table(self, columns: Mapping[str, Any]) -> pd.DataFrame:
        """Columns (L,) after rank, model and score, as a frame with the best model first; numbers as they are shown."""
        import pandas as pd

        head = {"rank": self.ranks, "model": list(self.models), self.column: as_shown(self, self.scores)}
        if "lower" in columns:
            lower, upper = ends_shown(self, (columns["lower"], columns["upper"]))
            columns = {**columns, "lower": lower, "upper": upper}
        return pd.DataFrame({**head, **columns}).iloc[self.order].reset_index(drop=True)


def as_shown(ranked: RankedModels, values: np.ndarray) -> np.ndarray:
    """Scores as tables show them: where people know a number that is better when it is lower, that number."""
    return values if ranked.column == "score" else 0.0 - values


def ends_shown(ranked: RankedModels, ends: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of an interval of scores as tables show them, the lower one first."""
    lower, upper = ends
    return (lower, upper) if ranked.column == "score" else (as_shown(ranked, upper), as_shown(ranked, lower))


def row_of(frame: pd.DataFrame, place: int) -> Row:
    return Row({str(name): _plain(frame[name].iloc[place]) for name in frame.columns})


def rows_of(frame: pd.DataFrame) -> Iterator[Row]:
    """The rows of a frame, one after the other."""
    return (row_of(frame, place) for place in range(len(frame)))


def named(names: Sequence[str], name: str, what: str) -> int:
    """The place of a name; `OptionError` with the names that there are."""
    if not isinstance(name, str) or name not in names:
        raise OptionError(f"{shown(name)} is no {what} here; there are {', '.join(map(repr, names)) or 'none'}")
    return list(names).index(name)


def _plain(value: Any) -> Any:
    """Python's own number where NumPy has one."""
    return value.item() if isinstance(value, np.generic) else value
