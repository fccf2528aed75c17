"""Clusters of questions drawn again, against every draw written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError

R = np.array(
    [[0.9, 0.2, 0.7, 0.4, 0.8, 0.1, 0.6], [0.5, 0.3, 0.9, 0.1, 0.2, 0.7, 0.4], [0.3, 0.8, 0.1, 0.6, 0.5, 0.2, 0.9]]
)
ONE, TWO = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 2, 0, 1, 2, 2])
pytestmark = pytest.mark.filterwarnings("ignore:scheme clusters")


def _every_draw(*columns: np.ndarray) -> np.ndarray:
    """Means of all equally likely draws of three clusters of each column; those without a question left out."""
    out = []
    for drawn in itertools.product(itertools.product(range(3), repeat=3), repeat=len(columns)):
        weight = np.prod([np.bincount(d, minlength=3)[c] for d, c in zip(drawn, columns, strict=True)], axis=0)
        if weight.sum():
            out.append((R * weight).sum(axis=1) / weight.sum())
    return np.array(out)


@pytest.mark.parametrize(("names", "columns"), [(("group",), (ONE,)), (("group", "passage"), (ONE, TWO))])
def test_replicates_are_those_of_every_draw(names, columns):
    data = jr.Responses(R, None, {"group": ONE.astype(str), "passage": TWO.astype(str)})
    scores = jr.bootstrap(data, "avg", n_replicates=20_000, scheme=jr.clusters(*names)).replicate_scores
    scores, every = scores[np.isfinite(scores).all(axis=1)], _every_draw(*columns)
    error = every.std(axis=0) / np.sqrt(len(scores))
    assert np.all(np.abs(scores.mean(axis=0) - every.mean(axis=0)) < 4 * error)
    np.testing.assert_allclose(scores.std(axis=0), every.std(axis=0), rtol=0.03)
    distinct = np.unique(np.round(every, 9), axis=0)
    assert {tuple(x) for x in np.round(scores, 9)} <= {tuple(x) for x in distinct}


def test_clusters_that_are_none():
    data = jr.Responses(R, groups=["a"] * 7)
    with pytest.raises(OptionError, match="no such column; there are 'group'"):
        jr.bootstrap(data, "avg", scheme=jr.clusters("subject"), n_replicates=10)
    with pytest.raises(OptionError, match="one cluster"):
        jr.bootstrap(data, "avg", scheme=jr.clusters("group"), n_replicates=10)
    with pytest.raises(OptionError, match="one or two columns"):
        jr.clusters()
    with pytest.warns(jr.JaxrankWarning, match="there are 3 clusters"):
        jr.bootstrap(jr.Responses(R, groups=ONE), "avg", scheme=jr.clusters("group"), n_replicates=10)
