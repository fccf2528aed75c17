"""Reachability, components and levels against scipy and by hand."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from jaxrank.numerics.graph import (
    component_labels,
    connectivity,
    dominance_levels,
    levels,
    reachability,
    strong_components,
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


@pytest.mark.parametrize("n", [1, 5, 33])
def test_connectivity_of_one_graph_and_of_batches(n):
    """Random graphs, thin to dense; graphs with a hub, which take the short way, alone and beside one without."""
    rng = np.random.default_rng(n)
    graphs = [rng.random((n, n)) < density for density in (0, 0.5 / n, 1.2 / n, 3 / n, 8 / n, 1)]
    graphs.append(np.roll(np.eye(n, dtype=bool), 1, axis=1))  # a cycle: no hub, all connected
    star = np.zeros((n, n), bool)
    star[0] = star[:, 0] = True
    outward = np.zeros((n, n), bool)
    outward[0] = True
    graphs += [star, outward]
    expected = []
    for edges in graphs:
        strong, weak = (connected_components(edges, connection=c)[0] == 1 for c in ("strong", "weak"))
        expected.append((strong, weak))
    batch, single = jax.jit(jax.vmap(connectivity)), jax.jit(connectivity)
    for chosen in (range(len(graphs)), [7] * 3):
        reach, connected, linked = batch(np.stack([graphs[g] for g in chosen]))
        for place, g in enumerate(chosen):
            np.testing.assert_array_equal(reach[place], reachability(graphs[g]))
            assert (bool(connected[place]), bool(linked[place])) == expected[g], g
    assert [tuple(map(bool, single(g)[1:])) for g in graphs] == expected


def test_levels_are_longest_chains():
    above = np.zeros((5, 5), bool)
    above[0, 1] = above[1, 2] = above[0, 2] = above[3, 2] = True
    assert levels(above).tolist() == [0, 1, 2, 0, 0]
    edges = np.zeros((5, 5), bool)
    edges[0, 1] = edges[1, 0] = edges[1, 2] = edges[2, 3] = edges[3, 2] = edges[3, 4] = True
    assert dominance_levels(reachability(edges)).tolist() == [0, 0, 1, 1, 2]
