"""Dirichlet posteriors of category probabilities: moments of a weighted outcome, prior counts of earlier outcomes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.errors import DataError


def dirichlet_moments(
    counts: Float[Array, "models questions categories"], weights: Float[Array, " categories"]
) -> tuple[Float[Array, "models questions"], Float[Array, "models questions"]]:
    """Mean and variance of sum_c p_c w_c for p ~ Dirichlet(counts); counts above 0.

    The first category's weight is the origin, so equal weights have variance 0 exactly.
    """
    height = weights - weights[0]
    if weights.shape[0] == 2:  # binary: no reduction over an axis of two, which compilers do slowly
        wrong, right = counts[..., 0], counts[..., 1]
        total = wrong + right
        share = right / total
        return weights[0] + share * height[1], share * (wrong / total) * height[1] ** 2 / (total + 1)
    total = jnp.sum(counts, axis=-1)
    above = jnp.sum(counts * height[None, None, :], axis=-1) / total
    spread = jnp.sum(counts * jnp.square(height[None, None, :] - above[..., None]), axis=-1) / total
    return weights[0] + above, spread / (total + 1)


def prior_counts(R0: Any, *, n_models: int, n_questions: int, n_categories: int) -> np.ndarray:
    """Category counts of earlier outcomes R0: (1, M, C+1) where R0 is (M, D), shared by the models, or (L, M, C+1)
    where it is (L, M, D). Missing outcomes are -1, NaN or masked.

    Raises `DataError` for another shape and for outcomes that are not whole numbers 0..C.
    """
    try:
        masked = isinstance(R0, np.ma.MaskedArray)
        values = np.ma.filled(np.ma.asarray(R0).astype(float), np.nan) if masked else np.asarray(R0)
    except ValueError:
        raise DataError("R0 is ragged; it needs one number of outcomes for every question") from None
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"R0 holds values of type {values.dtype}; earlier outcomes are whole numbers 0..{n_categories - 1}"
        )
    if values.ndim == 2:
        values = values[None]
    if values.ndim != 3 or values.shape[0] not in (1, n_models) or values.shape[1] != n_questions:
        raise DataError(
            f"R0 has shape {np.shape(R0)}; for {n_models} models and {n_questions} questions it must be "
            f"({n_questions}, D), shared by the models, or ({n_models}, {n_questions}, D)"
        )
    values = values.astype(float)
    missing = np.isnan(values) | (values == -1)
    bad = np.argwhere(~missing & ((values != np.floor(values)) | (values < 0) | (values >= n_categories)))
    if len(bad):
        at = tuple(bad[0].tolist())
        raise DataError(
            f"R0 has the outcome {values[at]:g} at {at[-np.ndim(R0) :]}; outcomes are whole numbers "
            f"0..{n_categories - 1} as in R (give weights w for more categories)"
        )
    return np.stack([(values == c).sum(axis=2) for c in range(n_categories)], axis=-1).astype(float)
