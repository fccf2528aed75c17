"""What the judged distributions alone say about the order of the candidates.

The judged distribution of candidate k is g_k = pi_k theta: a point inside the simplex spanned by the judge's rows, with
barycentric coordinates pi_k. Every (theta, pi) with the same g has the same likelihood. With two levels all judges that
are better than chance give the same order; with three or more the order may depend on where the rows lie.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxrank.errors import DataError
from jaxrank.evaluation.judges.scores import values_of
from jaxrank.models.options import check_count, check_flag, check_number, numbers
from jaxrank.numerics.seeds import check_seed


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Which pairs are ordered by the judged distributions, whatever the judges are like (within the assumptions).

    **low**, **high** (K, K): smallest and largest score difference of candidate i over j that was found among the
    judges compatible with the data; local optimisation, so the true range may be wider. **ordered** (K, K): i is above
    j in all that was found. **identified**: every pair with different judged distributions is ordered. **example**:
    None, or a pair (i, j) and two parameter sets (theta (J, M, M), pi (K, M)) of equal likelihood, the first with i
    above j, the second with j above i.
    """

    low: np.ndarray
    high: np.ndarray
    ordered: np.ndarray
    identified: bool
    example: tuple[tuple[int, int], tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None


def identifiability(
    judged: Any,
    values: Sequence[float] | None = None,
    monotone: bool = True,
    margin: float = 0.05,
    n_starts: int = 4,
    seed: int = 0,
) -> Identifiability:
    """Search for judges that are compatible with the judged distributions and order the candidates differently.

    **judged** (J, K, M), or (K, M) of one judge: counts or shares of levels; rows are normalised.
    **values**: value of each level, 0..M-1 by default. **monotone**: rows of a judge are stochastically ordered.
    **margin**: a judge's mean score rises by at least this from one true level to the next (better than chance).
    Every pair is pushed both ways by sequential quadratic programming from ``n_starts`` starts; the perfect judge,
    always compatible with one judge's data, is one of them.
    """
    check_flag("monotone", monotone)
    check_number("margin", margin, 0)
    check_count("n_starts", n_starts)
    check_seed(seed)
    g = numbers("judged", judged)
    g = g[None] if g.ndim == 2 else g
    if g.ndim != 3 or g.shape[-1] < 2 or not np.all(np.isfinite(g)) or np.any(g < 0) or np.any(g.sum(-1) <= 0):
        raise DataError(
            f"judged has shape {np.shape(judged)}; it needs (judges, candidates, levels), 0 or more, no empty row"
        )
    g = g / g.sum(-1, keepdims=True)
    m, n_candidates = g.shape[-1], g.shape[1]
    v = values_of(values, m)
    search = _Search(g, v, monotone, margin, n_starts, np.random.default_rng(seed))
    low, high = np.zeros((2, n_candidates, n_candidates))
    best = None
    for i, j in itertools.combinations(range(n_candidates), 2):
        up, down = search.extreme(i, j), search.extreme(j, i)
        if up is None or down is None:
            raise DataError("no judges within the assumptions are compatible with these distributions; lower margin")
        (top, at_top), (bottom, at_bottom) = up, down
        high[i, j], low[i, j] = top, -bottom
        high[j, i], low[j, i] = bottom, -top
        reversal = min(top, bottom)
        if reversal > 1e-6 and (best is None or reversal > best[0]):
            best = (reversal, ((i, j), at_top, at_bottom))
    ordered = low > 1e-9
    same = np.all(np.abs(g[:, :, None] - g[:, None]) < 1e-12, axis=(0, 3))
    return Identifiability(low, high, ordered, bool(np.all(ordered | ordered.T | same)), best[1] if best else None)


def relative_volumes(theta: Float[np.ndarray, "levels levels"], point: Any) -> Float[np.ndarray, " levels"]:
    """Barycentric coordinates of a judged distribution, as ratios of volumes: coordinate m is the volume of the
    simplex in which ``point`` replaces row m, over that of the judge's simplex (areas of triangles for M = 3)."""
    theta, point = numbers("theta", theta), numbers("point", point)
    if theta.ndim != 2 or theta.shape[0] != theta.shape[1] or not np.all(np.isfinite(theta)):
        raise DataError(f"theta has shape {theta.shape}; it must be finite numbers (levels, levels)")
    if point.shape != theta.shape[:1] or not np.all(np.isfinite(point)):
        raise DataError(f"point has shape {point.shape}; it must be {len(theta)} finite numbers, one a level")
    whole = np.linalg.det(theta)
    if abs(whole) < 1e-12:
        raise DataError("the judge's rows span no volume: it cannot tell some levels apart")
    parts = np.repeat(theta[None], len(theta), axis=0)
    parts[np.arange(len(theta)), np.arange(len(theta))] = point
    return np.linalg.det(parts) / whole


class _Search:
    """Largest score difference of a pair over (theta, pi) with pi theta = g, by SLSQP."""

    def __init__(self, g: np.ndarray, v: np.ndarray, monotone: bool, margin: float, n_starts: int, rng: Any) -> None:
        self.g, self.v = g, v
        self.shapes = ((g.shape[0], g.shape[2], g.shape[2]), (g.shape[1], g.shape[2]))
        self.size = int(np.prod(self.shapes[0]))
        self.monotone, self.margin = monotone, margin
        self.starts = [self._start(rng, s) for s in range(n_starts)]

    def _start(self, rng: Any, s: int) -> np.ndarray:
        """The perfect judge, or one drawn towards a random matrix; candidates where the judges put them."""
        theta, pi = np.broadcast_to(np.eye(self.g.shape[2]), self.shapes[0]), self.g.mean(0)
        if s:
            blur = np.sort(rng.dirichlet(np.ones(self.g.shape[2]), self.shapes[0][:2]), axis=1)
            theta = 0.8 * theta + 0.2 * blur / blur.sum(-1, keepdims=True)
            pi = 0.8 * pi + 0.2 * rng.dirichlet(np.ones(self.g.shape[2]), self.g.shape[1])
        return np.r_[theta.ravel(), pi.ravel()]

    def _parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[: self.size].reshape(self.shapes[0]), x[self.size :].reshape(self.shapes[1])

    def _equal(self, x: np.ndarray) -> np.ndarray:
        theta, pi = self._parts(x)
        # The last level of each distribution follows from the others.
        return np.r_[(pi @ theta - self.g)[..., :-1].ravel(), theta.sum(-1).ravel() - 1, pi.sum(-1) - 1]

    def _above(self, x: np.ndarray) -> np.ndarray:
        theta, _ = self._parts(x)
        rise = np.diff(theta @ self.v, axis=1).ravel() - self.margin
        if not self.monotone:
            return rise
        below = np.cumsum(theta, axis=-1)[..., :-1]
        return np.r_[rise, -np.diff(below, axis=1).ravel()]

    def extreme(self, i: int, j: int) -> tuple[float, tuple[np.ndarray, np.ndarray]] | None:
        from scipy.optimize import minimize

        gradient = np.zeros_like(self.starts[0])
        slope = gradient[self.size :].reshape(self.shapes[1])
        slope[i], slope[j] = -self.v, self.v
        best = None
        for start in self.starts:
            found = minimize(
                lambda x: gradient @ x,
                start,
                jac=lambda _: gradient,
                bounds=[(0, 1)] * len(start),
                constraints=[{"type": "eq", "fun": self._equal}, {"type": "ineq", "fun": self._above}],
                method="SLSQP",
                options={"maxiter": 200, "ftol": 1e-9},
            )
            feasible = np.abs(self._equal(found.x)).max() < 1e-6 and self._above(found.x).min() > -1e-6
            if feasible and (best is None or -found.fun > best[0]):
                best = (float(-found.fun), self._parts(found.x))
        return best
