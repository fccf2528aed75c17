"""Convergence of Markov chains: rank-normalised split R-hat, bulk and tail effective sample size [vehtari2021]."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Draws = Float[np.ndarray, "chains samples *sites"]


def _needs_draws(diagnose: Callable[[np.ndarray], np.ndarray]) -> Callable[[Draws], np.ndarray]:
    """NaN where half a chain has less than two draws, of which nothing can be said."""

    @functools.wraps(diagnose)
    def checked(draws: Draws) -> np.ndarray:
        x = np.asarray(draws, float)
        return np.full(x.shape[2:], np.nan) if x.shape[1] < 4 else diagnose(x)

    return checked


@_needs_draws
def r_hat(draws: Draws) -> np.ndarray:
    """Largest of the rank-normalised split R-hat of the draws and of their distance from the median; NaN if
    constant."""
    x = _split(draws)
    folded = np.abs(x - np.median(x, axis=(0, 1), keepdims=True))
    return np.fmax(_plain_r_hat(_normal_scores(x)), _plain_r_hat(_normal_scores(folded)))


@_needs_draws
def ess_bulk(draws: Draws) -> np.ndarray:
    """Effective sample size of the rank-normalised draws: how well the centre is known."""
    return _ess(_normal_scores(_split(draws)))


@_needs_draws
def ess_tail(draws: Draws) -> np.ndarray:
    """The smaller of the effective sample sizes of the 5 % and the 95 % quantile."""
    x = _split(draws)
    low, high = np.quantile(x, (0.05, 0.95), axis=(0, 1))
    return np.fmin(_ess((x <= low).astype(float)), _ess((x <= high).astype(float)))


@_needs_draws
def ess_mean(draws: Draws) -> np.ndarray:
    """Effective sample size for the mean: variance of a draw over the variance of the mean."""
    return _ess(_split(draws))


def _split(draws: Draws) -> np.ndarray:
    """Every chain as two half chains, as float64."""
    x = np.asarray(draws, float)
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def _normal_scores(x: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri
    from scipy.stats import rankdata

    flat = x.reshape(x.shape[0] * x.shape[1], -1)
    rank = rankdata(flat, axis=0)
    return ndtri((rank - 0.375) / (len(flat) + 0.25)).reshape(x.shape)


def _plain_r_hat(x: np.ndarray) -> np.ndarray:
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(within > 0, np.sqrt((n - 1) / n + between / within), np.nan)


def _ess(x: np.ndarray) -> np.ndarray:
    """Geyer's initial monotone sequence over several chains; NaN where the draws are constant."""
    n_chains, n = x.shape[:2]
    sites = x.shape[2:]
    flat = x.reshape(n_chains, n, -1)
    centred = flat - flat.mean(axis=1, keepdims=True)
    size = 2 * n
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n
    if n_chains > 1:
        total = total + flat.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - covariance) / total
    rho[0] = 1
    pairs = rho[: n - n % 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.where(positive, pairs, 0), axis=0)
    tau = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(n_chains * n))
    ess = np.where(total > 0, n_chains * n / tau, np.nan)
    return ess.reshape(sites)
