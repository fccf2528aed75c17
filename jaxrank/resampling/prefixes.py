"""Every prefix of a replicate at once: the scores of the first n drawn trials, for n = 1..N.

Methods whose score is a mean over questions of a function of one cell's counts (`MeanOfCells`: accuracy, Bayes@N, the
Pass@k family) are tabulated from their own definition, ``table[n, k]`` for k successes in n trials, and all prefixes
come from one pass of cumulative counts. Where the table is linear in k only the cumulative total of each model is
needed. Any other method is fitted to each prefix.
"""

from __future__ import annotations

import abc
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.device import put
from jaxrank.data.kind import Counted, Data
from jaxrank.data.responses import responses_of
from jaxrank.errors import OptionError
from jaxrank.models.fit import rounding_resolution
from jaxrank.models.ranker import Ranker, statistic_of
from jaxrank.numerics.status import Status
from jaxrank.resampling import draws
from jaxrank.resampling.schemes import Scheme, Trials
from jaxrank.resampling.sources import TrialSource, UnitStream, make_source, unit_stream
from jaxrank.resampling.tabulated import cell_table, is_tabulated, linear_values


class Prefixes(eqx.Module):
    """Scores of the prefixes ``grid`` of a replicate: (n, L) in any real type, and a resolution (n,)."""

    @abc.abstractmethod
    def __call__(self, key: Array, replicate: Any) -> tuple[Array, Array]:
        """One replicate; pure and mapped. Scores are NaN where a prefix has none."""

    @property
    @abc.abstractmethod
    def lane_bytes(self) -> int:
        """What one replicate works on at a time."""


class TotalPrefixes(Prefixes):
    """Cumulative totals: the order of every method that is linear in the counts. Exact for whole category values."""

    scheme: Scheme = eqx.field(static=True)
    grid: tuple[int, ...] = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)
    values: Array  # (N, L), sums over questions, where trials are shared by all questions; else (L, M, N)

    def __call__(self, key, replicate):
        draw = self.scheme.draw(key, replicate, self.shape, jnp.float32)
        if self.values.ndim == 2:
            drawn = self.values[draw]
        else:
            drawn = jnp.sum(self.scheme.gather(draw, self.values), axis=1).T
        scores = jnp.cumsum(drawn, axis=0, dtype=drawn.dtype)[np.array(self.grid) - 1]
        if jnp.issubdtype(scores.dtype, jnp.floating):
            return scores, rounding_resolution(scores)
        return scores, jnp.zeros(len(self.grid), scores.dtype)

    @property
    def lane_bytes(self):
        return 8 * (len(self.grid) * self.shape[0] if self.values.ndim == 2 else int(np.prod(self.shape)))


class TablePrefixes(Prefixes):
    """Cumulative successes of every cell, looked up in ``table`` (N, N + 1), and averaged over questions."""

    scheme: Scheme = eqx.field(static=True)
    grid: tuple[int, ...] = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)
    outcomes: Int[Array, "..."]  # (N, L, M) where trials are shared by all questions, else (L, M, N)
    table: Float[Array, "prefixes successes"]

    def __call__(self, key, replicate):
        draw = self.scheme.draw(key, replicate, self.shape, jnp.float32)
        shared = isinstance(self.scheme, Trials)
        steps = draw if shared else jnp.moveaxis(self.scheme.gather(draw, self.outcomes), -1, 0)

        def step(successes: Array, x: tuple[Array, Array]) -> tuple[Array, Array]:
            drawn, row = x
            successes = successes + (self.outcomes[drawn] if shared else drawn).astype(jnp.int32)
            return successes, jnp.sum(row.at[successes].get(mode="promise_in_bounds"), axis=-1)

        _, totals = jax.lax.scan(step, jnp.zeros(self.shape[:2], jnp.int32), (steps, self.table))
        scores = totals[np.array(self.grid) - 1] / self.shape[1]
        return scores, rounding_resolution(scores, self.shape[1])

    @property
    def lane_bytes(self):
        cells = self.shape[0] * self.shape[1]
        return (
            4 * cells
            + 8 * self.shape[2] * self.shape[0]
            + (0 if isinstance(self.scheme, Trials) else cells * self.shape[2])
        )


class FittedPrefixes(Prefixes):
    """A fit of every prefix, for any method that runs on device."""

    ranker: Ranker
    source: TrialSource | UnitStream
    grid: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, key, replicate):
        draw = self.source.scheme.draw(key, replicate, self.source.shape, self.source.float_dtype)
        own = draws.ranker_key(key) if self.ranker.stochastic else None

        def fit(n: Array) -> tuple[Array, Array]:
            found = self.ranker(self.source.made_from(draw, n), key=own)
            lost = (found.status == Status.UNDEFINED) | jnp.any(jnp.isnan(found.scores))
            return jnp.where(lost, jnp.nan, found.scores), found.resolution

        return jax.lax.map(fit, jnp.asarray(self.grid))

    @property
    def lane_bytes(self):
        stat = jax.eval_shape(lambda: self.source(jax.random.key(0), jnp.uint32(0), None)[0])
        return max(sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(stat)), self.source.lane_bytes)


def make_prefixes(
    data: Data, ranker: Ranker, scheme: Scheme, pairing: str, name: str, grid: tuple[int, ...]
) -> Prefixes:
    """The cheapest exact way to the scores of all prefixes."""
    if ranker.host:
        raise OptionError(
            f"{name} runs on the host, one fit at a time, and has no convergence study over replicates and prefixes; "
            "use jaxrank.subsample(n) for a few n"
        )
    if isinstance(data, Counted):
        return FittedPrefixes(ranker, unit_stream(data, statistic_of(ranker, data), scheme), grid)
    data = responses_of(data, name)
    common = {"scheme": scheme, "grid": grid, "shape": data.shape}
    shared = isinstance(scheme, Trials)
    if is_tabulated(ranker, data):
        values = linear_values(ranker, data)
        if values is not None:
            kept = (values - values[0])[data.outcomes]
            kept = kept.sum(axis=1).T if shared else kept
            return TotalPrefixes(values=put(kept, _total_dtype(values - values[0], data.shape)), **common)
        outcomes = np.moveaxis(np.asarray(data.outcomes), 2, 0) if shared else data.outcomes
        return TablePrefixes(
            outcomes=put(outcomes, jnp.int8),
            table=cell_table(ranker, data.shape[2], np.asarray(data.levels)),
            **common,
        )
    return FittedPrefixes(ranker, cast(TrialSource, make_source(data, ranker, scheme, pairing, name)), grid)


def _total_dtype(values: np.ndarray, shape: tuple[int, int, int]) -> Any:
    """The type in which totals over all questions and trials are exact, the narrowest that holds them; float64 where
    none does."""
    most = float(np.abs(values).max()) * shape[1] * shape[2]
    if not np.array_equal(values, np.rint(values)) or most >= 2**62:
        return jnp.float64
    return jnp.int32 if most < 2**31 else jnp.int64
