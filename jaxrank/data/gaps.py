"""Questions that a model lacks, weights of groups, and real scores as places among all distinct ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.names import name_list
from jaxrank.errors import DataError


def in_common(seen: np.ndarray, models: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The questions that all models have, indices, and the note; ``seen``: bool (L, M)."""
    kept = np.flatnonzero(seen.all(axis=0))
    if len(kept) == 0:
        fewest = np.argsort(seen.sum(axis=1), kind="stable")[:3]
        raise DataError(
            f"no question has results of all models; fewest have {name_list(models, fewest)}: leave these out with "
            'select(models=...), or use missing="worst"'
        )
    dropped = seen.shape[1] - len(kept)
    said = f"{dropped} of {seen.shape[1]} questions, which not all models have, were left out" if dropped else ""
    return kept, (said,) if said else ()


def worst_in_gaps(
    table: np.ndarray, levels: Sequence[float], seen: np.ndarray, models: Sequence[str], of_counts: bool = False
) -> tuple[np.ndarray, tuple[str, ...]]:
    """A copy in which a model without results on a question has those of the model whose mean is worst there, and the
    note. ``table``: outcomes or real scores (L, M, N), or counts (L, M, C+1)."""
    out, n_filled = np.array(table), 0
    for m in np.flatnonzero(seen.any(axis=0) & ~seen.all(axis=0)):
        there, gone = np.flatnonzero(seen[:, m]), ~seen[:, m]
        rows = table[there, m]
        if of_counts:
            means = rows @ np.asarray(levels) / rows.sum(axis=1)
        else:
            values = rows if not len(levels) else np.append(np.asarray(levels, float), np.nan)[rows]
            means = np.array([np.mean(v[~np.isnan(v)]) for v in values])
        lowest = np.flatnonzero(means == means.min())
        worst = min(lowest, key=lambda i: rows[i].tolist().__repr__())  # whatever the order of the models
        out[gone, m] = rows[worst]
        n_filled += int(gone.sum())
    lacking = np.flatnonzero((~seen & seen.any(axis=0)).any(axis=1))
    said = (
        f"{n_filled} cells of {name_list(models, lacking)} had no result and got that of the model which is worst on "
        "the question"
    )
    return out, (said,) if n_filled else ()


def balanced_weights(weights: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Weights with the same total in every group, the overall total kept; `DataError` for a group of weight 0."""
    names, index = np.unique(group.astype(str), return_inverse=True)
    total = np.bincount(index, weights)
    if np.any(total == 0):
        raise DataError(f"all questions of group {names[int(np.argmin(total))]!r} have weight 0")
    return weights * (total.sum() / len(names) / total)[index]


def codes_of(real: Any) -> tuple[np.ndarray, np.ndarray]:
    """int32 (L, M, N), -1 where missing, the place of each score among the distinct ones of its question, and these in
    rising order, (M, K), the last one repeated where a question has fewer."""
    seen = ~np.isnan(real)
    codes, distinct = np.full(real.shape, -1, np.int32), []
    for m in range(real.shape[1]):
        found, index = np.unique(real[:, m][seen[:, m]], return_inverse=True)
        codes[:, m][seen[:, m]] = index
        distinct.append(found if len(found) else np.zeros(1))
    most = max(map(len, distinct))
    grid = np.stack([np.pad(x, (0, most - len(x)), mode="edge") for x in distinct])
    codes.setflags(write=False)
    grid.setflags(write=False)
    return codes, grid
