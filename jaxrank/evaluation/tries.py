"""The Pass@k family: what k tries are worth, each metric one vector of credits (`Credits`), with its posterior.

See `jaxrank.evaluation.metrics` for what R, R0, strength, level, method and dtype are.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import equinox as eqx
import numpy as np
import numpy.typing as npt
from jax.core import Tracer
from jaxtyping import Array, Float

from jaxrank.data.names import name_list
from jaxrank.errors import OptionError, UndefinedScoreError, UnsupportedDataError
from jaxrank.evaluation import exact
from jaxrank.evaluation.estimates import (
    Cells,
    Estimate,
    Evaluated,
    by_question,
    interval_estimate,
    over_questions,
    read,
)
from jaxrank.evaluation.metrics import is_exact
from jaxrank.models.options import check_number
from jaxrank.models.tries import cell_values
from jaxrank.numerics.beta_moments import Polynomial
from jaxrank.numerics.credits import (
    AllSuccesses,
    AnySuccess,
    AreaUnderPass,
    AtLeast,
    Credits,
    Excess,
    Thresholds,
    majority,
    moments,
    polynomial_of,
)
from jaxrank.numerics.precision import precision


class TriesOptions(TypedDict, total=False):
    """Options of the Pass@k family; see `jaxrank.evaluation.metrics`."""

    R0: npt.ArrayLike | None
    strength: float | Array
    method: str | None
    n_draws: int
    seed: int
    dtype: str | None
    extrapolate: bool


def pass_at_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """Pass@k: chance that at least one of k tries succeeds [chen2021]; posterior of the mean of 1 - (1 - p_m)^k.

    **options**: R0, strength, method, n_draws, seed, dtype, extrapolate: see the module.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.pass_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)
    0.75
    """
    return _tries(R, AnySuccess(whole(k)), level, **options)


def pass_hat_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """Pass^k: chance that all of k tries succeed [yao2024]; posterior of the mean of p_m^k. Options as `pass_at_k`.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.pass_hat_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)
    0.25
    """
    return _tries(R, AllSuccesses(whole(k)), level, **options)


unanimous_at_k = pass_hat_k
"""Another name of `pass_hat_k`."""


def g_pass_at_k_tau(
    R: Evaluated, k: int, tau: float, *, level: float = 0.95, **options: Unpack[TriesOptions]
) -> Estimate:
    """G-Pass@k_tau: chance that at least max(1, ceil(tau k)) of k tries succeed [liu2025]. Options as `pass_at_k`."""
    check_number("tau", tau, 0, 1)
    tries = whole(k)
    needed = np.maximum(1, np.ceil(float(tau) * tries * (1 - 4 * np.finfo(float).eps)))
    return _tries(R, AtLeast(tries, np.asarray(needed)), level, **options)


def mg_pass_at_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """mG-Pass@k: 2/k sum over i = ceil(k/2)+1..k of G-Pass@k at i/k [liu2025]; 0 for k = 1. Options as `pass_at_k`."""
    return _tries(R, Excess(whole(k)), level, **options)


def maj_at_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """maj@k of verdicts: chance that more than half of k tries succeed. Options as `pass_at_k`.

    Wrong answers are not told apart; a vote over the answers themselves is `jaxrank.Answers` [wang2023].

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.maj_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], 3).point), 3)
    0.5
    """
    return _tries(R, majority(whole(k)), level, **options)


def auc_at_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """AUC@k: area under Pass@1..Pass@k by trapezoids, over k - 1; Pass@1 for k = 1 [hu2026]. Options as `pass_at_k`.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.auc_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)  # (0.5 + 0.75) / 2
    0.625
    """
    return _tries(R, AreaUnderPass(whole(k)), level, **options)


def threshold_spectrum_at_k(
    R: Evaluated, w: npt.ArrayLike, *, level: float = 0.95, **options: Unpack[TriesOptions]
) -> Estimate:
    """Weighted mean over r = 1..k of the chance that at least r of k tries succeed [scorio2026]. Options as
    `pass_at_k`.

    **w**: (k,) weights of the thresholds, 0 or more, with a sum of at most 1; their number is k.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.threshold_spectrum_at_k([[1, 1, 1, 0], [1, 0, 0, 0]], [0.5, 0.5]).point), 3)
    0.5
    """
    return _tries(R, Thresholds(spectrum_weights(w)), level, **options)


def spectrum_weights(w: npt.ArrayLike) -> Float[np.ndarray, " thresholds"]:
    """Weights of thresholds, checked."""
    check_number("w", w, 0, ndim=1)
    weights = np.asarray(w, float)
    if not len(weights) or weights.sum() > 1 + 1e-9:
        raise OptionError(f"w has the sum {weights.sum():g}; give one weight or more with a sum of at most 1")
    return weights


def _tries(
    R: Evaluated,
    credits: Credits,
    level: float,
    *,
    R0: npt.ArrayLike | None = None,
    strength: float | Array = 1.0,
    method: str | None = None,
    n_draws: int = 20_000,
    seed: int = 0,
    dtype: str | None = None,
    extrapolate: bool = False,
) -> Estimate:
    with precision(dtype):
        cells = read_tries(R, R0, strength, int(credits.k), extrapolate)
        values, point, mean, sd = _credit_moments(cells.stat, cells.prior, credits, polynomial_of(credits))
        method = method_of(method, point, n_draws, seed)
        if method == "questions":
            return by_question(cells, values, point, mean, sd, level, (0.0, credits.top))
        normal = interval_estimate(cells, point, mean, sd, level, (0.0, credits.top))
        if method == "exact":
            return exact.beta_interval(cells, normal, credits.curve, level, n_draws, seed)
        return normal


@eqx.filter_jit
def _credit_moments(
    stat: Any, prior: Array, credits: Credits, polynomial: Polynomial | None
) -> tuple[Array, Array, Array, Array]:
    values = cell_values(credits.k, stat, credits.expected)
    counts = 1 + stat.categories + prior
    found = moments(credits, counts[..., 1], counts[..., 0], polynomial)
    return values, stat.mean_over_questions(values), *over_questions(stat.observed, *found)


def method_of(method: str | None, point: Any, n_draws: int = 2, seed: int = 0) -> str:
    """The way of making the interval: by default from the spread over questions, inside ``jit`` and ``vmap`` normal;
    `OptionError` for one that there is not, or draws that cannot be."""
    traced = isinstance(point, Tracer)
    if method is None:
        method = "normal" if traced else "questions"
    is_exact(method, n_draws, seed, "questions")
    if method == "questions" and traced:
        raise OptionError('method="questions" reads numbers; inside jit and vmap use method="normal"')
    return method


def read_tries(
    R: Evaluated, R0: npt.ArrayLike | None, strength: Any, k: int, extrapolate: bool, binary: bool = True
) -> Cells:
    """Counts of R; refused where its outcomes are not 0 and 1 (unless not ``binary``), or a question has fewer than k
    trials (unless ``extrapolate``)."""
    cells = read(R, R0, strength, 2 if isinstance(R, Tracer) else None)
    if binary and cells.stat.categories.shape[-1] != 2:
        raise UnsupportedDataError(
            "the Pass@k family is defined for outcomes 0 and 1; "
            f"R has {cells.stat.categories.shape[-1]} categories. "
            "Use bayes, avg or max_at_k, or turn R into 0 and 1 (for example R >= threshold)"
        )
    if not extrapolate:
        check_trials(cells, k)
    return cells


def whole(k: Any) -> np.ndarray:
    """k as an array, so that another k does not compile again (a polynomial does, its size being k)."""
    if isinstance(k, Tracer):
        raise OptionError("k is a number of tries, which must be known inside jit and vmap too")
    check_number("k", k, 1, whole=True)
    return np.asarray(float(k))


def check_trials(cells: Cells, k: int) -> None:
    """`UndefinedScoreError` where a question has fewer than k trials."""
    if isinstance(cells.stat.categories, Tracer):
        return  # inside jit or vmap the point estimate is NaN where it does not exist
    trials = np.asarray(cells.stat.trials)
    short = (trials > 0) & (trials < k)
    if short.any():
        names = cells.questions or [f"question {m}" for m in range(trials.shape[1])]
        raise UndefinedScoreError(
            f"k={k} tries need at least {k} trials on every question, but the smallest number of trials is "
            f"N={int(trials[short].min())}: {name_list(names, np.flatnonzero(short.any(axis=0)))}. "
            f"Use k <= {int(trials[trials > 0].min())}, or extrapolate=True for the posterior without a point estimate"
        )
