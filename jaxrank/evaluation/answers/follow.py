"""Whether every rule is right after each completion, followed along many random orders of one question's completions.

Votes and sums of weights grow by what a completion adds. Of its score one number is kept for each place of the order by
score: how many of the completions so far stand before it. What the copies that stand at a place weigh is then what the
first so many ranks weigh, less what the ranks before them do, and the totals of the answers are one product of these
weights with the answers' one-hot rows. Paths lie along the last axis of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.evaluation.answers.rules import NONE, Linear, Ranked, Rule
from jaxrank.numerics.precision import matmul

SAME = 1e-5
"""Totals in float32 that differ by no more, relative to the largest, tie."""


_LATE = 2**30 + 1  # odd: as the first time of an answer that is not right


class Question(NamedTuple):
    """P paths of N completions of a question with K answers.

    **codes**, **scores**: (N, 1), the completions from the highest score to the lowest, or (N, P) where every path has
    an order of its own.  **drawn_codes**, **drawn_scores**: (N, P) and **drawn_weights** (N, W, P), as they come.
    **place**: (N, P), where they stand by score.  **good**: (K,).  **tables**: (T, N + 1, N + 2), see `Plan`.
    """

    codes: Any
    scores: Any
    drawn_codes: Any
    drawn_scores: Any
    drawn_weights: Any
    place: Any
    good: Any
    tables: Any


class State(NamedTuple):
    """What the completions so far say.

    **votes**, **best**: (K, P), and **sums** (W, K, P).  **first**: int32 (K, P), twice the time at which an answer
    came first, and 1 more of a wrong one: the least among tied answers says whether the earliest is right.
    **before**: (N + 1, P), completions that stand before a place.  **top**: (P,), the best place of all, and **right**,
    whether that one is.  **since**: int32 (N, P), when a place was first taken.
    """

    votes: Any
    sums: Any
    best: Any
    first: Any
    before: Any
    top: Any
    right: Any
    since: Any


def follow(rules: Sequence[Rule], own: Sequence[tuple[int, int]], ties: str, question: Question) -> Array:
    """The credit of each rule after every completion, (P, rules, N). **own**: which of the weights or tables is a
    rule's, and which of the weights it reads the mean of; -1 for none."""
    n, n_paths = question.place.shape
    k, n_weights = len(question.good), question.drawn_weights.shape[1]
    none = jnp.zeros((k, n_paths), jnp.float32)
    start = State(
        votes=none,
        sums=jnp.zeros((n_weights, k, n_paths), jnp.float32),
        best=none + NONE,
        first=jnp.full((k, n_paths), _LATE, jnp.int32),
        before=jnp.zeros((n + 1, n_paths), jnp.float32),
        top=jnp.full(n_paths, n, jnp.int32),
        right=jnp.zeros(n_paths, bool),
        since=jnp.full((n, n_paths), n, jnp.int32),
    )

    def step(state: State, drawn: Any) -> tuple[State, Array]:
        state = _grown(state, question, *drawn)
        totals = _ranked(rules, own, state, question)
        return state, jnp.stack(
            [_credits(r, line, ties, state, question, totals) for r, line in zip(rules, own, strict=True)]
        )

    time, place = jnp.arange(n, dtype=jnp.int32), question.place.astype(jnp.int32)
    drawn = (time, question.drawn_codes, question.drawn_scores, question.drawn_weights, place)
    return jnp.transpose(jax.lax.scan(step, start, drawn)[1], (2, 1, 0))


def _grown(
    state: State, question: Question, time: Array, code: Array, score: Array, weight: Array, place: Array
) -> State:
    code, score, place = code[None], score[None], place[None]
    hot, valid = code == jnp.arange(len(question.good), dtype=code.dtype)[:, None], code >= 0
    new = hot & (state.votes == 0)
    better = valid[0] & (place[0] < state.top)
    places = jnp.arange(len(state.before))[:, None]
    taken = valid & (places[:-1] == place) & (state.since == len(state.since))
    return State(
        votes=state.votes + hot,
        sums=state.sums + jnp.where(hot[None], weight[:, None], 0),
        best=jnp.where(hot, jnp.maximum(state.best, score), state.best),
        first=jnp.where(new, 2 * time + ~question.good[:, None], state.first),
        before=state.before + (valid & (place < places)),
        top=jnp.where(better, place[0], state.top),
        right=jnp.where(better, question.good[jnp.maximum(code[0], 0)], state.right),
        since=jnp.where(taken, time, state.since),
    )


class Totals(NamedTuple):
    """Of a ranked rule: **value** (K, P); **present**, which answers have completions that take part, None for all;
    **kept** (N, P), which places do."""

    value: Any
    present: Any
    kept: Any


def _ranked(
    rules: Sequence[Rule], own: Sequence[tuple[int, int]], state: State, question: Question
) -> dict[Rule, Totals]:
    """Totals of all ranked rules, by one product."""
    rows: list[Array] = []
    found: dict[Rule, tuple[int, Any]] = {}
    n = state.before[-1:]
    for rule, (line, _) in zip(rules, own, strict=True):
        if not isinstance(rule, Ranked):
            continue
        first = rule.upto(state.before, n, len(state.since), jnp)
        if first is None:
            first = question.tables[line][n.astype(jnp.int32), state.before.astype(jnp.int32)]
        each = first[1:] - first[:-1]
        found[rule] = len(rows), each > 0 if rule.drops() else None
        rows.append(each * question.scores if rule.scored() else each)
        if rule.drops():
            rows.append((each > 0).astype(each.dtype))
    if not rows:
        return {}
    k = len(question.good)
    if question.codes.shape[1] == 1:
        hot = (jnp.arange(k)[:, None] == question.codes.T).astype(jnp.float32)
        made = matmul(hot, jnp.concatenate(rows, axis=1))
        sums = jnp.swapaxes(made.reshape(k, len(rows), -1), 0, 1)
    else:
        hot = question.codes[None] == jnp.arange(k)[:, None, None]
        sums = jnp.stack([jnp.sum(jnp.where(hot, row[None], 0), axis=1) for row in rows])
    return {r: Totals(sums[i], None if kept is None else sums[i + 1] > 0, kept) for r, (i, kept) in found.items()}


def _credits(
    rule: Rule, own: tuple[int, int], ties: str, state: State, question: Question, ranked: dict[Rule, Totals]
) -> Array:
    line, pooled = own
    good = question.good[:, None]
    present, first = state.votes > 0, state.first
    if isinstance(rule, Ranked):
        totals = ranked[rule].value
        if rule.drops():
            present = ranked[rule].present
            # Sums of scores that differ tie by chance only; votes do, and then the first among the kept wins.
            if ties == "earliest" and (not rule.scored() or question.codes.shape[1] > 1):
                first = _first_kept(ranked[rule].kept, state, question)
        return _credit(totals, present, first, good, ties)
    assert isinstance(rule, Linear)
    if rule.by_best() and ties == "earliest":
        return state.right.astype(jnp.float32)
    sums = state.sums[line] if line >= 0 else jnp.zeros_like(state.votes)
    pool = None
    if pooled >= 0:
        pool = jnp.sum(state.sums[pooled], axis=0, keepdims=True) / jnp.maximum(state.before[-1:], 1)
    return _credit(rule.totals(state.votes, sums, state.best, pool, jnp), present, first, good, ties)


def _first_kept(kept: Array, state: State, question: Question) -> Array:
    """As `State.first`, of the completions that a rule keeps."""
    times = jnp.where(kept, 2 * state.since, _LATE)
    answers = jnp.arange(len(question.good))[:, None, None]
    least = jnp.min(jnp.where(question.codes[None] == answers, times[None], _LATE), axis=1)
    return jnp.where(least < _LATE, least + ~question.good[:, None], _LATE)


def _credit(totals: Array, present: Array, first: Array, good: Array, ties: str) -> Array:
    """1 where the winner is right. Answers that nobody gave yet have an odd ``first``, as wrong ones do."""
    totals = jnp.where(present, totals, NONE)
    top = jnp.max(totals, axis=0, keepdims=True)
    tied = totals >= top - SAME * jnp.abs(top)
    if ties == "earliest":
        return (jnp.min(jnp.where(tied, first, _LATE), axis=0) % 2 == 0).astype(jnp.float32)
    tied &= top > NONE / 2
    right, several = jnp.sum(tied & good, axis=0), jnp.sum(tied, axis=0)
    return right / jnp.maximum(several, 1) if ties == "share" else jnp.where(several == 1, right, 0)
