"""What the judged distributions alone say about the order of the candidates.

The judged distribution of candidate k is g_jk = pi_k theta_j: a point inside the simplex spanned by judge j's rows,
with barycentric coordinates pi_k. Every (theta, pi) with the same g has the same likelihood. If pi has rank M these are
(A theta_j, pi A^-1), A invertible with rows that sum to 1: M(M - 1) unknowns however many judges and candidates there
are. With two levels all judges that are better than chance give the same order; with three or more the order may depend
on where the rows lie.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.judges.mixture import Mixture, fit
from jaxrank.evaluation.judges.perfect import seed_numbers
from jaxrank.evaluation.judges.scores import values_of
from jaxrank.evaluation.judges.searches import Direct, Profile, Turned
from jaxrank.models.options import check_count, check_flag, check_number, numbers
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.seeds import check_seed


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Which pairs are ordered by the judged distributions, whatever the judges are like (within the assumptions).

    **low**, **high** (K, K): smallest and largest score difference of candidate i over j that was found among the
    judges compatible with the data; local optimisation, so the true range may be wider. **ordered** (K, K): i is above
    j in all that was found. **identified**: every pair with different judged distributions is ordered. **example**:
    None, or a pair (i, j) and two parameter sets (theta (J, M, M), pi (K, M)) of equal likelihood (within the profile
    set where ``level`` is given), the first with i above j, the second with j above i. **theta**, **pi**: the best fit
    that the search starts from, **distance**: the largest difference of its distributions from those given, 0 (below
    1e-6) where the assumptions can explain them whole.
    """

    low: np.ndarray
    high: np.ndarray
    ordered: np.ndarray
    identified: bool
    example: tuple[tuple[int, int], tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None
    theta: np.ndarray
    pi: np.ndarray
    distance: float


def identifiability(
    judged: Any,
    values: Sequence[float] | None = None,
    monotone: bool = True,
    margin: float = 0.05,
    n_starts: int = 4,
    seed: int = 0,
    level: float | None = None,
) -> Identifiability:
    """Search for judges that are compatible with the judged distributions and order the candidates differently.

    **judged** (J, K, M), or (K, M) of one judge: counts or shares of levels; rows are normalised.
    **values**: value of each level, 0..M-1 by default. **monotone**: rows of a judge are stochastically ordered.
    **margin**: a judge's mean score rises by at least this from one true level to the next (better than chance).
    **level**: None, the distributions are taken as exact: the search is over all parameters of the same likelihood as
    the best fit. A probability, such as 0.95: ``judged`` are counts, and the search is over the profile set, all
    parameters whose log likelihood is within half the chi-square quantile (one degree of freedom) of the best.
    Every pair is pushed both ways by sequential quadratic programming, over A, and with a level from there over all
    parameters (minutes where these are hundreds). ``n_starts`` is of the fit. Raises `DataError` for other
    shapes, and where no judge found rises by the margin.
    """
    check_flag("monotone", monotone)
    check_number("margin", margin, 0)
    check_count("n_starts", n_starts)
    check_seed(seed)
    y = numbers("judged", judged)
    y = y[None] if y.ndim == 2 else y
    if y.ndim != 3 or y.shape[-1] < 2 or not np.all(np.isfinite(y)) or np.any(y < 0) or np.any(y.sum(-1) <= 0):
        raise DataError(
            f"judged has shape {np.shape(judged)}; it needs (judges, candidates, levels), 0 or more, no empty row"
        )
    if level is not None and np.any(y != np.round(y)):
        raise OptionError(f"level={check_level(level):g} needs counts; judged holds numbers that are not whole")
    v = values_of(values, y.shape[-1])
    mixture = Mixture(y.shape, tuple(v.tolist()), bool(monotone), float(margin))
    best = fit(mixture, y, n_starts, np.random.default_rng(seed_numbers(seed)))
    if best.rise < margin - 1e-6:
        raise DataError(
            f"no judges were found whose mean score rises by margin={margin:g} from level to level (the best rise by "
            f"{best.rise:.3g}); lower margin"
        )
    n_candidates = y.shape[1]
    fitted = np.einsum("km,jmn->jkn", best.pi, best.theta)
    distance = float(np.abs(fitted - y / y.sum(-1, keepdims=True)).max())
    if np.linalg.svd(best.pi, compute_uv=False)[-1] > 1e-4 and n_candidates >= y.shape[-1]:
        search: Any = Turned(best.theta, best.pi, v, monotone, margin)
    else:
        search = Direct(fitted, best.theta, best.pi, v, monotone, margin)
    if level is not None:
        search = Profile(search, y, best.theta, best.pi, v, monotone, margin, check_level(level))
    low, high = np.zeros((2, n_candidates, n_candidates))
    example = None
    for i, j in itertools.combinations(range(n_candidates), 2):
        (top, at_top), (bottom, at_bottom) = search.extreme(i, j), search.extreme(j, i)
        high[i, j], low[i, j] = top, -bottom
        high[j, i], low[j, i] = bottom, -top
        reversal = min(top, bottom)
        if reversal > 1e-6 and (example is None or reversal > example[0]):
            example = (reversal, ((i, j), at_top, at_bottom))
    ordered = low > 1e-9
    same = np.all(np.abs(fitted[:, :, None] - fitted[:, None]) < 1e-9, axis=(0, 3))
    identified = bool(np.all(ordered | ordered.T | same))
    return Identifiability(low, high, ordered, identified, example and example[1], best.theta, best.pi, distance)


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
