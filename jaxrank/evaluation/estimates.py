"""``Estimate`` and what all metrics share: reading R, priors from earlier outcomes, intervals."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Counts
from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_number
from jaxrank.numerics.dirichlet import prior_counts
from jaxrank.numerics.interval import Interval, check_level, percent


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


class Cells(eqx.Module):
    """What a metric reads: counts (L, M, C+1), prior counts of that shape or (1, M, C+1), whether R is one model."""

    stat: Counts
    prior: Float[Array, "models_or_one questions categories"]
    single: bool = eqx.field(static=True)
    questions: tuple[str, ...] | None = eqx.field(static=True)


def data_of(R: Any) -> Any:
    """What a function that takes results too should read: the data of a result of ``jaxrank.fit``, else R as it is.
    NumPy and JAX arrays have a ``data`` of their own, which is neither."""
    data = getattr(R, "data", None)
    return data if isinstance(data, Responses | Counts) else R


def read(R: Any, R0: Any, strength: Any, n_categories: int | None = None) -> Cells:
    """Counts and prior counts of R: an array (M, N) of one model or (L, M, N), `Responses`, or `Counts`.

    Traced arrays are taken as checked: whole numbers 0..C with C = n_categories - 1, -1 or NaN missing. How many
    categories they have is not known from their values, so that ``n_categories`` must say it.
    """
    single, questions = False, None
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
        if not isinstance(R, Responses):
            single = (_depth(R) if isinstance(R, list | tuple) else np.ndim(R)) == 2
            if single:
                R = [R] if isinstance(R, list | tuple) else np.asanyarray(R)[None]
            R = Responses(R)
        questions = R.questions
        stat = Counts.of(R)
    missing = 0 if n_categories is None else n_categories - stat.categories.shape[-1]
    if missing < 0:
        raise OptionError(f"w has {n_categories} weights, but R has {stat.categories.shape[-1]} categories")
    if missing:
        padded = jnp.pad(stat.categories, ((0, 0), (0, 0), (0, missing)))
        stat = Counts(padded, stat.questions, jnp.pad(stat.levels, (0, missing)))
    return Cells(stat, _prior(R0, strength, stat, single), single, questions)


def weights_size(w: Any) -> int | None:
    """The number of categories that weights are given for."""
    if w is None:
        return None
    check_number("w", w, ndim=1)
    return int(np.size(w))


def _prior(R0: Any, strength: Any, stat: Counts, single: bool) -> Array:
    n_models, n_questions, n_categories = stat.categories.shape
    if R0 is None:
        return jnp.zeros((1, n_questions, n_categories), stat.categories.dtype)
    check_number("strength", strength, 0, 1)
    if single and np.ndim(R0) == 3 and np.shape(R0)[0] != 1:
        raise DataError(f"R0 has shape {np.shape(R0)}, but R is the data of one model; R0 must be (questions, D)")
    counts = prior_counts(R0, n_models=n_models, n_questions=n_questions, n_categories=n_categories)
    return strength * jnp.asarray(counts, stat.categories.dtype)


def _traced_counts(outcomes: Array, n_categories: int) -> Counts:
    dtype = jnp.zeros(()).dtype
    grades = jnp.arange(n_categories, dtype=outcomes.dtype)
    categories = jnp.sum(outcomes[..., None, :] == grades[None, None, :, None], axis=-1).astype(dtype)
    return Counts(categories, jnp.ones(outcomes.shape[1], dtype), jnp.arange(n_categories, dtype=dtype))


def _depth(R: Any) -> int:
    """Nesting of lists: 2 for trials of questions, 3 for those of models (ragged lists have no shape)."""
    return 1 + _depth(R[0]) if isinstance(R, list | tuple | np.ndarray) and len(R) else 0


def interval_estimate(
    cells: Cells, point: Array, mean: Array, sd: Array, level: float, bounds: tuple[Any, Any]
) -> Estimate:
    """The normal interval mean +- z sd of the given probability, clipped to the range of the metric."""
    level = check_level(level)
    z = ndtri(jnp.asarray(0.5 + level / 2, mean.dtype))
    ends = jnp.maximum(mean - z * sd, bounds[0]), jnp.minimum(mean + z * sd, bounds[1])
    estimate = Estimate(point, mean, sd, *ends, level, "normal, within the range of the metric")
    return shaped(cells, estimate)


def shaped(cells: Cells, estimate: Estimate) -> Estimate:
    """Scalars for one model; NumPy arrays outside ``jit`` and ``vmap``, where the type is no longer JAX's business."""
    estimate = jax.tree.map(lambda v: v[0], estimate) if cells.single else estimate
    traced = any(isinstance(v, Tracer) for v in jax.tree.leaves(estimate))
    return estimate if traced else jax.tree.map(np.asarray, estimate)


def over_questions(weight: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Mean of independent questions and its standard deviation; ``weight`` (L, M) is the multiplicity of each."""
    total = jnp.sum(weight, axis=-1)
    return jnp.sum(weight * mean, axis=-1) / total, jnp.sqrt(jnp.sum(weight * variance, axis=-1)) / total
