"""Scores and orders of catalogue entries against independent programs, on five response tensors.

`11b_tensor_oracles.json` holds for each tensor and method the scores (40-digit arithmetic or exact fractions) and the
order as groups of ties. The table says which entry, with which options, a golden method is, and how its scores are
scaled.
"""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from tests.oracles import golden, tensor_params

# golden method -> (entry, options, how the golden scores are stored)
POINTWISE_AND_PAIRED = {
    "avg": ("avg", {}, "plain"),
    "inverse_difficulty": ("inverse_difficulty", {}, "plain"),
    "bradley_terry": ("bradley_terry", {}, "log"),
    "bradley_terry_map": ("bradley_terry_map", {}, "log"),
    "plackett_luce": ("plackett_luce", {}, "share"),
    "plackett_luce_map": ("plackett_luce_map", {}, "log"),
    "bradley_terry_davidson": ("bradley_terry_davidson", {}, "log"),
    "bradley_terry_davidson_map": ("bradley_terry_davidson_map", {}, "log"),
    "rao_kupper_k1.1": ("rao_kupper", {}, "log"),
    "rao_kupper_map_k1.1": ("rao_kupper_map", {}, "log"),
    "rao_kupper_kappa_estimated": ("rao_kupper", {"tie_strength": None}, "log"),
}


def order(groups: list[list[int]], n: int) -> np.ndarray:
    """Competition ranks from groups of ties, best first."""
    ranks, place = np.zeros(n, int), 1
    for group in groups:
        ranks[group] = place
        place += len(group)
    return ranks


def compare(tensor: str, method: str, entry: str, options: dict, scale: str) -> float:
    """Largest difference of the scores; asserts the order."""
    block = golden("11b_tensor_oracles")["tensors"][tensor]
    expected = block["methods"][method]
    result = jr.fit(np.array(block["R"]), entry, dtype="float64", **options)
    want = np.array(expected["scores"], float)
    got = result.scores
    if scale == "log":
        want = np.log(want)
        want = want - want.mean()
    elif scale == "share":
        got = np.exp(got) / np.exp(got).sum()
    assert np.array_equal(result.ranks, order(expected["ranking"], len(got))), (
        method,
        result.ranks,
        expected["ranking"],
    )
    return float(np.max(np.abs(got - want)))


@pytest.mark.parametrize("tensor", tensor_params())
@pytest.mark.parametrize("method", POINTWISE_AND_PAIRED)
def test_pointwise_and_paired(tensor, method):
    assert compare(tensor, method, *POINTWISE_AND_PAIRED[method]) < 1e-9
