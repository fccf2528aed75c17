"""``clusters``: questions or battles drawn again by groups of them, or by two columns at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.clusters import clustering
from jaxrank.data.kind import Data
from jaxrank.data.weights import Weights
from jaxrank.errors import OptionError
from jaxrank.resampling import draws
from jaxrank.resampling.schemes import SCHEMES, Scheme, drawn


@dataclass(frozen=True)
class Clusters(Scheme):
    """Clusters with replacement, as many as there are, every question (or battle) with the weight of its cluster.

    **columns**: one or two columns of the questions, or of the battles. Two are drawn apart and the weights multiplied:
    the pigeonhole bootstrap [owen2007].  **sizes**: clusters of each column, and **index**, which cluster each question
    is of by column; both set by `bound`. Of battles, which may be millions, the source of replicates keeps the index.
    """

    name = "clusters"
    unit = "clusters"
    ordered = False
    columns: tuple[str, ...] = ("group",)
    sizes: tuple[int, ...] = ()
    index: tuple[tuple[int, ...], ...] = ()

    def bound(self, data: Data) -> Clusters:
        """The scheme for these data; `OptionError` for a column that they do not have and for one cluster."""
        found = [clustering(data, column) for column in self.columns]
        index = tuple(tuple(c.index.tolist()) for c in found) if data.questions else ()
        return dataclasses.replace(self, sizes=tuple(c.size for c in found), index=index)

    def sample(self, shape):
        return drawn(min(self.sizes)) if self.sizes else None

    def draw(self, key, replicate, shape, dtype):
        keys = jax.random.split(key, len(self.sizes))
        return jnp.concatenate([draws.integers(k, (n,), n) for k, n in zip(keys, self.sizes, strict=True)])

    def weights(self, draw, shape, dtype, first=None):
        return Weights(questions=self.weights_of(draw, [np.array(place) for place in self.index], dtype))

    def weights_of(self, draw: Array, index: Any, dtype: Any) -> Array:
        """The weight of every unit: the product of those of its clusters. **index**: which they are, by column."""
        weight, start = jnp.ones((), dtype), 0
        for place, n in zip(index, self.sizes, strict=True):
            weight = weight * draws.counts_of(draw[start : start + n], n, dtype)[place]
            start += n
        return weight

    def __str__(self) -> str:
        return f"clusters({', '.join(self.columns)})"


def clusters(*columns: str) -> Clusters:
    """The scheme that draws clusters again: ``jr.bootstrap(data, scheme=jr.clusters("group"))``.

    ``columns``: one column of the questions, such as "group", or of battles, such as "voter"; or two of them, drawn
    apart (pigeonhole bootstrap). `OptionError` for none and for more.

    >>> import jaxrank as jr
    >>> str(jr.clusters("group"))
    'clusters(group)'
    """
    if not 1 <= len(columns) <= 2 or not all(isinstance(c, str) for c in columns):
        raise OptionError(f"clusters takes the names of one or two columns, not {len(columns)} values")
    return Clusters(columns)


SCHEMES[Clusters.name] = clusters
