"""Ties that a model of pairs leaves unread."""

from __future__ import annotations

import numpy as np

from jaxrank.data.statistics import Pairs
from jaxrank.models.ranker import unread_ties


def unread_pairs(stat: Pairs, remedy: str) -> str:
    """How many comparisons are ties, in a sentence with the remedy; empty where there are none."""
    ties, wins = np.asarray(stat.ties, float).sum() / 2, np.asarray(stat.wins, float).sum()
    return unread_ties(ties, ties + wins, remedy)
