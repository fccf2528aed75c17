"""Named data sets for the conformance suite. Those of `SAME_SHAPE` share one shape, so that they share compilations."""

from __future__ import annotations

import numpy as np

import jaxrank as jr

N_MODELS, N_QUESTIONS, N_TRIALS = 5, 6, 4


def graded(seed: int = 3, shape: tuple[int, int, int] = (N_MODELS, N_QUESTIONS, N_TRIALS)) -> np.ndarray:
    """Random outcomes of models of falling ability on questions of rising difficulty; every model wins and loses."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(1.2, -1.2, shape[0])[:, None, None]
    difficulty = np.linspace(-1, 1, shape[1])[None, :, None]
    return (rng.random(shape) < 1 / (1 + np.exp(difficulty - ability))).astype(int)


def tied() -> np.ndarray:
    """Every cell has the same counts; the models differ in nothing that a method may read."""
    R = np.zeros((N_MODELS, N_QUESTIONS, N_TRIALS), int)
    R[:, :, ::2] = 1
    return R


def extremes() -> np.ndarray:
    """A model that is always right and one that is always wrong among ordinary ones."""
    R = graded(4)
    R[0], R[-1] = 1, 0
    return R


def separated() -> np.ndarray:
    """Two groups: the first never loses to the second, inside each everybody wins and loses."""
    R = graded(5)
    R[:, :4] = np.array([1, 1, 0, 0, 0])[:, None, None]
    R[:2, 4:], R[2:, 4:] = 1, 0
    R[0, 4, 0] = R[1, 4, 1] = R[1, 5, 2] = R[0, 5, 3] = 0
    for i, j in ((2, 0), (3, 1), (4, 2)):
        R[i, 0, j] = R[i, 1, (j + 1) % 4] = 1
    R[:2, 0] = R[:2, 1] = 1
    return R


def twins() -> np.ndarray:
    """Models 1 and 3 have the same outcomes everywhere."""
    R = graded(6)
    R[3] = R[1]
    return R


def missing() -> np.ndarray:
    """Holes of all kinds: single trials, whole cells, a question that one model never saw."""
    R = graded(7)
    holes = np.random.default_rng(8).random(R.shape) < 0.2
    R = np.where(holes, -1, R)
    R[2, 3] = -1
    R[4, 0, 1:] = -1
    return R


def cycle() -> np.ndarray:
    """Question m < 5 is solved by models m and m + 1 (round the circle), in all trials; the last by none. Turning both
    models and questions changes nothing, so that all tie though every pair has decided comparisons."""
    i, m = np.indices((N_MODELS, N_QUESTIONS))
    return np.repeat(((((i - m) % N_MODELS) < 2) & (m < N_MODELS)).astype(int)[:, :, None], N_TRIALS, axis=2)


LEADER = 2


def leader() -> np.ndarray:
    """`LEADER` has one success more than the best of the others in every cell, which have one or two of four trials;
    no model is perfect, and in every cell `LEADER` fails a trial that another solves or shares the failure."""
    R = graded(13)
    for i, m in np.ndindex(R.shape[:2]):
        k = min(max(R[i, m].sum(), 1), 2)
        R[i, m] = np.roll(np.arange(N_TRIALS) < k, i + m)
    best = np.delete(R.sum(axis=2), LEADER, axis=0).max(axis=0)
    for m, k in enumerate(best):
        R[LEADER, m] = np.roll(np.arange(N_TRIALS) <= k, m)
    return R


def grades() -> np.ndarray:
    """Outcomes of three grades: two graders of one tensor, summed."""
    return graded(14) + graded(15)


def battles() -> jr.Comparisons:
    """24 battles, each pair two or three times: the earlier model wins, but for two ties and, midway, four losses."""
    ordinary = [(i, j, 1) for i in range(N_MODELS) for j in range(i + 1, N_MODELS)]
    upsets = [(2, 0, 1), (3, 0, 1), (3, 1, 1), (4, 2, 1)]
    again = [(i, j, 0.5 if (i, j) in ((1, 2), (2, 3)) else 1) for i, j, _ in ordinary]
    a, b, outcome = zip(*ordinary, *upsets, *again, strict=True)
    return jr.Comparisons(a, b, outcome, models=[f"m{i}" for i in range(N_MODELS)])


def lists() -> jr.Rankings:
    """Six full lists in the order of the models, but for neighbours exchanged once each, and once the first in third
    place."""
    orders = [list(range(N_MODELS)) for _ in range(N_MODELS + 1)]
    for k in range(N_MODELS - 1):
        orders[k][k], orders[k][k + 1] = k + 1, k
    orders[-1] = [1, 2, 0, *range(3, N_MODELS)]
    return jr.Rankings([[f"m{i}" for i in order] for order in orders], [f"m{i}" for i in range(N_MODELS)])


SAME_SHAPE = {
    "graded": graded(),
    "tied": tied(),
    "extremes": extremes(),
    "separated": separated(),
    "twins": twins(),
    "missing": missing(),
}

OTHER_SHAPES = {
    "one_trial": graded(9, (N_MODELS, N_QUESTIONS, 1)),
    "two_models": graded(10, (2, N_QUESTIONS, N_TRIALS)),
}

SLOW_SHAPES = {
    "one_question": graded(11, (N_MODELS, 1, N_TRIALS)),
}
