"""Arrow-shaped systems: two groups of unknowns, each block-diagonal in itself, coupled to each other.

Item response models have them (models and questions), and so have their marginal likelihoods. The larger group is
eliminated block by block, and the smaller one solved as one dense system (its Schur complement).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.numerics.precision import einsum, matmul
from jaxrank.numerics.solve.linear import inverse_spd, solve_spd


def solve_arrow(
    rows: Float[Array, "L P P"],
    cross: Float[Array, "L P M Q"],
    columns: Float[Array, "M Q Q"],
    row_right: Float[Array, "L P K"],
    column_right: Float[Array, "M Q K"],
    tie: Float[Array, "M Q *T"] | None = None,
    tied: Float[Array, ""] | float = 0.0,
) -> tuple[Float[Array, "L P K"], Float[Array, "M Q K"]]:
    """(x, y) with ``[[rows, cross], [cross', columns + c tie tie']] [x, y] = [row_right, column_right]``.

    The whole must be positive definite; NaN where it is not. ``tie`` w, if given, adds c w w' to the column block,
    c on the scale of the curvature: for a system that is singular along a direction v with w.v > 0 to which the right
    side is orthogonal, the solution then is the one with w.y = 0. A part ``tied`` w w' of such a system is added to c.
    Several ties, one for each such direction, lie in a last axis.
    """
    n_rows, width, n_columns, depth = cross.shape
    n_right = row_right.shape[-1]
    flat = cross.reshape(n_rows * width, n_columns * depth)
    top, bottom = row_right.reshape(n_rows * width, n_right), column_right.reshape(n_columns * depth, n_right)
    ties = []  # each w and its c
    if tie is not None:
        diagonal = jnp.diagonal(columns, axis1=1, axis2=2).reshape(-1)
        for w in tie.reshape(bottom.shape[0], -1).T:
            total = jnp.sum(jnp.abs(w))
            strength = jnp.sum(jnp.where(w != 0, diagonal, 0)) / jnp.where(total > 0, total, 1) ** 2
            ties.append((w, strength + tied))
    if n_columns * depth < n_rows * width:
        inverse = _inverse_blocks(rows)
        left = _blocks_times(inverse, flat)  # rows^-1 cross
        schur = _block_diagonal(columns) - matmul(flat.T, left)
        for w, strength in ties:
            schur = schur + strength * w[:, None] * w[None, :]
        y = solve_spd(schur, bottom - matmul(left.T, top))
        x = _blocks_times(inverse, top) - matmul(left, y)
    else:
        inverse = _inverse_blocks(columns)
        left = _blocks_times(inverse, flat.T)  # columns^-1 cross'
        schur = _block_diagonal(rows) - matmul(flat, left)
        inner = _blocks_times(inverse, bottom)
        done = []
        for w, strength in ties:
            # Sherman-Morrison, tie by tie: (columns + c w w')^-1 = columns^-1 - rho u u', u = columns^-1 w.
            u = _blocks_times(inverse, w[:, None])
            for v, _, before in done:
                u = u - before * v * jnp.sum(w * v[:, 0])
            rho = strength / (1 + strength * jnp.sum(w * u[:, 0]))
            z = matmul(flat, u)
            schur = schur + rho * z * z.T
            inner = inner - rho * u * matmul(u.T, bottom)
            done.append((u, z, rho))
        x = solve_spd(schur, top - matmul(flat, inner))
        y = inner - matmul(left, x)
        for u, z, rho in done:
            y = y + rho * u * matmul(z.T, x)
    return x.reshape(n_rows, width, n_right), y.reshape(n_columns, depth, n_right)


def positive_definite_blocks(blocks: Float[Array, "n d d"], scale: Float[Array, "n d"]) -> Bool[Array, " n"]:
    """Whether each block, brought to the unit of ``scale``, has leading minors (beyond 3 rows: pivots) clearly above
    0."""
    unit = 1 / jnp.sqrt(jnp.where(scale > 0, scale, 1))
    b = blocks * unit[:, :, None] * unit[:, None, :]
    good = b[:, 0, 0] > 1e-2
    if b.shape[-1] > 3:
        for _ in range(1, b.shape[-1]):
            pivot = b[:, :1, :1]
            b = b[:, 1:, 1:] - b[:, 1:, :1] * b[:, :1, 1:] / jnp.where(pivot > 0, pivot, 1)
            good = good & (b[:, 0, 0] > 1e-2)
        return good
    if b.shape[-1] == 1:
        return good
    second = b[:, 0, 0] * b[:, 1, 1] - b[:, 0, 1] ** 2
    good = good & (second > 1e-3)
    if b.shape[-1] == 3:
        third = b[:, 2, 2] * second - (
            b[:, 0, 0] * b[:, 1, 2] ** 2 - 2 * b[:, 0, 1] * b[:, 0, 2] * b[:, 1, 2] + b[:, 1, 1] * b[:, 0, 2] ** 2
        )
        good = good & (third > 1e-4)
    return good


def _inverse_blocks(blocks: Float[Array, "n d d"]) -> Float[Array, "n d d"]:
    if blocks.shape[-1] == 1:
        return 1 / jnp.where(blocks > 0, blocks, jnp.nan)
    return jax.vmap(inverse_spd)(blocks)


def _blocks_times(blocks: Float[Array, "n d d"], right: Float[Array, "nd k"]) -> Float[Array, "nd k"]:
    n, d, _ = blocks.shape
    if d == 1:
        return blocks[:, 0, :] * right
    product = einsum("nij,njk->nik", blocks, right.reshape(n, d, -1))
    return product.reshape(n * d, -1)


def _block_diagonal(blocks: Float[Array, "n d d"]) -> Float[Array, "nd nd"]:
    n, d, _ = blocks.shape
    same = jnp.eye(n, dtype=bool)
    return jnp.where(same[:, None, :, None], blocks[:, :, None, :], 0).reshape(n * d, n * d)
