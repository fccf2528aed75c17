"""Comparisons of models from their trials: trial by trial, or every trial with every trial of a question."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

_ALL_PAIRS = 2**19  # entries of a table of pairs and questions that a statistic passes through at once


def pair_blocks(hot: np.ndarray, unit: str, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """wins and ties (K, L, L) of every unit, comparing trial n of one model with trial n of another.

    **hot**: float32 (C+1, L, M, N), 1 where the outcome is category c.  **unit**: as in `Rows`.  **weights**: (M,), of
    the questions, where they have any.
    """
    if weights is not None:
        hot = hot.astype(np.float64)
    below = np.cumsum(hot, axis=0) - hot  # observed, and in a lower category
    wins = ties = np.zeros(())
    for c, (won, lost) in enumerate(zip(hot, below, strict=True)):
        x, y = _by_unit(won, unit), _by_unit(lost, unit)
        w = x if weights is None else _by_unit(won * weights[:, None], unit)
        more = np.matmul(w, np.swapaxes(y, 1, 2)), np.matmul(w, np.swapaxes(x, 1, 2))
        if c == 0:
            wins, ties = more
        else:  # in place: these are the largest tables of all
            wins += more[0]
            ties += more[1]
    own = np.arange(hot.shape[1])
    ties[:, own, own] = 0
    return wins, ties


def real_pair_blocks(
    scores: np.ndarray, unit: str, tie_within: float, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`pair_blocks` of real scores (L, M, N), NaN where missing: i wins where it is more than ``tie_within`` above."""
    x = _by_unit(scores, unit)  # (K, L, entries)
    n_models, n_questions, n_trials = scores.shape
    times = np.ones((n_questions, n_trials)) if weights is None else np.repeat(weights[:, None], n_trials, axis=1)
    w = _by_unit(times[None], unit)[:, 0]  # (K, entries)
    dtype = np.float32 if weights is None else np.float64
    wins, ties = (np.zeros((len(x), n_models, n_models), dtype) for _ in range(2))
    own = np.arange(n_models)
    for k, (table, weight) in enumerate(zip(x, w, strict=True)):
        for column, times_one in zip(table.T, weight, strict=True):
            won = column[:, None] > column[None, :] + tie_within  # False where one is missing
            seen = ~np.isnan(column)
            wins[k] += times_one * won
            ties[k] += times_one * (seen[:, None] & seen[None, :] & ~won & ~won.T)
        ties[k, own, own] = 0
    return wins, ties


def _by_unit(x: np.ndarray, unit: str) -> np.ndarray:
    """(L, M, N) -> (K, L, entries of the unit)."""
    if unit == "trial":
        return np.transpose(x, (2, 0, 1))
    if unit == "question":
        return np.transpose(x, (1, 0, 2))
    return np.moveaxis(x, 0, -1).reshape(-1, x.shape[0], 1)


def all_pairs_size(n_models: int, n_questions: int) -> int:
    """Entries of the largest table that `all_pairs` passes through."""
    whole = n_models**2 * n_questions
    return whole if whole <= _ALL_PAIRS else n_models * n_questions


def all_pairs(categories: Any, questions: Any, contract: Any) -> tuple[Any, Any]:
    """Every trial of i against every trial of j on a question, scaled to the aligned total of the pair.

    Model by model where a table of all pairs and questions would be large.
    """
    n_models, n_questions, _ = categories.shape
    if all_pairs_size(n_models, n_questions) == n_models**2 * n_questions:
        wins, ties = _against(categories, categories, questions, contract)
    elif isinstance(categories, np.ndarray):
        parts = [_against(categories[i : i + 1], categories, questions, contract) for i in range(n_models)]
        wins, ties = (np.concatenate(x) for x in zip(*parts, strict=True))
    else:
        one = lambda mine: tuple(x[0] for x in _against(mine[None], categories, questions, contract))
        wins, ties = jax.lax.map(one, categories)
    off = 1 - np.eye(n_models, dtype=np.float32)
    return wins * off, ties * off


def _against(some: Any, categories: Any, questions: Any, contract: Any) -> tuple[Any, Any]:
    """Wins and ties (K, L) of some models (K, M, C+1) against all."""
    n, all_n = some.sum(-1), categories.sum(-1)
    below = categories.cumsum(-1) - categories
    most = n[:, None, :] + all_n[None, :, :]
    most = (most + abs(n[:, None, :] - all_n[None, :, :])) / 2  # max(n_i, n_j)
    share = questions[None, None, :] / (most + (most == 0))
    wins = (contract("imc,jmc->ijm", some, below) * share).sum(-1)
    return wins, (contract("imc,jmc->ijm", some, categories) * share).sum(-1)
