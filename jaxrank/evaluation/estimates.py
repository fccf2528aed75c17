"""``Estimate`` and what all metrics share: reading R, priors from earlier outcomes, intervals."""

from __future__ import annotations

import contextlib
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
from jaxrank.numerics.dirichlet import prior_counts


class Estimate(eqx.Module):
    """A metric of every model with its uncertainty.

    **point**: the estimate from the data alone; NaN where it does not exist.  **mean**, **sd**: posterior mean and
    standard deviation.  **lo**, **hi**: ends of the interval.  Arrays over models; scalars for the R of one model.
    """

    point: Float[Array, "*models"]
    mean: Float[Array, "*models"]
    sd: Float[Array, "*models"]
    lo: Float[Array, "*models"]
    hi: Float[Array, "*models"]

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}={np.array2string(np.asarray(v), precision=6)}" for name, v in vars(self).items())
        return f"Estimate({rows})"


class Cells(eqx.Module):
    """What a metric reads: counts (L, M, C+1), prior counts of that shape or (1, M, C+1), whether R is one model."""

    stat: Counts
    prior: Float[Array, "models_or_one questions categories"]
    single: bool = eqx.field(static=True)
    questions: tuple[str, ...] | None = eqx.field(static=True)


def read(R: Any, R0: Any, strength: Any, n_categories: int | None = None) -> Cells:
    """Counts and prior counts of R: an array (M, N) of one model or (L, M, N), `Responses`, or `Counts`.

    Traced arrays are taken as checked: whole numbers 0..C with C = n_categories - 1 (1 if None), -1 or NaN missing.
    """
    single, questions = False, None
    if isinstance(R, Counts):
        stat = R
    elif isinstance(R, Tracer):
        single = R.ndim == 2
        stat = _traced_counts(R[None] if single else R, n_categories or 2)
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


def _prior(R0: Any, strength: Any, stat: Counts, single: bool) -> Array:
    n_models, n_questions, n_categories = stat.categories.shape
    if R0 is None:
        return jnp.zeros((1, n_questions, n_categories), stat.categories.dtype)
    if not isinstance(strength, Tracer) and not 0 <= float(strength) <= 1:
        raise OptionError(f"strength={strength} must be in [0, 1]: 0 ignores R0, 1 counts it like the trials")
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
    cells: Cells, point: Array, mean: Array, sd: Array, interval: float, bounds: tuple[Any, Any]
) -> Estimate:
    """The normal interval mean +- z sd of the given probability, clipped to the range of the metric."""
    z = ndtri(jnp.asarray(0.5 + checked_interval(interval) / 2, mean.dtype))
    estimate = Estimate(point, mean, sd, jnp.maximum(mean - z * sd, bounds[0]), jnp.minimum(mean + z * sd, bounds[1]))
    return shaped(cells, estimate)


def shaped(cells: Cells, estimate: Estimate) -> Estimate:
    """Scalars for one model; NumPy arrays outside ``jit`` and ``vmap``, where the type is no longer JAX's business."""
    estimate = jax.tree.map(lambda v: v[0], estimate) if cells.single else estimate
    traced = any(isinstance(v, Tracer) for v in jax.tree.leaves(estimate))
    return estimate if traced else jax.tree.map(np.asarray, estimate)


def checked_interval(interval: float) -> float:
    if not 0 < float(interval) < 1:
        raise OptionError(f"interval={interval} must lie between 0 and 1, for example 0.95")
    return float(interval)


def over_questions(weight: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Mean of independent questions and its standard deviation; ``weight`` (L, M) is the multiplicity of each."""
    total = jnp.sum(weight, axis=-1)
    return jnp.sum(weight * mean, axis=-1) / total, jnp.sqrt(jnp.sum(weight * variance, axis=-1)) / total


@contextlib.contextmanager
def precision(dtype: str | None) -> Any:
    """Arithmetic in float32 or float64 whatever JAX's configuration says; None follows it."""
    if dtype is None:
        yield
        return
    if np.dtype(dtype).name not in ("float32", "float64"):
        raise OptionError(f'dtype={dtype!r}; it must be "float32" or "float64"')
    with jax.enable_x64(np.dtype(dtype).name == "float64"):
        yield
