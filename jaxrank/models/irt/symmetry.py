"""Models that a table does not tell apart, and optima that do all the same: likelihoods that are not concave can have
an optimum and its mirror image."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from jaxrank.models.irt.table import ItemTable
from jaxrank.numerics.status import Status

_SLACK = 8.0  # resolutions that models which the data do not tell apart may differ by at one optimum


def exchangeable(table: ItemTable) -> Bool[Array, "models models"]:
    """Models that some exchange of models and questions which leaves the table as it is takes to each other.

    By refinement of colours: a model is coloured by the multiset of its cells with the colours of their questions, and
    the other way round, until nothing splits any more. What such an exchange takes to each other keeps one colour; what
    has one colour is taken to each other in all tables but those that are regular in a sense that drawn outcomes are
    not (Babai, Erdos and Selkow 1980). Colours are sums of 32-bit hashes, and models of one colour have one total.
    """
    cell = _mix(_bits(table.successes) ^ _mix(_bits(table.trials)))
    n_models = cell.shape[0]

    def refine(state: tuple) -> tuple:
        models, questions, n_colours, _ = state
        own = _mix(cell ^ questions[None, :]), _mix(cell ^ _mix(models)[:, None])
        models = _mix(models + jnp.sum(own[0], axis=1, dtype=jnp.uint32))
        questions = _mix(questions + jnp.sum(own[1], axis=0, dtype=jnp.uint32))
        n = _distinct(models) + _distinct(questions)
        return models, questions, n, (n > n_colours) & (_distinct(models) < n_models)

    start = jnp.zeros(n_models, jnp.uint32), _mix(_bits(table.weight)), jnp.zeros((), jnp.int32), jnp.array(True)
    models, *_ = jax.lax.while_loop(lambda s: s[3], refine, start)
    right, total = jnp.sum(table.successes, axis=1), jnp.sum(table.trials, axis=1)
    same = lambda v: v[:, None] == v[None, :]
    return same(models) & same(right) & same(total)


def of_all_images(
    table: ItemTable, scores: Float[Array, " models"], status: Int[Array, ""], resolution: Float[Array, ""]
) -> tuple[Float[Array, " models"], Int[Array, ""]]:
    """Scores and status of an optimum: where it tells models apart that the table does not, its images are optima too,
    the status is ``NOT_UNIQUE``, and the scores are their mean over these images, so that such models tie."""
    same = exchangeable(table)
    apart = same & (jnp.abs(scores[:, None] - scores[None, :]) > _SLACK * resolution)
    several = (status == Status.CONVERGED) & jnp.any(apart)
    shared = jnp.sum(jnp.where(same, scores[None, :], 0), axis=1) / jnp.sum(same, axis=1)
    # Sums of the same scores in other orders: every model takes the value of the first of its colour.
    shared = shared[jnp.argmax(same, axis=1)]
    return jnp.where(several, shared, scores), jnp.where(several, Status.NOT_UNIQUE, status).astype(jnp.int32)


def _bits(x: Float[Array, "..."]) -> UInt32[Array, "..."]:
    words = jax.lax.bitcast_convert_type(x, jnp.uint32)
    return words if words.ndim == x.ndim else words[..., 0] ^ _mix(words[..., 1])


def _mix(h: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """A permutation of 32-bit words that scatters them (the finaliser of MurmurHash3)."""
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    return (h ^ (h >> 16)) + jnp.uint32(0x9E3779B9)


def _distinct(colours: UInt32[Array, " n"]) -> Int[Array, ""]:
    ordered = jnp.sort(colours)
    return 1 + jnp.sum(ordered[1:] != ordered[:-1], dtype=jnp.int32)
