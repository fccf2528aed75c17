"""Findings on ``Comparisons``: ties, pairs that never met, order."""

from __future__ import annotations

import numpy as np

from jaxrank.data.comparisons import TIE, Comparisons
from jaxrank.methods.catalogue import entries
from jaxrank.studies.diagnosis.finding import CAUTION, NOTE, Finding, few, of_statistic, pick, reads

FEW_MET = 0.5
"""Sparse: at most this share of the pairs has met."""


def findings_of_battles(data: Comparisons) -> list[Finding | None]:
    """All checks of battles; None where a check has nothing to say."""
    return [_battles(data), _sparse(data), _order_of_battles(data)]


def _battles(data: Comparisons) -> Finding:
    ties = data.count[data.outcome == TIE].sum()
    played = np.bincount(data.a, data.count, len(data.models)) + np.bincount(data.b, data.count, len(data.models))
    least = int(np.argmin(played))
    return Finding(
        "battles",
        NOTE,
        f"{data.count.sum():.10g} battles, {100 * ties / max(data.count.sum(), 1):.1f} % ties; fewest: "
        f"{data.models[least]!r} with {played[least]:g}",
        "Methods of a response tensor (bayes, pass_at_k, rasch, ...) cannot read battles. Ties count as half a win, as "
        "a tie of their own (bradley_terry_davidson, rao_kupper), or not at all, as each method says.",
        methods=tuple(name for name in entries() if not reads(name, "comparisons")),
    )


def _sparse(data: Comparisons) -> Finding | None:
    met = (data.wins + data.wins.T + data.ties) > 0
    n = len(data.models)
    pairs, possible = int(np.triu(met, 1).sum()), n * (n - 1) // 2
    alone = ~met.any(axis=1)
    if pairs > FEW_MET * possible and not alone.any():
        return None
    says = f"{pairs} of {possible} pairs of models have met"
    if alone.any():
        says += f"; {few(pick(data.models, alone))} never played"
    return Finding(
        "sparse battles",
        CAUTION,
        says,
        "Order between models that never met rests on chains of others, which Bradley-Terry models follow. Shares of "
        "battles won mislead where opponents differ in strength.",
        models=pick(data.models, alone),
    )


def _order_of_battles(data: Comparisons) -> Finding:
    return Finding(
        "trial order",
        NOTE,
        "battles are taken in the order given; whether it is that of play is not known",
        "Ratings that read battles in order (Elo, Glicko, TrueSkill) depend on it, other methods do not.",
        methods=of_statistic("sequence", kind="comparisons"),
    )
