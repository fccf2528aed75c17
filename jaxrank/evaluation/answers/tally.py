"""Totals of the answers under a rule, and which of them wins: on the host, for one set of completions a question."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxrank.evaluation.answers.rules import NONE, Linear, Ranked, Rule

TIES = ("earliest", "share", "abstain")
SAME = 1e-12
"""Totals that differ by no more, relative to the largest, tie."""


def totals_of(
    rule: Rule,
    codes: Int[np.ndarray, "questions completions"],
    scores: Float[np.ndarray, "questions completions"] | None,
    n_classes: int,
) -> tuple[Float[np.ndarray, "classes questions"], Int[np.ndarray, "classes questions"]]:
    """Totals of every answer, `NONE` for those that cannot win, and where each stands first (among the completions
    that the rule keeps; of `best_of_n` its best completion), for ties.

    **codes**: the answer of each completion, -1 for none.  **scores**: NaN only where there is no answer.
    """
    valid = codes >= 0
    s = np.zeros(codes.shape) if scores is None else _filled(scores, valid)
    hot = (codes[None] == np.arange(n_classes)[:, None, None]) & valid[None]
    if isinstance(rule, Ranked):
        order = np.argsort(np.where(valid, -s, np.inf), axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(codes.shape[1])[None], axis=1)
        weight = np.where(valid, rule.weight(rank, valid.sum(axis=1, keepdims=True), np), 0.0)
        kept = hot & (weight > 0)[None]
        totals = np.where(kept, (weight * s if rule.scored() else weight)[None], 0).sum(axis=-1)
        return np.where(kept.any(axis=-1), totals, NONE), kept.argmax(axis=-1)
    assert isinstance(rule, Linear)
    votes = hot.sum(axis=-1).astype(float)
    sums = np.where(hot, rule.weights(s)[None], 0).sum(axis=-1)
    each = np.where(hot, s[None], NONE)
    best = each.max(axis=-1)
    pooled = rule.pooled(s)
    pool = None
    if pooled is not None:
        pool = (np.where(valid, pooled, 0).sum(axis=1) / np.maximum(valid.sum(axis=1), 1))[None]
    totals = np.where(votes > 0, rule.totals(votes, sums, best, pool, np), NONE)
    return totals, each.argmax(axis=-1) if rule.by_best() else hot.argmax(axis=-1)


def _filled(scores: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Scores with those of completions without an answer set to the lowest of the others."""
    low = np.where(valid, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(valid, scores, np.where(np.isfinite(low), low, 0))


def winners(
    totals: Float[np.ndarray, "classes questions"], same: float = SAME
) -> Bool[np.ndarray, "classes questions"]:
    """The answers with the largest total, several where they tie; none where no answer can win."""
    top = totals.max(axis=0)
    return (totals >= top - same * np.abs(top)) & (top > NONE / 2)


def chosen(
    totals: Float[np.ndarray, "classes questions"], first: Int[np.ndarray, "classes questions"], ties: str
) -> Int[np.ndarray, " questions"]:
    """The answer that wins, -1 for none; ``ties`` "earliest" or "abstain"."""
    tied = winners(totals)
    pick = np.where(tied, first, np.iinfo(np.int64).max).argmin(axis=0)
    alone = tied.any(axis=0) if ties == "earliest" else tied.sum(axis=0) == 1
    return np.where(alone, pick, -1)


def credit(
    totals: Float[np.ndarray, "classes questions"],
    first: Int[np.ndarray, "classes questions"],
    good: Bool[np.ndarray, "classes questions"],
    ties: str,
) -> Float[np.ndarray, " questions"]:
    """1 where the winner is right, else 0; with ``ties="share"`` the share of the tied answers that are right."""
    tied = winners(totals)
    if ties == "share":
        return (tied & good).sum(axis=0) / np.maximum(tied.sum(axis=0), 1)
    pick = chosen(totals, first, ties)
    return np.where(pick >= 0, np.take_along_axis(good, np.maximum(pick, 0)[None], axis=0)[0], False).astype(float)
