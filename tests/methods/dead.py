"""Rankers that are wrong on purpose: the conformance suite must fail each of them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.status import Status


class Undefined(Ranker):
    """NaN for every model, and says so."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        nothing = jnp.full(stat.categories.shape[0], jnp.nan)
        return exact_fit(nothing, Status.UNDEFINED)


class Pretender(Ranker):
    """NaN for every model, called converged."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        return exact_fit(jnp.full(stat.categories.shape[0], jnp.nan))


class Constant(Ranker):
    """The same score for every model."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        return exact_fit(jnp.zeros(stat.categories.shape[0]))


class AnySuccess(Ranker):
    """Counts the cells with a success in place of the successes."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        return exact_fit(jnp.sum(stat.questions[None] * (stat.categories[..., 1] > 0), axis=-1))


class Reversed(Ranker):
    """The worst model first."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        return exact_fit(-jnp.sum(stat.categories[..., -1] * stat.questions[None], axis=-1))


class Alphabet(Ranker):
    """The order in which the models were given."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        return exact_fit(-jnp.arange(stat.categories.shape[0]) * jnp.ones_like(stat.questions[0]))


class Unweighted(Ranker):
    """Forgets how often a question was drawn."""

    statistic = Counts

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        return exact_fit(jnp.sum(stat.heights, axis=-1))


RANKERS = (Undefined, Pretender, Constant, AnySuccess, Reversed, Alphabet, Unweighted)
ENTRIES = tuple(Entry(f"dead_{ranker.__name__.lower()}", ranker, source="none") for ranker in RANKERS)

# At least these checks; the summary prints all that do.
CAUGHT_BY = {
    "dead_undefined": ("labels", "trial_order", "graded", "leader", "twins", "monotone", "edges"),
    "dead_pretender": ("graded", "leader", "edges"),
    "dead_constant": ("graded", "leader", "monotone", "levels"),
    "dead_anysuccess": ("leader",),
    "dead_reversed": ("leader", "monotone"),
    "dead_alphabet": ("labels", "leader", "twins", "all_tied"),
    "dead_unweighted": ("replicate",),
}
