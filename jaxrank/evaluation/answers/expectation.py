"""Exact accuracy of a majority and of the best of n, over all ways to draw n of the recorded completions."""

from __future__ import annotations

import functools
from math import comb

import numpy as np
from jaxtyping import Float, Int


def majority_curve(
    right: int, wrong: tuple[int, ...], invalid: int = 0, replace: bool = False
) -> Float[np.ndarray, " n"]:
    """Expected credit of the right answer for n = 1..N draws of N completions, ties shared.

    **right**: completions with the right answer.  **wrong**: those with each wrong one.  **invalid**: without any.
    **replace**: draws with replacement (multinomial), else without. A tie broken by the earliest appearance has the
    same expectation: all orders of a draw are equally likely.

    >>> [round(float(x), 4) for x in majority_curve(4, (3, 1))]
    [0.5, 0.5, 0.5714, 0.6286, 0.6607, 0.7143, 0.75, 1.0]
    """
    return majority_curves(np.array([[right, invalid, *wrong]]), replace)[0]


def majority_curves(counts: Int[np.ndarray, "questions answers"], replace: bool) -> Float[np.ndarray, "questions n"]:
    """`majority_curve` of many questions with N completions each. **counts**: of the right answer, of completions
    without an answer, and of each wrong answer, 0 for none.

    With v votes for the right answer, a wrong one has fewer, or as many: ties are shared as if each answer had a
    uniform number more, u for the right one, so that the credit is the integral over u of a product of polynomials.
    Questions share the products of those of their counts that they have in common, the least first.
    """
    counts = np.column_stack([counts[:, :2], np.sort(counts[:, 2:], axis=1)])
    patterns, inverse = np.unique(counts, axis=0, return_inverse=True)
    n_all = int(counts[0].sum())
    levels, last = _levels(patterns[:, 1:])
    total = np.zeros((len(patterns), n_all + 1))
    own = {c: _ways(c, n_all, replace) for c in np.unique(patterns)}
    for votes in range(1, int(patterns[:, 0].max(initial=0)) + 1 if not replace else n_all + 1):
        left = n_all - votes
        several = min(left // votes, patterns.shape[1] - 2)  # answers that can tie with the right one
        for u, weight in zip(*_nodes(several // 2 + 1), strict=True):
            rest = np.zeros((1, left + 1))
            rest[0, 0] = 1
            for place, (parent, count) in enumerate(levels):
                grown = np.empty((len(parent), left + 1))
                for c in np.unique(count):
                    at = np.flatnonzero(count == c)
                    if c:
                        ways = own[c][: left + 1, : left + 1] * _share(left, n_all if place == 0 else votes, u)
                        grown[at] = rest[parent[at]] @ ways
                    else:
                        grown[at] = rest[parent[at]]
                rest = grown
            for c in np.unique(patterns[:, 0]):
                at = np.flatnonzero(patterns[:, 0] == c)
                # Of n = j + votes completions j are not the right answer.
                step = np.diagonal(own[c], votes)
                total[at, votes:] += weight * step * rest[last[at]]
    if not replace:
        total[:, 1:] /= np.array([float(comb(n_all, k)) for k in range(1, n_all + 1)])
    return total[inverse.reshape(-1), 1:]


def _levels(counts: np.ndarray) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Of each column, for the distinct rows of it and those before it: which row of the last step each goes on, and its
    count; and which of the last each row of all is."""
    found = []
    before = np.zeros(len(counts), int)
    for column in counts.T:
        pairs, now = np.unique(np.column_stack([before, column]), axis=0, return_inverse=True)
        found.append((pairs[:, 0], pairs[:, 1]))
        before = now.reshape(-1)
    return found, before


def _ways(size: int, n_all: int, replace: bool) -> Float[np.ndarray, "before after"]:
    """What one more answer with ``size`` completions adds: ways from i completions drawn to j, of those j - i its own.

    With replacement C(j, i) (size / N)^(j - i) of the chance; without, C(size, j - i) of the C(N, n) draws.
    """
    from scipy.special import binom

    i, j = np.mgrid[: n_all + 1, : n_all + 1]
    taken = np.maximum(j - i, 0)
    made = binom(j, i) * (size / n_all) ** taken if replace else binom(size, taken)
    return np.where(j >= i, made, 0.0)


def _share(left: int, votes: int, u: float) -> Float[np.ndarray, "before after"]:
    """1 where an answer takes fewer completions than the right one, u where it takes as many."""
    taken = np.arange(left + 1)[None] - np.arange(left + 1)[:, None]
    return np.where(taken < votes, 1.0, np.where(taken == votes, u, 0.0))


@functools.lru_cache(maxsize=64)
def _nodes(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1], exact for polynomials of degree 2 size - 1."""
    x, w = np.polynomial.legendre.leggauss(size)
    return (x + 1) / 2, w / 2


def best_of_n_curve(
    scores: Float[np.ndarray, " completions"],
    correct: np.ndarray,
    valid: np.ndarray | None = None,
    replace: bool = False,
) -> Float[np.ndarray, " n"]:
    """Chance that the completion with the highest score among n is right, for n = 1..N draws of N completions.

    Completions of equal score come in a random order. **valid**: those with an answer; the others are drawn and never
    chosen.

    >>> [round(float(x), 3) for x in best_of_n_curve(np.array([0.9, 0.2, 0.5]), np.array([1, 1, 0]))]
    [0.667, 0.667, 1.0]
    """
    n_all = len(scores)
    known = np.ones(n_all, bool) if valid is None else valid
    s, good = np.asarray(scores, float)[known], np.asarray(correct, float)[known]
    order = np.argsort(-s, kind="stable")
    s, good = s[order], good[order]
    start = np.unique(-s, return_index=True)[1]
    share = np.add.reduceat(good, start) / np.diff([*start, len(s)]) if len(s) else np.zeros(0)
    above = np.array([*start, len(s)])  # completions strictly better, and all that are valid
    n = np.arange(1, n_all + 1)[:, None]
    # Chance that none of n draws is among the best ``above``.
    none = ((n_all - above) / n_all) ** n if replace else _none_of(n_all, above, n[:, 0])
    return (none[:, :-1] - none[:, 1:]) @ share


def _none_of(n_all: int, above: Int[np.ndarray, " levels"], n: Int[np.ndarray, " sizes"]) -> np.ndarray:
    """C(N - above, n) / C(N, n), (n, levels)."""
    out = np.ones((len(n) + 1, len(above)))
    for i in range(len(n)):
        out[i + 1] = out[i] * np.maximum(n_all - above - i, 0) / (n_all - i)
    return out[1:]
