"""Whether every rule is right after every completion of a random order of a question's completions, thousands of them.

A path is one such order. With its completions sorted by score, what a prefix holds is a mask, its ranks are the sums of
that mask, and the totals of all answers at all prefixes are one matrix product of weights with the answers' one-hot
rows; a rule is no more than its weights. Questions are taken together by how many answers they have, and those where
every completion agrees, or where nobody is right, are not replayed at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.evaluation.answers.rules import NONE, Linear, Ranked, Rule
from jaxrank.numerics.precision import HIGHEST
from jaxrank.resampling import draws

SAME = 1e-5
"""Totals in float32 that differ by no more, relative to the largest, tie."""
_SIZES = (4, 8, 16, 64, 256)
_LANES = 256  # paths of one call


class Group(NamedTuple):
    """Q questions with at most K answers.

    **cells**: (Q,), which of the L M questions of all models.  **codes**: int16 (Q, N), -1 for none.
    **good**: bool (Q, K).  **scores**: float32 (Q, N).  **places**: int16 (Q, N), 0 for the highest score, equal
    for equal scores.
    """

    cells: Any
    codes: Any
    good: Any
    scores: Any
    places: Any


def local_codes(codes: np.ndarray, good: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (L, M, N) counted within each model and question, and which of these answers are right, (L, M, K)."""
    n_models, n_questions, n = codes.shape
    flat = codes.reshape(-1, n)
    order = np.argsort(flat, axis=1, kind="stable")
    sorted_ = np.take_along_axis(flat, order, axis=1)
    fresh = np.ones_like(sorted_, bool)
    fresh[:, 1:] = sorted_[:, 1:] != sorted_[:, :-1]
    fresh &= sorted_ >= 0
    numbers = np.cumsum(fresh, axis=1) - 1
    local = np.full_like(flat, -1)
    np.put_along_axis(local, order, np.where(sorted_ >= 0, numbers, -1), axis=1)
    right = np.zeros((len(flat), max(int(local.max()) + 1, 1)), bool)
    question = np.tile(np.arange(n_questions), n_models)
    rows, places = np.nonzero(local >= 0)
    right[rows, local[rows, places]] = good[question[rows], flat[rows, places]]
    return local.reshape(codes.shape), right.reshape(n_models, n_questions, -1)


def groups_of(codes: np.ndarray, good: np.ndarray, scores: np.ndarray | None) -> tuple[list[Group], np.ndarray]:
    """The questions to replay, by the number of answers; and float (L M,) the credit of the others, NaN of these."""
    local, right = local_codes(codes, good)
    n = codes.shape[2]
    local, right = local.reshape(-1, n), right.reshape(-1, right.shape[2])
    values = np.zeros(local.shape) if scores is None else scores.reshape(-1, n)
    n_answers = local.max(axis=1) + 1
    sure = (n_answers == 1) & (local >= 0).all(axis=1)
    live = ~sure & right.any(axis=1)
    found: list[Group] = []
    lower = 0
    for size in (*_SIZES, *((n,) if n > _SIZES[-1] else ())):
        at = np.flatnonzero(live & (n_answers > lower) & (n_answers <= size))
        lower = size
        if len(at):
            found.append(_group(at, local[at], right[at], values[at], size))
    return found, np.where(live, np.nan, np.where(sure, right[:, 0], 0.0))


def _group(at: np.ndarray, codes: np.ndarray, right: np.ndarray, values: np.ndarray, size: int) -> Group:
    good = np.zeros((len(at), size), bool)
    good[:, : right.shape[1]] = right[:, :size]
    valid = codes >= 0
    low = np.where(valid, values, np.inf).min(axis=1, keepdims=True)
    values = np.where(valid, values, np.where(np.isfinite(low), low, 0))
    order = np.argsort(-values, axis=1, kind="stable")
    sorted_ = np.take_along_axis(values, order, axis=1)
    lower = np.diff(sorted_, axis=1, prepend=sorted_[:, :1]) < 0
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.cumsum(lower, axis=1), axis=1)
    return Group(at, codes.astype(np.int16), good, values.astype(np.float32), places.astype(np.int16))


class Plan(NamedTuple):
    """What the rules read. **weights**: float32 (Q, W, N), distinct weights of completions.  **tables**: float32 (T,
    N + 1, N + 1), weights of ranked rules by the number of completions with an answer, and rank."""

    weights: Any
    tables: Any


def plan_of(rules: Sequence[Rule], scores: np.ndarray) -> tuple[Plan, tuple[int, ...]]:
    """The plan, and of each rule which of the weights or tables is its own; -1 for none."""
    n = scores.shape[1]
    weights: list[np.ndarray] = []
    tables: list[np.ndarray] = []
    own = []
    for rule in rules:
        if isinstance(rule, Ranked):
            size, rank = np.mgrid[: n + 1, : n + 1]
            tables.append(np.where(rank < size, rule.weight(rank.astype(float), size.astype(float), np), 0))
            own.append(len(tables) - 1)
            continue
        assert isinstance(rule, Linear)
        made = rule.weights(scores.astype(float)).astype(np.float32)
        same = [k for k, known in enumerate(weights) if np.array_equal(known, made)]
        if not made.any():
            own.append(-1)
        elif same:
            own.append(same[0])
        else:
            weights.append(made)
            own.append(len(weights) - 1)
    stacked = np.stack(weights, axis=1) if weights else np.zeros((len(scores), 0, n))
    both = stacked, np.stack(tables) if tables else np.zeros((0, n + 1, n + 1))
    return Plan(*(jnp.asarray(x, jnp.float32) for x in both)), tuple(own)


def credits_of(
    rules: Sequence[Rule],
    ties: str,
    group: Group,
    key: Array,
    n_paths: int,
    replace: bool,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """The credit of each rule after every completion: uint8 (Q, paths, rules, N), or with ``ties="share"`` float16."""
    n_questions, n = group.codes.shape
    plan, own = plan_of(rules, group.scores)
    out = np.empty((n_questions * n_paths, len(rules), n), np.float16 if ties == "share" else np.uint8)
    run = partial(_lanes, tuple(rules), own, ties, replace)
    device = jax.tree.map(jnp.asarray, group)

    def one(start: int) -> None:
        stop = min(start + _LANES, len(out))
        lanes = jnp.minimum(jnp.arange(start, start + _LANES), len(out) - 1)
        out[start:stop] = np.asarray(run(n_paths, device, plan, key, lanes))[: stop - start]
        if progress is not None:
            progress(stop - start)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, range(0, len(out), _LANES)))
    return out.reshape(n_questions, n_paths, len(rules), n)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _lanes(
    rules: tuple[Rule, ...],
    own: tuple[int, ...],
    ties: str,
    replace: bool,
    n_paths: Any,
    group: Group,
    plan: Plan,
    key: Array,
    lanes: Array,
) -> Array:
    one = lambda lane: _path(rules, own, ties, replace, group, plan, key, lane // n_paths, lane % n_paths)
    return jax.vmap(one)(lanes).astype(jnp.float16 if ties == "share" else jnp.uint8)


def _path(
    rules: tuple[Rule, ...],
    own: tuple[int, ...],
    ties: str,
    replace: bool,
    group: Group,
    plan: Plan,
    key: Array,
    q: Array,
    path: Array,
) -> Array:
    """The credit of each rule after every completion of one path of question ``q``, (rules, N)."""
    n = group.codes.shape[1]
    mine = draws.replicate_key(draws.replicate_key(key, group.cells[q]), path)
    drawn = draws.integers(mine, (n,), n) if replace else draws.without_replacement(mine, n, n)
    time = jnp.argsort(group.places[q][drawn].astype(jnp.int32) * n + jnp.arange(n))  # best score first
    drawn = drawn[time]
    code, good, scores = group.codes[q][drawn], group.good[q][:, None], group.scores[q][drawn]
    n_answers = good.shape[0]
    hot = (code[None] == jnp.arange(n_answers, dtype=code.dtype)[:, None]).astype(jnp.float32)  # (K, sorted)
    held = ((time[:, None] < jnp.arange(1, n + 1)[None]) & (code >= 0)[:, None]).astype(jnp.float32)  # (sorted, n)
    rows = jnp.concatenate([hot[None], hot[None] * plan.weights[q][:, None, drawn]]).reshape(-1, n)
    sums = jnp.matmul(rows, held, precision=HIGHEST).reshape(-1, n_answers, n)
    votes = sums[0]
    first = jnp.broadcast_to(jnp.min(jnp.where(hot > 0, time[None], n), axis=1, keepdims=True), votes.shape)
    rank = place = jnp.zeros_like(held)  # of whom no rule asks
    if plan.tables.shape[0] or any(rule.by_best() for rule in rules if isinstance(rule, Linear)):
        rank = jnp.matmul(jnp.tri(n, k=-1, dtype=jnp.float32), held, precision=HIGHEST)
        place = (jnp.sum(votes, axis=0)[None] * (n + 1) + rank).astype(jnp.int32)
    out = []
    for rule, line in zip(rules, own, strict=True):
        at = first
        if isinstance(rule, Ranked):
            weight = plan.tables[line].reshape(-1)[place] * held
            value = hot * scores[None] if rule.scored() else hot
            totals, present = jnp.matmul(value, weight, precision=HIGHEST), votes > 0
            if rule.drops():
                kept = weight > 0
                present = jnp.matmul(hot, kept.astype(jnp.float32), precision=HIGHEST) > 0
                # Sums of scores tie by chance only; votes do, and then the first among the kept wins.
                at = first if rule.scored() else _first_kept(hot, jnp.where(kept, time[:, None], n), n)
        elif isinstance(rule, Linear) and rule.by_best():
            totals = jnp.matmul(hot, jnp.where(rank == 0, held, 0), precision=HIGHEST)
            present = totals > 0
        else:
            assert isinstance(rule, Linear)
            weighed = sums[line + 1] if line >= 0 else jnp.zeros_like(votes)
            totals, present = rule.totals(votes, weighed, _best(rule, hot, held, scores), jnp), votes > 0
        out.append(_credit(jnp.where(present, totals, NONE), at, good, ties, n))
    return jnp.stack(out)


def _first_kept(hot: Array, times: Array, late: int) -> Array:
    return jnp.stack([jnp.min(jnp.where(row[:, None] > 0, times, late), axis=0) for row in hot])


def _best(rule: Any, hot: Array, held: Array, scores: Array) -> Array | None:
    """The best score of each answer, (K, n), where the rule reads it."""
    if not rule.reads_best():
        return None
    seen = jnp.where(held > 0, scores[:, None], NONE)
    return jnp.stack([jnp.max(jnp.where(row[:, None] > 0, seen, NONE), axis=0) for row in hot])


def _credit(totals: Array, first: Array, good: Array, ties: str, late: int) -> Array:
    top = jnp.max(totals, axis=0, keepdims=True)
    tied = (totals >= top - SAME * jnp.abs(top)) & (top > NONE / 2)
    if ties == "earliest":
        own = jnp.min(jnp.where(tied & good, first, late), axis=0)
        other = jnp.min(jnp.where(tied & ~good, first, late), axis=0)
        return (own < other).astype(jnp.float32)
    right, several = jnp.sum(tied & good, axis=0), jnp.sum(tied, axis=0)
    return right / jnp.maximum(several, 1) if ties == "share" else jnp.where(several == 1, right, 0)


def recombined(
    pools: Sequence[tuple[np.ndarray, np.ndarray]], constant: np.ndarray, key: Array, n_replicates: int
) -> np.ndarray:
    """Replicates of the number of right questions of one model, float32 (B, rules, N): one path of each question.

    **pools**: of each group, the credits (Q, paths, rules, N) of the model's questions, and their numbers (Q,).
    **constant**: what the other questions add, (rules, N).
    """
    out = np.zeros((n_replicates, *constant.shape), np.float32) + constant.astype(np.float32)
    for place, (credits, _) in enumerate(pools):
        flat = jnp.asarray(credits.reshape(*credits.shape[:2], -1))
        own = jax.random.fold_in(key, place)
        for start in range(0, n_replicates, 512):
            stop = min(start + 512, n_replicates)
            out[start:stop] += np.asarray(_sums(flat, own, start)).reshape(512, *constant.shape)[: stop - start]
    return out


@jax.jit
def _sums(flat: Array, key: Array, start: Any) -> Array:
    n_questions, n_paths, size = flat.shape

    def add(total: Array, q: Array) -> tuple[Array, None]:
        pick = draws.integers(jax.random.fold_in(draws.replicate_key(key, start), q), (512,), n_paths)
        return total + flat[q][pick].astype(total.dtype), None

    kind = jnp.float32 if flat.dtype == jnp.float16 else jnp.int16
    return jax.lax.scan(add, jnp.zeros((512, size), kind), jnp.arange(n_questions))[0].astype(jnp.float32)
