"""The linear ordering problem for many items, exactly, on the host: what all best orders have in common.

Items fall into components that beat each other completely (Condorcet components); each is solved alone: by dynamic
programming over subsets where it is small, else by a linear program with triangle inequalities x_ij + x_jk - x_ik in
[0, 1], added as they are violated, and branch and bound (HiGHS) where its solution is not whole.

Pairs that are ordered alike in every best order are found without enumerating the orders: reduced costs prove most;
the others are put to the program again with a second objective, to turn round as many of them as possible without
loss. What the last such program cannot turn is forced.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxrank.numerics.solve.linear_order import MAX_ITEMS, best_orders

MAX_PROGRAM = 700  # items of one component: above, the program itself is too large to write down
_CUTS = 4000  # triangles added at a time, the most violated first
_WHOLE = 1e-6  # a solution this near to whole numbers is whole
_DEAR = 1e-3  # reduced costs above this are no rounding


@dataclass
class Orders:
    """**loss**: margins that the best order found goes against. **least**: no order goes against less.

    **above**: bool (n, n), i is above j in every best order; meaningless unless ``proven``, when loss equals least.
    **programs**: linear and integer programs solved.
    """

    loss: float
    least: float
    above: np.ndarray
    proven: bool
    programs: int = 0


def all_best_orders(margin: np.ndarray, seconds: float | None = None) -> Orders:
    """The orders that go against the least total margin, and what they have in common.

    **margin**: float64 (n, n), whole and antisymmetric; an order that places j above i loses ``margin[i, j]`` where
    that is positive.  **seconds**: time limit, None for none; where it is reached ``proven`` is False.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    parts = condorcet_components(margin)
    place = np.empty(len(margin), int)
    for level, part in enumerate(parts):
        place[part] = level
    result = Orders(0.0, 0.0, place[:, None] < place[None, :], True)
    for part in parts:
        one = _solve(margin[np.ix_(part, part)], deadline)
        result.above[np.ix_(part, part)] = one.above
        result.loss += one.loss
        result.least += one.least
        result.proven &= one.proven
        result.programs += one.programs
    return result


def condorcet_components(margin: np.ndarray) -> list[np.ndarray]:
    """The finest split, best first, in which every item beats all items of the later parts."""
    from scipy.sparse import csr_array  # these imports take a third of a second, so only who solves pays
    from scipy.sparse.csgraph import connected_components

    holds = margin >= 0
    count, label = connected_components(csr_array(holds), directed=True, connection="strong")
    parts = [np.flatnonzero(label == c) for c in range(count)]

    def beaten(part: np.ndarray) -> int:
        """Items of later parts: those that its first item beats, less those of its own part."""
        return int((margin[part[0]] > 0).sum() - (margin[part[0], part] > 0).sum())

    return sorted(parts, key=beaten, reverse=True)


def _solve(margin: np.ndarray, deadline: float) -> Orders:
    n = len(margin)
    if n == 1:
        return Orders(0.0, 0.0, np.zeros((1, 1), bool), True)
    if n <= MAX_ITEMS:
        gain = np.maximum(margin, 0)
        best, possible = best_orders(gain, 0, np)
        loss = float(gain.sum() - best)
        return Orders(loss, loss, possible & ~possible.T, True)
    order = local_search(margin, np.argsort(-margin.sum(axis=1), kind="stable"), deadline)
    if n > MAX_PROGRAM:
        return Orders(_loss(margin, order), 0.0, np.zeros((n, n), bool), False)
    return _by_program(margin, order, _Program(n, deadline))


def _loss(margin: np.ndarray, order: np.ndarray) -> float:
    return float(np.maximum(np.tril(margin[np.ix_(order, order)], -1), 0).sum())


def _moves(margin: np.ndarray, order: np.ndarray, at: int) -> np.ndarray:
    """What the order gains when the item in place ``at`` moves to each place."""
    row = margin[order[at], order]
    down = -np.cumsum(row[at + 1 :])  # passed by the items below it
    up = np.cumsum(row[:at][::-1])[::-1]
    return np.concatenate([up, [0.0], down])


def local_search(margin: np.ndarray, order: np.ndarray, deadline: float) -> np.ndarray:
    """Move single items to their best place until no move helps."""
    order = order.copy()
    improved = True
    while improved and time.monotonic() < deadline:
        improved = False
        for item in order.copy():
            at = int(np.flatnonzero(order == item)[0])
            gain = _moves(margin, order, at)
            to = int(np.argmax(gain))
            if gain[to] > _WHOLE:
                order = np.insert(np.delete(order, at), to, item)
                improved = True
    return order


def _by_program(margin: np.ndarray, order: np.ndarray, program: _Program) -> Orders:
    n = len(margin)
    i, j = program.i, program.j
    c = margin[i, j]
    first = program.maximise(c, order)
    order, loss = first.order, _loss(margin, first.order)
    least = loss if first.proven else max(0.0, float(np.maximum(c, 0).sum()) - first.bound)
    if not first.proven:
        return Orders(loss, least, np.zeros((n, n), bool), False, program.solved)
    above = _is_above(order)  # the pairs that no best order so far turned round
    _refute_by_moves(margin, order, above)
    program.fix(first.fixed)
    while (unsure := above & ~first.fixed).any():
        turn = unsure.T[i, j].astype(float) - unsure[i, j]  # counts the unsure pairs turned round
        second = program.maximise((unsure.sum() + 1.0) * c + turn, order)
        if not second.proven:
            return Orders(loss, loss, np.zeros((n, n), bool), False, program.solved)
        if not (unsure & ~_is_above(second.order)).any():
            break
        above &= _is_above(second.order)
        _refute_by_moves(margin, second.order, above)
    return Orders(loss, loss, above, True, program.solved)


def _refute_by_moves(margin: np.ndarray, order: np.ndarray, above: np.ndarray) -> None:
    """Clear the pairs that a free move of one item in a best order turns round."""
    for at, item in enumerate(order):
        for to in np.flatnonzero(_moves(margin, order, at) == 0):
            if to > at:
                above[item, order[at + 1 : to + 1]] = False
            else:
                above[order[to:at], item] = False


def _is_above(order: np.ndarray) -> np.ndarray:
    rank = _rank(order)
    return rank[:, None] < rank[None, :]


def _rank(order: np.ndarray) -> np.ndarray:
    return np.argsort(order)


@dataclass
class _Answer:
    order: np.ndarray
    bound: float
    proven: bool
    fixed: np.ndarray  # (n, n), i above j in every best order, by the prices


@dataclass
class _Relaxed:
    bound: float
    prices: np.ndarray  # reduced costs: negative where x = 1 is worth that much, positive where x = 0 is


@dataclass
class _Program:
    """max c x over linear orders of n items, x_ij for i < j; violated triangles are kept for the next objective."""

    n: int
    deadline: float
    solved: int = 0
    rows: list[np.ndarray] = field(default_factory=list)  # (cuts, 4): i, j, k, side

    def __post_init__(self) -> None:
        self.i, self.j = np.triu_indices(self.n, 1)
        self.index = np.zeros((self.n, self.n), int)
        self.index[self.i, self.j] = np.arange(len(self.i))
        self.low, self.high = np.zeros(len(self.i)), np.ones(len(self.i))

    def fix(self, above: np.ndarray) -> None:
        """Fix the pairs with ``above[i, j]`` in all programs to come."""
        self.low = np.where(above[self.i, self.j], 1.0, self.low)
        self.high = np.where(above.T[self.i, self.j], 0.0, self.high)

    def maximise(self, c: np.ndarray, start: np.ndarray) -> _Answer:
        """``c`` is whole, so values of orders differ by 1 or more; ``start`` is a good order."""
        best, value = start, self._value(c, start)
        relaxed = _Relaxed(math.inf, np.zeros(len(c)))
        bound = float(np.maximum(c, 0).sum())
        x = np.clip(np.where(c == 0, self._vector(best), c > 0), self.low, self.high)
        whole = False
        while bound - value > 1 - _DEAR or relaxed.bound == math.inf:
            cuts = self._violated(x)
            if len(cuts):
                self.rows.append(cuts)
            elif relaxed.bound < math.inf:
                if np.abs(x - np.rint(x)).max() <= _WHOLE:
                    best, value = self._order(x), self._value(c, self._order(x))
                    break
                whole = True  # all triangles hold and x is fractional: branch
            seconds = self.deadline - time.monotonic()
            solved = self._branch(c, seconds) if whole else self._relax(c, seconds)
            if solved is None:
                return _Answer(best, bound, False, np.zeros((self.n, self.n), bool))
            x, upper, relaxed = *solved[:2], solved[2] or relaxed
            bound = min(bound, upper)
            candidate = local_search(self._full(c) - self._full(c).T, self._order(x), self.deadline)
            if self._value(c, candidate) > value:
                best, value = candidate, self._value(c, candidate)
        return _Answer(best, bound, True, self._fixed(relaxed, value))

    def _relax(self, c: np.ndarray, seconds: float) -> tuple[np.ndarray, float, _Relaxed] | None:
        """x, its value and the prices of the linear program; None where the time ran out."""
        from scipy.optimize import linprog

        if seconds <= 0:
            return None
        self.solved += 1
        matrix, limit = self._constraints()
        bounds = np.stack([self.low, self.high], axis=1)
        options = {"time_limit": seconds} if math.isfinite(seconds) else {}
        r = linprog(-c, A_ub=matrix, b_ub=limit, bounds=bounds, method="highs", options=options)
        if r.status != 0:
            return None
        return r.x, -r.fun, _Relaxed(-r.fun, r.lower.marginals + r.upper.marginals)

    def _branch(self, c: np.ndarray, seconds: float) -> tuple[np.ndarray, float, None] | None:
        """The same in whole numbers, by branch and bound; None where the time ran out."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if seconds <= 0:
            return None
        self.solved += 1
        matrix, limit = self._constraints()
        options = {"mip_rel_gap": 0.0} | ({"time_limit": seconds} if math.isfinite(seconds) else {})
        r = milp(
            -c,
            integrality=np.ones(len(c)),
            bounds=Bounds(self.low, self.high),  # pyright: ignore[reportArgumentType]  (arrays are allowed)
            constraints=LinearConstraint(matrix, -np.inf, limit),  # pyright: ignore[reportArgumentType]
            options=options,
        )
        return None if r.status != 0 else (r.x, -r.fun, None)

    def _fixed(self, relaxed: _Relaxed, value: float) -> np.ndarray:
        """Pairs (i above j) that cost more to turn round than the best order is below the relaxed optimum."""
        dear = relaxed.bound - value + _DEAR
        out = np.zeros((self.n, self.n), bool)
        out[self.i, self.j] = (relaxed.prices < -dear) | (self.low == 1)
        out[self.j, self.i] = (relaxed.prices > dear) | (self.high == 0)
        return out

    def _constraints(self) -> tuple[Any, np.ndarray]:
        """x_ij + x_jk - x_ik <= 1 (side 1) and its negative <= 0 (side -1), as a sparse matrix and its limits."""
        from scipy.sparse import csr_array

        i, j, k, side = np.concatenate(self.rows or [np.zeros((0, 4), int)]).T
        columns = np.stack([self.index[i, j], self.index[j, k], self.index[i, k]], axis=1).ravel()
        values = (side[:, None] * np.array([1.0, 1.0, -1.0])).ravel()
        where = np.repeat(np.arange(len(i)), 3)
        return csr_array((values, (where, columns)), shape=(len(i), len(self.i))), (side > 0).astype(float)

    def _violated(self, x: np.ndarray) -> np.ndarray:
        """The most violated triangles (cuts, 4), all in one pass over the n^3 / 6 triples."""
        full = self._full(x)
        found, excess = [], []
        for i in range(self.n - 2):
            later = full[i + 1 :, i + 1 :]
            path = full[i, i + 1 :, None] + later - full[None, i, i + 1 :]
            over = np.where(np.triu(np.ones_like(later, bool), 1), np.maximum(path - 1, -path), 0)
            j, k = np.nonzero(over > _WHOLE)
            side = np.where(path[j, k] > 1, 1, -1)
            found.append(np.stack([np.full_like(j, i), j + i + 1, k + i + 1, side], axis=1))
            excess.append(over[j, k])
        rows, size = np.concatenate(found), np.concatenate(excess)
        if len(rows) > _CUTS:
            rows = rows[np.argpartition(-size, _CUTS)[:_CUTS]]
        return rows

    def _full(self, c: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n, self.n))
        out[self.i, self.j] = c
        return out

    def _vector(self, order: np.ndarray) -> np.ndarray:
        rank = _rank(order)
        return (rank[self.i] < rank[self.j]).astype(float)

    def _value(self, c: np.ndarray, order: np.ndarray) -> float:
        return float(c @ self._vector(order))

    def _order(self, x: np.ndarray) -> np.ndarray:
        """Items by the number of items below them."""
        wins = np.zeros(self.n)
        np.add.at(wins, self.i, x)
        np.add.at(wins, self.j, 1 - x)
        return np.argsort(-wins, kind="stable")


def chain_levels(above: np.ndarray) -> np.ndarray:
    """Length of the longest chain above each item of a transitive strict order, bool (n, n): 0 at the top."""
    level = np.zeros(len(above), int)
    for item in np.argsort(above.sum(axis=0), kind="stable"):
        level[item] = max(level[above[:, item]] + 1, default=0)
    return level
