"""Small symmetric positive definite systems without LAPACK, so that a batch of them vectorises."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxrank.numerics.blocks import on_cpu
from jaxrank.numerics.lanes import lanes

# Above this size one LAPACK call beats the written-out elimination, alone and under vmap.
SMALL = 64


def onto(whole: Float[Array, "..."], part: Float[Array, "..."]) -> Float[Array, "..."]:
    """``whole`` with ``part`` added to its first entries along every axis, as one sum that fuses with what surrounds
    it. (An indexed update is a pass of its own through memory, and the compiler for CUDA fails where a slice meets a
    gradient that was put together.)"""
    pad = [(0, n - k) for n, k in zip(whole.shape, part.shape, strict=True)]
    return whole + (jnp.pad(part, pad) if any(after for _, after in pad) else part)


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


def solve_general(matrix: Float[Array, "n n"], right: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """x with ``matrix @ x = right`` for any matrix; not finite where it is singular.

    On a CPU by LAPACK. Up to n = 64 elsewhere by an elimination with pivots in plain ``jnp``: a GPU calls a library for
    every small system, and a TPU compiles its own factor for minutes.
    """
    if on_cpu() or matrix.shape[0] > SMALL:
        return jnp.linalg.solve(matrix, right)
    return _pivoted(matrix, right)


def _pivoted_lanes(matrix: Float[Array, "n n lanes"], right: Float[Array, "n k lanes"]) -> Float[Array, "n k lanes"]:
    """Gauss-Jordan elimination with partial pivoting. Rows change places by selection: a scatter of rows takes the
    compiler for a TPU ten times as long as all else."""
    n = matrix.shape[0]
    index = jnp.arange(n)[:, None]

    def eliminate(i: Array, table: Array) -> Array:
        column = jax.lax.dynamic_slice_in_dim(table, i, 1, axis=1)[:, 0]
        size = jnp.where(index >= i, jnp.abs(column), -1)
        largest = size == jnp.max(size, axis=0, keepdims=True)
        chosen = index == jnp.min(jnp.where(largest, index, n), axis=0, keepdims=True)
        row = jnp.sum(jnp.where(chosen[:, None], table, 0), axis=0, keepdims=True)
        row = row / jax.lax.dynamic_slice_in_dim(row, i, 1, axis=1)
        # Row i goes where the pivot was.
        table = jnp.where(chosen[:, None], jax.lax.dynamic_slice_in_dim(table, i, 1, axis=0), table)
        column = jnp.where(chosen, jax.lax.dynamic_slice_in_dim(column, i, 1, axis=0), column)
        return jnp.where((index == i)[:, None], row, table - column[:, None] * row)

    return jax.lax.fori_loop(0, n, eliminate, jnp.concatenate([matrix, right], axis=1))[:, n:]


_pivoted = lanes(_pivoted_lanes)


def solve_grounded(
    matrix: Float[Array, "n n *lanes"],
    right: Float[Array, "n k *lanes"],
    n_free: int,
    together: Bool[Array, "free free *lanes"] | None = None,
) -> Float[Array, "n k *lanes"]:
    """x with ``matrix @ x = right``, where the rows of the first ``n_free`` unknowns sum to zero among these, and the
    right side sums to zero within each group of ``together`` (None: they are one group, which is faster); x then has
    mean zero in each group. NaN where the matrix is not positive definite beside that.

    Up to n = 64 the pivots of the first block are sums of its other entries and not differences (Grassmann, Taksar and
    Heyman 1985): where these are not positive, as in the information of paired comparisons, no digit is lost, whether
    two models met ten times or a billion times. Above, by a Cholesky factor with the means held in place.
    """
    n = matrix.shape[0]
    if together is None and n <= SMALL:
        one_group = functools.partial(_eliminate_one_group, n_free=n_free)
        solution = (lanes(one_group) if matrix.ndim == 2 else one_group)(matrix, right)
        free = solution[:n_free]
        return onto(solution, jnp.broadcast_to(-jnp.mean(free, axis=0, keepdims=True), free.shape))
    if together is None:
        together = jnp.ones((n_free, n_free, *matrix.shape[2:]), bool)
    means = together / jnp.sum(together, axis=1, keepdims=True)
    if n > SMALL:
        pad = ((0, n - n_free), (0, n - n_free), *((0, 0),) * (matrix.ndim - 2))
        size = jnp.mean(jnp.diagonal(matrix, axis1=0, axis2=1), axis=-1)
        held = matrix + jnp.where((size > 0) & jnp.isfinite(size), size, 1)[None, None] * jnp.pad(means, pad)
        solution = solve_spd(held, right) if matrix.ndim == 2 else solve_spd_lanes(held, right)
    else:
        solve = _grounded_single if matrix.ndim == 2 else _eliminate_grounded
        solution = solve(matrix, right, together)
    shift = jnp.sum(means[:, :, None] * solution[None, :n_free], axis=1)
    return onto(solution, -shift)


def _eliminate_one_group(matrix: Array, right: Array, n_free: int) -> Array:
    """`_eliminate_grounded` where the last of all free unknowns is the ground: its row is left out."""
    n, ground = matrix.shape[0], n_free - 1
    table = jnp.concatenate([matrix, right], axis=1)
    table = jnp.concatenate([table[:ground], table[n_free:]])
    index = jnp.arange(n - 1)[:, None, None]
    place = jnp.arange(n_free)[:, None]

    def clear(r: Array, table: Array) -> Array:
        k = r + (r >= ground)
        row = jax.lax.dynamic_slice_in_dim(table, r, 1, axis=0)
        column = jax.lax.dynamic_slice_in_dim(table, k, 1, axis=1)
        own = jax.lax.dynamic_slice_in_dim(row, k, 1, axis=1)
        later = -jnp.sum(jnp.where((place > k)[None], row[:, :n_free], 0), axis=1, keepdims=True)
        pivot = jnp.where(r < ground, later, own) if n_free < n else later
        row = row / jnp.where(pivot > 0, pivot, jnp.nan)
        return jnp.where(index == r, row, table - column * row)

    found = jax.lax.fori_loop(0, n - 1, clear, table)[:, n:]
    return jnp.concatenate([found[:ground], jnp.zeros_like(right[:1]), found[ground:]])


def _eliminate_grounded(matrix: Array, right: Array, together: Array) -> Array:
    n, n_free = matrix.shape[0], together.shape[0]
    index = jnp.arange(n)[:, None, None]
    place = jnp.arange(n + right.shape[1])[:, None]
    member = jnp.arange(n_free)
    # Of each group the last model is the ground: nothing is left that could hold it.
    ground = ~jnp.any(together & (member[None, :] > member[:, None])[:, :, None], axis=1)
    ground = jnp.pad(ground, ((0, n - n_free), (0, 0)))

    def clear(k: Array, table: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(table, k, 1, axis=0)
        column = jax.lax.dynamic_slice_in_dim(table, k, 1, axis=1)
        own = jax.lax.dynamic_slice_in_dim(row, k, 1, axis=1)
        later = jnp.where(((place > k) & (place < n_free))[None], row, 0)
        pivot = jnp.where(k < n_free, -jnp.sum(later, axis=1, keepdims=True), own)
        grounded = jax.lax.dynamic_slice_in_dim(ground, k, 1, axis=0)[:, None]
        row = jnp.where(grounded, 0, row / jnp.where(pivot > 0, pivot, jnp.nan))
        return jnp.where(index == k, row, table - column * row)

    table = jax.lax.fori_loop(0, n, clear, jnp.concatenate([matrix, right], axis=1))
    return table[:, n:]


_grounded_single = lanes(_eliminate_grounded)


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


_ROUNDED = 1e-10  # of the largest eigenvalue: sums of fractions leave so much where there is 0


def pseudo_inverse(products: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Moore and Penrose's inverse of a positive semi-definite float64 matrix of sums, on the host."""
    return np.linalg.pinv(products, rcond=_ROUNDED, hermitian=True)
