"""Decisions from scores with standard deviations: which pairs are settled, which models share a rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Bool, Float, Int

from jaxrank.data.names import model_index, name_list
from jaxrank.errors import OptionError
from jaxrank.evaluation.estimates import Evaluated, Ranked, check_several, data_of, read, weights_size
from jaxrank.models.options import check_choice, check_count, check_flag, check_number, shown
from jaxrank.numerics.ranks import same_models
from jaxrank.numerics.separation import standardised


def separation(
    mu: Float[Array, "*batch models"], sigma: Float[Array, "*batch models"]
) -> Float[Array, "*batch models models"]:
    """z = |mu_i - mu_j| / sqrt(sigma_i^2 + sigma_j^2) of every pair: 0 where equal, infinite if certain and unequal."""
    mu, sigma = _floats(mu, sigma)
    gap = jnp.abs(mu[..., :, None] - mu[..., None, :])
    spread = jnp.sqrt(jnp.square(sigma[..., :, None]) + jnp.square(sigma[..., None, :]))
    return standardised(gap, spread)


def ranking_confidence(mu: npt.ArrayLike, sigma: npt.ArrayLike) -> Float[Array, "*batch models models"]:
    """Confidence Phi(z) that the order of two models by ``mu`` is their true order; 1/2 for equal scores.

    ``mu`` and ``sigma`` (..., L): posterior means and standard deviations of independent normal scores.
    Source: Hariri et al. (2026), "Don't Pass@k", section on decisions.
    """
    return ndtr(separation(*_floats(mu, sigma)))


def rank_with_intervals(
    mu: npt.ArrayLike,
    sigma: npt.ArrayLike,
    *,
    level: float = 0.95,
    ties: Literal["leader", "adjacent"] = "leader",
    method: Literal["competition", "dense"] = "competition",
) -> Int[Array, "*batch models"]:
    """Ranks (1 is best) in which models that are not separated share a rank.

    Two models are separated where |mu - mu'| / sqrt(sigma^2 + sigma'^2) >= Phi^-1(level), one-sided.
    **mu**, **sigma**: (..., L) posterior means and standard deviations.  **level**: one-sided
    confidence, in [0.5, 1).
    **ties**: "leader": a group is everything down from its best member until the first model that is separated from
    that member. "adjacent": neighbours in the order that are not separated are in one group, which can chain models
    that are far apart into one rank.  **method**: "competition" (1 1 3), one more than the models above the group, or
    "dense" (1 1 2), one more than the groups above it. A model whose score or deviation is NaN has rank 0, none.
    The text of the source, section 2.7.1, says "adjacent"; its tables 1 and 2 are printed with "leader" and "dense".
    One pair is looked at at a time, by the deviations given: among many equal models some pair is separated far more
    often than 1 - level. `jaxrank.tiers` holds for all at once.

    >>> from jaxrank import evaluation
    >>> evaluation.rank_with_intervals([0.8, 0.7, 0.5], [0.05, 0.05, 0.05]).tolist()
    [1, 1, 3]

    Source: Hariri et al. (2026), "Don't Pass@k".
    """
    check_choice("ties", ties, ("leader", "adjacent"))
    check_choice("method", method, ("competition", "dense"))
    mu, sigma = _floats(mu, sigma)
    return _placed(mu, sigma, np.asarray(_one_sided(level), mu.dtype), ties, method)


@partial(jax.jit, static_argnames=("ties", "method"))
def _placed(mu: Array, sigma: Array, level: Any, ties: str, method: str) -> Array:
    unknown = jnp.isnan(mu) | jnp.isnan(sigma)
    mu = jnp.where(unknown, -jnp.inf, mu)  # last in the order, and without a rank
    order = jnp.argsort(-mu, axis=-1, stable=True)
    best, spread = (jnp.take_along_axis(v, order, axis=-1) for v in (mu, sigma))
    limit = ndtri(level)
    z = separation(best, spread)

    def place(leader: Array, i: Array) -> tuple[Array, Array]:
        against = leader if ties == "leader" else jnp.maximum(i - 1, 0)
        z_i = jnp.take_along_axis(z[..., i, :], jnp.broadcast_to(against, leader.shape)[..., None], axis=-1)[..., 0]
        leader = jnp.where((z_i >= limit) & (i > 0), i, leader)
        return leader, leader + 1

    first = jnp.zeros(mu.shape[:-1], jnp.int32)
    _, ranks = jax.lax.scan(place, first, jnp.arange(mu.shape[-1], dtype=jnp.int32))
    ranks = jnp.moveaxis(ranks, 0, -1)
    if method == "dense":
        begins = ranks == jnp.arange(1, mu.shape[-1] + 1)
        ranks = jnp.cumsum(begins, axis=-1, dtype=jnp.int32)
    return jnp.where(unknown, 0, jnp.take_along_axis(ranks, jnp.argsort(order, axis=-1), axis=-1))


def _floats(mu: npt.ArrayLike, sigma: npt.ArrayLike) -> tuple[Array, ...]:
    found = same_models(mu, sigma, ("mu", "sigma"))
    dtype = jnp.result_type(float, *found)
    return tuple(x.astype(dtype) for x in found)


def trials_needed(
    R: Evaluated | Ranked,
    pair: tuple[int | str, int | str],
    *,
    z: float = 1.645,
    w: npt.ArrayLike | None = None,
    R0: npt.ArrayLike | None = None,
    most: int = 10**9,
) -> int | None:
    """Trials of every question at which two models are separated by ``z`` in Bayes@N, if the observed rates hold.

    **R**: whatever `jaxrank.evaluation.bayes` reads, or a result of ``jaxrank.fit``.  **pair**: two models, by index or
    name.  **z**: 1.645 for 95 %, 1.96 for 97.5 % one-sided confidence.  **R0**: prior outcomes that stay as they are.
    Rates of a question are the observed shares, which needs two trials of each (`OptionError`). It is a guess from a
    pilot: of 3 trials on 50 questions .5 to 13 times what the true rates need in four of five pilots, of 16 trials .8
    to 3.3 times (`experiments/calibration`). z grows as the square root of the number of trials; the exact smallest
    N is found, and None returned where the rates give equal scores (or more than ``most`` trials are needed). Separated
    means in the direction of the rates: a prior that orders the two the other way has to be outweighed first.

    >>> from jaxrank import evaluation
    >>> evaluation.trials_needed([[[1, 1], [1, 0]], [[1, 0], [0, 0]]], (0, 1))
    4
    """
    check_number("z", z, above=0)
    check_count("most", most)
    data = data_of(R)
    cells = read(data, R0, 1.0, weights_size(w))
    check_several(cells, "there is no pair")
    counts = np.asarray(cells.stat.categories, float)
    n = counts.sum(-1, keepdims=True)
    uniform = np.full(counts.shape, 1 / counts.shape[-1])
    rates = np.where(n > 0, counts / np.where(n > 0, n, 1), uniform)
    prior = np.broadcast_to(np.asarray(cells.prior, float), counts.shape) + 1
    weights = np.asarray(cells.stat.levels if w is None else w, float)
    names = cells.models or tuple(f"model {i}" for i in range(len(counts)))
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise OptionError(f"pair={shown(pair)}; it must be two models, by name or number")
    i, j = (model_index(names, m, "pair") for m in pair)
    single = [names[m] for m in (i, j) if (n[m] == 1).any()]
    if single:
        raise OptionError(
            f"{name_list(single, range(len(single)))} has questions of a single trial, which tells no rate between 0 "
            "and 1, so that the number would come out too small; give two trials or more of every question"
        )

    direction = np.sign(np.mean((rates[i] - rates[j]) @ weights))

    def separated(trials: int) -> bool:
        nu = prior[[i, j]] + trials * rates[[i, j]]
        total = nu.sum(-1)
        mean = nu @ weights / total
        variance = (nu @ weights**2 / total - mean**2) / (total + 1)
        spread = np.sqrt(variance.sum()) / counts.shape[1]
        return bool((mean[0].mean() - mean[1].mean()) * direction >= z * spread > 0)

    high = 1
    while not separated(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if separated(middle) else (middle, high)
    return high


class Settled(NamedTuple):
    """What a stopping rule found: whether to ``stop``; ``order``, models from best to worst; and for each neighbour
    pair of that order (L - 1,), whether it is ``separated`` and whether it is ``tied`` at the width."""

    stop: Bool[Array, "*batch"]
    order: Int[Array, "*batch models"]
    separated: Bool[Array, "*batch neighbours"]
    tied: Bool[Array, "*batch neighbours"]


def stopping_rule(
    mu: npt.ArrayLike,
    sigma: npt.ArrayLike,
    *,
    looks: int | None = None,
    level: float = 0.95,
    width: float = 0.0,
    top: int | None = None,
    anytime: bool = False,
    scale: float = 0.1,
) -> Settled:
    """Stop when every neighbour pair is separated, or declared tied because its gap is known to be within ``width``.

    **looks**: how often the rule is asked in the whole study, 1 if once at the end. Every look is a chance to be wrong:
    each is held to 1 - (1 - level) / looks (Bonferroni), so that a pair is put in the wrong order at any of them with
    probability 1 - level at most, as far as ``mu`` is normal with deviation ``sigma`` about the truth.
    A pair is separated where z >= Phi^-1 of that. It is tied where the two-sided interval of its gap, at that z,
    lies within [-width, width]. **top**: only the border between the best ``top`` models and the rest matters.
    Pairs are looked at one at a time; `jaxrank.tiers` holds for all at once.

    **anytime**: for any number of looks, instead of ``looks``: the gap is held to the bound that a sum of normal
    increments ever crosses with probability 1 - level to either side, sqrt((1 + s^2 / scale^2) log((1 + scale^2 / s^2)
    / (4 (1 - level)^2))) deviations s of the gap, the normal mixture of Robbins (1970), "Statistical methods related to
    the law of the iterated logarithm".  **scale**: it is the narrowest for gaps of about this size.

    >>> from jaxrank import evaluation
    >>> bool(evaluation.stopping_rule([0.8, 0.7], [0.03, 0.03], looks=1).stop)
    True
    >>> bool(evaluation.stopping_rule([0.8, 0.7], [0.03, 0.03], looks=20).stop)
    False
    """
    check_number("width", width, 0)
    check_number("scale", scale, above=0)
    check_flag("anytime", anytime)
    if (looks is None) != bool(anytime):
        raise OptionError("say how often the rule is asked, looks=, or anytime=True for any number of looks")
    if looks is not None:
        check_count("looks", looks)
    mu, sigma = _floats(mu, sigma)
    if top is not None:
        check_count("top", top, 1, mu.shape[-1] - 1)
    own = np.asarray(1 - (1 - _one_sided(level)) / (looks or 1), mu.dtype)
    return _settled(mu, sigma, own, float(width), top, float(scale) if anytime else None)


@partial(jax.jit, static_argnames="top")
def _settled(mu: Array, sigma: Array, level: Any, width: Any, top: int | None, scale: Any) -> Settled:
    order = jnp.argsort(-mu, axis=-1, stable=True)
    m, s = (jnp.take_along_axis(v, order, axis=-1) for v in (mu, sigma))
    gap = m[..., :-1] - m[..., 1:]
    spread = jnp.sqrt(jnp.square(s[..., :-1]) + jnp.square(s[..., 1:]))
    reach = spread * (ndtri(level) if scale is None else _mixture_bound(spread, level, scale))
    separated = (gap > 0) & (gap >= reach)
    tied = gap + reach <= width
    done = separated | tied
    stop = done[..., top - 1] if top is not None else jnp.all(done, axis=-1)
    return Settled(stop, order.astype(jnp.int32), separated, tied)


def _mixture_bound(spread: Array, level: Any, scale: Any) -> Array:
    ratio = jnp.square(scale / jnp.maximum(spread, jnp.finfo(spread.dtype).tiny ** 0.25))
    return jnp.sqrt((1 + 1 / ratio) * jnp.log((1 + ratio) / jnp.square(2 * (1 - level))))


def _one_sided(level: float) -> float:
    check_number("level", level, 0.5, below=1)
    return float(level)
