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
    """
    n_models = outcomes.shape[1]
    members = np.broadcast_to(np.arange(n_models), outcomes.shape)
    found = direction_of_sets(members, outcomes, np.zeros((*outcomes.shape, 0)), weights, n_models, n_orders, whole)
    return None if found is None else not found.any()


def direction_of_sets(
    members: Int[np.ndarray, "events places"],
    outcomes: Int[np.ndarray, "events places"],
    x: Float[np.ndarray, "events places covariates"],
    weights: Float[np.ndarray, " events"],
    n_models: int,
    n_orders: int,
    whole: bool,
    held: bool = False,
) -> Float[np.ndarray, " parameters"] | None:
    """A direction of strengths, coefficients and tie parameters of the sizes that occur, along which no choice becomes
    less likely; 0 where the maximum is finite and unique; None where the data are too large.

    **members**: the model of each place of a slate; **outcomes** as above, by place; **x**: covariates, which with the
    models identify the coefficients.  **held**: the strengths have a prior, and do not move.

    The likelihood has no finite maximum where a direction (v, g, h), other than v equal for all, never lowers it: in
    every event the chosen set U has the greatest value h_|U| + mean over U of v + g . x of all sets that could have
    been chosen. Of each size the best set holds the largest of these, so that a direction is checked by sorting; sets
    that would have been better are added to a linear program until there are none. If the cone of such directions is
    more than a point, one of the two extremes of a generic linear function over it is not zero.
    """
    from scipy.optimize import linprog  # slow to import

    size = (outcomes == 1).sum(axis=1)
    present = outcomes >= 0
    top = present.sum(axis=1) - (0 if whole else 1)
    use = (weights > 0) & (size >= 1) & ((size < present.sum(axis=1)) | whole)
    chosen, present, size, top = (outcomes == 1)[use], present[use], size[use], top[use]
    active = np.unique(size[(size >= 1) & (size <= n_orders)])
    n_events, n_places = chosen.shape
    n_moving = n_models + x.shape[2]
    n = n_moving + len(active)
    if n_events * len(active) * n_places > _MOST or n_events * n_places * x.shape[2] > _MOST:
        return None
    if not n_events:
        return np.zeros(n)
    unit = np.maximum(np.abs(x).max(axis=(0, 1), initial=0), 1e-300)
    members, x = members[use], np.where(present[..., None], x[use] / unit, 0)
    rank = np.searchsorted(active, size)
    possible = active[None, :] <= top[:, None]
    own = chosen / size[:, None]
    fixed = np.zeros(n, bool)
    fixed[[0, n_moving]] = True  # v and h are each known up to a constant
    fixed[:n_models] |= held
    bounds = [(0, 0) if f else (-1, 1) for f in fixed]
    events = np.arange(n_events)

    def better(d: np.ndarray) -> np.ndarray:
        """Rows a with a.d <= 0 violated: for each event the best set of some size that beats the chosen one."""
        v, h = d[:n_models][members] + x @ d[n_models:n_moving], d[n_moving:]
        order = np.argsort(-np.where(present, v, -np.inf), axis=1, kind="stable")
        total = np.cumsum(np.where(present, v, 0)[events[:, None], order], axis=1)
        value = h[None, :] + total[:, active - 1] / active[None, :]
        gain = np.where(possible, value, -np.inf) - ((own * v).sum(axis=1) + h[rank])[:, None]
        size_of = np.argmax(gain, axis=1)
        worse = np.flatnonzero(gain[events, size_of] > 1e-7)
        among, rows = np.arange(len(worse)), np.zeros((len(worse), n))
        better_set = -own[worse]
        for row, e in zip(better_set, worse, strict=True):
            row[order[e, : active[size_of[e]]]] += 1 / active[size_of[e]]
        np.add.at(rows, (among[:, None], members[worse]), better_set)
        rows[:, n_models:n_moving] = np.einsum("ek,ekc->ec", better_set, x[worse])
        rows[among, n_moving + size_of[worse]] += 1
        rows[among, n_moving + rank[worse]] -= 1
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
            return np.r_[found.x[:n_models], found.x[n_models:n_moving] / unit, found.x[n_moving:]]
    return np.zeros(n)
