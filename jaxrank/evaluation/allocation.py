"""Where the next trials tell most: which (model, question) cells to sample so that the order settles soonest."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int

from jaxrank.evaluation.estimates import Evaluated, Ranked, check_several, data_of, read, weights_size
from jaxrank.models.options import check_count


def next_trials(
    R: Evaluated | Ranked,
    budget: int,
    top: int | None = None,
    w: npt.ArrayLike | None = None,
    R0: npt.ArrayLike | None = None,
) -> Int[np.ndarray, "models questions"]:
    """How many of the next ``budget`` trials each cell should get.

    **R**: whatever `jaxrank.evaluation.bayes` reads, or a result of ``jaxrank.fit``.  **top**: settle which models are
    the best ``top``; None settles the whole order.  **w**, **R0**: weights and prior outcomes of Bayes@N.

    Between models the total number of trials is aimed at (sd_i / gap_i)^2, where sd_i is the deviation of one trial
    spread over the questions and gap_i the distance of the score from the border of the top, or from the nearer
    neighbour in the order: optimal computing budget allocation [chen2008]. Gaps below the uncertainty of the score
    count as that uncertainty, so that a chance tie does not swallow the budget. Within a model every trial goes where
    it lowers the expected posterior variance most: by variance / (T + 1) of the question's Dirichlet of total T.
    """
    check_count("budget", budget, 0)
    cells = read(data_of(R), R0, 1.0, weights_size(w))
    nu = 1 + np.asarray(cells.stat.categories, float) + np.asarray(cells.prior, float)
    weights = np.asarray(cells.stat.levels if w is None else w, float)
    n_models, n_questions = nu.shape[:2]
    check_several(cells, "there is no order to settle")
    if top is not None:
        check_count("top", top, 1, n_models - 1)
    total = nu.sum(-1)
    mean = nu @ weights / total
    variance = (nu @ weights**2 / total - mean**2) / (total + 1)
    target = _targets(mean.mean(1), np.sqrt(variance.sum(1)) / n_questions, _one_trial(variance, total), top)
    spent = np.asarray(cells.stat.trials, float).sum(1)
    share = _fill(spent, target, int(budget))
    return np.stack([_within(variance[i], total[i], share[i]) for i in range(n_models)])


def _one_trial(variance: np.ndarray, total: np.ndarray) -> np.ndarray:
    """(L,): deviation of the score per trial when trials go to questions in proportion to their own deviation."""
    return np.sqrt(variance * (total + 1)).mean(1)


def _targets(score: np.ndarray, sd: np.ndarray, spread: np.ndarray, top: int | None) -> np.ndarray:
    """Shares of the trials that the models should have in the end."""
    order = np.argsort(-score, kind="stable")
    if top is None:
        ordered = score[order]
        gap = -np.diff(ordered)
        nearest = np.minimum(np.r_[np.inf, gap], np.r_[gap, np.inf])
        distance = np.empty_like(score)
        distance[order] = nearest
    else:
        a, b = order[top - 1], order[top]
        border = (sd[b] * score[a] + sd[a] * score[b]) / (sd[a] + sd[b])
        distance = np.abs(score - border)
    share = (spread / np.maximum(distance, sd)) ** 2
    return share / share.sum()


def _fill(spent: np.ndarray, target: np.ndarray, budget: int) -> np.ndarray:
    """Whole trials (L,) that bring the totals nearest to the target shares, taking none away: water filling."""
    alive = np.ones(len(spent), bool)
    while True:  # models that already have more than their share get nothing, and the others share the rest
        goal = np.where(alive, target * (spent[alive].sum() + budget) / target[alive].sum(), spent)
        over = alive & (goal < spent)
        if not over.any():
            break
        alive &= ~over
    exact = np.maximum(goal - spent, 0)
    share = np.floor(exact).astype(int)
    rest = np.argsort(share - exact, kind="stable")[: budget - share.sum()]
    share[rest] += 1
    return share


def _within(variance: Float[np.ndarray, " questions"], total: np.ndarray, trials: int) -> np.ndarray:
    """Trials of one model over its questions, each where the expected variance falls most."""
    given = np.zeros(len(variance), int)
    # After one more trial a variance v of total T is expected to be v T/(T + 1): it falls by v/(T + 1).
    heap = [(-v / (t + 1), m, v, t) for m, (v, t) in enumerate(zip(variance, total, strict=True))]
    heapq.heapify(heap)
    for _ in range(trials):
        _, m, v, t = heap[0]
        given[m] += 1
        v, t = v * t / (t + 1), t + 1
        heapq.heapreplace(heap, (-v / (t + 1), m, v, t))
    return given
