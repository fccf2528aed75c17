"""Intervals from the posterior itself: quantiles of Beta functions for one question, Monte Carlo for more (host)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxrank.evaluation.estimates import Cells, Estimate
from jaxrank.numerics.interval import check_level

_BLOCK = 8_000_000  # drawn means held at a time


def beta_interval(cells: Cells, normal: Estimate, curve: Any, level: float, n_draws: int, seed: int) -> Estimate:
    """Quantiles of the mean over questions of an increasing function ``curve`` of the success rates."""
    counts = 1 + np.asarray(cells.stat.categories, float) + np.asarray(cells.prior, float)
    weight = np.asarray(cells.stat.observed, float)
    if counts.shape[1] == 1:
        from scipy.special import betaincinv

        ends = _tails(level)[:, None]
        quantiles = curve(betaincinv(counts[None, :, 0, 1], counts[None, :, 0, 0], ends))
        return _with_ends(cells, normal, quantiles)
    draw = lambda rng, size, cells: curve(rng.beta(cells[:, 1], cells[:, 0], (size, len(cells))))
    return _with_ends(cells, normal, _mean_quantiles(draw, counts, weight, level, n_draws, seed))


def dirichlet_interval(cells: Cells, normal: Estimate, weights: Any, level: float, n_draws: int, seed: int) -> Estimate:
    """Quantiles of Bayes@N: the mean over questions of the weighted category probabilities."""
    counts = 1 + np.asarray(cells.stat.categories, float) + np.asarray(cells.prior, float)
    times = np.broadcast_to(np.asarray(cells.stat.questions, float), counts.shape[:2])
    draw = _dirichlet_draws(np.asarray(weights, float))
    return _with_ends(cells, normal, _mean_quantiles(draw, counts, times, level, n_draws, seed))


def stretched_interval(cells: Cells, normal: Estimate, weights: Any, level: float, n_draws: int, seed: int) -> Estimate:
    """Quantiles for avg@N: the posterior of Bayes@N under a uniform prior, stretched by T/n about the mean outcome."""
    w, categories = np.asarray(weights, float), np.asarray(cells.stat.categories, float)
    base = _dirichlet_draws(w)

    def draw(rng: np.random.Generator, size: int, cells: np.ndarray) -> np.ndarray:
        seen = cells - 1
        n = seen.sum(-1)
        safe = np.where(n > 0, n, 1)
        centre = cells @ w / (n + len(w))
        return seen @ w / safe + (n + len(w)) / safe * (base(rng, size, cells) - centre)

    observed = np.asarray(cells.stat.observed, float)
    quantiles = _mean_quantiles(draw, categories + 1, observed, level, n_draws, seed)
    return _with_ends(cells, normal, np.clip(quantiles, w.min(), w.max()))


def _dirichlet_draws(w: np.ndarray) -> Callable[..., np.ndarray]:
    def draw(rng: np.random.Generator, size: int, cells: np.ndarray) -> np.ndarray:
        if len(w) == 2:
            return w[0] + (w[1] - w[0]) * rng.beta(cells[:, 1], cells[:, 0], (size, len(cells)))
        gammas = rng.standard_gamma(cells, (size, *cells.shape))
        return gammas @ w / gammas.sum(-1)

    return draw


def _mean_quantiles(
    draw: Any, counts: np.ndarray, weight: np.ndarray, level: float, n_draws: int, seed: int
) -> np.ndarray:
    """(2, L): quantiles of the weighted mean over questions of ``draw(rng, size, cells)``: (size, cells).

    Cells with the same posterior counts, of one question or of many models, share their draws within a question:
    every model's mean is one of independent draws, and a thousand models cost little more than their distinct cells.
    Models are taken in blocks so that memory stays small.
    """
    n_models, n_questions = weight.shape
    counts = np.broadcast_to(counts, (n_models, *counts.shape[1:]))
    share = weight / weight.sum(axis=1, keepdims=True)
    out = np.empty((2, n_models))
    block = max(1, _BLOCK // n_draws)
    for start in range(0, n_models, block):
        rows = slice(start, start + block)
        mean = np.zeros((len(weight[rows]), n_draws))
        for m, rng in enumerate(np.random.default_rng(seed).spawn(n_questions)):
            distinct, where = np.unique(counts[rows, m], axis=0, return_inverse=True)
            for cell, value in enumerate(draw(rng, n_draws, distinct).T):
                models = np.flatnonzero(where.ravel() == cell)
                mean[models] += share[rows][models, m, None] * value
        out[:, rows] = np.quantile(mean, _tails(level), axis=1)
    return out


def _tails(level: float) -> np.ndarray:
    tail = (1 - check_level(level)) / 2
    return np.array([tail, 1 - tail])


def _with_ends(cells: Cells, normal: Estimate, quantiles: np.ndarray) -> Estimate:
    ends = np.asarray(quantiles, normal.mean.dtype)
    lower, upper = (ends[0, 0], ends[1, 0]) if cells.single else (ends[0], ends[1])
    kind = "quantiles of the posterior"
    return Estimate(normal.point, normal.mean, normal.sd, lower, upper, normal.level, kind)
