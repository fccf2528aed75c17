"""Aggregated battles: pairs of models with how often either won, they tied, or both were bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers.battles import CODE_VALUES, apply, check_options
from jaxrank.data.readers.logs import Format, LogOptions, list_of
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError


def from_pairs(
    pairs: Any,
    totals: Any,
    models: Sequence[Any] | None,
    *,
    ties: str = "model",
    bothbad: str = "tie",
    notes: Sequence[str] = (),
    where: str = "",
) -> Comparisons:
    """Aggregated battles: index pairs (E, 2) and counts (E, 3 or 4) of a's wins, b's wins, ties and "both bad"."""
    check_options(ties, bothbad)
    X, Y = np.asarray(pairs), np.asarray(totals)
    if X.ndim != 2 or X.shape[1] != 2 or X.dtype.kind not in "iu":
        raise DataError(f"{where}pairs of models need whole numbers of shape (pairs, 2), not {X.dtype} {X.shape}")
    if Y.ndim != 2 or len(Y) != len(X) or Y.shape[1] not in (3, 4) or Y.dtype.kind not in "iuf":
        raise DataError(f"{where}counts of battles need shape ({len(X)}, 3) or ({len(X)}, 4), not {Y.dtype} {Y.shape}")
    if not np.all(np.isfinite(Y)) or np.any(Y < 0):
        raise DataError(f"{where}counts of battles must be finite numbers of 0 or more")
    row, outcome = np.nonzero(Y)
    notes = list(notes)
    a, b, outcome, count, _ = apply(X[row, 0], X[row, 1], outcome, Y[row, outcome].astype(float), ties, bothbad, notes)
    return Comparisons(a, b, CODE_VALUES[outcome], count, models, notes=notes)


def read_pairs(sources: list[Source], options: LogOptions) -> Comparisons:
    """A JSON object of aggregated battles: ``models``, ``X`` (index pairs) and ``Y`` (wins, losses, ties, both bad)."""
    if len(sources) > 1:
        raise DataError(f"a file of aggregated battles holds all of them; read one at a time, not {len(sources)} files")
    document, name = sources[0].document, sources[0].name
    try:
        X, Y = np.array(document["X"]), np.array(document["Y"])
    except (ValueError, OverflowError):
        raise DataError(f"{name}: X or Y has rows of unequal lengths, or numbers that are too large") from None
    models = list_of(document["models"], str, f"{name}: models")
    notes = [f"read {X.size // 2} pairs of {sources[0].path.name} (aggregated battles)"]
    return from_pairs(X, Y, models, ties=options.ties, bothbad=options.bothbad, notes=notes, where=f"{name}: ")


PAIRS = Format(
    "arena-pairs",
    lambda source: {"models", "X", "Y"} <= source.keys,
    read_pairs,
    files="a JSON object of models, pairs and totals",
    trials="battles",
    options="`ties`, `bothbad`",
)
