"""From scores to ranks, and how far two rankings agree. All on device, all mapped over leading axes."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpy.typing import ArrayLike

from jaxrank.errors import DataError, OptionError, one_line

RankMethod = Literal["competition", "competition_max", "dense", "average"]
_UNROLLED = 32  # models up to which pairs are compared in whole-array operations, one for each distance
RANK_METHODS = ("competition", "competition_max", "dense", "average")


def rank_scores(scores: ArrayLike, method: RankMethod = "competition", resolution: ArrayLike = 0.0) -> Array:
    """Ranks of scores, 1 is best; sorted neighbours whose scores differ by ``resolution`` or less tie.

    **scores**: (..., L), higher is better; NaN gets rank 0 (no rank), infinities are ordinary values.
    **method**: ties get "competition" 1 2 2 4, "competition_max" 1 3 3 4, "dense" 1 2 2 3, "average" 1 2.5 2.5 4.
    **resolution**: scalar or (...,), 0 or more.

    Returns int32 (..., L), floats for "average".

    >>> import jaxrank as jr
    >>> jr.rank_scores([0.9, 0.7, 0.7, 0.4]).tolist()
    [1, 2, 2, 4]
    >>> jr.rank_scores([0.9, 0.7, 0.7, 0.4], "average").tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    if not isinstance(method, str) or method not in RANK_METHODS:
        raise OptionError(
            f"method={one_line(method)} is not a way to rank ties; choose one of {', '.join(RANK_METHODS)}"
        )
    s = as_scores(scores)
    _check_resolution(resolution, s.shape[:-1])
    return _ranked(s, resolution, method)


@partial(jax.jit, static_argnames="method")
def _ranked(s: Array, resolution: Any, method: RankMethod) -> Array:
    head = tie_heads(s, resolution)
    known = ~jnp.isnan(s)
    above = known[..., None, :] & (head[..., None, :] > head[..., :, None])
    same = known[..., None, :] & (head[..., None, :] == head[..., :, None])
    if method == "dense":
        first = above & _first_of_group(head, known)[..., None, :]
        rank = 1 + jnp.sum(first, axis=-1, dtype=jnp.int32)
    else:
        best = 1 + jnp.sum(above, axis=-1, dtype=jnp.int32)
        size = jnp.sum(same, axis=-1, dtype=jnp.int32)
        if method == "competition":
            rank = best
        elif method == "competition_max":
            rank = best + size - 1
        else:
            rank = best + (size - 1) / 2
    return jnp.where(known, rank, 0).astype(rank.dtype)


def ranks_by_sorting(scores: np.ndarray, resolution: np.ndarray) -> np.ndarray:
    """The competition ranks that `rank_scores` gives, of scores (B, L) with resolutions (B,) on the host: for many
    models, whose pairs are too many."""
    order = np.argsort(-scores, axis=1)  # NaN last
    ordered = np.take_along_axis(scores, order, axis=1)
    with np.errstate(invalid="ignore"):
        gap = ordered[:, :-1] - ordered[:, 1:]
    apart = (ordered[:, :-1] > ordered[:, 1:]) & ~(gap <= resolution[:, None].astype(scores.dtype))
    places = np.arange(scores.shape[1])
    first = np.maximum.accumulate(np.where(np.pad(apart, ((0, 0), (1, 0))), places, 0), axis=1)
    out = np.empty(scores.shape, np.int32)
    np.put_along_axis(out, order, np.where(np.isnan(ordered), 0, first + 1).astype(np.int32), axis=1)
    return out


def as_scores(values: Any, name: str = "scores") -> Array:
    """Floats (..., L); `DataError` for anything but numbers of one model or more."""
    known = None
    if not isinstance(values, jax.Array):
        with contextlib.suppress(TypeError, ValueError):  # traced numbers in a list, or no array at all
            known = np.asarray(values)
    try:
        if known is None:
            s = jnp.asarray(values)
        elif known.dtype.kind not in "biuf":
            raise TypeError(known.dtype)
        else:  # `jnp.asarray` would compile a program for the shape
            s = jax.device_put(known if known.dtype.kind == "f" else known.astype(jnp.zeros(()).dtype))
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} must be numbers, one for each model") from None
    if s.ndim == 0 or s.shape[-1] == 0 or jnp.issubdtype(s.dtype, jnp.complexfloating):
        raise DataError(f"{name} must be numbers, one for each model, not {s.dtype} of shape {s.shape}")
    return s if jnp.issubdtype(s.dtype, jnp.floating) else s.astype(jnp.zeros(()).dtype)


def same_models(a: Any, b: Any, names: tuple[str, str] = ("a", "b")) -> tuple[Array, Array]:
    """Two arrays of scores, broadcast together."""
    x, y = as_scores(a, names[0]), as_scores(b, names[1])
    if x.shape[-1] != y.shape[-1]:
        raise DataError(f"{names[0]} has {x.shape[-1]} models and {names[1]} {y.shape[-1]}; they must be the same")
    try:
        x, y = (x, y) if x.shape == y.shape else jnp.broadcast_arrays(x, y)
    except ValueError:
        raise DataError(f"{names[0]} and {names[1]} have shapes {x.shape} and {y.shape}, which do not fit") from None
    return x, y


def _check_resolution(resolution: Any, shape: tuple[int, ...]) -> None:
    if isinstance(resolution, jax.Array):
        return  # of a fit
    try:
        known = np.asarray(resolution)
        fine = known.dtype.kind in "iuf" and bool(np.all(known >= 0) and np.all(np.isfinite(known.astype(float))))
        fine &= np.broadcast_shapes(known.shape, shape) == shape
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise OptionError(
            f"resolution={one_line(resolution)}; it must be a number of 0 or more, one for all or one a ranking"
        )


@jax.jit
def tie_heads(scores: Float[Array, "*batch models"], resolution: Any = 0.0) -> Float[Array, "*batch models"]:
    """The best score of each model's group of ties: equal for tied models, in the order of the scores."""
    s = jnp.asarray(scores)
    gap = jnp.broadcast_to(jnp.asarray(resolution, s.dtype), s.shape[:-1])[..., None, None]
    mine, other = s[..., :, None], s[..., None, :]
    follows = jnp.any((other > mine) & (other - mine <= gap), axis=-1)  # a neighbour just above: not a head
    candidates = jnp.where(~follows[..., None, :] & (other >= mine), other, jnp.inf)
    return jnp.where(jnp.isnan(s), s, jnp.min(candidates, axis=-1))


def _first_of_group(head: Array, known: Array) -> Array:
    n = head.shape[-1]
    earlier = jnp.tril(jnp.ones((n, n), bool), -1) & known[..., None, :] & (head[..., None, :] == head[..., :, None])
    return known & ~jnp.any(earlier, axis=-1)


def kendall_tau(a: Any, b: Any) -> Array:
    """Kendall's tau-b with ties, over the last axis of two score or rank arrays (..., L), broadcast together.

    NaN where either input is constant or holds NaN. Source: Kendall (1945), "The treatment of ties in ranking
    problems".

    >>> import jaxrank as jr
    >>> round(float(jr.kendall_tau([3, 2, 1], [3, 1, 1])), 3)
    0.816
    """
    return _kendall(*same_models(a, b))


@jax.jit
def _kendall(a: Array, b: Array) -> Array:
    x, y = _signs(a), _signs(b)
    return _bounded(_inner(x, y), _inner(x, x), _inner(y, y))


@jax.jit
def tau_with(
    scores: Num[Array, "rows models"], resolution: Num[Array, " rows"], reference: Num[Array, "..."]
) -> Float[Array, " rows"]:
    """float32 tau-b of each row of scores, equal within its resolution, with reference ranks (L,) or (rows, L).

    NaN where either is constant or holds NaN. Memory is that of the scores, where `kendall_tau` takes all pairs.
    """
    n_models = scores.shape[-1]
    within = resolution[:, None].astype(scores.dtype)
    wanted = jnp.broadcast_to(reference, (1, n_models) if reference.ndim == 1 else scores.shape)

    def add(sums: tuple[Array, ...], s: Array, t: Array, r: Array, u: Array) -> tuple[Array, ...]:
        """Sums over pairs of scores s, t with reference ranks r, u."""
        sign = (s - t > within).astype(jnp.int32) - (s - t < -within).astype(jnp.int32)
        right = jnp.sign(u - r).astype(jnp.int32)
        parts = sign * right, sign == 0, right != 0
        return tuple(old + jnp.sum(x, axis=-1, dtype=jnp.int32) for old, x in zip(sums, parts, strict=True))

    zero = jnp.zeros(scores.shape[0], jnp.int32)
    sums = (zero, zero, jnp.zeros(wanted.shape[0], jnp.int32))
    if n_models <= _UNROLLED:
        for shift in range(1, n_models):  # pairs (i, i + shift)
            sums = add(sums, scores[:, :-shift], scores[:, shift:], wanted[:, :-shift], wanted[:, shift:])
    else:  # pairs (i, i + shift) around a circle; those half way round would come twice
        twice = jnp.concatenate([scores, scores], axis=1), jnp.concatenate([wanted, wanted], axis=1)
        turned = lambda x, shift: jax.lax.dynamic_slice_in_dim(x, shift, n_models, axis=1)
        step = lambda shift, sums: add(sums, scores, turned(twice[0], shift), wanted, turned(twice[1], shift))
        sums = jax.lax.fori_loop(1, (n_models + 1) // 2, step, sums)
        if n_models % 2 == 0:
            half = n_models // 2
            sums = add(sums, scores[:, :half], scores[:, half:], wanted[:, :half], wanted[:, half:])
    concordant, ties, known = sums
    n_pairs = n_models * (n_models - 1) // 2
    apart = n_pairs - ties
    scale = jnp.sqrt(apart.astype(jnp.float32)) * jnp.sqrt(known.astype(jnp.float32))
    lost = jnp.any(scores != scores, axis=-1) | jnp.any(wanted != wanted, axis=-1)
    tau = jnp.where((scale > 0) & ~lost, concordant / jnp.where(scale > 0, scale, 1), jnp.nan)
    # equal rankings give exactly 1, opposite ones -1, however the compiler takes roots
    tau = jnp.where((apart == known) & (jnp.abs(concordant) == apart) & (scale > 0) & ~lost, jnp.sign(concordant), tau)
    return tau.astype(jnp.float32)


def spearman(a: Any, b: Any) -> Array:
    """Spearman's rank correlation with average ranks for ties, over the last axis. NaN where an input is constant or
    holds NaN."""
    return _spearman(*same_models(a, b))


@jax.jit
def _spearman(a: Array, b: Array) -> Array:
    x, y = _centred_ranks(a), _centred_ranks(b)
    dot = lambda u, v: jnp.sum(u * v, axis=-1)
    return _bounded(dot(x, y), dot(x, x), dot(y, y))


def weighted_tau(a: Any, b: Any) -> Array:
    """Kendall's tau weighted towards the top: a pair weighs 1/r + 1/s for the (1-based) ranks r, s of its members,
    averaged over ranking by ``a`` (ties by ``b``) and by ``b`` (ties by ``a``). Over the last axis; higher is better.

    Source: Vigna (2015), "A weighted correlation index for rankings with ties", additive hyperbolic weighing.
    """
    return _weighted(*same_models(a, b))


@jax.jit
def _weighted(a: Array, b: Array) -> Array:
    x, y = _signs(a), _signs(b)
    total = 0.0
    for first, second in ((a, b), (b, a)):
        weight = 1 / (1 + _places(first, second))
        w = weight[..., :, None] + weight[..., None, :]
        total = total + _bounded(_inner(x * w, y), _inner(x * w, x), _inner(y * w, y)) / 2
    # sums of weights differ by their order, which is the compiler's: equal and opposite rankings are told by themselves
    agrees, opposes = (jnp.all(x == other, axis=(-2, -1)) for other in (y, -y))
    return jnp.where(jnp.isnan(total) | (agrees == opposes), total, jnp.where(agrees, 1, -1).astype(total.dtype))


def top_k_overlap(a: Any, b: Any, k: int) -> Array:
    """Share of the top k of ``a`` that is in the top k of ``b``; ties at the border count in. In [0, 1].

    A NaN is in no top; NaN where a side has nothing but those.
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise OptionError(f"k={one_line(k)}; it must be a whole number of 1 or more")
    a, b = same_models(a, b)
    return _overlap(a, b, min(k, a.shape[-1]))


@jax.jit
def _overlap(a: Array, b: Array, k: Any) -> Array:
    in_a, in_b = ((ranks > 0) & (ranks <= k) for ranks in (rank_scores(a), rank_scores(b)))
    return jnp.sum(in_a & in_b, axis=-1) / jnp.maximum(jnp.sum(in_a, axis=-1), jnp.sum(in_b, axis=-1))


def _signs(a: Array) -> Array:
    return jnp.sign(a[..., :, None] - a[..., None, :])


def _inner(x: Array, y: Array) -> Array:
    return jnp.sum(x * y, axis=(-2, -1)) / 2


def _bounded(dot: Array, xx: Array, yy: Array) -> Array:
    """dot / sqrt(xx yy). Equal and opposite rankings give exactly 1 and -1, whatever roots the compiler takes."""
    tau = jnp.clip(dot / jnp.sqrt(xx * yy), -1, 1)
    tau = jnp.where((xx == yy) & (jnp.abs(dot) == xx), jnp.sign(dot), tau)
    return jnp.where((xx > 0) & (yy > 0), tau, jnp.nan)


def _centred_ranks(a: Any) -> Array:
    ranks = rank_scores(a, "average").astype(jnp.result_type(a, float))
    r = jnp.where(jnp.any(jnp.isnan(a), axis=-1, keepdims=True), jnp.nan, ranks)
    return r - jnp.mean(r, axis=-1, keepdims=True)


def _places(first: Array, second: Array) -> Array:
    """0-based place of each entry in falling order of ``first``, ties by ``second``, then by index from the last."""
    f, g = jnp.broadcast_arrays(first, second)
    better = f[..., None, :] > f[..., :, None]
    same = f[..., None, :] == f[..., :, None]
    better_tie = g[..., None, :] > g[..., :, None]
    same_tie = g[..., None, :] == g[..., :, None]
    later = jnp.triu(jnp.ones((f.shape[-1],) * 2, bool), 1)
    by_index = same_tie & jnp.broadcast_to(later, same_tie.shape)
    return jnp.sum(better | (same & (better_tie | by_index)), axis=-1)
