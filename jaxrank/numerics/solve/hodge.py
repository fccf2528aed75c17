"""Least-squares potentials of an edge flow on a graph, and what is left of the flow: curl and harmonic parts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.linear import solve_grounded


def potentials(
    flow: Float[Array, "n n"], weight: Float[Array, "n n"], together: Bool[Array, "n n"]
) -> Float[Array, " n"]:
    """The minimum-norm s that minimises sum_{i<j} w_ij (s_i - s_j - flow_ij)^2.

    **flow**: antisymmetric. **weight**: symmetric, not negative. **together**: who is in one component of the graph of
    positive weights. The sum of s over each component is 0.
    """
    laplacian = jnp.diag(jnp.sum(weight, axis=1)) - weight
    return solve_grounded(laplacian, jnp.sum(weight * flow, axis=1)[:, None], together.shape[0], together)[:, 0]


def harmonic_part(flow: Float[Array, "n n"], weight: Float[Array, "n n"], max_steps: int = 400) -> Float[Array, "n n"]:
    """The part of a flow without gradient that no triangle explains: cycles around holes of the graph.

    **flow**: antisymmetric, orthogonal to all gradients in the weighted inner product. On a complete graph it is 0 and
    nothing is computed. Otherwise the projection on the span of the triangles' curls is found by conjugate gradients
    on the curl operator, without a matrix: the sum over triangles around an edge is a product of two (n, n) matrices.
    """
    n, dtype = flow.shape[0], flow.dtype
    edge = weight > 0
    e = edge.astype(dtype)
    root = jnp.sqrt(weight)
    triangles = e * matmul(e, e)
    complete = jnp.all(edge | jnp.eye(n, dtype=bool))

    def curls(x: Array) -> Array:
        y = jnp.where(edge, x / jnp.where(edge, root, 1), 0)
        around = triangles * y - e * (matmul(e, y) + matmul(y, e))
        return jnp.where(edge, around / jnp.where(edge, root, 1), 0)

    target = root * flow
    right = curls(target)
    power = jnp.sum(right**2)
    stop = (16 * n * jnp.finfo(dtype).eps) ** 2 * power

    def going(state: tuple[Array, ...]) -> Array:
        return (state[3] > stop) & (state[4] < max_steps)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, residual, direction, square, steps = state
        image = curls(direction)
        rate = square / jnp.sum(direction * image)
        residual = residual - rate * image
        new = jnp.sum(residual**2)
        return x + rate * direction, residual, residual + new / square * direction, new, steps + 1

    start = (jnp.zeros_like(flow), right, right, jnp.where(complete, 0, power), jnp.asarray(0, jnp.int32))
    explained = jax.lax.while_loop(going, step, start)[0]
    return jnp.where(edge & ~complete, (target - explained) / jnp.where(edge, root, 1), 0)
