"""Which cluster each question is of, or each battle or ordered list: by a column that the data carry."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.kind import Counted, Data
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError, one_line

FEW = 20
"""So many clusters are wanted: below, errors from clusters are known to be short."""


class Clustering(NamedTuple):
    """**column**: where it comes from.  **index**: int (K,), the cluster of every question, else of every row,
    0..size-1.  **size**: how many clusters there are.  **alone**: units without a value in the column, each a cluster
    of its own."""

    column: str
    index: np.ndarray
    size: int
    alone: int

    @property
    def note(self) -> str:
        """What a reader should know: few clusters, and units that had no value; empty where there is neither."""
        said = []
        if self.size < FEW:
            said.append(f"there are {self.size} clusters of {self.column!r}; fewer than {FEW} make intervals too short")
        if self.alone:
            said.append(f"{self.alone} have no value in {self.column!r}: each is a cluster of its own")
        return "; ".join(said)


def clustering(data: Data, column: str) -> Clustering:
    """The clusters that a column makes of the questions of trials ("group"), or of battles or ordered lists ("voter").

    `OptionError` for a column that there is not, with those that there are, and for a single cluster, which says
    nothing about others.
    """
    known = _columns(data)
    if not isinstance(column, str) or column not in known:
        have = f"there are {', '.join(map(repr, known))}" if known else "there are none"
        raise OptionError(f"clusters of {one_line(column)}: the {_unit(data)} have no such column; {have}")
    index, size, alone = _coded(known[column])
    if size < 2:
        raise OptionError(f"clusters of {one_line(column)}: there is one cluster, which says nothing about others")
    return Clustering(column, index, size, alone)


_CODED: dict[int, tuple[Any, tuple[np.ndarray, int, int]]] = {}
"""What `_coded` made of columns that are still in use, by their id."""


def _coded(values: np.ndarray) -> tuple[np.ndarray, int, int]:
    """The cluster of each entry, int32, how many clusters there are, and how many entries have no value. Of millions of
    names that takes a while, and data, fits and parts of them share columns, which nobody writes to."""
    import pandas as pd

    key = id(values)
    if key in _CODED and _CODED[key][0]() is values:
        return _CODED[key][1]
    index, names = pd.factorize(values)
    index, absent = index.astype(np.int32), index < 0
    alone = int(absent.sum())
    index[absent] = len(names) + np.arange(alone)
    index.setflags(write=False)
    made = index, len(names) + alone, alone
    if not values.flags.writeable:
        _CODED[key] = weakref.ref(values, lambda _: _CODED.pop(key, None)), made
    return made


def _unit(data: Data) -> str:
    return "questions" if data.questions else data.content


def _columns(data: Data) -> Mapping[str, np.ndarray]:
    """The columns of what can be drawn by clusters."""
    if isinstance(data, Responses):
        return data.question_columns
    known = data.columns if isinstance(data, Counted) else {}
    return {name: column for name, column in known.items() if column.ndim == 1}
