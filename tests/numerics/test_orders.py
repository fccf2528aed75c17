"""Rankings as numbers: every ranking has one, and comes back from it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import JaxrankError

# Of scorio 0.2.3, `ranking_hash` of three models.
WEAK = {
    (0, 1, 2): 0,
    (0, 2, 1): 1,
    (0, 1, 1): 2,
    (1, 0, 2): 3,
    (2, 0, 1): 4,
    (1, 0, 1): 5,
    (1, 2, 0): 6,
    (2, 1, 0): 7,
    (1, 1, 0): 8,
    (0, 0, 1): 9,
    (0, 1, 0): 10,
    (1, 0, 0): 11,
    (0, 0, 0): 12,
}


def test_numbers_are_those_of_the_reference() -> None:
    assert {ranks: jr.ranking_number(ranks) for ranks in WEAK} == WEAK
    for place, order in enumerate(itertools.permutations(range(4))):
        assert jr.ranking_number(order, ties=False) == place


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_number_is_one_ranking(n: int) -> None:
    for ties in (True, False):
        all_ = [jr.ranking_of(number, n, ties) for number in range(jr.n_rankings(n, ties))]
        assert [jr.ranking_number(ranks, ties) for ranks in all_] == list(range(len(all_)))
        assert len({tuple(ranks) for ranks in all_}) == len(all_)
        for ranks in all_:  # competition ranks
            assert ranks == [1 + sum(x < r for x in ranks) for r in ranks]


def test_many_models_and_any_scale() -> None:
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, 12, 40)
    number = jr.ranking_number(ranks)
    assert 0 <= number < jr.n_rankings(40)
    assert jr.ranking_number(jr.ranking_of(number, 40)) == number == jr.ranking_number(3.5 * ranks - 1)
    order = rng.permutation(30)
    assert jr.ranking_of(jr.ranking_number(order, ties=False), 30, ties=False) == (order + 1).tolist()
    assert jr.n_rankings(30, ties=False) == math.factorial(30)


def test_two_rankings_beside_each_other() -> None:
    same = jr.compare_rankings([1, 2, 3], [1, 2, 3])
    assert same == {"kendall_tau": 1, "spearman": 1, "weighted_tau": 1, "share_moved": 0, "largest_move": 0}
    other = jr.compare_rankings([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    assert other["share_moved"] == 0.8 and other["largest_move"] == 1 and other["kendall_tau"] == -1


def test_what_is_refused() -> None:
    for call, words in (
        (lambda: jr.ranking_number([1, 1, 2], ties=False), "ties"),
        (lambda: jr.ranking_number([]), "rank for each"),
        (lambda: jr.ranking_number(["a"]), "not a number"),
        (lambda: jr.ranking_of(13, 3), "13 rankings"),
        (lambda: jr.n_rankings(-1), "n=-1"),
        (lambda: jr.compare_rankings([1, 2], [1, 2, 3]), "same models"),
    ):
        with pytest.raises(JaxrankError, match=words):
            call()
