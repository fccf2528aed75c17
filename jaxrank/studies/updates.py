"""``update``: the fit of battles that came later, begun at the fit of those before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.battle_statistic import Battles
from jaxrank.data.comparisons import comparisons_of
from jaxrank.data.kind import concat
from jaxrank.errors import UnsupportedDataError
from jaxrank.models.pairs.battles import WithCovariates, begun_at
from jaxrank.models.pairs.fit import PairedModel
from jaxrank.results.fit import Result
from jaxrank.studies.fit import raise_failure, read_statistic, run


def update(result: Result, battles: DataLike) -> Result:
    """The fit of the same method to the battles of ``result`` and further ones, begun at the old optimum.

    It equals the fit of all battles within the resolution of the solver. Covariates keep their meaning: the unit of a
    ratio of two columns is that of all battles. Raises as `jaxrank.fit`.
    """
    if not isinstance(result, Result) or not isinstance(result.ranker, PairedModel):
        raise UnsupportedDataError("update is for fits of battles by paired comparison models; use jaxrank.fit instead")
    old, new = (comparisons_of(data, "jaxrank.update") for data in (result.data, as_data(battles)))
    whole = concat([old, new])
    ranker: Any = result.ranker
    with result.precision():
        stat = None
        if isinstance(result.stat, Battles):
            added = whole.select(battles=np.arange(len(old.a), len(whole.a)))
            stat = ranker.reader.extended(result.stat, float((old.count * old.weight).sum()), added)
        stat = read_statistic(ranker, whole) if stat is None else stat
        if whole.models == result.models:
            ranker = begun_at(ranker, result.stat, stat, result.fit)
        raw = run(ranker, stat)
        raw = result.ranker.settle(stat, raw) if isinstance(result.ranker, WithCovariates) else raw
    made = replace(result, fit=jax.tree.map(np.asarray, raw), data=whole, stat=stat)
    raise_failure(made)
    return made
