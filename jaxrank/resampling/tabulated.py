"""Methods that are a mean over questions of a function of one cell's counts: that function as a table.

On complete data, of rankers that say so (`MeanOfCells`). The table comes from the method itself, and replaces it where
the same few counts would be worked out a hundred thousand times: a replicate is then a product of weights with
successes and a look-up; where the table is linear only the total successes of each model are needed.
"""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.device import put
from jaxrank.data.kind import Data
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit, rounding_resolution
from jaxrank.models.ranker import MeanOfCells, Ranker
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status
from jaxrank.resampling import draws
from jaxrank.resampling.schemes import Scheme, Subsample, Trials
from jaxrank.resampling.work import Work, block_size, kept_of


class TabulatedReplication(Work):
    """The fits of a tabulated method on replicates whose trials are shared by all questions and models.

    **successes**: (N, L) by trial, summed over questions, where the table is linear; else (N, L, M).
    **table**: (n + 1,), the score of one question with k successes in the replicate's n trials.
    """

    scheme: Scheme = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)
    successes: Float[Array, "trials models *questions"]
    table: Float[Array, " successes"]
    key: Array
    block: int = eqx.field(static=True)

    def lane(self, replicate: Any, payload: Any) -> dict[str, Any]:
        dtype = self.table.dtype
        draw = self.scheme.draw(draws.replicate_key(self.key, replicate), replicate, self.shape, dtype)
        weights = cast(Array, self.scheme.weights(draw, self.shape, dtype).trials)
        rows = self.successes.reshape(self.shape[2], -1)
        k = matmul(weights, rows).reshape(self.successes.shape[1:])
        if k.ndim == 1:
            scores = self.table[0] + (self.table[1] - self.table[0]) * (k / self.shape[1])
        else:
            scores = jnp.mean(self.table.at[k.astype(jnp.int32)].get(mode="promise_in_bounds"), axis=1)
        status = jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED)
        n_terms = 1 if k.ndim == 1 else self.shape[1]  # totals are whole numbers
        resolution = rounding_resolution(scores - self.table[0], n_terms) + 2 * jnp.finfo(dtype).eps * jnp.abs(
            self.table[0]
        )
        return kept_of(Fit(scores, status, jnp.asarray(0, jnp.int32), resolution, {}))


def tabulated_replication(data: Any, ranker: Ranker, scheme: Scheme, key: Array) -> TabulatedReplication | None:
    """The short way for a method and scheme where there is one, else None."""
    if not isinstance(scheme, Trials | Subsample) or not is_tabulated(ranker, data) or data.n_categories > 2:
        return None
    if isinstance(scheme, Subsample) and scheme.n > data.shape[2]:
        return None
    dtype = jnp.zeros(()).dtype
    n = scheme.n if isinstance(scheme, Subsample) else data.shape[2]
    with jax.enable_x64(True):
        table = np.asarray(cell_row(ranker, n, np.asarray(data.levels)))
    by_trial = np.moveaxis(np.asarray(data.outcomes), 2, 0)
    linear = linear_values(ranker, data) is not None
    successes = by_trial.sum(axis=2) if linear else by_trial
    lane = successes[0].size * 2 * dtype.itemsize
    return TabulatedReplication(
        scheme=scheme,
        shape=data.shape,
        successes=put(successes, dtype),
        table=put(table, dtype),
        key=key,
        block=block_size(lane, low=256, high=1024),
    )


def is_tabulated(ranker: Ranker, data: Data) -> bool:
    """Whether all prefixes come from one pass: a score by cells, and no missing cells. Then in float64."""
    if not isinstance(data, Responses) or data.counts_only or data.kind == "real" or data.weighted or data.balance:
        return False
    if (np.asarray(data.outcomes) < 0).any():
        return False
    if not isinstance(ranker, MeanOfCells) or not ranker.of_cells:
        return False
    return data.binary or linear_values(ranker, data) is not None


def linear_values(ranker: Ranker, data: Responses) -> np.ndarray | None:
    """Value of each category where scores of complete data are an increasing function of the sum of values."""
    if not isinstance(ranker, MeanOfCells) or not ranker.of_cells:
        return None
    return ranker.values(np.asarray(data.levels))


@eqx.filter_jit
def cell_table(ranker: Ranker, n_trials: int, levels: Any = (0.0, 1.0)) -> Float[Array, "trials successes"]:
    """float64 (N, N + 1): the score of one question with k successes in n trials, at [n - 1, k]; NaN where undefined.

    From the method itself, with one "model" for each k.  **levels** (2,): the values of a failure and a success.
    """
    numbers = jnp.arange(1, n_trials + 1, dtype=jnp.float64)
    return jax.lax.map(lambda n: _cells(ranker, n, n_trials, levels), numbers)


@eqx.filter_jit
def cell_row(ranker: Ranker, n_trials: int, levels: Any = (0.0, 1.0)) -> Float[Array, " successes"]:
    """The last row of `cell_table` alone."""
    return _cells(ranker, jnp.asarray(n_trials, jnp.float64), n_trials, levels)


def _cells(ranker: Ranker, n: Array, n_trials: int, levels: Any) -> Float[Array, " successes"]:
    k = jnp.arange(n_trials + 1, dtype=jnp.float64)
    successes = jnp.minimum(k, n)
    categories = jnp.stack([n - successes, successes], axis=-1)[:, None, :]
    scores = ranker(Counts(categories, jnp.ones(1, jnp.float64), jnp.asarray(levels, jnp.float64))).scores
    return jnp.where(k <= n, scores, jnp.nan)
