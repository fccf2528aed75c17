"""ARISE and the scaling metric of many models with uncertainty, from single trials."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.names import check_names
from jaxrank.errors import DataError, JaxrankWarning
from jaxrank.evaluation.scaling.arise_score import arise, arise_samples, falling_share, mean_slope
from jaxrank.evaluation.scaling.noise_free import cross_fit_samples, exchanged
from jaxrank.evaluation.scaling.result import ScalingResult
from jaxrank.evaluation.scaling.steps import transitions
from jaxrank.models.options import check_choice, check_count, check_flag, numbers
from jaxrank.numerics.interval import share
from jaxrank.numerics.seeds import as_key, check_seed
from jaxrank.resampling.draws import integers, ranker_key, replicate_key

_BLOCK, _TRIALS_BLOCK = 64, 8  # drawing trials takes memory of their number squared


def evaluate_scaling(
    correct: Any,
    tokens: Any,
    *,
    models: tuple[str, ...] | list[str] | None = None,
    n_replicates: int = 2000,
    n_exchanges: int = 500,
    seed: int = 0,
    resample: str = "samples",
    common: bool = False,
) -> ScalingResult:
    """ARISE and the scaling metric with a bootstrap over samples, trials, or both, and what noise alone would score.

    **correct**, **tokens**: (L, I, J + 1, N): models, samples, levels, trials; correctness in [0, 1], tokens above 0,
    NaN where missing. A level that a model has on no sample is none of its levels, so models may differ in them.
    Replicate b draws samples, and within each cell as many trials as it has, with replacement from
    ``fold_in(seed, b)``; the draws are the same for all models, so that models stay paired.
    **resample**: "samples" (the default) is about samples like these, and carries the noise of their trials with it;
    "trials" is about these samples with other trials; "both" counts the noise of the trials twice (standard deviations
    about 1.9 times too large in a simulation with eight trials), which is safe rather than right.
    **n_exchanges**: deals of the trials among the levels, for ``null`` and ``p_value``. **common**: keep the samples
    that every model has at all its levels, so that ranks and differences are about the same samples.
    Raises `DataError` for other shapes or values. Warns where tokens fall, and where models lack different samples.
    """
    y, t = _checked(correct, tokens)
    check_count("n_replicates", n_replicates, 2)
    check_count("n_exchanges", n_exchanges, 1)
    check_choice("resample", resample, ("samples", "trials", "both"))
    check_flag("common", common)
    check_seed(seed)
    names = check_names(models, len(y), "model")
    present = np.asarray((~np.isnan(y)).any((1, 3)))
    for name, own in zip(names, present, strict=True):
        if own.sum() < 2:
            raise DataError(f"model {name!r} has trials at {own.sum()} level; scaling needs two or more")
    y, t = _on_samples(y, t, present, names, common)
    ahead = _ahead(present)
    a, tok = (np.asarray(_filled(jax.device_put(_means(x)), ahead)) for x in (y, t))
    falling = np.asarray(falling_share(tok))
    score, slope = (
        np.asarray(arise(a, tok)),
        np.asarray(mean_slope(jax.device_put(a), jax.device_put(tok), jax.device_put(present))),
    )
    key = as_key(seed)
    crossed, null, p_value = _without_noise(y, t, present, score, n_exchanges, ranker_key(key))
    sampled = np.asarray(arise_samples(a, tok))
    _warn_of_falls(falling, names, sampled)
    draws = _replicates(
        jax.device_put(y),
        jax.device_put(t),
        jax.device_put(crossed),
        ahead,
        jax.device_put(present),
        key,
        n_replicates,
        resample,
    )
    kept = ("arise", "scaling_metric", "cross_fit") if resample == "samples" else ("arise", "scaling_metric")
    whole = np.isfinite(sampled)[..., None] & present[:, None, :]
    with np.errstate(invalid="ignore"):
        over_a, over_t = (np.where(present, np.where(whole, x, 0).sum(1) / whole.sum(1), np.nan) for x in (a, tok))
        cross_fit = np.where(np.isnan(crossed).all(1), np.nan, np.nansum(crossed, 1) / np.isfinite(crossed).sum(1))
        trials = (~np.isnan(y)).sum((1, 2, 3)) / (~np.isnan(y)).any(3).sum((1, 2))
    return ScalingResult(
        models=names,
        arise=score,
        cross_fit=cross_fit,
        null=null,
        p_value=p_value,
        scaling_metric=slope,
        levels=present.sum(1),
        accuracy=over_a,
        tokens=over_t,
        samples=sampled,
        cross_fit_samples=crossed,
        falling=falling,
        trials=trials,
        transitions=transitions(a, tok),
        draws={name: np.asarray(draws[name]) for name in kept},
        resample=resample,
        seed=seed,
    )


def _without_noise(
    y: np.ndarray, t: np.ndarray, present: np.ndarray, score: np.ndarray, n: int, key: Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cross-fitted scores (L, I), and mean and p-value of the score over deals of the trials among the levels."""
    crossed, null, p_value = np.full(y.shape[:2], np.nan), np.full(len(y), np.nan), np.full(len(y), np.nan)
    for i, own in enumerate(present):
        crossed[i] = cross_fit_samples(y[i][:, own], t[i][:, own])
        whole = (~np.isnan(y[i][:, own])).any(-1).all(-1)
        if whole.any():
            deals = exchanged(y[i][whole][:, own], t[i][whole][:, own], n, replicate_key(key, i))
            # rounding must not turn a tie into a difference
            null[i], p_value[i] = deals.mean(), (1 + (deals >= score[i] - 1e-6).sum()) / (n + 1)
    return crossed, null, p_value


def _on_samples(
    y: np.ndarray, t: np.ndarray, present: np.ndarray, names: tuple[str, ...], common: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The trials, with ``common`` on the samples that all models have whole; a warning where these differ."""
    whole = np.asarray(((~np.isnan(y)).any(-1) | ~present[:, None]).all(-1))  # (L, I)
    shared = whole.all(0)
    if common and not shared.any():
        fewest = names[int(whole.sum(1).argmin())]
        raise DataError(
            f"no sample has all levels of all models ({fewest!r} has {whole.sum(1).min()}); leave models out"
        )
    if common:
        return y[:, shared], t[:, shared]
    if (whole != whole[0]).any():
        warnings.warn(
            f"models have different samples with all their levels ({whole.sum(1).min()} to {whole.sum(1).max()}, "
            f"{shared.sum()} in common): ranks and differences compare different samples; common=True keeps the common",
            JaxrankWarning,
            stacklevel=3,
        )
    return y, t


def _warn_of_falls(falling: np.ndarray, names: tuple[str, ...], sampled: np.ndarray) -> None:
    if not (falling > 0).any():
        return
    worst, top = int(np.nanargmax(falling)), float(np.nanmax(sampled))
    above = f"; the bound of 1 on a score does not hold there, the largest of a sample is {top:.3g}" if top > 1 else ""
    warnings.warn(
        f"tokens fall from one level to the next on {share(falling[worst])} of the samples of {names[worst]!r}; "
        f"there the tokens do not follow the effort asked for{above}",
        JaxrankWarning,
        stacklevel=3,
    )


def _ahead(present: np.ndarray) -> Any:
    """(L, J + 1): for every level the last one up to it that the model has, or its first: a step to a level that it
    lacks changes nothing."""
    place = np.arange(present.shape[1])
    last = np.maximum.accumulate(np.where(present, place, -1), axis=1)
    return jax.device_put(np.where(last < 0, present.argmax(1)[:, None], last))


def _filled(means: Array, ahead: Array) -> Array:
    return jnp.take_along_axis(means, ahead[:, None, :], axis=2)


def _means(values: np.ndarray) -> np.ndarray:
    seen = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(seen, values, 0).sum(-1) / seen.sum(-1)


def cell_means(
    values: Float[Array, "models samples levels trials"], weights: Any
) -> Float[Array, "models samples levels"]:
    """Weighted mean over the observed trials of each cell; NaN where none is."""
    seen = ~jnp.isnan(values)
    w = jnp.where(seen, weights, 0.0)
    return jnp.sum(w * jnp.where(seen, values, 0), axis=-1) / jnp.sum(w, axis=-1)


@functools.partial(jax.jit, static_argnums=(6, 7))
def _replicates(
    y: Array, t: Array, crossed: Array, ahead: Array, counted: Array, key: Array, n: int, resample: str
) -> dict[str, Array]:
    n_samples, n_trials = y.shape[1], y.shape[3]
    seen = ~jnp.isnan(y)
    count = jnp.sum(seen, axis=-1, keepdims=True)
    place = jnp.cumsum(seen, axis=-1) - 1  # of a trial among the observed ones of its cell
    means = tuple(_filled(jnp.nanmean(x, axis=-1), ahead) for x in (y, t))

    def scores(a: Array, tokens: Array) -> dict[str, Array]:
        return {"arise": arise(a, tokens), "scaling_metric": mean_slope(a, tokens, counted)}

    def one(b: Array) -> dict[str, Array]:
        rows, cols = jax.random.split(replicate_key(key, b))
        chosen = jnp.arange(n_samples) if resample == "trials" else integers(rows, (n_samples,), n_samples)
        if resample == "samples":
            return scores(*(x[:, chosen] for x in means)) | {"cross_fit": jnp.nanmean(crossed[:, chosen], axis=1)}
        # Each cell draws its own trials: drawn alike, all cells would be noisy together, and ARISE counts noise.
        # A cell of n trials draws n of its n: a uniform number times n is a place among them.
        at = jax.random.uniform(cols, (*y.shape[1:3], n_trials), y.dtype)
        drawn = jnp.minimum(jnp.floor(at[None] * count), count - 1)
        used = jnp.arange(n_trials)[None, None, None] < count
        hits = (drawn[..., None] == place[..., None, :]) & used[..., None]
        weights = jnp.sum(hits, axis=-2).astype(y.dtype)
        return scores(*(_filled(cell_means(x, weights), ahead)[:, chosen] for x in (y, t)))

    return jax.lax.map(one, jnp.arange(n), batch_size=_BLOCK if resample == "samples" else _TRIALS_BLOCK)


def _checked(correct: Any, tokens: Any) -> tuple[np.ndarray, np.ndarray]:
    y, t = numbers("correct", correct), numbers("tokens", tokens)
    if y.ndim != 4 or y.shape != t.shape:
        raise DataError(f"correct has shape {y.shape}, tokens {t.shape}; both are (models, samples, levels, trials)")
    if 0 in y.shape or y.shape[2] < 2:
        raise DataError(f"correct has shape {y.shape}; it needs samples, trials and at least two levels")
    if np.any((y < 0) | (y > 1)):
        raise DataError("correct must be in [0, 1]")
    if np.any(t <= 0) or np.any(np.isinf(t)):
        raise DataError("tokens must be finite and above 0; leave out trials without a count (NaN)")
    lost = np.isnan(y) | np.isnan(t)
    return np.where(lost, np.nan, y), np.where(lost, np.nan, t)
