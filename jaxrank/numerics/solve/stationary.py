"""Stationary distributions of Markov chains by elimination without subtraction, and Perron vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxrank.numerics.graph import reachability
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.ranks import tie_heads

_BLOCK = 64
_ROUNDING = 16.0
"""Roundings, in ulp, of a mass from an elimination: 4.3 at most in chains of 3 to 300 states (float32 against
float64), whatever the size of the counts behind the rates, and of rates that are quotients as many again."""


def stationary_distribution(rates: Float[Array, "states states"]) -> tuple[Float[Array, " states"], Int[Array, ""]]:
    """The stationary distribution of a chain and the number of its closed classes.

    **rates**: ``rates[i, j]`` >= 0 from i to j, in any unit of time; the diagonal is not read.

    The elimination of Grassmann, Taksar and Heyman: sums, products and quotients of non-negative numbers only, so that
    every probability is good to a few ulp of itself, however small it is. States outside the closed classes get
    exactly 0. With several closed classes the distribution is not unique; returned is the one that a walk with a
    vanishing rate of uniform restarts has. Source: Grassmann, Taksar and Heyman (1985), "Regenerative analysis and
    steady state distributions for Markov chains".
    """
    n = rates.shape[0]
    off = jnp.where(jnp.eye(n, dtype=bool), 0, rates)
    reach = reachability(off > 0)
    recurrent = jnp.all(~reach | reach.T, axis=1)
    first_of_class = recurrent & (jnp.argmax(reach & reach.T, axis=1) == jnp.arange(n))
    # A rate far below the rounding of any other keeps the elimination defined in reducible chains.
    restart = jnp.finfo(rates.dtype).tiny ** 0.75
    largest = jnp.max(off)
    off = off / jnp.where(largest > 0, largest, 1) + restart
    shares = _eliminate(off) if n <= _BLOCK else _eliminate_blocks(off)
    mass = jnp.where(recurrent, _substitute(shares), 0)
    return mass / jnp.sum(mass), jnp.sum(first_of_class, dtype=jnp.int32)


def log_stationary_distribution(log_rates: Float[Array, "states states"]) -> Float[Array, " states"]:
    """Logarithms of the stationary distribution of an irreducible chain, from logarithms of its rates (-inf: none).

    As `stationary_distribution`, for masses beyond the range of floating-point numbers.
    """
    n = log_rates.shape[0]
    index = jnp.arange(n)

    def eliminate(table: Array, k: Array) -> tuple[Array, Array]:
        row = jnp.where(index < k, table[k], -jnp.inf)
        column = jnp.where(index < k, table[:, k], -jnp.inf) - jax.nn.logsumexp(row)
        return jnp.logaddexp(table, column[:, None] + row[None, :]), column

    _, shares = jax.lax.scan(eliminate, log_rates, index[:0:-1])

    def substitute(mass: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        k, share = step
        return jnp.where(index == k, jax.nn.logsumexp(mass + share), mass), None

    start = jnp.where(index == 0, 0.0, -jnp.inf).astype(log_rates.dtype)
    mass, _ = jax.lax.scan(substitute, start, (index[1:], shares[::-1]))
    return mass - jax.nn.logsumexp(mass)


def join_ties(mass: Float[Array, " states"]) -> Float[Array, " states"]:
    """``mass`` with values that differ by the rounding of an elimination, relative to themselves, made equal."""
    tolerance = _ROUNDING * jnp.finfo(mass.dtype).eps
    head = tie_heads(jnp.log(mass), tolerance)
    return jnp.max(jnp.where(head[:, None] == head[None, :], mass[None, :], 0), axis=1)


def mass_resolution(mass: Float[Array, " states"]) -> Float[Array, ""]:
    """Resolution of masses whose ties were joined: rounding of the largest, but never so much as to tie two others.

    Small masses are good to a few ulp of themselves, so they may differ by far less than the rounding of the largest.
    """
    apart = jnp.abs(mass[:, None] - mass[None, :])
    smallest = jnp.min(jnp.where(apart > 0, apart, jnp.inf))
    return jnp.minimum(_ROUNDING * jnp.finfo(mass.dtype).eps * jnp.max(mass), smallest / 2)


def perron_vector(
    matrix: Float[Array, "n n"], start: Float[Array, " n"], alive: Bool[Array, ""], max_steps: int = 60
) -> tuple[Float[Array, " n"], Bool[Array, ""], Int[Array, ""]]:
    """The principal eigenvector of a non-negative matrix, of sum 1; whether it was reached; the steps it took.

    **start**: returned as it is where ``alive`` is False or where it already solves the problem.

    Noda's inverse iteration: each step solves (lambda - A) y = x with the largest quotient lambda of A x to x, which
    falls to the eigenvalue quadratically. Source: Noda (1971), "Note on the computation of the maximal eigenvalue of a
    non-negative irreducible matrix".
    """
    n = matrix.shape[0]
    eps = jnp.finfo(matrix.dtype).eps

    def quotient(x: Array) -> tuple[Array, Array]:
        image = matmul(matrix, x)
        seen = x > eps * jnp.max(x)
        largest = jnp.max(jnp.where(seen, image / jnp.where(seen, x, 1), 0))
        return largest, jnp.max(jnp.abs(image - largest * x)) > 32 * eps * largest * jnp.max(x)

    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, value, _, steps = state
        shifted = value * (1 + 2 * eps) * jnp.eye(n, dtype=matrix.dtype) - matrix
        y = jnp.abs(jnp.linalg.solve(shifted, x))
        x = y / jnp.sum(y)
        return x, *quotient(x), steps + 1

    def going(state: tuple[Array, Array, Array, Array]) -> Array:
        return alive & state[2] & (state[3] < max_steps)

    uniform = jnp.full(n, 1 / n, matrix.dtype)
    value, unsolved = quotient(start)
    x = jnp.where(alive & unsolved, uniform, start)
    value = jnp.where(alive & unsolved, quotient(uniform)[0], value)
    x, _, unsolved, steps = jax.lax.while_loop(going, step, (x, value, unsolved, jnp.asarray(0, jnp.int32)))
    return x, ~unsolved, steps


def _eliminate(table: Float[Array, "n n"]) -> Float[Array, "steps n"]:
    """Censor the chain to fewer states, from the last one. Row s: what state n - 1 - s gets from a unit of each."""
    index = jnp.arange(table.shape[0])

    def step(table: Array, k: Array) -> tuple[Array, Array]:
        row = jnp.where(index < k, table[k], 0)
        column = jnp.where(index < k, table[:, k], 0) / jnp.sum(row)
        return table + column[:, None] * row[None, :], column

    return jax.lax.scan(step, table, index[:0:-1])[1]


def _eliminate_blocks(table: Float[Array, "n n"]) -> Float[Array, "steps n"]:
    """`_eliminate` of a large chain: panels of 64 states, and one matrix product for all that lies before them."""
    n = table.shape[0]
    n_blocks = -(-n // _BLOCK)
    size = n_blocks * _BLOCK
    # Padding states come first and are never reached: they keep the blocks whole.
    table = jnp.pad(table, (size - n, 0))
    index = jnp.arange(size)

    def panel(table: Array, start: Array) -> tuple[Array, Array]:
        rows = jax.lax.dynamic_slice_in_dim(table, start, _BLOCK, axis=0)
        columns = jax.lax.dynamic_slice_in_dim(table, start, _BLOCK, axis=1)

        def step(state: tuple[Array, Array], local: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
            rows, columns = state
            before = index < start + local
            row = jnp.where(before, rows[local], 0)
            out = jnp.sum(row)
            column = jnp.where(before, columns[:, local], 0) / jnp.where(out > 0, out, 1)
            inner_column = jax.lax.dynamic_slice_in_dim(column, start, _BLOCK)
            inner_row = jax.lax.dynamic_slice_in_dim(row, start, _BLOCK)
            rows = rows + inner_column[:, None] * row[None, :]
            return (rows, columns + column[:, None] * inner_row[None, :]), (column, row)

        _, (shares, flows) = jax.lax.scan(step, (rows, columns), jnp.arange(_BLOCK - 1, -1, -1))
        return table + matmul(shares.T, flows), shares

    _, shares = jax.lax.scan(panel, table, jnp.arange(n_blocks - 1, -1, -1) * _BLOCK)
    return shares.reshape(size, size)[: n - 1, size - n :]


def _substitute(shares: Float[Array, "steps n"]) -> Float[Array, " n"]:
    """The masses from the first state up, rescaled on the way so that none overflows."""
    n = shares.shape[1]
    index = jnp.arange(n)

    def step(mass: Array, item: tuple[Array, Array]) -> tuple[Array, None]:
        k, share = item
        new = jnp.sum(mass * share)
        return jnp.where(index == k, new, mass) / jnp.maximum(new, 1), None

    start = (index == 0).astype(shares.dtype)
    return jax.lax.scan(step, start, (index[1:], shares[::-1]))[0]
