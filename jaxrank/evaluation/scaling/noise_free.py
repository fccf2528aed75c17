"""What of ARISE is noise: the score without it from above, and the score that noise alone would have.

With k = t_(j-1) / t_j and D the change of accuracy, a step adds (k + 1/k)/2 D - (1/k - k)/2 |D| to ARISE. The mean
over N trials estimates D without bias and |D| too large, so ARISE of N trials lies below ARISE of the success rates,
the more so the fewer the trials. `cross_fit_samples` errs to the other side, and `exchanged` shows what noise alone
scores. Tokens are taken as they are.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.errors import DataError
from jaxrank.evaluation.scaling.arise_score import arise
from jaxrank.models.options import numbers
from jaxrank.resampling.draws import replicate_key

_BLOCK = 16


def cross_fit_samples(correct: Any, tokens: Any) -> Float[np.ndarray, "*batch samples"]:
    """ARISE of every sample with |D| cross-fitted: D of one trial of either level times the sign of D of the others,
    mean over all such pairs of trials.

    **correct**, **tokens**: trials (..., samples, levels, trials), NaN where missing. The expectation of the
    cross-fitted |D| is at most |D|, and 0 where D is 0: so where tokens rise ARISE <= ARISE of the success rates <=
    this, in expectation. NaN for a sample with a level of fewer than two trials.
    """
    y, t = numbers("correct", correct), numbers("tokens", tokens)
    if y.ndim < 3 or y.shape != t.shape or y.shape[-2] < 2:
        raise DataError(f"correct has shape {y.shape}, tokens {t.shape}; both must be (..., samples, levels, trials)")
    seen = ~(np.isnan(y) | np.isnan(t))
    n = seen.sum(-1)
    y = np.where(seen, y, 0)
    total = y.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, tokens_mean = total / n, np.where(seen, t, 0).sum(-1) / n
        rest = (total[..., None] - y) / (n[..., None] - 1)  # mean of the other trials
        step, kept = np.diff(mean, axis=-1), tokens_mean[..., :-1] / tokens_mean[..., 1:]
        size = np.zeros(step.shape)
        for a in range(y.shape[-1]):  # one trial of the lower level at a time keeps the memory that of the trials
            other = rest[..., 1:, :] - rest[..., :-1, a, None]
            sign = np.sign(np.where(np.abs(other) < 1e-9, 0, other))
            pair = (y[..., 1:, :] - y[..., :-1, a, None]) * sign
            size += np.where(seen[..., 1:, :] & seen[..., :-1, a, None], pair, 0).sum(-1)
        size = np.where((n[..., 1:] > 1) & (n[..., :-1] > 1), size / (n[..., 1:] * n[..., :-1]), np.nan)
        return ((kept + 1 / kept) / 2 * step - (1 / kept - kept) / 2 * size).sum(-1)


def exchanged(correct: Any, tokens: Any, n_exchanges: int, key: Array) -> Float[np.ndarray, " exchanges"]:
    """ARISE of one model where the level made no difference: the correctness of a sample's trials is dealt out again
    among all its trials of all levels, tokens stay, ``n_exchanges`` times.

    **correct**, **tokens**: (samples, levels, trials), NaN where missing. If no success rate depends on the level, the
    data are one such deal, so the share of deals that score as much is an exact p-value.
    """
    return np.asarray(_exchanged(jax.device_put(correct), jax.device_put(tokens), key, n_exchanges))


@functools.partial(jax.jit, static_argnums=3)
def _exchanged(y: Array, t: Array, key: Array, n: int) -> Array:
    shape = y.shape
    flat = y.reshape(shape[0], -1)
    absent = jnp.isnan(flat)
    count = jnp.sum(~absent.reshape(shape), axis=-1)
    mean_tokens = jnp.sum(jnp.where(jnp.isnan(t), 0, t), axis=-1) / count
    place = jnp.argsort(absent, axis=-1, stable=True)  # observed places first

    def one(b: Array) -> Array:
        random = jnp.where(absent, jnp.inf, jax.random.uniform(replicate_key(key, b), flat.shape))
        dealt = jnp.take_along_axis(flat, jnp.argsort(random, axis=-1), axis=-1)
        rows = jnp.arange(shape[0])[:, None]
        new = jnp.zeros_like(flat).at[rows, place].set(dealt).reshape(shape)
        return arise(jnp.sum(jnp.where(jnp.isnan(new), 0, new), axis=-1) / count, mean_tokens)

    return jax.lax.map(one, jnp.arange(n), batch_size=_BLOCK)
