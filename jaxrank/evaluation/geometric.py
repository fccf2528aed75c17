"""Geometric means of Pass@k with Pass^k, or with a threshold spectrum, by question or of the whole data set.

See `jaxrank.evaluation.metrics` for what R, R0, strength, level and dtype are.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.core import Tracer
from jaxtyping import Array

from jaxrank.errors import OptionError, UndefinedScoreError
from jaxrank.evaluation.estimates import (
    Cells,
    Estimate,
    Evaluated,
    by_question,
    interval_estimate,
    over_questions,
    shaped,
)
from jaxrank.evaluation.tries import method_of, read_tries, spectrum_weights, whole
from jaxrank.models.options import check_number
from jaxrank.models.tries import cell_values
from jaxrank.numerics import geometric
from jaxrank.numerics.beta_moments import Polynomial, cross_moment, cross_weights
from jaxrank.numerics.credits import AllSuccesses, AnySuccess, Credits, Thresholds, moments, polynomial_of, upper_half
from jaxrank.numerics.geometric import delta_variance, product
from jaxrank.numerics.precision import precision


class PowerOptions(TypedDict, total=False):
    """Options of the geometric means; see `jaxrank.evaluation.metrics`. **method**: "questions" or "normal"."""

    R0: npt.ArrayLike | None
    strength: float | Array
    method: str | None
    dtype: str | None
    extrapolate: bool


def geom_at_k(
    R: Evaluated,
    k: int,
    pass_power: float = 0.5,
    unanimous_power: float = 0.5,
    *,
    level: float = 0.95,
    **options: Unpack[PowerOptions],
) -> Estimate:
    """Geom@k: mean over questions of P^a U^b, P = Pass@k and U = Pass^k of the question [scorio2026].

    **pass_power**: a, **unanimous_power**: b, not both 0; negative ones are read where no base is 0, and then have no
    interval but that of the posterior (``method="normal"``).  The root of a product of two chances, both estimated from
    a few trials, is not on average the root of the product of the true ones, on however many questions: so there is no
    interval by default.  ``method="questions"`` gives that of the score which so many trials of such questions are
    expected to show.  **options**: R0, strength, method, dtype, extrapolate.
    ``mean`` and ``sd`` are those of the first-order delta rule at the posterior means of P and U.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.geom_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)
    0.354
    """
    tries = whole(k)
    return _geometric(R, AnySuccess(tries), AllSuccesses(tries), pass_power, unanimous_power, False, level, **options)


def geom_ds_at_k(
    R: Evaluated,
    k: int,
    pass_power: float = 0.5,
    unanimous_power: float = 0.5,
    *,
    level: float = 0.95,
    **options: Unpack[PowerOptions],
) -> Estimate:
    """Geom_ds@k: P^a U^b of the means over questions, P = Pass@k and U = Pass^k [scorio2026]. Options as `geom_at_k`.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.geom_ds_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)
    0.433
    """
    tries = whole(k)
    return _geometric(R, AnySuccess(tries), AllSuccesses(tries), pass_power, unanimous_power, True, level, **options)


def geo_spectrum_at_k(
    R: Evaluated,
    k: int,
    lam: float = 0.5,
    w: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    **options: Unpack[PowerOptions],
) -> Estimate:
    """GeoSpectrum@k: P^lam S^(1 - lam) of the means over questions, P = Pass@k and S the spectrum of thresholds with
    weights **w** (k,), by default those of mG-Pass@k [scorio2026]. **lam**: in [0, 1]. Options as `geom_at_k`.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.geo_spectrum_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)
    0.433
    """
    check_number("lam", lam, 0, 1)
    tries = whole(k)
    second = upper_half(int(tries)) if w is None else Thresholds(spectrum_weights(w))
    if int(second.k) != int(tries):
        raise OptionError(f"w has {int(second.k)} weights for k={int(tries)} tries; give one for each")
    return _geometric(R, AnySuccess(tries), second, lam, 1 - lam, True, level, **options)


def geo_spectrum_star_at_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[PowerOptions]) -> Estimate:
    """GeoSpectrum*@k: `geo_spectrum_at_k` with lam = 1/2 and the thresholds of mG-Pass@k [scorio2026]."""
    return geo_spectrum_at_k(R, k, level=level, **options)


def _geometric(
    R: Evaluated,
    first: Credits,
    second: Credits,
    a: float,
    b: float,
    of_means: bool,
    level: float,
    *,
    R0: npt.ArrayLike | None = None,
    strength: float | Array = 1.0,
    method: str | None = None,
    dtype: str | None = None,
    extrapolate: bool = False,
) -> Estimate:
    check_number("pass_power", a)
    check_number("unanimous_power", b)
    if float(a) == 0 and float(b) == 0:
        raise OptionError("both powers are 0, so that every model scores 1; give one that is not")
    if isinstance(method, str) and method == "exact":
        raise OptionError('the posterior of a geometric mean is known by the delta rule only; use method="normal"')
    with precision(dtype):
        cells = read_tries(R, R0, strength, int(first.k), extrapolate)
        polynomials = polynomial_of(first), polynomial_of(second)
        crossed = np.asarray(cross_weights(first.vector(), second.vector()))
        powers = np.asarray(float(a)), np.asarray(float(b))
        values, point, mean, sd = _moments(
            cells.stat, cells.prior, (first, second), powers, polynomials, crossed, of_means
        )
        if min(a, b) < 0:
            _check_bases(cells, point)
        bounds = (0.0, 1.0) if min(a, b) >= 0 else (0.0, np.inf)
        method = "none" if method is None and not of_means else method_of(method, point)
        if method == "questions" and min(a, b) >= 0:
            return by_question(cells, values, point, mean, sd, level, bounds)
        normal = interval_estimate(cells, point, mean, sd, level, bounds)
        if method == "normal":
            return normal
        unknown = jnp.full_like(mean, jnp.nan)
        return shaped(cells, Estimate(point, mean, sd, unknown, unknown, normal.level, "none"))


def _check_bases(cells: Cells, point: Any) -> None:
    if not isinstance(point, Tracer) and np.isinf(np.asarray(point)).any():
        who = ", ".join(cells.models[i] for i in np.flatnonzero(np.isinf(point))[:3]) if cells.models else "a model"
        raise UndefinedScoreError(
            f"a negative power of a Pass@k or Pass^k of 0, of {who}, is infinite; use powers of 0 or more"
        )


@eqx.filter_jit
def _moments(
    stat: Any,
    prior: Array,
    credits: tuple[Credits, Credits],
    powers: tuple[Any, Any],
    polynomials: tuple[Polynomial | None, Polynomial | None],
    crossed: Any,
    of_means: bool,
) -> tuple[Array, Array, Array, Array]:
    """Values of the questions whose mean is the score, the score, and posterior mean and deviation. **crossed**:
    `cross_weights` of the credits."""
    observed, k, (a, b) = stat.observed, credits[0].k, powers
    recorded: list[Any]
    recorded = [cell_values(k, stat, x.expected) for x in credits]
    counts = 1 + stat.categories + prior
    alpha, beta = counts[..., 1], counts[..., 0]
    (p, vp), (u, vu) = (moments(x, alpha, beta, y) for x, y in zip(credits, polynomials, strict=True))
    covariance = cross_moment(alpha, beta, k, crossed) - p * u
    if not of_means:
        values = product(recorded[0], recorded[1], a, b)
        mean = product(p, u, a, b)
        variance = delta_variance(p, u, a, b, (vp, vu), covariance)
        return values, stat.mean_over_questions(values), *over_questions(observed, mean, variance)
    means = [stat.mean_over_questions(v) for v in recorded]
    point = product(means[0], means[1], a, b)
    total = jnp.sum(observed, axis=-1)
    mean_p, mean_u = (jnp.sum(observed * x, axis=-1) / total for x in (p, u))
    spreads = [jnp.sum(observed * x, axis=-1) / total**2 for x in (vp, vu, covariance)]
    variance = delta_variance(mean_p, mean_u, a, b, (spreads[0], spreads[1]), spreads[2])
    return geometric.by_question(recorded, means, a, b), point, product(mean_p, mean_u, a, b), jnp.sqrt(variance)
