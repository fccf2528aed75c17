"""Bayes@N, avg@N and the Pass@k family, each with posterior mean, standard deviation and interval.

**R** is (M, N) for one model, (L, M, N) for several (missing trials -1, NaN or masked), anything else that
`jaxrank.fit` takes (`Responses`, a data frame in long form, a file of results), or `Counts`. An array of two axes is
(questions, trials) of one model here, and (models, questions) in `jaxrank.fit`: of several models with one trial each
give ``R[:, :, None]``. Traced arrays may be used inside ``jit`` and ``vmap``. **R0**: earlier outcomes as a prior, (M,
D) shared by the models or (L, M, D); **strength** in [0, 1] discounts them (a power prior). **level**: probability of
the interval. **method**: "normal" is the normal approximation of the posterior clipped to the range of the metric;
"exact" takes quantiles of the posterior itself, by the inverse Beta function for one question and by Monte Carlo
(``n_draws``, ``seed``; on the host) for more. The two agree to about 0.01 from M = 20 questions on; they differ where M
is small and a score is near the end of its range. **dtype**: "float32" or "float64"; by default JAX's configuration.

A question without trials counts with its prior mean in Bayes@N (its posterior is the prior) and is left out of the
other metrics, whose prior means say little about a model. In the Pass@k family the success rate of a question has the
prior Beta(1, 1); k > n is an error, because the point estimate does not exist, unless ``extrapolate=True``, which
leaves it NaN and returns the posterior. Of high powers of a rate that posterior knows little but its prior, so that its
interval may exclude the point estimate: by default the interval of this family is ``method="questions"``, about such
questions: Wilson's of the point estimate at the number of independent questions that its spread over questions is worth
(the whole range from one question). Inside ``jit`` and ``vmap``, and where the point does not exist, it is "normal".
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypedDict, Unpack

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.core import Tracer
from jaxtyping import Array, Float

from jaxrank.data.names import name_list
from jaxrank.errors import OptionError, UndefinedScoreError, UnsupportedDataError
from jaxrank.evaluation import exact
from jaxrank.evaluation.beta_moments import (
    Polynomial,
    all_moments,
    any_moments,
    excess_weights,
    threshold_weights,
    weighted_moments,
)
from jaxrank.evaluation.estimates import (
    Cells,
    Estimate,
    Evaluated,
    by_question,
    interval_estimate,
    over_questions,
    read,
    weights_size,
)
from jaxrank.models.options import check_choice, check_count, check_number
from jaxrank.numerics import hypergeometric
from jaxrank.numerics.dirichlet import dirichlet_moments
from jaxrank.numerics.precision import precision
from jaxrank.numerics.seeds import check_seed


def bayes(
    R: Evaluated,
    *,
    w: npt.ArrayLike | None = None,
    R0: npt.ArrayLike | None = None,
    level: float = 0.95,
    strength: float | Array = 1.0,
    method: str = "normal",
    n_draws: int = 20_000,
    seed: int = 0,
    dtype: str | None = None,
) -> Estimate:
    """Bayes@N: posterior mean of the weighted outcome under Dirichlet priors; point and mean are the same number.

    **w**: weight of each category; by default its value (0, 1 for binary outcomes). Source: hariri2026dont, eqs. 5, 6.

    >>> from jaxrank import evaluation
    >>> e = evaluation.bayes([[1, 1, 1, 0], [1, 0, 0, 0]])  # one model, two questions, four trials
    >>> [round(float(v), 3) for v in (e.mean, e.sd, e.lower, e.upper)]
    [0.5, 0.126, 0.253, 0.747]
    """
    with precision(dtype):
        cells = read(R, R0, strength, weights_size(w))
        weights = cells.stat.levels if w is None else jnp.asarray(w, cells.stat.levels.dtype)
        mean, sd = _bayes_moments(cells.stat, cells.prior, weights)
        normal = interval_estimate(cells, mean, mean, sd, level, (jnp.min(weights), jnp.max(weights)))
        if _is_exact(method, n_draws, seed):
            return exact.dirichlet_interval(cells, normal, weights, level, n_draws, seed)
        return normal


def avg(
    R: Evaluated,
    *,
    w: npt.ArrayLike | None = None,
    level: float = 0.95,
    method: str = "normal",
    n_draws: int = 20_000,
    seed: int = 0,
    dtype: str | None = None,
) -> Estimate:
    """avg@N: the mean outcome, with (1 + C + N)/N times the posterior deviation of Bayes@N, question by question.

    Source: hariri2026dont, section 2.4. With a uniform prior Bayes@N is this score drawn towards the mean weight.
    """
    with precision(dtype):
        cells = read(R, None, 1.0, weights_size(w))
        weights = cells.stat.levels if w is None else jnp.asarray(w, cells.stat.levels.dtype)
        mean, sd = _avg_moments(cells.stat, weights)
        normal = interval_estimate(cells, mean, mean, sd, level, (jnp.min(weights), jnp.max(weights)))
        if _is_exact(method, n_draws, seed):
            return exact.stretched_interval(cells, normal, weights, level, n_draws, seed)
        return normal


class TriesOptions(TypedDict, total=False):
    """Options of the Pass@k family; see the module."""

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
    return _tries(R, k, level, "any", 0, **options)


def pass_hat_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """Pass^k: chance that all of k tries succeed [yao2024]; posterior of the mean of p_m^k. Options as `pass_at_k`.

    >>> from jaxrank import evaluation
    >>> round(float(evaluation.pass_hat_k([[1, 1, 1, 0], [1, 0, 0, 0]], 2).point), 3)
    0.25
    """
    return _tries(R, k, level, "all", 0, **options)


def g_pass_at_k_tau(
    R: Evaluated, k: int, tau: float, *, level: float = 0.95, **options: Unpack[TriesOptions]
) -> Estimate:
    """G-Pass@k_tau: chance that at least max(1, ceil(tau k)) of k tries succeed [liu2025]. Options as `pass_at_k`."""
    check_number("tau", tau, 0, 1)
    product = float(tau) * _whole(k)
    return _tries(R, k, level, "threshold", max(1, int(np.ceil(product * (1 - 4 * np.finfo(float).eps)))), **options)


def mg_pass_at_k(R: Evaluated, k: int, *, level: float = 0.95, **options: Unpack[TriesOptions]) -> Estimate:
    """mG-Pass@k: 2/k sum over i = ceil(k/2)+1..k of G-Pass@k at i/k [liu2025]; 0 for k = 1. Options as `pass_at_k`."""
    return _tries(R, k, level, "excess", 0, **options)


def _tries(
    R: Evaluated,
    k: int,
    level: float,
    kind: str,
    needed: int,
    *,
    R0: npt.ArrayLike | None = None,
    strength: float | Array = 1.0,
    method: str | None = None,
    n_draws: int = 20_000,
    seed: int = 0,
    dtype: str | None = None,
    extrapolate: bool = False,
) -> Estimate:
    k = _whole(k)
    with precision(dtype):
        cells = read(R, R0, strength, 2 if isinstance(R, Tracer) else None)
        if cells.stat.categories.shape[-1] != 2:
            raise UnsupportedDataError(
                "the Pass@k family is defined for outcomes 0 and 1; "
                f"R has {cells.stat.categories.shape[-1]} categories. "
                "Use bayes or avg, or turn R into 0 and 1 (for example R >= threshold)"
            )
        if not extrapolate:
            _check_trials(cells, k)
        polynomial = None
        if kind in ("threshold", "excess"):
            polynomial = Polynomial.of(threshold_weights(k, needed) if kind == "threshold" else excess_weights(k))
        # As arrays, so that another k does not compile again (a polynomial does, its size being k).
        numbers = (np.asarray(k, float), np.asarray(needed, float))
        values, point, mean, sd = _tries_moments(cells.stat, cells.prior, kind, *numbers, polynomial)
        top = 2 / k * (k - -(-k // 2)) if kind == "excess" else 1.0
        traced = isinstance(point, Tracer)
        method = ("normal" if traced else "questions") if method is None else method
        with_posterior = _is_exact(method, n_draws, seed, "questions")
        if method == "questions":
            if traced:
                raise OptionError('method="questions" reads numbers; inside jit and vmap use method="normal"')
            return by_question(cells, values, point, mean, sd, level, top)
        normal = interval_estimate(cells, point, mean, sd, level, (0.0, top))
        if with_posterior:
            return exact.beta_interval(
                cells, normal, partial(exact.CURVES[kind], k=k, needed=needed), level, n_draws, seed
            )
        return normal


def clustered_error(R: Evaluated, w: npt.ArrayLike | None = None) -> Float[Array, "*models"]:
    """Standard error of the mean outcome when the questions are a sample: sd of the question means / sqrt(M).

    The deviations of `avg` and `bayes` are about these questions; this one is about questions like them, and is what
    evaluation harnesses report. **w**: as in `bayes`. A question without trials is left out. NaN with fewer than two
    questions.
    """
    cells = read(R, None, 1.0, weights_size(w))
    stat = cells.stat
    error = _clustered(stat, stat.levels if w is None else jnp.asarray(w, stat.levels.dtype))
    return error[0] if cells.single else error


@eqx.filter_jit
def _clustered(stat: Any, weights: Array) -> Array:
    n = stat.trials
    means = jnp.sum(stat.categories * weights[None, None], axis=-1) / jnp.where(n > 0, n, 1)
    size = jnp.sum(stat.observed, axis=-1)
    centre = jnp.sum(stat.observed * means, axis=-1) / size
    squares = jnp.sum(stat.observed * jnp.square(means - centre[:, None]), axis=-1)
    return jnp.sqrt(jnp.where(size > 1, squares / jnp.maximum(size - 1, 1) / size, jnp.nan))


@eqx.filter_jit
def _bayes_moments(stat: Any, prior: Array, weights: Array) -> tuple[Array, Array]:
    mean, variance = dirichlet_moments(1 + stat.categories + prior, weights)
    return over_questions(jnp.broadcast_to(stat.questions[None], mean.shape), mean, variance)


@eqx.filter_jit
def _avg_moments(stat: Any, weights: Array) -> tuple[Array, Array]:
    _, variance = dirichlet_moments(1 + stat.categories, weights)
    n = stat.trials
    safe = jnp.where(n > 0, n, 1)
    mean = jnp.sum(stat.categories * weights[None, None], axis=-1) / safe
    return over_questions(stat.observed, mean, variance * jnp.square((n + weights.shape[0]) / safe))


@eqx.filter_jit
def _tries_moments(
    stat: Any, prior: Array, kind: str, k: Any, needed: Any, polynomial: Polynomial | None
) -> tuple[Array, Array, Array, Array]:
    c, n, observed = stat.successes, stat.trials, stat.observed
    enough = n >= k
    safe_c, safe_n = jnp.where(enough, c, 0), jnp.where(enough, n, k)
    counts = 1 + stat.categories + prior
    a, b = counts[..., 1], counts[..., 0]
    if kind == "any":
        value, moments = hypergeometric.any_success(safe_c, safe_n, k), any_moments(a, b, k)
    elif kind == "all":
        value, moments = hypergeometric.all_successes(safe_c, safe_n, k), all_moments(a, b, k)
    elif kind == "threshold":
        assert polynomial is not None
        value = hypergeometric.at_least(safe_c, safe_n, k, needed)
        moments = weighted_moments(a, b, polynomial)
    else:
        assert polynomial is not None
        value = 2 / k * hypergeometric.mean_excess(safe_c, safe_n, k, jnp.ceil(k / 2))
        moments = weighted_moments(a, b, polynomial)
    values = jnp.where((observed > 0) & ~enough, jnp.nan, value)
    return values, stat.mean_over_questions(values), *over_questions(observed, *moments)


def _whole(k: Any) -> int:
    if isinstance(k, Tracer):
        raise OptionError("k is a number of tries, which must be known inside jit and vmap too")
    check_number("k", k, 1, whole=True)
    return int(k)


def _check_trials(cells: Cells, k: int) -> None:
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


def _is_exact(method: str, n_draws: int, seed: int, *others: str) -> bool:
    check_count("n_draws", n_draws, 2)
    check_seed(seed)
    check_choice("method", method, ("normal", "exact", *others))
    return method == "exact"
