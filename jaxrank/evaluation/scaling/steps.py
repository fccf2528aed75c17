"""What happens from one level to the next: who gains, who loses, and what both add to ARISE."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxrank.errors import DataError
from jaxrank.models.options import numbers


class Transitions(NamedTuple):
    """Steps from a level to the next, arrays (..., J), over the complete samples.

    **n_gained**, **n_lost**: samples whose mean accuracy rose, fell. **gained**, **lost**: mean of D+ and of D-, with
    one trial the shares of samples that turned right and wrong. **gains**, **losses**: their parts of ARISE, mean of
    k D+ and of -D-/k, k = t_(j-1) / t_j; ``gains.sum() + losses.sum()`` is ARISE.
    """

    n_gained: np.ndarray
    n_lost: np.ndarray
    gained: np.ndarray
    lost: np.ndarray
    gains: np.ndarray
    losses: np.ndarray


def transitions(accuracy: Any, tokens: Any) -> Transitions:
    """Gains and losses at every step [arise2025, equation 22 and figure 7]. **accuracy**, **tokens**: means of the
    cells, (..., samples, levels); samples that lack a level are left out."""
    a, t = numbers("accuracy", accuracy), numbers("tokens", tokens)
    if a.shape != t.shape or a.ndim < 2 or a.shape[-1] < 2:
        raise DataError(
            f"accuracy has shape {a.shape}, tokens {t.shape}; both must be (..., samples, levels), two levels or more"
        )
    whole = np.all(np.isfinite(a) & np.isfinite(t), axis=-1, keepdims=True)
    step = np.where(whole, np.diff(a, axis=-1), 0)
    kept = np.where(whole, t[..., :-1] / t[..., 1:], 1)
    n = whole.sum(-2)
    up, down = np.maximum(step, 0), np.maximum(-step, 0)
    with np.errstate(invalid="ignore"):
        mean = lambda x: np.where(n > 0, x.sum(-2) / n, np.nan)
        return Transitions(
            (step > 0).sum(-2), (step < 0).sum(-2), mean(up), mean(down), mean(kept * up), mean(-down / kept)
        )


def noise_parts(
    correct: Any, tokens: Any
) -> tuple[Float[np.ndarray, "*batch samples levels"], Float[np.ndarray, "*batch samples levels"]]:
    """The two parts of `noise` in every cell, CV of correctness and CV of tokens over its trials [arise2025, figure 9].

    **correct**, **tokens**: (..., samples, levels, trials), NaN where missing; population standard deviations.
    """
    y, t = numbers("correct", correct), numbers("tokens", tokens)
    if y.ndim < 3 or y.shape != t.shape:
        raise DataError(f"correct has shape {y.shape}, tokens {t.shape}; both are (..., samples, levels, trials)")
    seen = ~(np.isnan(y) | np.isnan(t))

    def cv(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(seen, x, 0).sum(-1) / seen.sum(-1)
            square = (np.where(seen, x - mean[..., None], 0) ** 2).sum(-1) / seen.sum(-1)
        return np.sqrt(square) / (mean + 1e-8)

    return cv(y), cv(t)
