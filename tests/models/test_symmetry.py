"""Item response models with several optima of one value: no claim of the one that rounding chose."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.methods import catalogue
from jaxrank.models.irt.symmetry import exchangeable
from jaxrank.models.irt.table import item_table
from jaxrank.numerics.status import Status

# Exchanging models 1 and 2 and the last two questions leaves these successes in 4 trials as they are.
MIRRORED = {
    "rasch_2pl": [[2, 0, 0, 0, 0], [3, 2, 3, 1, 3], [3, 2, 3, 3, 1], [4, 1, 3, 4, 4]],
    "rasch_2pl_map": [[2, 0, 0, 0, 0], [3, 2, 3, 1, 3], [3, 2, 3, 3, 1], [4, 1, 3, 4, 4]],
    "mml_2pl": [[3, 4, 1, 0, 0], [2, 2, 0, 3, 0], [2, 2, 0, 0, 3], [2, 3, 1, 3, 3]],
}


def statistic(k: np.ndarray, n: int) -> Counts:
    batch, _, n_questions = k.shape
    categories = jnp.stack([n - k, k], axis=-1).astype(float)
    return Counts(categories, jnp.ones((batch, n_questions)), jnp.tile(jnp.arange(2.0), (batch, 1)))


@pytest.mark.parametrize("method", MIRRORED)
def test_an_optimum_and_its_mirror_image_are_not_unique(method):
    """numerics section 2: one fit and the same fit in a batch returned different optima, models 1 and 2 exchanged, both
    converged."""
    k = np.array(MIRRORED[method])
    order = np.array([2, 0, 3, 1])
    single = jr.fit(jr.Responses.from_counts(k, np.full(k.shape, 4)), method, dtype="float64")
    with jax.enable_x64(True):
        ranker = catalogue.make(method)
        batch = jax.jit(jax.vmap(ranker))(statistic(np.stack([k, k[:, ::-1], k[order]]), 4))
    scores = np.asarray(batch.scores)
    assert single.status == Status.NOT_UNIQUE and (np.asarray(batch.status) == Status.NOT_UNIQUE).all()
    assert single.ranks[1] == single.ranks[2]
    assert single.scores[1] == single.scores[2]
    tolerance = 8 * float(single.fit.resolution)
    np.testing.assert_allclose(scores[:2], [single.scores] * 2, atol=tolerance)
    np.testing.assert_allclose(scores[2], single.scores[order], atol=tolerance)
    a = single.params["discrimination"]
    assert abs(a[3] - a[4]) > 0.1 * max(a[3], a[4])  # the questions are those of one of the two


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exchangeable_models_are_those_of_enumeration(dtype):
    rng = np.random.default_rng(0)
    k = np.concatenate([rng.integers(0, 2, (300, 4, 4)), rng.integers(0, 3, (300, 4, 4))])
    k[:60, 1] = k[:60, 0, ::-1]
    with jax.enable_x64(dtype == "float64"):
        table = jax.vmap(lambda s: exchangeable(item_table(s, keep_extreme=True)))
        found = np.asarray(jax.jit(table)(statistic(k, 3)))
    columns = lambda t: sorted(map(tuple, t.T.tolist()))
    expected = np.zeros(found.shape, bool)
    for same, t in zip(expected, k, strict=True):
        for p in itertools.permutations(range(4)):
            if columns(t[list(p)]) == columns(t):
                same[range(4), p] = True
    assert expected.sum() > found.shape[0] * 4 + 100
    np.testing.assert_array_equal(found, expected)
