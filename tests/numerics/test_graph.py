"""Reachability, components and levels against scipy and by hand."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from jaxrank.numerics.graph import (
    component_labels,
    dominance_levels,
    levels,
    reachability,
    strong_components,
    strongly_connected,
)


@pytest.mark.parametrize("n", [1, 5, 31, 33, 70])
def test_closure_and_components(n):
    closure = jax.jit(lambda e: (reachability(e), component_labels(strong_components(reachability(e)))))
    rng = np.random.default_rng(n)
    for density in (0.5 / n, 1.2 / n, 3 / n):
        edges = rng.random((n, n)) < density
        reach, labels = map(np.asarray, closure(edges))
        expected = np.eye(n, dtype=bool) | edges
        for _ in range(n):
            expected = expected | (expected.astype(int) @ expected.astype(int) > 0)
        np.testing.assert_array_equal(reach, expected)
        _, theirs = connected_components(edges, directed=True, connection="strong")
        np.testing.assert_array_equal(labels[:, None] == labels, theirs[:, None] == theirs)


def test_strong_connection():
    cycle = np.roll(np.eye(40, dtype=bool), 1, axis=1)
    assert bool(strongly_connected(cycle))
    cycle[7] = False
    assert not bool(strongly_connected(cycle))


def test_levels_are_longest_chains():
    above = np.zeros((5, 5), bool)
    above[0, 1] = above[1, 2] = above[0, 2] = above[3, 2] = True
    assert levels(above).tolist() == [0, 1, 2, 0, 0]
    edges = np.zeros((5, 5), bool)
    edges[0, 1] = edges[1, 0] = edges[1, 2] = edges[2, 3] = edges[3, 2] = edges[3, 4] = True
    assert dominance_levels(reachability(edges)).tolist() == [0, 0, 1, 1, 2]
