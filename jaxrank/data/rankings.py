"""``Rankings``: full or partial ordered lists, with ties, checked once, with names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxrank.data.responses import check_names, name_list
from jaxrank.errors import DataError


@dataclass(frozen=True, eq=False)
class Rankings:
    """Ordered lists of models, best first.

    ``Rankings(orders, models=None, counts=None)``: every order is a list of names (or of indices, with or without
    ``models``), best first; a nested list is a group of ties: ``["a", ["b", "c"], "d"]``. ``counts`` says how often
    each order was given (a positive number, 1 by default). A model that an order leaves out was not part of it; with
    ``unlisted="below"`` it was part of it and placed below all that are listed, in an unknown order (top-k lists).

    **places** (E, L) int16: 1 is the best place of an order, ties share a place, 0 for a model that took no part; with
    ``unlisted="below"`` the models left out share a last place that is marked in **open_end** (E,).
    **counts** float64 (E,).  **models** names.  **notes** what was dropped, one sentence each.

    Raises `DataError` for no orders, unknown names, a model twice in one order, counts that are negative or do not
    match.

    >>> import jaxrank as jr
    >>> jr.Rankings([["ada", "bob", "cyd"], ["bob", ["ada", "cyd"]]]).places.tolist()
    [[1, 2, 3], [2, 1, 2]]
    """

    places: np.ndarray
    counts: np.ndarray
    open_end: np.ndarray
    models: tuple[str, ...]
    notes: tuple[str, ...]

    def __init__(
        self,
        orders: Iterable[Any],
        models: Sequence[Any] | None = None,
        counts: Any = None,
        *,
        unlisted: str = "absent",
        notes: Sequence[str] = (),
    ) -> None:
        if unlisted not in ("absent", "below"):
            raise DataError(f'unlisted={unlisted!r}; it must be "absent" or "below"')
        groups = [_groups(order, row) for row, order in enumerate(orders)]
        if not groups:
            raise DataError("there are no orders")
        counts = np.ones(len(groups)) if counts is None else np.asarray(counts, float)
        if counts.shape != (len(groups),) or not np.all(np.isfinite(counts)) or np.any(counts < 0):
            raise DataError(f"counts must be {len(groups)} finite numbers of 0 or more")
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
        self._set(places, counts, open_end, names, notes)

    @classmethod
    def from_places(
        cls, places: Any, models: Sequence[Any] | None = None, counts: Any = None, *, notes: Sequence[str] = ()
    ) -> Rankings:
        """From a table (orders x models) of places, 1 is best, equal places tie, 0 for models that took no part."""
        table = np.asarray(places)
        if table.ndim != 2 or 0 in table.shape:
            raise DataError(f"places has shape {table.shape}; it needs (orders, models)")
        whole = table.dtype.kind in "iuf" and np.all(np.isfinite(table)) and np.all(table == np.floor(table))
        if not whole or table.min() < 0:
            raise DataError("places must be whole numbers: 1 for the best, 0 for a model that took no part")
        counts = np.ones(len(table)) if counts is None else np.asarray(counts, float)
        if counts.shape != (len(table),) or not np.all(np.isfinite(counts)) or np.any(counts < 0):
            raise DataError(f"counts must be {len(table)} finite numbers of 0 or more")
        self = cls.__new__(cls)
        names = check_names(models, table.shape[1], "model")
        dense = np.zeros(table.shape, np.int16)
        for row, line in enumerate(table):
            used = np.unique(line[line > 0])
            dense[row] = np.where(line > 0, np.searchsorted(used, line) + 1, 0)
        self._set(dense, counts, np.zeros(len(table), bool), names, notes)
        return self

    def _set(self, places, counts, open_end, names, notes) -> None:
        never = np.flatnonzero(~(places > 0).any(axis=0))
        if len(never):
            raise DataError(f"no order lists {name_list(names, never)}; leave these models out")
        for key, value in (("places", places), ("counts", counts), ("open_end", open_end), ("models", names)):
            object.__setattr__(self, key, value)
        object.__setattr__(self, "notes", tuple(notes))

    def stages(self) -> tuple[np.ndarray, np.ndarray]:
        """The choices that the orders are made of: the best from all, the best from the rest, and so on.

        Returns int8 (S, L), 1 for the chosen, 0 for those left, -1 for those not in the choice, and the count of each,
        equal choices merged. A last model alone is no choice; the open end of an order is never chosen from.
        """
        chosen = []
        weights = []
        n_places = self.places.max(axis=1)
        for place in range(1, int(n_places.max()) + 1):
            rows = np.flatnonzero((n_places > place) | ((n_places == place) & ~self.open_end))
            table = self.places[rows]
            stage = np.where(table == place, 1, np.where(table > place, 0, -1)).astype(np.int8)
            choice = (stage >= 0).sum(axis=1) > 1
            chosen.append(stage[choice])
            weights.append(self.counts[rows][choice])
        if not sum(map(len, chosen)):
            return np.zeros((0, len(self.models)), np.int8), np.zeros(0)
        outcomes, index = np.unique(np.concatenate(chosen), axis=0, return_inverse=True)
        return outcomes, np.bincount(index.reshape(-1), np.concatenate(weights), minlength=len(outcomes))

    def select(self, rows: Sequence[int]) -> Rankings:
        """The given orders alone, of the same models."""
        picked = np.asarray(rows, int)
        out = Rankings.__new__(Rankings)
        for key in ("places", "counts", "open_end"):
            object.__setattr__(out, key, getattr(self, key)[picked])
        object.__setattr__(out, "models", self.models)
        object.__setattr__(out, "notes", self.notes)
        return out

    @property
    def wins(self) -> np.ndarray:
        """float64 (L, L): in how many orders i stands above j."""
        n = len(self.models)
        out = np.zeros((n, n))
        for line, count in zip(self.places, self.counts, strict=True):
            seen = line > 0
            out += count * (seen[:, None] & seen & (line[:, None] < line))
        return out

    @property
    def ties(self) -> np.ndarray:
        """float64 (L, L), symmetric: in how many orders i and j tie; the open end of an order says nothing."""
        n = len(self.models)
        out = np.zeros((n, n))
        for line, count, open_end in zip(self.places, self.counts, self.open_end, strict=True):
            seen = (line > 0) & ~(open_end & (line == line.max()))
            out += count * (seen[:, None] & seen & (line[:, None] == line))
        np.fill_diagonal(out, 0)
        return out

    @property
    def n_tied(self) -> int:
        """Size of the largest group of ties (1 where there are none)."""
        outcomes, _ = self.stages()
        return int((outcomes == 1).sum(axis=1).max(initial=1))

    def __repr__(self) -> str:
        full = bool((self.places > 0).all())
        kind = "full" if full and not self.open_end.any() else "partial"
        return f"Rankings({len(self.models)} models, {self.counts.sum():g} orders, {kind})"


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
        n = max(items) + 1 if models is None else len(list(models))
        if max(items) >= n:
            raise DataError(f"the orders refer to model {max(items)}, but models has {n} names")
        return check_names(models, n, "model"), {i: i for i in range(n)}
    if any(isinstance(item, int) for item in items):
        raise DataError("the orders mix names and indices; use one of them")
    if models is None:
        items.sort()
        return check_names(items, len(items), "model"), {name: i for i, name in enumerate(items)}
    names = check_names(models, len(list(models)), "model")
    code = {name: i for i, name in enumerate(names)}
    unknown = [item for item in items if item not in code]
    if unknown:
        raise DataError(f"the orders name models that are not in models: {name_list(unknown, range(len(unknown)))}")
    return names, code
