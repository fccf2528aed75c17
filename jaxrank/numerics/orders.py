"""Rankings as whole numbers and back, and two rankings beside each other."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxrank.errors import DataError, OptionError, one_line
from jaxrank.numerics.ranks import kendall_tau, spearman, weighted_tau

_MOST = 1000


def n_rankings(n: int, ties: bool = True) -> int:
    """How many rankings of ``n`` models there are: ordered Bell numbers, without ``ties`` n!.

    >>> import jaxrank as jr
    >>> [jr.n_rankings(n) for n in range(6)], jr.n_rankings(5, ties=False)
    ([1, 1, 3, 13, 75, 541], 120)
    """
    _whole("n", n)
    if n > _MOST:
        raise OptionError(f"n={one_line(n)}; rankings of at most {_MOST} models are numbered")
    _flag(ties)
    return _weak(int(n)) if ties else math.factorial(n)


@functools.cache
def _weak(n: int) -> int:
    known = [1]
    for m in range(1, n + 1):
        known.append(sum(math.comb(m, k) * known[m - k] for k in range(1, m + 1)))
    return known[n]


def ranking_number(ranks: ArrayLike, ties: bool = True) -> int:
    """The number of a ranking among all of as many models, from 0: equal numbers are equal rankings.

    **ranks**: (L,), lower is better; equal ones tie, and how far they are apart plays no part.  **ties**: among the
    rankings with ties, those with fewer models in the first place before the others, sets of models in the order of
    their places in ``ranks``; without, among the permutations, which is Lehmer's code. `ranking_of` is the inverse.

    >>> import jaxrank as jr
    >>> jr.ranking_number([1, 2, 2]), jr.ranking_number([1, 3, 2], ties=False)
    (2, 1)
    """
    _flag(ties)
    values = _ranks(ranks, "ranks")
    groups = [np.flatnonzero(values == value).tolist() for value in np.unique(values)]
    if not ties:
        if len(groups) < len(values):
            raise DataError("ranks has ties; number it with ties=True")
        return _lehmer(np.searchsorted(np.unique(values), values).tolist())
    left, number = list(range(len(values))), 0
    for group in groups:
        n, size = len(left), len(group)
        number += sum(math.comb(n, k) * _weak(n - k) for k in range(1, size))
        number += _set_number([left.index(i) for i in group], n) * _weak(n - size)
        left = [i for i in left if i not in group]
    return number


def ranking_of(number: int, n: int, ties: bool = True) -> list[int]:
    """The ranks (competition, 1 is best) of ``n`` models whose `ranking_number` is ``number``.

    >>> import jaxrank as jr
    >>> jr.ranking_of(2, 3), jr.ranking_of(1, 3, ties=False)
    ([1, 2, 2], [1, 3, 2])
    """
    _whole("number", number)
    number, most = int(number), n_rankings(n, ties)
    if number >= most:
        raise OptionError(f"number={number}; {n} models have {most} rankings, numbered from 0")
    if not ties:
        free, out = list(range(1, n + 1)), []
        for i in range(n):
            at, number = divmod(number, math.factorial(n - 1 - i))
            out.append(free.pop(at))
        return out
    ranks, left, place = [0] * n, list(range(n)), 1
    while left:
        size = 1
        while number >= (many := math.comb(len(left), size) * _weak(len(left) - size)):
            number, size = number - many, size + 1
        which, number = divmod(number, _weak(len(left) - size))
        group = [left[i] for i in _set_of(which, len(left), size)]
        for i in group:
            ranks[i] = place
        place += size
        left = [i for i in left if i not in group]
    return ranks


def _lehmer(order: list[int]) -> int:
    n = len(order)
    return sum(sum(x < order[i] for x in order[i + 1 :]) * math.factorial(n - 1 - i) for i in range(n))


def _set_number(chosen: list[int], n: int) -> int:
    """The place of a set among those of its size, in lexicographic order."""
    size, number, low = len(chosen), 0, 0
    for i, x in enumerate(chosen):
        number += sum(math.comb(n - 1 - y, size - 1 - i) for y in range(low, x))
        low = x + 1
    return number


def _set_of(number: int, n: int, size: int) -> list[int]:
    out, low = [], 0
    for i in range(size):
        while number >= (many := math.comb(n - 1 - low, size - 1 - i)):
            number, low = number - many, low + 1
        out.append(low)
        low += 1
    return out


def compare_rankings(a: ArrayLike, b: ArrayLike) -> dict[str, float]:
    """How far two rankings of the same models agree: kendall_tau, spearman and weighted_tau of the functions of these
    names, the share of models whose rank differs, and the largest difference of ranks over L - 1.

    **a**, **b**: (L,) ranks, 1 is best.

    >>> import jaxrank as jr
    >>> {name: round(x, 2) for name, x in jr.compare_rankings([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]).items()}
    {'kendall_tau': 0.8, 'spearman': 0.9, 'weighted_tau': 0.82, 'share_moved': 0.4, 'largest_move': 0.25}
    """
    first, second = _ranks(a, "a"), _ranks(b, "b")
    if len(first) != len(second):
        raise DataError(f"a ranks {len(first)} models and b {len(second)}; give ranks of the same models")
    moved = np.abs(first - second)
    return {
        "kendall_tau": float(kendall_tau(-first, -second)),
        "spearman": float(spearman(-first, -second)),
        "weighted_tau": float(weighted_tau(-first, -second)),
        "share_moved": float((moved > 0).mean()),
        "largest_move": float(moved.max() / max(len(first) - 1, 1)),
    }


def _ranks(given: Any, name: str) -> np.ndarray:
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} holds something that is not a number; give the rank of each model") from None
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
        raise DataError(f"{name} has shape {values.shape}; give one finite rank for each model, (L,)")
    return values


def _whole(name: str, value: Any) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise OptionError(f"{name}={one_line(value)}; it must be a whole number of 0 or more")


def _flag(ties: Any) -> None:
    if not isinstance(ties, bool | np.bool_):
        raise OptionError(f"ties={one_line(ties)}; it must be True or False")
