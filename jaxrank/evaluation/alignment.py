"""How far greedy decoding orders models as sampling does: whether greedy outcomes are a prior to trust."""

from __future__ import annotations

import warnings

import numpy as np

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.responses import Responses, responses_of
from jaxrank.errors import DataError, JaxrankWarning
from jaxrank.models.options import check_number
from jaxrank.numerics.ranks import kendall_tau

LOW_ALIGNMENT = 0.65


def greedy_alignment(R: DataLike, R0: DataLike, warn_below: float = LOW_ALIGNMENT) -> float:
    """tau-b between the order of the models by their sampled trials and by greedy outcomes R0, (L, M) or (L, M, D).

    **R**: what `jaxrank.fit` takes; an array of two axes is (models, questions).

    In the published study a greedy prior helped at alignments of 0.66 to 0.77 and harmed at 0.635 [hariri2026ranking,
    table 4]; below ``warn_below`` (0.65) a warning says so. Few models make the alignment itself uncertain.
    """
    check_number("warn_below", warn_below, -1, 1)
    data, greedy = (responses_of(as_data(x), "greedy_alignment") for x in (R, R0))
    if greedy.counts.shape[0] != data.counts.shape[0]:
        raise DataError(f"R0 has {greedy.counts.shape[0]} models, R has {data.counts.shape[0]}; they must be the same")
    tau = float(kendall_tau(_means(data), _means(greedy)))
    if not tau >= warn_below:
        warnings.warn(
            f"greedy and sampled outcomes order the models differently (tau-b {tau:.3f}, below {warn_below}); "
            "greedy outcomes as a prior may do harm: lower strength, or leave R0 out",
            JaxrankWarning,
            stacklevel=2,
        )
    return tau


def _means(data: Responses) -> np.ndarray:
    levels = np.asarray(data.levels)
    n = data.trials
    return np.nanmean(np.where(n > 0, data.counts @ levels / np.maximum(n, 1), np.nan), axis=1)
