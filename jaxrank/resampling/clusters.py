"""``clusters``: questions drawn again by groups of them, or by two columns at once."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.weights import Weights
from jaxrank.errors import OptionError
from jaxrank.resampling import draws
from jaxrank.resampling.schemes import Scheme, drawn

FEW = 20
"""So many clusters are wanted: below, intervals of a cluster bootstrap are known to be short."""


@dataclass(frozen=True)
class Clusters(Scheme):
    """Clusters of questions with replacement, as many as there are, every question with the weight of its cluster.

    **columns**: one or two columns of the question table. Two are drawn apart and the weights multiplied: the
    pigeonhole bootstrap [owen2007].  **index**: which cluster each question is of, by column; set by `bound`.
    """

    name = "clusters"
    unit = "clusters"
    columns: tuple[str, ...] = ("group",)
    index: tuple[tuple[int, ...], ...] = ()

    def bound(self, data: Data) -> Clusters:
        """The scheme for these data; `OptionError` for a column that they do not have and for one cluster."""
        known: Any = getattr(data, "question_columns", {})
        index = []
        for column in self.columns:
            if column not in known:
                have = ", ".join(map(repr, known)) or "none"
                raise OptionError(f"clusters({column!r}): the questions have no such column; there are {have}")
            names, place = np.unique(np.array([str(v) for v in known[column]]), return_inverse=True)
            if len(names) < 2:
                raise OptionError(f"clusters({column!r}): there is one cluster, which says nothing about others")
            index.append(tuple(place.tolist()))
        return dataclasses.replace(self, index=tuple(index))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Clusters of each column."""
        return tuple(max(place) + 1 for place in self.index)

    def sample(self, shape):
        return drawn(min(self.sizes))

    def draw(self, key, replicate, shape, dtype):
        keys = jax.random.split(key, len(self.sizes))
        return jnp.concatenate([draws.integers(k, (n,), n) for k, n in zip(keys, self.sizes, strict=True)])

    def weights(self, draw, shape, dtype, first=None):
        weight, start = jnp.ones(shape[1], dtype), 0
        for place, n in zip(self.index, self.sizes, strict=True):
            weight = weight * draws.counts_of(draw[start : start + n], n, dtype)[np.array(place)]
            start += n
        return Weights(questions=weight)

    def __str__(self) -> str:
        return f"clusters({', '.join(self.columns)})"


def clusters_of(scheme: str, data: Data) -> Clusters | None:
    """The clusters that a scheme drew, from its name; None for another scheme, and where the data lack the columns."""
    known = list(getattr(data, "question_columns", {}))
    tried = [(c,) for c in known] + list(itertools.permutations(known, 2))
    found = [Clusters(columns) for columns in tried if str(Clusters(columns)) == scheme]
    return found[0].bound(data) if found else None


def clusters(*columns: str) -> Clusters:
    """The scheme that draws clusters of questions again: ``jr.bootstrap(data, scheme=jr.clusters("group"))``.

    ``columns``: one column of the question table, such as "group", or two (pigeonhole bootstrap). `OptionError` for
    none and for more.

    >>> import jaxrank as jr
    >>> str(jr.clusters("group"))
    'clusters(group)'
    """
    if not 1 <= len(columns) <= 2 or not all(isinstance(c, str) for c in columns):
        raise OptionError(f"clusters takes the names of one or two columns of the questions, not {len(columns)} values")
    return Clusters(columns)
