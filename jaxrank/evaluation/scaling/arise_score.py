"""ARISE and the scaling metric: what more computation at test time brings, from accuracy and tokens at each level.

Arrays are (..., samples, levels), levels in the order of the effort asked for. A sample that lacks a level (NaN) is
left out of the means. Source: the ARISE paper, equations 1 to 6 [arise2025]; the slope is that of Muennighoff (2025).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.device import put, real
from jaxrank.errors import DataError
from jaxrank.models.options import numbers


def arise_samples(accuracy: Any, tokens: Any) -> Float[Array, "*batch samples"]:
    """ARISE of every sample: sum over j >= 1 of (a_j - a_(j-1)) (t_(j-1) / t_j)^sign(a_j - a_(j-1)).

    A gain counts by the share of tokens it kept, a loss by the factor of tokens it wasted. **accuracy**: in [0, 1].
    **tokens**: above 0; the formula is applied as it stands where they fall from one level to the next
    (`falling_share` says how often). NaN for a sample that lacks a level.
    """
    return _samples(*_paired(accuracy, tokens))


@jax.jit
def _samples(a: Array, t: Array) -> Array:
    step = a[..., 1:] - a[..., :-1]
    kept = t[..., :-1] / t[..., 1:]
    return jnp.sum(step * jnp.where(step > 0, kept, jnp.where(step < 0, 1 / kept, 1)), axis=-1)


def arise(accuracy: Any, tokens: Any) -> Float[Array, "*batch"]:
    """Mean of `arise_samples` over the samples that have every level; **accuracy**, **tokens** as there. At most 1
    where tokens rise from level to level, as the paper's theorems say; above 1 is possible where they fall."""
    return jnp.nanmean(arise_samples(accuracy, tokens), axis=-1)


def scaling_metric(accuracy: Any, tokens: Any) -> Float[Array, "*batch"]:
    """Sum of the slopes (A2 - A1) / (T2 - T1) over the pairs of levels with T2 > T1, divided by the number of all pairs
    of levels, A and T means over complete samples: equation 1, in which a pair with equal tokens adds 0 and counts.

    Accuracy per token; NaN without a complete sample.
    """
    a, t = _paired(accuracy, tokens)
    return mean_slope(a, t, jnp.ones((*a.shape[:-2], a.shape[-1]), bool))


@jax.jit
def mean_slope(a: Array, t: Array, counted: Array) -> Array:
    """`scaling_metric` over the levels that count, ``counted`` (..., levels)."""
    whole = jnp.all(~jnp.isnan(a) & ~jnp.isnan(t), axis=-1, keepdims=True)
    mean = lambda x: jnp.sum(jnp.where(whole, x, 0), axis=-2) / jnp.sum(whole, axis=-2)
    A, T = mean(a), mean(t)
    rise = T[..., None, :] - T[..., :, None]
    used = (rise > 0) & counted[..., None, :] & counted[..., :, None]
    slope = (A[..., None, :] - A[..., :, None]) / jnp.where(used, rise, 1)
    n_levels = jnp.sum(counted, axis=-1)
    total = jnp.sum(jnp.where(used, slope, 0), axis=(-2, -1)) / (n_levels * (n_levels - 1) / 2)
    return jnp.where(jnp.any(whole, axis=(-2, -1)), total, jnp.nan)


def falling_share(tokens: Any) -> Float[Array, "*batch"]:
    """Share of the complete samples whose tokens fall from some level to the next."""
    t = _floats("tokens", tokens)
    if t.ndim < 2 or t.shape[-1] < 2:
        raise DataError(f"tokens has shape {t.shape}; it must be (..., samples, levels), two levels or more")
    return _falling(t)


@jax.jit
def _falling(t: Array) -> Array:
    whole = jnp.all(~jnp.isnan(t), axis=-1)
    falls = jnp.any(t[..., 1:] < t[..., :-1], axis=-1) & whole
    return jnp.sum(falls, axis=-1) / jnp.sum(whole, axis=-1)


def _paired(accuracy: Any, tokens: Any) -> tuple[Array, Array]:
    a, t = _floats("accuracy", accuracy), _floats("tokens", tokens)
    if a.shape != t.shape or a.ndim < 2:
        raise DataError(f"accuracy has shape {a.shape}, tokens {t.shape}; both must be (..., samples, levels)")
    if a.shape[-1] < 2:
        raise DataError("scaling needs at least two levels on the last axis")
    return a, t


def _floats(name: str, value: Any) -> Array:
    """Numbers in JAX's precision; arrays of JAX may be traced."""
    if not isinstance(value, jax.Array):
        return put(numbers(name, value), real())
    elif jnp.issubdtype(value.dtype, jnp.complexfloating):
        raise DataError(f"{name} must be an array of numbers, not of complex ones")
    return jnp.asarray(value, jnp.zeros(()).dtype)
