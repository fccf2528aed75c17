"""One cell of an item response model: k successes of n under p = c + (1 - c) sigmoid(eta), with first and second
derivatives in eta and in the guessing parameter."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Cell(NamedTuple):
    """The log-likelihood of cells and its derivatives; those in g (guessing) are None where nothing is guessed.

    **value**: k log p + (n - k) log(1 - p). **eta**, **g**: first derivatives. **ee**, **eg**, **gg**: minus the second
    ones, as observed. **fisher_ee**, **fisher_eg**, **fisher_gg**: their expectations, which are never negative as a
    matrix. **eta_size**, **g_size**: of the terms whose difference the first derivatives are.
    """

    value: Array
    eta: Array
    ee: Array
    fisher_ee: Array
    eta_size: Array
    g: Any = None
    eg: Any = None
    gg: Any = None
    fisher_eg: Any = None
    fisher_gg: Any = None
    g_size: Any = None


def probability(theta: Float[Array, "..."], slope: Any, difficulty: Any, guessing: Any = 0.0) -> Float[Array, "..."]:
    """The three-parameter logistic curve c + (1 - c) sigmoid(a (theta - b)) [birnbaum1968]."""
    return guessing + (1 - guessing) * jax.nn.sigmoid(slope * (theta - difficulty))


def plain_cell(eta: Array, k: Array, n: Array) -> Cell:
    """Cells without guessing; all arrays of one rank."""
    # One exponential gives the probability and the logarithm of the odds' sum; the logarithm of 1 + e, e <= 1, needs no
    # log1p, since it is added to numbers of order 1.
    e = jnp.exp(-jnp.abs(eta))
    share = 1 / (1 + e)
    p = jnp.where(eta >= 0, share, e * share)
    expected, information = n * p, n * (e * share) * share
    value = k * eta - n * (jnp.maximum(eta, 0) + jnp.log(1 + e))
    return Cell(value, k - expected, information, information, k + expected)


def guessing_cell(eta: Array, k: Array, n: Array, g: Array, upper: float) -> Cell:
    """Cells with guessing c = upper * sigmoid(g); all arrays of one rank."""
    e = jnp.exp(-jnp.abs(eta))  # as in plain_cell
    near = 1 / (1 + e)
    far = e * near
    s, not_s = jnp.where(eta >= 0, near, far), jnp.where(eta >= 0, far, near)
    share, not_share = jax.nn.sigmoid(g), jax.nn.sigmoid(-g)
    c = upper * share
    slope = c * not_share  # dc/dg
    bend = slope * (not_share - share)
    p = c + (1 - c) * s
    inverse = 1 / p
    wrong = n - k
    known = (1 - c) * s * inverse  # share of the successes that were not guessed
    per_p = not_s * inverse
    g_up, g_down = slope * per_p, slope / (1 - c)
    return Cell(
        value=k * jnp.log(p) + wrong * (jnp.log1p(-c) - jnp.maximum(eta, 0) - jnp.log(1 + e)),
        eta=k * known * not_s - wrong * s,
        ee=-k * known * not_s * ((1 - known) * not_s - s) + wrong * s * not_s,
        fisher_ee=n * known * s * not_s,
        eta_size=k * known * not_s + wrong * s,
        g=k * g_up - wrong * g_down,
        eg=k * per_p * s * slope * inverse,
        gg=k * (g_up**2 - bend * per_p) + wrong * (bend / (1 - c) + g_down**2),
        fisher_eg=n * s * slope * per_p,
        fisher_gg=n * g_up * g_down,
        g_size=k * g_up + wrong * g_down,
    )
