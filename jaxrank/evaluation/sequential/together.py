"""Many e-values at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool
from numpy.typing import ArrayLike

from jaxrank.models.options import check_number


def e_benjamini_hochberg(e: ArrayLike, alpha: float = 0.05) -> Bool[np.ndarray, " hypotheses"]:
    """Which of K hypotheses to reject so that an expected share of at most ``alpha`` of them is false, however the
    e-values (K,) depend on each other: the k* largest, k* = max{k : e_(k) >= K / (alpha k)}.

    >>> from jaxrank.evaluation import sequential
    >>> sequential.e_benjamini_hochberg([90.0, 1.2, 45.0]).tolist()
    [True, False, True]

    Source: Wang and Ramdas (2022) [wang2022].
    """
    check_number("e", np.nan_to_num(np.asarray(e, float), posinf=1e9).clip(max=1e9), 0, ndim=1)
    check_number("alpha", alpha, above=0, below=1)
    values = np.asarray(e, float)
    order = np.argsort(-values, kind="stable")
    k = np.arange(1, len(values) + 1)
    reached = np.flatnonzero(values[order] * alpha * k >= len(values))
    out = np.zeros(len(values), bool)
    if len(reached):
        out[order[: reached[-1] + 1]] = True
    return out
