"""``Battles``: distinct battles with their covariates, each with how often it came out how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.covariates import Design
from jaxrank.data.device import put, real
from jaxrank.data.kind import Data, check_kind
from jaxrank.data.statistics import Pairs
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError
from jaxrank.numerics.precision import matmul

GRADE = "grade"
_LONGEST = 128  # places of a block
_FEW = 2**14  # battles that are looked at first
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Battles(eqx.Module):
    """Battles by pair and covariates.

    Equal battles (one pair, the same covariates) share a place, and places of one pair stand in blocks of one length,
    so that sums by pair are sums along an axis. Empty places have counts of 0.

    **first**, **second** (B,): the pair of each block; covariates and outcomes are in favour of the first.
    **counts** (A, B, K): how often each outcome came: the first won, the second won, a tie; of graded battles the first
    won by 1 .. C, the second won by 1 .. C, a tie (A = 2 C + 1).
    **x** (C, B, K): covariates.  **scale** (C,): the unit of each: x / scale has the coefficient.
    """

    name: ClassVar[str] = "battles"
    kinds: ClassVar[tuple[str, ...]] = ("comparisons",)
    first: Int[Array, " blocks"]
    second: Int[Array, " blocks"]
    counts: Float[Array, "outcomes blocks places"]
    x: Float[Array, "covariates blocks places"]
    scale: Float[Array, " covariates"]
    n_models: int = eqx.field(static=True)

    def pairs(self) -> Pairs:
        """Wins and ties of each pair, whatever the covariates."""
        n_grades = self.counts.shape[0] // 2
        each = matmul(self.counts, jnp.ones(self.counts.shape[2], self.counts.dtype))
        won, lost, tied = jnp.sum(each[:n_grades], axis=0), jnp.sum(each[n_grades:-1], axis=0), each[-1]
        zero = jnp.zeros((self.n_models,) * 2, self.counts.dtype)
        wins = zero.at[self.first, self.second].add(won).at[self.second, self.first].add(lost)
        ties = zero.at[self.first, self.second].add(tied)
        return Pairs(wins, ties + ties.T)

    def with_counts(self, counts: Float[Array, "outcomes blocks places"]) -> Battles:
        return Battles(self.first, self.second, counts, self.x, self.scale, self.n_models)

    def restricted(self, members: Int[Array, " size"]) -> Battles:
        """The battles among some of the models."""
        new = jnp.full(self.n_models, -1).at[members].set(jnp.arange(members.shape[0]))
        first, second = new[self.first], new[self.second]
        inside = (first >= 0) & (second >= 0)
        counts = jnp.where(inside[None, :, None], self.counts, 0)
        ends = jnp.maximum(first, 0), jnp.maximum(second, 0)
        return Battles(*ends, counts, self.x, self.scale, members.shape[0])


class BattleLayout(eqx.Module):
    """Where each battle of a table belongs in `Battles`: made once, for any weights of the battles.

    **count**, **weight** (E,): how often each battle was fought, and what it counts.  **place** (E,): which of the
    B * K places each has, **outcome** (E,) which of the counts. Where every battle has a place of its own, ``place`` is
    None and **battle** (B * K,) is which battle each place has, E for none, with **outcome** (B * K,); where
    ``battle`` is None too, battles are given in the order of places.
    """

    first: Int[Array, " blocks"]
    second: Int[Array, " blocks"]
    x: Float[Array, "covariates blocks places"]
    scale: Float[Array, " covariates"]
    outcome: Int[Array, " _"]
    place: Int[Array, " battles"] | None
    battle: Int[Array, " places"] | None
    count: Float[Array, " battles"]
    weight: Float[Array, " battles"]
    n_models: int = eqx.field(static=True)
    n_outcomes: int = eqx.field(static=True)

    def in_order(self, *columns: np.ndarray) -> tuple[BattleLayout, tuple[np.ndarray, ...]]:
        """The layout of battles that are given in the order of places, and ``columns`` (E,) in that order, 0 where a
        place has none; as they are where battles share places."""
        if self.battle is None:
            return self, columns
        which = np.asarray(self.battle)
        weight, *placed = (np.append(column, 0)[which] for column in (np.asarray(self.weight), *columns))
        none, weight = jnp.zeros(0, self.weight.dtype), put(weight, self.weight.dtype)
        parts = (self.outcome, None, None, none, weight, self.n_models, self.n_outcomes)
        return BattleLayout(self.first, self.second, self.x, self.scale, *parts), tuple(placed)


class Sides(NamedTuple):
    """Battles (E,) with the smaller model first: ``low`` < ``high``, ``outcome`` and covariates ``x`` (C, E) in favour
    of low, ``scale`` (C,) the units of these, ``n_outcomes`` how many outcomes there are."""

    low: np.ndarray
    high: np.ndarray
    outcome: np.ndarray
    count: np.ndarray
    x: np.ndarray
    scale: np.ndarray
    n_outcomes: int


@dataclass(frozen=True)
class BattleReader:
    """`Battles` of one design: what a model with covariates names as its statistic.

    ``of``, ``rows`` and ``reduce`` as of every statistic. **by_row**: a row is a battle of the table, columns and all.
    **graded**: whether outcomes are grades (`outcomes`).
    """

    design: Design
    graded: bool = False
    name: ClassVar[str] = "battles"
    kinds: ClassVar[tuple[str, ...]] = ("comparisons",)
    by_row: ClassVar[bool] = True

    def of(self, data: Data, pairing: str = "aligned", **_: Any) -> Battles:
        return self.reduce(self.rows(data), Weights())

    def rows(self, data: Data, unit: str = "trial", **_: Any) -> BattleLayout:
        check_kind(data, self.kinds, "a model with covariates")
        assert isinstance(data, Comparisons)
        return layout(self._sides(data), data.weight, len(data.models))

    def extended(self, stat: Battles, old_count: float, new: Comparisons) -> Battles | None:
        """`Battles` of further ones: they go to free places of their pairs, so that no shape changes; None where there
        are too few, models that ``stat`` does not have, or grades, whose places depend on all battles. ``old_count``:
        how many battles ``stat`` holds."""
        if len(new.models) != stat.n_models or self.graded:
            return None
        low, high, outcome, count, x, scale, _ = self._sides(new)
        count = count * new.weight
        counts, kept = np.array(stat.counts), np.array(stat.x)
        ends = np.array([stat.first, stat.second])
        used = np.asarray(counts.any(axis=0))
        places = _free_places(ends, used, low.astype(np.int64) * stat.n_models + high, stat.n_models)
        if places is None:
            return None
        block = places // used.shape[1]
        ends[:, block] = low, high
        counts.reshape(3, -1)[outcome, places] += count
        kept.reshape(len(x), -1)[:, places] = x
        ratio = self.design.ratios(new)
        old, total = np.asarray(stat.scale, np.float64), old_count + count.sum()
        mean = (old**2 * old_count + scale**2 * count.sum()) / total
        dtype = stat.counts.dtype
        return Battles(
            put(ends[0], jnp.int32),
            put(ends[1], jnp.int32),
            put(counts, dtype),
            put(kept, dtype),
            put(np.where(ratio, np.sqrt(mean), old), dtype),
            stat.n_models,
        )

    def _sides(self, data: Comparisons) -> Sides:
        x, scale = self.design.values(data)
        code, n_outcomes = outcomes(data, self.graded)
        flip, n_grades = data.a > data.b, n_outcomes // 2
        x *= np.where(flip, -1.0, 1.0)
        turned = np.r_[n_grades : 2 * n_grades, :n_grades, 2 * n_grades].astype(np.int8)
        ends = np.minimum(data.a, data.b), np.maximum(data.a, data.b)
        return Sides(*ends, np.where(flip, turned[code], code), data.count, x, scale, n_outcomes)

    def reduce(self, rows: BattleLayout, weights: Weights) -> Battles:
        """``weights.trials`` (E,): how often each battle counts; None: as often as it was fought."""
        return Battles(rows.first, rows.second, _counts(rows, weights.trials), rows.x, rows.scale, rows.n_models)


@eqx.filter_jit
def _counts(rows: BattleLayout, trials: Array | None) -> Float[Array, "outcomes blocks places"]:
    count = rows.weight * (rows.count if trials is None else trials)
    shape = (rows.n_outcomes, *rows.x.shape[1:])
    n_places = shape[1] * shape[2]
    if rows.place is None:
        held = count
        if rows.battle is not None:
            held = jnp.pad(count, (0, 1)).at[rows.battle].get(mode="promise_in_bounds")
        came = rows.outcome[None] == jnp.arange(rows.n_outcomes, dtype=rows.outcome.dtype)[:, None]
        counts = jnp.where(came, held[None], 0)
    else:
        at = rows.outcome.astype(jnp.int32) * n_places + rows.place
        counts = jnp.zeros(shape[0] * n_places, count.dtype).at[at].add(count)
    return counts.reshape(shape)


def outcomes(data: Comparisons, graded: bool = False) -> tuple[np.ndarray, int]:
    """The place of each battle's outcome in `Battles.counts`, a before b, int (E,), and how many outcomes there are.

    ``graded``: by the column "grade", where there is one, else by who won. Numbers say their order alone, and grades
    that nobody gave are none. `DataError` for battles without a grade.
    """
    if not graded or GRADE not in data.columns:
        return data.outcome, 3
    given = data.columns[GRADE]
    known = np.isfinite(given) if given.dtype.kind == "f" else np.zeros(len(given), bool)
    if not known.all():
        raise DataError(
            f"column {GRADE!r} has no number in {int((~known).sum())} of {len(given)} battles, the first is row "
            f"{int(np.argmin(known))}; leave these out with select(battles=...), or use a method that reads who won"
        )
    sizes = np.unique(np.abs(given[given != 0]))
    n_grades = max(len(sizes), 1)
    size = np.searchsorted(sizes, np.abs(given))
    return np.select([given > 0, given < 0], [size, n_grades + size], 2 * n_grades), 2 * n_grades + 1


def layout(sides: Sides, weight: np.ndarray, n_models: int) -> BattleLayout:
    """Battles (E,) with weights (E,) in blocks of equal pairs."""
    low, high, outcome, count, x, scale, n_outcomes = sides
    pair = low.astype(np.int64) * n_models + high
    met = np.bincount(pair, minlength=1) > 0
    codes = np.cumsum(met) - 1  # pairs that met, 0, 1, 2, ...
    code = codes.astype(np.uint16 if codes[-1] < 2**16 else np.int64)[pair]  # of 16 bits they are sorted in no time
    alone = _apart(x)
    if alone:
        order, new = np.argsort(code, kind="stable"), None
        sizes = np.bincount(code)
    else:
        x = x + 0.0  # no minus zero
        order, new = _distinct(code, x)
        sizes = np.bincount(code[order[new]])
    length = _length(sizes)
    n_blocks = -(-sizes // length)
    first_block, starts = np.cumsum(n_blocks) - n_blocks, np.cumsum(sizes) - sizes
    total = _roomy(int(n_blocks.sum()))
    place = np.repeat(first_block * length - starts, sizes)
    place += np.arange(len(place))
    ends = np.zeros((2, total), np.int32)
    ends[:, : n_blocks.sum()] = np.divmod(np.repeat(np.flatnonzero(met), n_blocks), n_models)
    dtype = real()
    battle = np.full(total * length, len(low), np.int32)
    battle[place] = order if new is None else order[new]
    filled = np.stack([np.append(row, 0)[battle] for row in x]) if len(x) else np.zeros((0, total * length))
    if new is None:
        where, outcome = None, np.append(outcome, n_outcomes)[battle]
    else:
        where = np.empty(len(low), np.int32)
        where[order] = place[np.cumsum(new) - 1]
    return BattleLayout(
        put(ends[0], jnp.int32),
        put(ends[1], jnp.int32),
        put(filled.reshape(len(x), total, length), dtype),
        put(scale, dtype),
        put(outcome, jnp.int8),
        None if where is None else put(where, jnp.int32),
        put(battle, jnp.int32) if alone else None,
        put(count, dtype),
        put(weight, dtype),
        n_models,
        n_outcomes,
    )


def _apart(x: np.ndarray) -> bool:
    """Whether, of many battles, those with the same covariates (C, E) are so rare that each has a place of its own:
    among some of them at most half are equal to another, whichever pair they are of."""
    if x.shape[1] <= _FEW:
        return False
    some = x[:, :: x.shape[1] // _FEW] + 0.0
    return len(np.unique(_mixed(some))) > some.shape[1] / 2


def _free_places(ends: np.ndarray, used: np.ndarray, pair: np.ndarray, n_models: int) -> np.ndarray | None:
    """A free place for each battle (E,) of a ``pair``, in a block of the pair or in an empty one; None where there are
    too few."""
    length = used.shape[1]
    code = ends[0].astype(np.int64) * n_models + ends[1]
    empty = np.flatnonzero(~used.any(axis=1))
    code[empty] = -1
    order = np.argsort(pair, kind="stable")
    names, starts, sizes = np.unique(pair[order], return_index=True, return_counts=True)
    out, taken = np.empty(len(pair), np.int64), 0
    open_blocks = np.flatnonzero(np.isin(code, names) & ~used.all(axis=1))
    by_pair: dict[int, list[int]] = {}
    for block in open_blocks.tolist():
        by_pair.setdefault(int(code[block]), []).append(block)
    for name, start, size in zip(names.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        blocks = by_pair.get(name, [])
        free = [block * length + np.flatnonzero(~used[block]) for block in blocks]
        lacking = size - sum(map(len, free))
        while lacking > 0:
            if taken == len(empty):
                return None
            free.append(empty[taken] * length + np.arange(length))
            taken, lacking = taken + 1, lacking - length
        out[order[start : start + size]] = np.concatenate(free)[:size]
    return out


def _distinct(code: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the battles in which those of a pair ``code``, and of these equal ones, follow each other; and which
    are the first of their kind. Sorted by a hash of the covariates: equal ones are told by their numbers, not by it."""
    order = np.argsort((code.astype(np.uint64) << np.uint64(40)) | (_mixed(x) >> np.uint64(24)))
    same = np.diff(code[order]) == 0
    for column in x:
        column = column[order]
        same &= column[1:] == column[:-1]
    return order, np.r_[True, ~same]


def _mixed(x: np.ndarray) -> np.ndarray:
    """A hash of the columns of ``x`` (C, E), uint64 (E,)."""
    mixed = np.zeros(x.shape[1], np.uint64)
    for column in x:
        mixed = (mixed ^ np.ascontiguousarray(column).view(np.uint64)) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _length(sizes: np.ndarray) -> int:
    """Places of a block: about a quarter of what a pair has, a power of two."""
    return min(1 << max(int(sizes.mean() / 4).bit_length() - 1, 0), _LONGEST)


def _roomy(n: int) -> int:
    """A number of blocks, up to an eighth more, so that similar tables share their compilations."""
    step = max(1 << max(n.bit_length() - 4, 0), 1)
    return -(-n // step) * step
