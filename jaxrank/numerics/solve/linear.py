"""Small symmetric positive definite systems without LAPACK, so that a batch of them vectorises."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.numerics.solve.lanes import lanes

# Above this size one LAPACK call beats the written-out elimination, alone and under vmap.
SMALL = 64


def solve_spd(matrix: Float[Array, "n n"], right: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
    """x with ``matrix @ x = right`` for a symmetric positive definite matrix; NaN where it is not.

    Up to n = 64 by an elimination in plain ``jnp`` (no LAPACK calls, which do not vectorise under ``vmap``), above by a
    Cholesky factor.
    """
    columns = right if right.ndim == 2 else right[:, None]
    if matrix.shape[0] > SMALL:
        factor = jax.scipy.linalg.cho_factor(matrix, lower=True)
        solution = jax.scipy.linalg.cho_solve(factor, columns)
    else:
        solution = _solve_single(matrix, columns)
    return solution if right.ndim == 2 else solution[:, 0]


def inverse_spd(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a symmetric positive definite matrix; NaN where it is not."""
    return solve_spd(matrix, jnp.eye(matrix.shape[0], dtype=matrix.dtype))


def solve_spd_lanes(matrix: Float[Array, "n n lanes"], right: Float[Array, "n k lanes"]) -> Float[Array, "n k lanes"]:
    """`solve_spd` for a batch in the last axis."""
    n = matrix.shape[0]
    if n > SMALL:
        first = jnp.moveaxis(matrix, -1, 0), jnp.moveaxis(right, -1, 0)
        return jnp.moveaxis(jax.vmap(solve_spd)(*first), 0, -1)
    return _eliminate(matrix, right)


_solve_single = lanes(solve_spd_lanes)


def _eliminate(matrix: Array, right: Array) -> Array:
    """Gauss-Jordan without pivoting, stable for positive definite matrices: one rank-one update a step.

    Shrinking, unrolled steps do a third of the arithmetic and are no faster: they compile for seconds and leave the
    cache.
    """
    n = matrix.shape[0]
    index = jnp.arange(n)[:, None, None]

    def clear(k: Array, table: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(table, k, 1, axis=0)
        column = jax.lax.dynamic_slice_in_dim(table, k, 1, axis=1)
        pivot = jax.lax.dynamic_slice_in_dim(row, k, 1, axis=1)
        row = row / jnp.where(pivot > 0, pivot, jnp.nan)
        return jnp.where(index == k, row, table - column * row)

    table = jax.lax.fori_loop(0, n, clear, jnp.concatenate([matrix, right], axis=1))
    return table[:, n:]
