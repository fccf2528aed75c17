"""Small data with and without a finite optimum, and linear programs that tell which: nothing of the library in them.

A likelihood falls in no direction of parameters without end exactly where every outcome that was seen keeps the largest
linear predictor of all outcomes that could have been. With the predictors linear in the parameters that is a cone, and
the program looks for a direction in it that moves any pair of outcomes apart.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linprog
from scipy.sparse import csr_array

# Rows a with a.d >= 0 for every direction d in which the likelihood does not fall, the directions that mean nothing
# (a common shift, parameters that the data do not hold), and the number of parameters.
Cone = tuple[list[np.ndarray], list[np.ndarray], int]


def have_optimum(cones: list[Cone]) -> list[bool]:
    """Whether each likelihood has a finite and unique maximum: its cone holds nothing but directions without meaning.

    One program for all, with a block for each: the greatest sum of slacks in a box is 0 where no row can be positive,
    and then the rows must span all that has a meaning.
    """
    tables = [np.array(rows).reshape(-1, n) for rows, _, n in cones]
    matrix = csr_array(
        block_diag(*(-t if len(t) else np.zeros((1, n)) for t, (_, _, n) in zip(tables, cones, strict=True)))
    )
    width = [n for *_, n in cones]
    gain = np.concatenate([t.sum(axis=0) for t in tables])
    found = linprog(-gain, matrix, np.zeros(matrix.shape[0]), bounds=(-1, 1), method="highs")
    slack = np.add.reduceat(gain * found.x, np.r_[0, np.cumsum(width)[:-1]])
    return [
        bool(s < 1e-7) and np.linalg.matrix_rank(t) == n - len(idle)
        for s, t, (_, idle, n) in zip(slack, tables, cones, strict=True)
    ]


def pairs_cone(wins: np.ndarray, ties: np.ndarray, free_tie: bool) -> Cone:
    """Bradley-Terry (``ties`` zero), Davidson and Rao-Kupper with an estimated tie parameter, whose directions are the
    same; with a fixed one a tie is a win of both."""
    n_models = len(wins)
    rows = []
    some = bool(np.any(ties > 0))
    for i, j in itertools.permutations(range(n_models), 2):
        gap = np.zeros(n_models + 1)
        gap[i], gap[j] = 1, -1
        level = np.zeros(n_models + 1)
        level[n_models] = 2
        if wins[i, j] > 0:
            rows.append(gap)
            if free_tie and some:
                rows.append(gap - level)
        if ties[i, j] > 0:
            rows.append(level - gap if free_tie else gap)
    n = n_models + 1
    idle = [] if free_tie and some else [np.eye(n)[-1]]
    return rows, [np.ones(n_models), *idle], n


def sets_cone(outcomes: np.ndarray, weights: np.ndarray, whole: bool, composite: bool) -> Cone:
    """Luce (``composite``: each chosen one over the rejected) and Davidson-Luce with every order that occurs."""
    n_models = outcomes.shape[1]
    use = [
        e
        for e, w in zip(outcomes, weights, strict=True)
        if w > 0 and np.any(e == 1) and (np.any(e == 0) or (whole and np.sum(e == 1) > 1))
    ]
    active = sorted({int(np.sum(e == 1)) for e in use})
    n = n_models + len(active)

    def feature(members: tuple[int, ...]) -> np.ndarray:
        out = np.zeros(n)
        out[list(members)] = 1 / len(members)
        out[n_models + active.index(len(members))] = 1
        return out

    rows = []
    for e in use:
        chosen, slate = np.flatnonzero(e == 1), np.flatnonzero(e >= 0)
        if composite:
            rows += [np.eye(n)[i] - np.eye(n)[j] for i in chosen for j in np.flatnonzero(e == 0)]
            continue
        top = len(slate) - (0 if whole else 1)
        own = feature(tuple(chosen))
        for t in active:
            if t <= top:
                rows += [own - feature(s) for s in itertools.combinations(slate, t)]
    idle = [np.eye(n)[n_models + k] for k in range(len(active))] if composite else [np.ones(1)] * bool(active)
    return rows, [np.ones(n_models), *idle], n


def table_cone(successes: np.ndarray, trials: np.ndarray) -> Cone:
    """The joint Rasch likelihood: abilities and difficulties."""
    n_models, n_questions = successes.shape
    n = n_models + n_questions
    rows = []
    for i, m in np.argwhere(trials > 0):
        row = np.zeros(n)
        row[i], row[n_models + m] = 1, -1
        rows += [row] * bool(successes[i, m] > 0) + [-row] * bool(successes[i, m] < trials[i, m])
    seen = np.any(trials > 0, axis=0)
    idle = [np.eye(n)[n_models + m] for m in np.flatnonzero(~seen)]
    return rows, [np.ones(n), *idle], n


def random_pairs(rng: np.random.Generator, n_models: int) -> tuple[np.ndarray, np.ndarray]:
    off = 1 - np.eye(n_models)
    density = rng.uniform(0.15, 0.9)
    wins = rng.integers(1, 4, (n_models, n_models)) * (rng.random((n_models, n_models)) < density) * off
    ties = np.triu(rng.integers(1, 3, (n_models, n_models)) * (rng.random((n_models, n_models)) < density / 2), 1)
    if rng.random() < 0.4:  # nearly sorted: the cases that look separated
        wins = np.triu(wins) + np.tril(wins) * (rng.random((n_models, n_models)) < 0.2)
    elif rng.random() < 0.4:  # wins from at least 1 away and ties within 1, linked but for a mistake or two
        gap = np.subtract.outer(*[rng.integers(0, 3, n_models)] * 2)
        mistake = rng.random((n_models, n_models)) < rng.choice([0, 0.1])
        wins, ties = wins * ((gap >= 1) | mistake), np.triu(1 + ties, 1) * (abs(gap) <= 1)
    return wins, ties + ties.T


def random_events(rng: np.random.Generator, n_events: int, n_models: int) -> np.ndarray:
    """Complete, or with missing cells; a noisy common order in most."""
    strength = rng.normal(size=n_models) * rng.choice([0.3, 1.5])
    right = rng.random((n_events, n_models)) < 1 / (1 + np.exp(rng.normal(size=(n_events, 1)) - strength))
    outcomes = right.astype(int)
    outcomes[rng.random(outcomes.shape) < rng.choice([0, 0.2, 0.4])] = -1
    outcomes[rng.integers(n_events // 2, n_events + 1) :] = -1
    return outcomes


def random_lists(rng: np.random.Generator, n_lists: int, n_models: int, ties: bool) -> list[np.ndarray]:
    """Places 1, 2, .. of each list, 0 where a model is not in it."""
    strength = rng.normal(size=n_models) * rng.choice([0.3, 1.5, 4])
    lists = []
    for _ in range(rng.integers(1, n_lists + 1)):
        value = strength + rng.gumbel(size=n_models)
        if ties and rng.random() < 0.6:
            value = np.round(value / 2)
        place = np.unique(-value, return_inverse=True)[1] + 1
        keep = rng.random(n_models) < rng.choice([1, 0.7])
        lists.append(np.where(keep, place, 0))
    return lists


def stages(lists: list[np.ndarray], n_stages: int) -> np.ndarray:
    """The choices that lists are made of, (n_stages, L), 1 chosen, 0 left, -1 not there."""
    found = []
    for place in lists:
        for p in np.unique(place[place > 0]):
            stage = np.where(place == p, 1, np.where(place > p, 0, -1))
            if np.sum(stage >= 0) > 1:
                found.append(stage)
    out = np.full((n_stages, len(lists[0])), -1)
    for row, stage in zip(out, found, strict=False):
        row[:] = stage
    return out


def random_table(rng: np.random.Generator, n_models: int, n_questions: int) -> tuple[np.ndarray, np.ndarray]:
    trials = rng.integers(1, 5, (n_models, n_questions)) * (rng.random((n_models, n_questions)) < rng.choice([1, 0.8]))
    spread = rng.choice([0.5, 1.5])
    gap = rng.normal(size=(1, n_questions)) - rng.normal(size=(n_models, 1))
    chance = 1 / (1 + np.exp(spread * gap))
    return rng.binomial(trials, chance), trials


def conditional_cone(successes: np.ndarray, trials: np.ndarray) -> Cone:
    """The Rasch likelihood of the difficulties given the totals: a success may not be worth more elsewhere."""
    total, right = trials.sum(axis=0), successes.sum(axis=0)
    used = np.flatnonzero((right > 0) & (right < total))
    n = successes.shape[1]
    rows = []
    for k, t in zip(successes, trials, strict=True):
        for m, other in itertools.permutations(used, 2):
            if k[m] > 0 and k[other] < t[other]:
                rows.append(np.eye(n)[other] - np.eye(n)[m])
    idle = [np.eye(n)[m] for m in range(n) if m not in used]
    return rows, [np.ones(1)] * bool(len(used)) + idle, n


N_MODELS, N_QUESTIONS, N_EVENTS, N_LISTS = 4, 3, 10, 5
# What each method reads, and options that its likelihood needs.
METHODS = {
    "bradley_terry": ("pairs", {}),
    "plackett_luce": ("pairs", {}),
    "rao_kupper": ("pairs", {}),
    "rao_kupper_free": ("pairs", {"tie_strength": None}),
    "bradley_terry_davidson": ("pairs", {}),
    "bradley_terry_luce": ("events", {}),
    "davidson_luce": ("events", {}),
    "plackett_luce_rankings": ("lists", {"max_tied": 1}),
    "plackett_luce_rankings_tied": ("tied lists", {}),
    "rasch": ("table", {}),
    "rasch_2pl": ("table", {"n_starts": 1, "max_steps": 100}),
    "rasch_cml": ("table", {}),
}


def cases(method: str, n: int, seed: int) -> tuple[tuple[np.ndarray, ...], list[bool], list[bool]]:
    """Arrays of ``n`` data sets with a first axis, whether each has a finite optimum, and whether nothing in it tells
    the models apart, when they tie at 0 by convention."""
    rng = np.random.default_rng(seed)
    kind = METHODS[method][0]
    data, cones, idle = [], [], []
    for _ in range(n):
        if kind == "pairs":
            wins, ties = random_pairs(rng, N_MODELS)
            data.append((wins, ties))
            reads_ties = method in ("rao_kupper", "rao_kupper_free", "bradley_terry_davidson")
            seen = ties if reads_ties else 0 * ties
            cones.append(pairs_cone(wins, seen, method != "rao_kupper"))
            idle.append(not wins.any())
        elif kind == "table":
            successes, trials = random_table(rng, N_MODELS, N_QUESTIONS)
            data.append((successes, trials))
            cones.append((conditional_cone if method == "rasch_cml" else table_cone)(successes, trials))
            right, total = successes.sum(axis=0), trials.sum(axis=0)
            idle.append(method == "rasch_cml" and np.sum((right > 0) & (right < total)) < 2)
        else:
            whole = kind != "events"
            if whole:
                outcomes = stages(random_lists(rng, N_LISTS, N_MODELS, kind == "tied lists"), N_LISTS * 3)
            else:
                outcomes = random_events(rng, N_EVENTS, N_MODELS)
            weights = rng.integers(1, 4, len(outcomes)) * np.any(outcomes >= 0, axis=1)
            data.append((outcomes, weights))
            composite = method in ("bradley_terry_luce", "plackett_luce_rankings")
            cones.append(sets_cone(outcomes, weights, whole, composite))
            order = np.any(outcomes == 1, axis=1) & np.any(outcomes == 0, axis=1)
            idle.append(not order.any())
    return tuple(np.stack(x) for x in zip(*data, strict=True)), have_optimum(cones), idle


def statuses(method: str, data: tuple[np.ndarray, ...]) -> np.ndarray:
    """The status of every data set, fitted as one batch in the precision that JAX is set to."""
    import jax
    import jax.numpy as jnp

    from jaxrank.data.order_statistic import Orders
    from jaxrank.data.statistics import Counts, Events, Pairs
    from jaxrank.methods import catalogue

    kind, options = METHODS[method]
    ranker = catalogue.make(method.removesuffix("_free").removesuffix("_tied"), **options)
    first, second = (jnp.asarray(x) for x in data)
    number = jnp.zeros(()).dtype
    if kind == "pairs":
        stat = Pairs(first.astype(number), second.astype(number))
    elif kind == "table":
        categories = jnp.stack([second - first, first], axis=-1).astype(number)
        stat = Counts(categories, jnp.ones((len(first), N_QUESTIONS)), jnp.tile(jnp.arange(2.0), (len(first), 1)))
    elif kind == "events":
        stat = Events(first.astype(jnp.int32), second.astype(number))
    else:
        stat = Orders(first.astype(jnp.int32), second.astype(number), N_MODELS)
    return np.asarray(jax.jit(jax.vmap(lambda s: ranker(s).status))(stat))


def slates_cone(outcomes: np.ndarray, x: np.ndarray, composite: bool) -> Cone:
    """`sets_cone` where alternative i of event e has the covariates ``x`` (E, L, C), whose coefficients are parameters
    behind the strengths; a choice of the whole slate is no outcome."""
    n_models, n_covariates = x.shape[1:]
    use = [k for k, e in enumerate(outcomes) if np.any(e == 1) and np.any(e == 0)]
    active = sorted({int(np.sum(outcomes[k] == 1)) for k in use})
    n = n_models + n_covariates + (0 if composite else len(active))
    of_places = [np.column_stack([np.eye(n_models), x[k], np.zeros((n_models, n))])[:, :n] for k in range(len(x))]

    def feature(k: int, members: Any) -> np.ndarray:
        out = of_places[k][list(members)].mean(axis=0)
        out[n_models + n_covariates + active.index(len(members))] = 1
        return out

    rows = []
    for k in use:
        chosen, slate = np.flatnonzero(outcomes[k] == 1), np.flatnonzero(outcomes[k] >= 0)
        if composite:
            rows += [of_places[k][i] - of_places[k][j] for i in chosen for j in np.flatnonzero(outcomes[k] == 0)]
            continue
        own = feature(k, tuple(chosen))
        sizes = [t for t in active if t < len(slate)]
        rows += [own - feature(k, s) for t in sizes for s in itertools.combinations(slate, t)]
    idle = [] if composite else [np.ones(1)] * bool(active)
    return rows, [np.ones(n_models), *idle], n
