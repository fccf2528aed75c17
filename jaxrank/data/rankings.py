"""``Rankings``: full or partial ordered lists, with ties, checked once, with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from jaxrank.data.kind import Counted, frozen, joined_notes, union
from jaxrank.data.names import as_notes, check_names, listed, name_list, places
from jaxrank.data.row_columns import joined_columns, row_columns
from jaxrank.errors import DataError, OptionError


@dataclass(frozen=True, eq=False)
class Rankings(Counted):
    """Ordered lists of models, best first.

    ``Rankings(orders, models=None, count=None)``: every order is a list of names (or of indices, with or without
    ``models``), best first; a nested list is a group of ties: ``["a", ["b", "c"], "d"]``. ``count`` says how often
    each order was given (a number of 0 or more, 1 by default). A model that an order leaves out was not part of it;
    with ``unlisted="below"`` it was part of it and placed below all that are listed, in an unknown order (top-k lists).
    A set of winners is an order of two places. ``columns`` is what else is known, by name: of each order a list of E
    numbers (NaN where absent) or texts, such as "voter"; of each model of each order a table (E, L) of numbers, such as
    its "price".

    **places** (E, L) int16: 1 is the best place of an order, ties share a place, 0 for a model that took no part; with
    ``unlisted="below"`` the models left out share a last place that is marked in **open_end** (E,).
    **count** float64 (E,).  **models** names.  **notes** what was dropped, one sentence each.
    **columns** arrays by name: (E,) float64 or objects, (E, L) float64 with NaN where a model took no part.

    Raises `DataError` for no orders, unknown names, a model twice in one order, a count that is negative or does not
    match, columns of another shape.

    >>> import jaxrank as jr
    >>> jr.Rankings([["ada", "bob", "cyd"], ["bob", ["ada", "cyd"]]]).places.tolist()
    [[1, 2, 3], [2, 1, 2]]
    """

    form: ClassVar[str] = "rankings"
    places: np.ndarray
    count: np.ndarray
    open_end: np.ndarray
    models: tuple[str, ...]
    notes: tuple[str, ...]
    columns: Mapping[str, np.ndarray]

    def __init__(
        self,
        orders: Iterable[Any],
        models: Sequence[Any] | None = None,
        count: Any = None,
        *,
        unlisted: str = "absent",
        columns: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if not isinstance(unlisted, str) or unlisted not in ("absent", "below"):
            raise DataError('unlisted must be "absent" or "below"')
        if isinstance(orders, str | bytes) or not isinstance(orders, Iterable):
            raise DataError(f"orders must be a list of orders, not a {type(orders).__name__}")
        groups = [_groups(order, row) for row, order in enumerate(orders)]
        if not groups:
            raise DataError("there are no orders")
        count = _counts(count, len(groups))
        names, code = _encode(groups, models)
        places = np.zeros((len(groups), len(names)), np.int16)
        for row, order in enumerate(groups):
            for place, group in enumerate(order, start=1):
                for item in group:
                    i = code[item]
                    if places[row, i]:
                        raise DataError(f"order {row} lists {names[i]!r} twice")
                    places[row, i] = place
        open_end = np.zeros(len(groups), bool)
        if unlisted == "below":
            open_end = (places == 0).any(axis=1)
            last = places.max(axis=1, keepdims=True) + 1
            places = np.where((places == 0) & open_end[:, None], last, places).astype(np.int16)
        self._set(places, count, open_end, names, notes, columns)

    @classmethod
    def from_places(
        cls,
        places: Any,
        models: Sequence[Any] | None = None,
        count: Any = None,
        *,
        columns: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> Rankings:
        """From a table (orders x models) of places, 1 is best, equal places tie, 0 for models that took no part."""
        try:
            table = np.asarray(places)
        except ValueError:
            raise DataError("places must be a table: one row an order, all of one length") from None
        if table.ndim != 2 or 0 in table.shape:
            raise DataError(f"places has shape {table.shape}; it needs (orders, models)")
        whole = table.dtype.kind in "iuf" and np.all(np.isfinite(table)) and np.all(table == np.floor(table))
        if not whole or table.min() < 0:
            raise DataError("places must be whole numbers: 1 for the best, 0 for a model that took no part")
        count = _counts(count, len(table))
        self = cls.__new__(cls)
        names = check_names(models, table.shape[1], "model")
        self._set(_dense(table), count, np.zeros(len(table), bool), names, notes, columns)
        return self

    def _set(self, places, count, open_end, names, notes, columns) -> None:
        never = np.flatnonzero(~(places > 0).any(axis=0))
        if len(never):
            raise DataError(f"no order lists {name_list(names, never)}; leave these models out")
        self._hold(places, count, open_end, names, notes, row_columns(columns, len(places), "order", len(names)))

    def _hold(
        self, places, count, open_end, names, notes, columns: Mapping[str, np.ndarray] = MappingProxyType({})
    ) -> None:
        object.__setattr__(self, "places", frozen(places, np.int16))
        object.__setattr__(self, "count", frozen(count, np.float64))
        object.__setattr__(self, "open_end", frozen(open_end, bool))
        object.__setattr__(self, "models", tuple(names))
        object.__setattr__(self, "notes", as_notes(notes))
        seen = self.places > 0
        held = {k: frozen(v if v.ndim == 1 else np.where(seen, v, np.nan)) for k, v in columns.items()}
        object.__setattr__(self, "columns", MappingProxyType(held))

    @classmethod
    def _made(cls, *fields: Any) -> Rankings:
        out = cls.__new__(cls)
        out._hold(*fields)
        return out

    @property
    def units(self) -> Mapping[str, float]:
        return {"order": float(self.count.sum())}

    @property
    def hanging(self) -> str:
        return "of one list" if (self.places > 0).sum(axis=1).max() > 2 else ""

    @property
    def coverage(self) -> np.ndarray:
        """float (L,): share of the orders in which a model took part."""
        return np.matmul(self.count, self.places > 0) / max(self.count.sum(), 1)

    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.places, self.count, self.open_end

    def events(self) -> np.ndarray:
        """int16 (E, L): the higher the better placed, equal where models tie, 0 for an open end, -1 for no part."""
        top = self.places.max(axis=1, keepdims=True) + ~self.open_end[:, None]
        return np.where(self.places > 0, top - self.places, -1).astype(np.int16)

    def choices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The choices that the orders are made of: the best from all, the best from the rest, and so on.

        Returns the distinct ones int8 (S, L), 1 for the chosen, 0 for those left, -1 for those not in the choice; and
        which choice (P,) is part of which order (P,). A last model alone is no choice; the open end of an order is
        never chosen from.
        """
        chosen, orders = [np.zeros((0, len(self.models)), np.int8)], [np.zeros(0, int)]
        n_places = self.places.max(axis=1)
        for place in range(1, int(n_places.max()) + 1):
            rows = np.flatnonzero((n_places > place) | ((n_places == place) & ~self.open_end))
            table = self.places[rows]
            stage = np.where(table == place, 1, np.where(table > place, 0, -1)).astype(np.int8)
            choice = (stage >= 0).sum(axis=1) > 1
            chosen.append(stage[choice])
            orders.append(rows[choice])
        outcomes, index = np.unique(np.concatenate(chosen), axis=0, return_inverse=True)
        return outcomes, index.reshape(-1), np.concatenate(orders)

    @property
    def all_alike(self) -> str:
        alike, several = (self.places.max(axis=1) < 2) & ~self.open_end, (self.places > 0).sum(axis=1) > 1
        n_alike, n_all = self.count[alike & several].sum(), self.count[several].sum()
        return f"{n_alike:,.10g} of {n_all:,.10g} orders, in which all models stand alike" if n_alike else ""

    def stages(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct choices int8 (S, L), see `choices`, and the count of each."""
        outcomes, choice, order = self.choices()
        return outcomes, np.bincount(choice, self.count[order], minlength=len(outcomes))

    def distinct(self) -> Rankings:
        """Equal orders merged, their counts added; ``columns``, in which they may differ, are left out."""
        table = np.column_stack([self.places, self.open_end])
        kinds, index = np.unique(table, axis=0, return_inverse=True)
        count = np.bincount(index.reshape(-1), self.count, minlength=len(kinds))
        return self._made(kinds[:, :-1], count, kinds[:, -1], self.models, self.notes)

    def select(self, models: Any = None, orders: Any = None) -> Rankings:
        """The given orders, of the given models alone; a note says how many orders that leaves out.

        ``models``: names, indices or a mask; their order is that of the result; models between them close up.
        ``orders``: row numbers or a mask of the rows, of the same models. Orders without two of the models left say
        nothing and are left out. `OptionError` for unknown names, with the nearest ones, masks of another length, and
        where nothing is left.

        >>> import jaxrank as jr
        >>> lists = jr.Rankings([["ada", "bob", "cyd"], ["bob", ["ada", "cyd"]]])
        >>> lists.select(models=["ada", "cyd"]).places.tolist()
        [[1, 2], [1, 1]]
        """
        rows = np.arange(len(self.places))
        if orders is not None:
            rows = places(len(rows), orders, "orders")
        table, open_end = self.places[rows], self.open_end[rows]
        if models is None:
            columns = {name: values[rows] for name, values in self.columns.items()}
            return self._made(table, self.count[rows], open_end, self.models, self.notes, columns)
        i = places(self.models, models, "models")
        names = check_names([self.models[k] for k in i], len(i), "model")
        last = table.max(axis=1)
        part = table[:, i]
        open_end = open_end & (part == last[:, None]).any(axis=1)
        kept = (part > 0).sum(axis=1) > 1
        if not kept.any():
            raise OptionError("models and orders leave no order of two models: choose models that were ranked together")
        left = len(self.places) - int(kept.sum())
        said = f"{left} of {len(self.places)} orders were left out by select: they hold fewer than two of its models"
        part, open_end, rows = _dense(part[kept]), open_end[kept], rows[kept]
        columns = {k: v[rows] if v.ndim == 1 else v[np.ix_(rows, i)] for k, v in self.columns.items()}
        notes = (*self.notes, said) if left else self.notes
        return self._made(part, self.count[rows], open_end, names, notes, columns)

    def _joined(self, other: Rankings) -> Rankings:
        models, place = union(self.models, other.models)
        table = np.zeros((len(self.places) + len(other.places), len(models)), np.int16)
        table[: len(self.places), : len(self.models)] = self.places
        table[np.ix_(np.arange(len(self.places), len(table)), place)] = other.places
        count, open_end = np.concatenate([self.count, other.count]), np.concatenate([self.open_end, other.open_end])
        sizes, at = (len(self.places), len(other.places)), (np.arange(len(self.models)), place)
        columns = joined_columns((self.columns, other.columns), sizes, at, len(models))
        return self._made(table, count, open_end, models, joined_notes(self, other), columns)

    def to_frame(self) -> Any:
        """One row for each model that an order lists (pandas): ``order``, ``model``, ``place``, the ``count`` of the
        order, ``open_end``, True where the model stands in the last place of models in an unknown order, and
        ``columns``; `jaxrank.from_frame` reads it back.

        >>> import jaxrank as jr
        >>> jr.Rankings([["ada", "bob"], ["bob"]]).to_frame()["place"].tolist()
        [1, 2, 1]
        """
        import pandas as pd

        order, i = np.nonzero(self.places)
        place = self.places[order, i]
        last = self.open_end[order] & (place == self.places.max(axis=1)[order])
        model = np.array(self.models, object)[i]
        own = {"order": order, "model": model, "place": place, "count": self.count[order], "open_end": last}
        more = {k: v[order] if v.ndim == 1 else v[order, i] for k, v in self.columns.items() if k not in own}
        return pd.DataFrame({**own, **more})

    @property
    def wins(self) -> np.ndarray:
        """float64 (L, L): in how many orders i stands above j."""
        out = np.zeros((len(self.models),) * 2)
        for place in range(1, int(self.places.max())):
            out += np.matmul(self.count * (self.places == place).T, self.places > place)
        return out

    @property
    def ties(self) -> np.ndarray:
        """float64 (L, L), symmetric: in how many orders i and j tie; the open end of an order says nothing."""
        out = np.zeros((len(self.models),) * 2)
        events = self.events()
        for grade in range(1, int(events.max()) + 1):
            level = events == grade
            out += np.matmul(self.count * level.T, level)
        np.fill_diagonal(out, 0)
        return out

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """bool (E, L, L) of every order: i above j; i and j tie."""
        seen, events = self.places > 0, self.events()
        both = seen[:, :, None] & seen[:, None, :]
        above = both & (self.places[:, :, None] < self.places[:, None, :])
        level = both & (events[:, :, None] == events[:, None, :]) & (events > 0)[:, :, None]
        return above, level & ~np.eye(len(self.models), dtype=bool)

    @property
    def n_tied(self) -> int:
        """Size of the largest group of ties (1 where there are none)."""
        outcomes, _ = self.stages()
        return int((outcomes == 1).sum(axis=1).max(initial=1))

    def __repr__(self) -> str:
        full = bool((self.places > 0).all())
        kind = "full" if full and not self.open_end.any() else "partial"
        return f"Rankings({len(self.models)} models, {self.count.sum():g} orders, {kind})"


def _counts(count: Any, size: int) -> np.ndarray:
    try:
        values = np.ones(size) if count is None else np.array(count, float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"count must be {size} numbers") from None
    if values.shape != (size,) or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise DataError(f"count must be {size} finite numbers of 0 or more")
    return values


def _dense(table: np.ndarray) -> np.ndarray:
    """Places without gaps: 1, 2, ... in every row; 0 stays."""
    dense = np.zeros(table.shape, np.int16)
    for row, line in enumerate(table):
        used = np.unique(line[line > 0])
        dense[row] = np.where(line > 0, np.searchsorted(used, line) + 1, 0)
    return dense


def _groups(order: Any, row: int) -> list[list[Any]]:
    """Every order as a list of groups."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise DataError(f"order {row} is {order!r}; an order is a list of names or indices, best first")
    groups = []
    for item in order:
        group = list(item) if isinstance(item, Iterable) and not isinstance(item, str) else [item]
        if not group:
            raise DataError(f"order {row} has an empty group of ties")
        groups.append([_plain(member, row) for member in group])
    if not groups:
        raise DataError(f"order {row} is empty")
    return groups


def _plain(item: Any, row: int) -> Any:
    item = item.item() if isinstance(item, np.generic) else item
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise DataError(f"order {row} holds {item!r}; it needs names or indices")
    return item


def _encode(groups: list[list[list[Any]]], models: Any) -> tuple[tuple[str, ...], dict[Any, int]]:
    items = list(dict.fromkeys(item for order in groups for group in order for item in group))
    if all(isinstance(item, int) for item in items):
        if min(items) < 0:
            raise DataError("the orders hold negative model indices")
        n = max(items) + 1 if models is None else len(listed(models, "model"))
        if max(items) >= n:
            raise DataError(f"the orders refer to model {max(items)}, but models has {n} names")
        return check_names(models, n, "model"), {i: i for i in range(n)}
    if any(isinstance(item, int) for item in items):
        raise DataError("the orders mix names and indices; use one of them")
    if models is None:
        items.sort()
        return check_names(items, len(items), "model"), {name: i for i, name in enumerate(items)}
    names = check_names(models, len(listed(models, "model")), "model")
    code = {name: i for i, name in enumerate(names)}
    unknown = [item for item in items if item not in code]
    if unknown:
        counts = all(isinstance(m, int | float | np.number) for m in models)
        hint = "; how often each order was given is count=" if counts else ""
        raise DataError(
            f"the orders name models that are not in models: {name_list(unknown, range(len(unknown)))}{hint}"
        )
    return names, code
