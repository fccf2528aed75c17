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

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy.typing as npt
from jaxtyping import Array, Float

from jaxrank.evaluation import exact
from jaxrank.evaluation.estimates import Estimate, Evaluated, interval_estimate, over_questions, read, weights_size
from jaxrank.models.options import check_choice, check_count
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
        if is_exact(method, n_draws, seed):
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
        if is_exact(method, n_draws, seed):
            return exact.stretched_interval(cells, normal, weights, level, n_draws, seed)
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


def is_exact(method: str, n_draws: int, seed: int, *others: str) -> bool:
    """Whether the interval is that of the posterior itself; `OptionError` for an unknown ``method``."""
    check_count("n_draws", n_draws, 2)
    check_seed(seed)
    check_choice("method", method, ("normal", "exact", *others))
    return method == "exact"
