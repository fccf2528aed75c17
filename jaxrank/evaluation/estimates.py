"""``Estimate`` and what all metrics share: reading R, priors from earlier outcomes, intervals."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.core import Tracer
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from jaxrank.data.accepted import DataLike, as_data, is_array
from jaxrank.data.kind import Data
from jaxrank.data.responses import responses_of
from jaxrank.data.statistics import Counts
from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_number
from jaxrank.numerics.dirichlet import prior_counts
from jaxrank.numerics.interval import Interval, check_level, percent
from jaxrank.numerics.proportion import BY_QUESTION, of_shares

AXES = (
    "(questions, trials) of one model, or (models, questions, trials) of several: R[:, :, None] makes that of "
    "(models, questions)"
)


class Estimate(eqx.Module):
    """A metric of every model with its uncertainty.

    **point**: the estimate from the data alone; NaN where it does not exist.  **mean**, **sd**: posterior mean and
    standard deviation.  **lower**, **upper**: ends of the interval at **level**, made as **kind** says.  Arrays over
    models; scalars for the R of one model.
    """

    point: Float[Array, "*models"]
    mean: Float[Array, "*models"]
    sd: Float[Array, "*models"]
    lower: Float[Array, "*models"]
    upper: Float[Array, "*models"]
    level: float = eqx.field(static=True)
    kind: str = eqx.field(static=True)

    def interval(self) -> Interval:
        """The ends as an `Interval`, at the level that the metric was asked for."""
        return Interval(np.asarray(self.lower), np.asarray(self.upper), self.level, self.kind)

    def __repr__(self) -> str:
        arrays = {name: v for name, v in vars(self).items() if name not in ("level", "kind")}
        rows = ", ".join(f"{name}={np.array2string(np.asarray(v), precision=6)}" for name, v in arrays.items())
        return f"Estimate({rows}; {percent(self.level)}, {self.kind})"


class Ranked(Protocol):
    """A result of ``jaxrank.fit``."""

    @property
    def data(self) -> Data: ...


Evaluated: TypeAlias = DataLike | Counts
"""Outcomes of one model or several: arrays (questions, trials) or (models, questions, trials), data, frames, files."""


class Cells(eqx.Module):
    """What a metric reads: counts (L, M, C+1), prior counts of that shape or (1, M, C+1), whether R is one model."""

    stat: Counts
    prior: Float[Array, "models_or_one questions categories"]
    single: bool = eqx.field(static=True)
    models: tuple[str, ...] | None = eqx.field(static=True)
    questions: tuple[str, ...] | None = eqx.field(static=True)


def data_of(R: Evaluated | Ranked) -> Any:
    """What a function that takes results too should read: the data of a result of ``jaxrank.fit``, else R as it is.
    NumPy and JAX arrays have a ``data`` of their own, which is neither."""
    data = getattr(R, "data", None)
    return data if isinstance(data, Data | Counts) else R


def read(R: Evaluated, R0: npt.ArrayLike | None, strength: Any, n_categories: int | None = None) -> Cells:
    """Counts and prior counts of R: an array (M, N) of one model or (L, M, N), what `jaxrank.fit` takes, or `Counts`.

    An array of two axes is one model here, and (models, questions) in `jaxrank.fit`.
    Traced arrays are taken as checked: whole numbers 0..C with C = n_categories - 1, -1 or NaN missing. How many
    categories they have is not known from their values, so that ``n_categories`` must say it.
    """
    single, models, questions = False, None, None
    if isinstance(R, Counts):
        stat = R
    elif isinstance(R, Tracer):
        if n_categories is None:
            raise OptionError(
                "w is needed inside jit and vmap, where the categories of R are not known: give one weight for each, "
                "such as w=(0, 1) for right and wrong"
            )
        single = R.ndim == 2
        stat = _traced_counts(R[None] if single else R, n_categories)
    else:
        given: Any = R
        if is_array(given):
            n_axes = _depth(given) if isinstance(given, list | tuple) else np.ndim(given)
            if n_axes not in (2, 3):
                raise DataError(f"R has {n_axes} axes; it needs {AXES}")
            single = n_axes == 2
            if single:
                given = [given] if isinstance(given, list | tuple) else np.asanyarray(given)[None]
        data = responses_of(as_data(given, at_least=1), "an evaluation", "rank them by jaxrank.fit")
        models, questions = data.models, data.questions
        stat = Counts.of(data)
    missing = 0 if n_categories is None else n_categories - stat.categories.shape[-1]
    if missing < 0:
        raise OptionError(f"w has {n_categories} weights, but R has {stat.categories.shape[-1]} categories")
    if missing:
        padded = jnp.pad(stat.categories, ((0, 0), (0, 0), (0, missing)))
        stat = Counts(padded, stat.questions, jnp.pad(stat.levels, (0, missing)))
    return Cells(stat, _prior(R0, strength, stat, single), single, models, questions)


def weights_size(w: npt.ArrayLike | None) -> int | None:
    """The number of categories that weights are given for."""
    if w is None:
        return None
    check_number("w", w, ndim=1)
    return int(np.size(w))


def _prior(R0: npt.ArrayLike | None, strength: Any, stat: Counts, single: bool) -> Array:
    n_models, n_questions, n_categories = stat.categories.shape
    if R0 is None:
        return jnp.zeros((1, n_questions, n_categories), stat.categories.dtype)
    check_number("strength", strength, 0, 1)
    if single and np.ndim(R0) == 3 and np.shape(R0)[0] != 1:
        raise DataError(
            f"R0 has shape {np.shape(R0)}, but R is the data of one model; R0 must be (questions, D), or R {AXES}"
        )
    counts = prior_counts(R0, n_models=n_models, n_questions=n_questions, n_categories=n_categories)
    return strength * jnp.asarray(counts, stat.categories.dtype)


def _traced_counts(outcomes: Array, n_categories: int) -> Counts:
    dtype = jnp.zeros(()).dtype
    none = jnp.zeros((*outcomes.shape[:2], n_categories), dtype)
    like = Counts(none, jnp.ones(outcomes.shape[1], dtype), jnp.arange(n_categories, dtype=dtype))
    return Counts.gather(outcomes, like)


def check_several(cells: Cells, what: str) -> None:
    """`OptionError` where R holds one model and ``what`` needs several."""
    if cells.stat.categories.shape[0] < 2:
        raise OptionError(f"R has one model; {what}. R needs {AXES}")


def _depth(R: Any) -> int:
    """Nesting of lists: 2 for trials of questions, 3 for those of models (ragged lists have no shape)."""
    if not isinstance(R, list | tuple | np.ndarray):
        return 0
    return 1 + (_depth(R[0]) if len(R) else 0)


def interval_estimate(
    cells: Cells, point: Array, mean: Array, sd: Array, level: float, bounds: tuple[Any, Any]
) -> Estimate:
    """The normal interval mean +- z sd of the given probability, clipped to the range of the metric."""
    level = check_level(level)
    lower, upper = _ends(mean, sd, np.asarray(0.5 + level / 2, mean.dtype), bounds)
    kind = "normal, of the posterior, within the range of the metric"
    return shaped(cells, Estimate(point, mean, sd, lower, upper, level, kind))


def by_question(
    cells: Cells, values: Array, point: Array, mean: Array, sd: Array, level: float, bounds: tuple[float, float]
) -> Estimate:
    """The point estimate, a mean over questions of ``values`` (L, M) within ``bounds``, with Wilson's interval at the
    number of independent questions that their spread is worth; of models without a point that of the posterior."""
    low, high = bounds
    level = check_level(level)
    score, weight = np.asarray(point, float), np.asarray(cells.stat.observed, float)
    seen = weight > 0
    n = seen.sum(axis=1)
    weight = weight / np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    off = np.where(seen, np.nan_to_num(np.asarray(values, float) - score[:, None]), 0)
    variance = n / np.maximum(n - 1, 1) * ((weight * off) ** 2).sum(axis=1)
    trials = np.asarray(cells.stat.trials, float).sum(axis=1)
    ends = [low + x for x in of_shares(score - low, variance, trials, n, level, high - low)]
    posterior = _ends(mean, sd, np.asarray(0.5 + level / 2, mean.dtype), bounds)
    known = np.isfinite(score)
    lower: Any
    upper: Any
    lower, upper = (np.where(known, own, other) for own, other in zip(ends, posterior, strict=True))
    return shaped(cells, Estimate(point, mean, sd, lower, upper, level, BY_QUESTION))


@jax.jit
def _ends(mean: Array, sd: Array, below: Any, bounds: tuple[Any, Any]) -> tuple[Array, Array]:
    z = ndtri(below)
    return jnp.maximum(mean - z * sd, bounds[0]), jnp.minimum(mean + z * sd, bounds[1])


def shaped(cells: Cells, estimate: Estimate) -> Estimate:
    """Scalars for one model; NumPy arrays outside ``jit`` and ``vmap``, where the type is no longer JAX's business."""
    if not any(isinstance(v, Tracer) for v in jax.tree.leaves(estimate)):
        estimate = jax.tree.map(np.asarray, estimate)
    return jax.tree.map(lambda v: v[0], estimate) if cells.single else estimate


def over_questions(weight: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Mean of independent questions and its standard deviation; ``weight`` (L, M) is the multiplicity of each."""
    total = jnp.sum(weight, axis=-1)
    return jnp.sum(weight * mean, axis=-1) / total, jnp.sqrt(jnp.sum(weight * variance, axis=-1)) / total
