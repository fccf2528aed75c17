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
    return _majority(right, tuple(sorted(wrong)), invalid, replace)


@functools.lru_cache(maxsize=100_000)
def _majority(right: int, wrong: tuple[int, ...], invalid: int, replace: bool) -> np.ndarray:
    n_all = right + sum(wrong) + invalid
    # Without replacement c of b completions are drawn in C(b, c) ways; with it in b^c / c! times n!.
    fact = np.cumprod([1.0, *range(1, n_all + 1)]) if replace else None

    def ways(size: int, most: int) -> np.ndarray:
        if fact is None:
            return np.array([float(comb(size, c)) for c in range(min(size, most) + 1)])
        return np.array([(size / n_all) ** c / fact[c] for c in range(most + 1)])

    total = np.zeros(n_all + 1)
    own = ways(right, n_all)
    for votes in range(1, len(own)):
        # by_ties[j]: ways in which j of the wrong answers have as many votes and none has more, by completions drawn.
        by_ties = np.zeros((1, 1))
        by_ties[0, 0] = 1
        for size in (*wrong, None):
            given = ways(invalid, n_all) if size is None else ways(size, votes)
            ties = size is not None and len(given) > votes
            fewer = given[:votes] if ties else given
            grown = np.zeros((by_ties.shape[0] + ties, min(by_ties.shape[1] + len(given) - 1, n_all + 1)))
            for j, row in enumerate(by_ties):
                made = np.convolve(row, fewer)[: grown.shape[1]]
                grown[j, : len(made)] += made
                if ties:
                    moved = np.zeros(grown.shape[1])
                    part = row[: max(grown.shape[1] - votes, 0)]
                    moved[votes : votes + len(part)] = part * given[votes]
                    grown[j + 1] += moved
            by_ties = grown
        shared = (by_ties / (1 + np.arange(len(by_ties)))[:, None]).sum(axis=0)
        room = n_all + 1 - votes
        total[votes : votes + min(len(shared), room)] += own[votes] * shared[:room]
    n = np.arange(1, n_all + 1)
    if fact is not None:
        return total[1:] * fact[1:]
    return total[1:] / np.array([float(comb(n_all, k)) for k in n])


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
