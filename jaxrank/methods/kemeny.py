"""The Kemeny-Young rule, exactly: on the host for any number of models, on device for few."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.ballots import Ballots
from jaxrank.errors import UnsupportedDataError
from jaxrank.models.fit import Fit, rounding_resolution
from jaxrank.models.options import choice, number
from jaxrank.models.preferences import TIE_POLICIES, Preferences, ballots, preferences, votes_fit
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.graph import levels
from jaxrank.numerics.solve.linear_order import MAX_ITEMS, best_orders
from jaxrank.numerics.solve.linear_order_host import all_best_orders, chain_levels
from jaxrank.numerics.status import Status


class KemenyYoung(Ranker):
    """Kemeny-Young: what all orders that agree with the most pairwise votes have in common.

    **Model** max over linear orders of sum over pairs of V_ij with i above j; i is above j here iff it is in every
    optimal order [kemeny1959; young1977].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places.
    **Scores** minus the level of the model in that relation (longest chain from the top); 0 at the top.
    **Fields** ``tie_policy``: "half" (default) counts half of the tied questions for both directions, "ignore" does
    not; only ``agreement`` differs. ``time_limit``: seconds for one fit, 60 by default, None for no limit
    (as published, and as the identifiers kemeny_young_tie_half and kemeny_young_tie_ignore have it).
    **Status** host limit where the optimum, or what its orders share, was not proven in time or a component of more
    than 700 models cannot be written down: scores are NaN, ``gap`` says what is open. Schulze and ranked pairs are
    the orders to fall back to. Undefined where a model has no observed question
    or stands on no list.
    **Params** ``agreement``: votes that the best order found agrees with; ``bound``: no order agrees with more;
    ``gap``: their difference, 0 when proven; ``programs``: linear and integer programs solved.
    **Departs** in nothing; fractional multiplicities (Bayesian bootstrap of questions) are rounded to 2^-16 of their
    total. Runs on the host, by Condorcet components: dynamic programming over subsets up to 16 models,
    integer programming beyond.
    """

    statistic: ClassVar[type] = Ballots
    host: ClassVar[bool] = True
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    tie_policy: str = choice("half", TIE_POLICIES)
    time_limit: Any = number(60.0, 0, optional=True)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        pref = _preferences(stat)
        votes = np.asarray(pref.votes(self.tie_policy), np.float64)
        unit = float(pref.unit)
        margins = np.asarray(pref.margins, np.float64) / unit
        found = all_best_orders(margins, None if self.time_limit is None else float(self.time_limit))
        most = float(np.triu(np.maximum(votes, votes.T), 1).sum())
        scores = -chain_levels(found.above) if found.proven else np.full(len(votes), np.nan)
        dtype = pref.wins.dtype
        fit = votes_fit(
            jnp.asarray(scores, dtype),
            pref.seen,
            agreement=jnp.asarray(most - found.loss * unit, dtype),
            bound=jnp.asarray(most - found.least * unit, dtype),
            gap=jnp.asarray((found.loss - found.least) * unit, dtype),
            programs=jnp.asarray(found.programs, jnp.int32),
        )
        limit = jnp.asarray(Status.HOST_LIMIT, jnp.int32)
        return fit if found.proven else eqx.tree_at(lambda f: f.status, fit, limit)


class KemenyYoungSmall(Ranker):
    """Kemeny-Young for at most 16 models, on device: batched by dynamic programming over subsets of models.

    **Model** as `KemenyYoung`: max over linear orders of sum over pairs of V_ij with i above j; i is above j here iff
    it is in every optimal order [kemeny1959; young1977].
    **Reads** ballots: each question votes between two models by the mean values of their trials, each ordered list by
    their places.
    **Scores** minus the level of the model in that relation (longest chain from the top); 0 at the top.
    **Fields** ``tie_policy``: "half" (default) counts half of the tied questions for both directions, "ignore" does
    not; only ``agreement`` differs.
    **Status** undefined where a model has no observed question or stands on no list. More than 16 models are refused
    by an error.
    **Params** ``agreement``: votes that an optimal order agrees with.
    **Departs** in nothing; with fractional multiplicities, orders that differ by rounding only are equally good.
    """

    statistic: ClassVar[type] = Ballots
    gaps: ClassVar[str] = "a question compares only the models that have results on it"
    tie_policy: str = choice("half", TIE_POLICIES)

    def __call__(self, stat: Ballots, *, key: None = None) -> Fit:
        n = ballots(stat).grades.shape[0]
        if n > MAX_ITEMS:  # a shape, known before anything runs
            raise UnsupportedDataError(
                f"kemeny_young_small is limited to {MAX_ITEMS} models, these are {n}; use kemeny_young, or fewer models"
            )
        pref = preferences(stat)
        gain = jnp.maximum(pref.margins, 0)
        whole = pref.unit == 1
        best, possible = best_orders(gain, jnp.where(whole, 0, rounding_resolution(jnp.sum(gain, keepdims=True)[0])))
        above = possible & ~possible.T
        return votes_fit(
            (-levels(above)).astype(gain.dtype), pref.seen, agreement=best + _fewest(pref.votes(self.tie_policy))
        )


@eqx.filter_jit
def _preferences(stat: Ballots) -> Preferences:
    return preferences(stat)


def _fewest(votes: Array) -> Array:
    """Votes that every order agrees with: the smaller side of each pair."""
    return jnp.sum(jnp.triu(jnp.minimum(votes, votes.T), 1))


ENTRIES = (
    Entry("kemeny_young", KemenyYoung, source="kemeny1959"),
    *(
        Entry(
            f"kemeny_young_tie_{policy}",
            KemenyYoung,
            source="kemeny1959",
            options={"tie_policy": policy, "time_limit": None},
            published=True,
        )
        for policy in TIE_POLICIES
    ),
    Entry("kemeny_young_small", KemenyYoungSmall, source="kemeny1959"),
)
