"""Arenas with one fault each: what `jaxrank.diagnose` finds, and that it finds nothing in a clean one."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from experiments.arena.findings import LOOKED_FOR
from experiments.arena.simulate import FAULTS

ALIKE = "clean, votes of a voter alike"


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_and_nothing_else(fault):
    arena, expected = FAULTS[fault]
    found = {f.name for f in jr.diagnose(arena.votes(np.random.default_rng(1000)))} & set(LOOKED_FOR)
    # forty votes of one voter for one model are alike too
    allowed = {"battles are alike"} if fault in (ALIKE, "one voter cheats") else set()
    assert found - allowed == ({expected} if expected else set())


def test_cycles_are_found():
    """Rock, paper, scissors and one that is equal to all."""
    wins = np.full((4, 4), 50.0)
    wins[0, 1] = wins[1, 2] = wins[2, 0] = 70
    wins[1, 0] = wins[2, 1] = wins[0, 2] = 30
    np.fill_diagonal(wins, 0)
    assert "cycles" in jr.diagnose(jr.Comparisons.from_matrix(wins))
    assert "cycles" not in jr.diagnose(jr.Comparisons.from_matrix(np.where(wins > 0, 50, 0)))
