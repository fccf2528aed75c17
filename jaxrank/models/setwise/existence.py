"""Whether the Davidson-Luce likelihood has a finite maximum, decided on the host by linear programs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

_MOST = 2**22  # entries of the table of events, sizes and models that are looked at


def has_finite_optimum(
    outcomes: Int[np.ndarray, "events models"],
    weights: Float[np.ndarray, " events"],
    n_orders: int,
    whole: bool,
) -> bool | None:
    """Whether strengths and tie parameters have a finite and unique maximum; None where the data are too large.

    **outcomes**: 1 chosen, 0 rejected, -1 absent.  **whole**: a choice of the whole slate is a possible outcome.

    The likelihood has no finite maximum where a direction (v, h), other than v equal for all, never lowers it: in every
    event the chosen set U has the greatest value h_|U| + mean of v over U of all sets that could have been chosen. Of
    each size the best set holds the largest v, so that a direction is checked by sorting; sets that would have been
    better are added to a linear program until there are none. If the cone of such directions is more than a point, one
    of the two extremes of a generic linear function over it is not zero.
    """
    from scipy.optimize import linprog  # slow to import

    size = (outcomes == 1).sum(axis=1)
    present = outcomes >= 0
    top = present.sum(axis=1) - (0 if whole else 1)
    use = (weights > 0) & (size >= 1) & ((size < present.sum(axis=1)) | whole)
    chosen, present, size, top = (outcomes == 1)[use], present[use], size[use], top[use]
    active = np.unique(size[(size >= 1) & (size <= n_orders)])
    n_events, n_models = chosen.shape
    if n_events * len(active) * n_models > _MOST:
        return None
    rank = np.searchsorted(active, size)
    possible = active[None, :] <= top[:, None]
    own = chosen / size[:, None]
    n = n_models + len(active)
    fixed = np.zeros(n, bool)
    fixed[[0, n_models]] = True  # v and h are each known up to a constant
    bounds = [(0, 0) if f else (-1, 1) for f in fixed]
    events = np.arange(n_events)

    def better(d: np.ndarray) -> np.ndarray:
        """Rows a with a.d <= 0 violated: for each event the best set of some size that beats the chosen one."""
        v, h = d[:n_models], d[n_models:]
        order = np.argsort(-np.where(present, v[None, :], -np.inf), axis=1, kind="stable")
        total = np.cumsum(np.where(present, v[None, :], 0)[events[:, None], order], axis=1)
        value = h[None, :] + total[:, active - 1] / active[None, :]
        gain = np.where(possible, value, -np.inf) - (own @ v + h[rank])[:, None]
        size_of = np.argmax(gain, axis=1)
        worse = np.flatnonzero(gain[events, size_of] > 1e-7)
        rows = np.zeros((len(worse), n))
        for row, e in zip(rows, worse, strict=True):
            t = active[size_of[e]]
            row[order[e, :t]] = 1 / t
            row[n_models + size_of[e]] += 1
        rows[:, :n_models] -= own[worse]
        rows[np.arange(len(worse)), n_models + rank[worse]] -= 1
        return np.unique(rows, axis=0)

    aim = np.where(fixed, 0, np.random.default_rng(0).normal(size=n))
    for sign in (1, -1):
        cuts = np.zeros((0, n))
        while True:
            found = linprog(-sign * aim, cuts, np.zeros(len(cuts)), bounds=bounds, method="highs")
            new = better(found.x)
            if len(new) == 0:
                break
            cuts = np.concatenate([cuts, new])
        if -found.fun > 1e-6:
            return False
    return True
