"""Whether strengths and coefficients of battles have a finite optimum: an exact answer by a linear program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxrank.errors import ConvergenceError

_SURE = 1e-6  # of the largest step: what a linear program leaves of 0


class Direction(NamedTuple):
    """A direction in which no battle becomes less likely and some become more: **theta** (L,), **beta** (C,)."""

    theta: np.ndarray
    beta: np.ndarray


def direction_of(
    first: np.ndarray, second: np.ndarray, x: np.ndarray, seen: np.ndarray, n_models: int, free_tie: bool
) -> Direction | None:
    """The direction for rows of pairs ``first``, ``second`` (R,) with covariates ``x`` (C, R); None where none exists.

    ``seen`` (3, R): whether the first won, the second won, they tied. Ties must stay as likely: along the direction
    their difference does not move, or, where a tie parameter is ``free_tie``, moves no further than it; wins then move
    at least as far. [albert1984] without ties.
    """
    from scipy.optimize import linprog  # slow to import, needed where an optimum is in doubt only
    from scipy.sparse import csr_matrix, hstack, vstack

    n_rows, n_slopes = len(first), len(x)
    rows, one = np.arange(n_rows), np.ones(n_rows)
    theta = csr_matrix((np.r_[one, -one], (np.r_[rows, rows], np.r_[first, second])), (n_rows, n_models))
    size = np.maximum(np.abs(x).max(axis=1, initial=0), 1e-300)[:, None]
    table = hstack([theta, csr_matrix((x / size).T)]).tocsr()
    won, lost, tied = seen
    width = table.shape[1] + free_tie
    pad = lambda part, value: (
        hstack([part, csr_matrix(np.full((part.shape[0], 1), float(value)))]) if free_tie else part
    )
    decided = vstack([table[won], -table[lost]])  # must not fall
    upper, equal = [pad(-decided, 1)], []
    if free_tie:
        upper += [pad(table[tied], -1), pad(-table[tied], -1)]
    elif tied.any():
        equal = [table[tied]]
    # As far as possible in a box: the sum over decided battles is above 0 iff some of them gains.
    gain = np.asarray(decided.sum(axis=0)).ravel() if decided.shape[0] else np.zeros(table.shape[1])
    bounds = [(-1.0, 1.0)] * table.shape[1] + [(0.0, 1.0)] * free_tie
    stacked = vstack(upper).tocsr()
    found = linprog(
        -np.r_[gain, np.zeros(width - table.shape[1])] / max(decided.shape[0], 1),
        A_ub=stacked,
        b_ub=np.zeros(stacked.shape[0]),
        A_eq=vstack(equal).tocsr() if equal else None,
        b_eq=np.zeros(int(tied.sum())) if equal else None,
        bounds=bounds,
        method="highs",
    )
    if found.status != 0:
        raise ConvergenceError(f"whether a finite optimum exists could not be decided ({found.message}); use a prior")
    moved = decided @ found.x[: table.shape[1]]
    if len(moved) == 0 or moved.max() <= _SURE:
        return None
    return Direction(found.x[:n_models], found.x[n_models : n_models + n_slopes] / size[:, 0])
