"""The distinct answers that the judges gave to a candidate, with how often: all that the joint likelihood reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

Scores = Int[np.ndarray, "judges candidates questions"]


class Patterns(NamedTuple):
    """Distinct (scores of all judges, known true level) of every candidate, padded to one number a candidate.

    **hot** (J M, K, U): 1 at j M + s where judge j gave level s; a judge without a score has no 1. **possible** (M, K,
    U): 1 for the true levels that the gold label leaves open. **count** (K, U): questions with that pattern, 0 for
    padding and for questions that say nothing. With indicators the likelihood is one matrix product, and so is its
    gradient, which was 20 times slower by gathers. U is a power of two or the number of questions, so that other data
    of the same size seldom compile again.
    """

    hot: Any
    possible: Any
    count: Any


def patterns_of(scores: Scores, gold: Int[np.ndarray, "candidates questions"], m: int, dtype: Any = float) -> Patterns:
    """From scores 0..m-1 (-1 missing) and true levels (-1 unknown)."""
    found = []
    for k in range(scores.shape[1]):
        rows = np.concatenate([scores[:, k].T, gold[k][:, None]], axis=1)
        found.append(np.unique(rows[(rows >= 0).any(axis=1)], axis=0, return_counts=True))
    size = max(1, max(len(count) for _, count in found))
    size = max(size, min(2 ** (size - 1).bit_length(), scores.shape[2]))
    rows = np.full((len(found), size, len(scores) + 1), -1)
    count = np.zeros((len(found), size))
    for k, (distinct, often) in enumerate(found):
        rows[k, : len(often)], count[k, : len(often)] = distinct, often
    hot = rows[..., :-1, None] == np.arange(m)
    known = rows[..., -1:]
    open_levels = (known < 0) | (known == np.arange(m))
    return Patterns(
        hot=hot.reshape(len(found), size, -1).transpose(2, 0, 1).astype(dtype),
        possible=np.moveaxis(open_levels, -1, 0).astype(dtype),
        count=count.astype(dtype),
    )


def distinct_answers(scores: Scores) -> tuple[Scores, Int[np.ndarray, "candidates questions"]]:
    """Each candidate's distinct scores (J, K, U), -1 where it has fewer than U, and which of them every question has.

    For those who weigh questions: what is done by question is done by pattern. U as in `Patterns`.
    """
    found = [np.unique(scores[:, k], axis=1, return_inverse=True) for k in range(scores.shape[1])]
    most = max(rows.shape[1] for rows, _ in found)
    size = max(most, min(2 ** (most - 1).bit_length(), scores.shape[2]))
    answers = [np.pad(rows, ((0, 0), (0, size - rows.shape[1])), constant_values=-1) for rows, _ in found]
    return np.stack(answers, axis=1), np.stack([np.ravel(place) for _, place in found])
