"""p-values of many hypotheses at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def holm(p: Float[np.ndarray, " hypotheses"]) -> Float[np.ndarray, " hypotheses"]:
    """Holm's adjustment: rejecting where it is at most alpha makes any false rejection at most that likely. NaN stays
    NaN and is not counted.

    Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    return _by_order(p, lambda ordered, n: np.maximum.accumulate(ordered * np.arange(n, 0, -1)))


def benjamini_hochberg(p: Float[np.ndarray, " hypotheses"]) -> Float[np.ndarray, " hypotheses"]:
    """Benjamini and Hochberg's adjustment: of those rejected where it is at most alpha an expected share of at most
    alpha is false, for independent or positively dependent p-values. NaN stays NaN and is not counted.

    Source: Benjamini and Hochberg (1995), "Controlling the false discovery rate".
    """
    return _by_order(p, lambda ordered, n: np.minimum.accumulate((ordered * n / np.arange(1, n + 1))[::-1])[::-1])


def _by_order(p: np.ndarray, adjust) -> np.ndarray:
    p = np.asarray(p, float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(p.shape, np.nan)
    out[order] = np.minimum(adjust(p[order], len(order)), 1)
    return out
