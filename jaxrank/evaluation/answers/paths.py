"""Whether every rule is right after every completion of a random order of a question's completions, thousands of them.

A path is one such order. Questions are taken together by how many answers they have, and those where every completion
agrees, or where nobody is right, are not replayed at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.evaluation.answers.follow import Question, follow
from jaxrank.evaluation.answers.rules import Linear, Ranked, Rule
from jaxrank.resampling import draws

_SIZES = (4, 8, 16, 32, 64, 256)
_LANES = 1600  # paths of one call, of one question or more


class Group(NamedTuple):
    """Q questions with at most K answers, their completions from the highest score to the lowest.

    **cells**: (Q,), which of the L M questions of all models.  **codes**: int16 (Q, N), -1 for none.
    **good**: bool (Q, K).  **scores**: float32 (Q, N).  **levels**: int16 (Q, N), 0 for the highest score, equal for
    equal scores.  **order**: int16 (Q, N), the numbers of the completions as they were recorded.  **mixed**: whether
    different answers of a question have equal scores, and a rule asks which comes first.
    """

    cells: Any
    codes: Any
    good: Any
    scores: Any
    levels: Any
    order: Any
    mixed: bool


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


def groups_of(
    codes: np.ndarray, good: np.ndarray, scores: np.ndarray | None, rules: Sequence[Rule]
) -> tuple[list[Group], np.ndarray]:
    """The questions to replay, by the number of answers; and float (L M,) the credit of the others, NaN of these."""
    local, right = local_codes(codes, good)
    n = codes.shape[2]
    local, right = local.reshape(-1, n), right.reshape(-1, right.shape[2])
    values = np.zeros(local.shape) if scores is None else scores.reshape(-1, n)
    n_answers = local.max(axis=1) + 1
    sure = (n_answers == 1) & (local >= 0).all(axis=1)
    live = ~sure & right.any(axis=1)
    ordered = any(isinstance(rule, Ranked) or (isinstance(rule, Linear) and rule.by_best()) for rule in rules)
    found: list[Group] = []
    lower = 0
    for size in (*_SIZES, *((n,) if n > _SIZES[-1] else ())):
        at = np.flatnonzero(live & (n_answers > lower) & (n_answers <= size))
        lower = size
        if len(at):
            found += _sorted(at, local[at], right[at], values[at], size, ordered)
    return found, np.where(live, np.nan, np.where(sure, right[:, 0], 0.0))


def _sorted(
    at: np.ndarray, codes: np.ndarray, right: np.ndarray, values: np.ndarray, size: int, ordered: bool
) -> list[Group]:
    good = np.zeros((len(at), size), bool)
    good[:, : right.shape[1]] = right[:, :size]
    valid = codes >= 0
    low = np.where(valid, values, np.inf).min(axis=1, keepdims=True)
    values = np.where(valid, values, np.where(np.isfinite(low), low, 0))
    order = np.argsort(-values, axis=1, kind="stable")
    values, codes = np.take_along_axis(values, order, axis=1), np.take_along_axis(codes, order, axis=1)
    levels = np.cumsum(np.diff(values, axis=1, prepend=values[:, :1]) < 0, axis=1)
    mixed = ordered & _differ(levels, codes)
    small = codes.astype(np.int16), levels.astype(np.int16), order.astype(np.int16)
    whole = at, small[0], good, values.astype(np.float32), *small[1:]
    rows = [(some, np.flatnonzero(mixed == some)) for some in (False, True)]
    return [Group._make((*(x[own] for x in whole), some)) for some, own in rows if len(own)]


def _differ(levels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """bool (Q,): whether answers that differ have one level."""
    inside = np.argsort(levels * (codes.max() + 2) + codes, axis=1, kind="stable")  # levels are in order already
    codes = np.take_along_axis(codes, inside, axis=1)
    return ((np.diff(levels, axis=1) == 0) & (np.diff(codes, axis=1) != 0) & (codes[:, :-1] >= 0)).any(axis=1)


class Plan(NamedTuple):
    """What the rules read. **weights**: float32 (Q, W, N), distinct weights of completions.  **tables**: float32 (T,
    N + 1, N + 2), weights of the first so many ranks by the number of completions with an answer, of ranked rules that
    have no formula for it."""

    weights: Any
    tables: Any


def plan_of(rules: Sequence[Rule], scores: np.ndarray) -> tuple[Plan, tuple[tuple[int, int], ...]]:
    """The plan, and of each rule which of the weights or tables is its own and of which weights it reads the mean; -1
    for none."""
    n = scores.shape[1]
    weights: list[np.ndarray] = []
    tables: list[np.ndarray] = []
    own = []

    def place(values: np.ndarray | None) -> int:
        if values is None or not values.any():
            return -1
        made = values.astype(np.float32)
        same = [k for k, known in enumerate(weights) if np.array_equal(known, made)]
        if not same:
            weights.append(made)
        return same[0] if same else len(weights) - 1

    for rule in rules:
        if isinstance(rule, Linear):
            values = scores.astype(float)
            own.append((place(rule.weights(values)), place(rule.pooled(values))))
            continue
        assert isinstance(rule, Ranked)
        if rule.upto(np.zeros(1), np.ones(1), n, np) is not None:
            own.append((-1, -1))
            continue
        size, rank = np.mgrid[: n + 1, : n + 1]
        each = np.where(rank < size, rule.weight(rank.astype(float), size.astype(float), np), 0)
        tables.append(np.cumsum(np.pad(each, ((0, 0), (1, 0))), axis=1))
        own.append((len(tables) - 1, -1))
    stacked = np.stack(weights, axis=1) if weights else np.zeros((len(scores), 0, n))
    both = stacked, np.stack(tables) if tables else np.zeros((0, n + 1, n + 2))
    return Plan(*(np.asarray(x, np.float32) for x in both)), tuple(own)


def credits_of(rules: Sequence[Rule], ties: str, group: Group, key: Array, n_paths: int, replace: bool) -> np.ndarray:
    """The credit of each rule after every completion: uint8 (Q, paths, rules, N), or with ``ties="share"`` float16."""
    n_questions, n = group.codes.shape
    plan, own = plan_of(rules, group.scores)
    out = np.empty((n_questions, n_paths, len(rules), n), np.float16 if ties == "share" else np.uint8)
    some = -(-n_paths // -(-n_paths // _LANES))
    several = max(_LANES // some, 1)
    run = partial(_follow, tuple(rule.formula() for rule in rules), own, ties, replace, group.mixed)

    def one(start: tuple[int, int]) -> None:
        rows = np.minimum(np.arange(start[0], start[0] + several), n_questions - 1)
        paths = start[1] + np.arange(some)
        part = [x[rows] for x in group[:-1]]
        stop = slice(start[0], start[0] + several), slice(start[1], start[1] + some)
        made = np.asarray(run(part, plan.weights[rows], plan.tables, key, paths))
        out[stop] = made[: n_questions - start[0], : n_paths - start[1]]

    starts = [(q, p) for q in range(0, n_questions, several) for p in range(0, n_paths, some)]
    one(starts[0])  # compiled once
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, starts[1:]))
    return out


@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _follow(
    rules: tuple[Rule, ...],
    own: tuple[tuple[int, int], ...],
    ties: str,
    replace: bool,
    mixed: bool,
    group: Sequence[Array],
    weights: Array,
    tables: Array,
    key: Array,
    paths: Array,
) -> Array:
    """The credit of each rule after every completion of these paths, (Q, paths, rules, N)."""

    def one(some: tuple[Array, ...], mine: Array) -> Array:
        return follow(rules, own, ties, _drawn(some, mixed, mine, tables, replace, key, paths))

    return jax.vmap(one)(tuple(group), weights).astype(jnp.float16 if ties == "share" else jnp.uint8)


def _drawn(
    question: tuple[Array, ...], mixed: bool, weights: Array, tables: Array, replace: bool, key: Array, paths: Array
) -> Question:
    """One question of a group, and its completions as the paths draw them."""
    cell, codes, good, scores, levels, order = question
    n = codes.shape[0]

    def draw(path: Array) -> Array:
        mine = draws.replicate_key(draws.replicate_key(key, cell), path)
        return draws.integers(mine, (n,), n) if replace else draws.without_replacement(mine, n, n)

    drawn = jnp.argsort(order)[jax.vmap(draw)(paths)].T  # (N, paths), by where they stand
    place, by_score = drawn, jnp.arange(n)[:, None]
    if mixed:  # of equal scores those stand first that were drawn first: every path has an order of its own
        by_score = jnp.argsort(levels[drawn].astype(jnp.int32) * n + jnp.arange(n)[:, None], axis=0)
        place = jnp.argsort(by_score, axis=0)
        by_score = jnp.take_along_axis(drawn, by_score, axis=0)
    return Question(
        codes[by_score],
        scores[by_score],
        codes[drawn],
        scores[drawn],
        jnp.moveaxis(weights[:, drawn], 1, 0),
        place,
        good,
        tables,
    )


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
