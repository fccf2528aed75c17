"""Whether strengths and coefficients of battles have a finite optimum: an exact answer by a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.names import name_list
from jaxrank.errors import ConvergenceError
from jaxrank.models.pairs.outcomes import Limit

_SURE = 1e-6  # of the largest step: what a linear program leaves of 0


class Direction(NamedTuple):
    """A direction in which no battle becomes less likely and some become more: **theta** (L,), **beta** (C,)."""

    theta: np.ndarray
    beta: np.ndarray


def grows(names: Sequence[str], beta: np.ndarray, unit: str) -> str:
    """Which coefficients a direction ``beta`` (C,) moves for ever, a sentence with the remedy; empty where it moves
    none. ``unit``: what becomes no less likely."""
    pushed = np.flatnonzero(np.abs(beta) > _SURE * max(np.abs(beta).max(initial=0), 1e-300))
    if not len(pushed):
        return ""
    return (
        f"the coefficient of {name_list(names, pushed)} can grow for ever, together with the strengths, and no {unit} "
        "becomes less likely; leave it out, or give coefficients a prior (covariate_var=4)"
    )


def direction_of(
    first: np.ndarray,
    second: np.ndarray,
    x: np.ndarray,
    seen: np.ndarray,
    limits: Sequence[Limit],
    n_models: int,
) -> Direction | None:
    """The direction for rows of pairs ``first``, ``second`` (R,) with covariates ``x`` (C, R); None where none exists.

    ``seen`` (A, R): whether each outcome was; ``limits``: of these, on directions. The parameter behind the strengths
    that says how close a tie is stays where it is when nothing tied. [albert1984] where no outcome is a tie.
    """
    from scipy.optimize import linprog  # slow to import, needed where an optimum is in doubt only
    from scipy.sparse import csr_matrix, hstack, vstack

    n_rows, one = len(first), np.ones(len(first))
    rows = np.arange(n_rows)
    theta = csr_matrix((np.r_[one, -one], (np.r_[rows, rows], np.r_[first, second])), (n_rows, n_models))
    size = np.maximum(np.abs(x).max(axis=1, initial=0), 1e-300)[:, None]
    table: Any = hstack([theta, csr_matrix((x / size).T)]).tocsr()
    n_thresholds, lowest = max(abs(t) for _, _, t in limits), 1 if seen[-1].any() else 2
    blocks: list[Any] = []
    for outcome, sign, threshold in limits:
        moves = np.zeros((int(seen[outcome].sum()), n_thresholds))
        if abs(threshold) >= lowest:
            moves[:, abs(threshold) - 1] = np.sign(threshold)
        blocks.append(hstack([sign * table[seen[outcome]], csr_matrix(moves)]))
    rises: Any = vstack(blocks).tocsr()  # none of which may fall
    width = rises.shape[1]
    # As far as possible in a box: the sum of all is above 0 iff some of them rises.
    gain = np.asarray(rises.sum(axis=0)).ravel() / max(rises.shape[0], 1)
    bounds = [(-1.0, 1.0)] * width
    found: Any = linprog(-gain, A_ub=-rises, b_ub=np.zeros(rises.shape[0]), bounds=bounds, method="highs")
    if found.status != 0:
        raise ConvergenceError(f"whether a finite optimum exists could not be decided ({found.message}); use a prior")
    if rises.shape[0] == 0 or (rises @ found.x).max() <= _SURE:
        return None
    return Direction(found.x[:n_models], found.x[n_models : n_models + len(x)] / size[:, 0])
