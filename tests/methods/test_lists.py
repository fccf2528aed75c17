"""Methods on ordered lists: elections worked out by hand, and lists against the same data of another kind."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.ballots import Ballots
from jaxrank.errors import UnsupportedDataError
from jaxrank.methods.plackett_luce import PlackettLuce

CITIES = ["Memphis", "Nashville", "Chattanooga", "Knoxville"]
TENNESSEE = jr.Rankings([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 1, 0], [3, 2, 1, 0]], CITIES, count=[42, 26, 15, 17])
BY_HAND = {
    "plurality": [42, 26, 15, 17],
    "instant_runoff": [-1, -2, -3, 0],  # Chattanooga to Knoxville, then Nashville to Knoxville, 58 to 42
    "borda": [126, 194, 173, 107],
    "copeland": [-3, 3, 1, -1],
    "minimax": [-16, 0, -36, -66],  # margins 58:42 against Memphis, 68:32 and 83:17 of Nashville and Chattanooga
    "nanson": [-2, 0, -1, -2],  # Memphis and Knoxville are below the mean of 150
    "schulze": [-3, 0, -1, -2],
    "ranked_pairs": [-3, 0, -1, -2],
    "kemeny_young_small": [-3, 0, -1, -2],
}
RULES = (*BY_HAND, "win_rate", "baldwin", "kemeny_young")


@pytest.mark.parametrize("method", BY_HAND)
def test_an_election_by_hand(method):
    """interface 16: voting rules read ordered lists, their natural input."""
    assert jr.fit(TENNESSEE, method).scores.tolist() == pytest.approx(BY_HAND[method])


def test_votes_are_shared_and_passed_on():
    tied = jr.Rankings([[["a", "b"], "c"], ["c"], ["b", "c", "a"]], ["a", "b", "c"])
    assert jr.fit(tied, "plurality").scores.tolist() == [0.5, 1.5, 1]
    # a leaves first; of its half vote b has all; the second list has no vote but for c
    assert jr.fit(tied, "instant_runoff").ranks.tolist() == [3, 1, 2]
    exhausted = jr.Rankings([["a", "b"], ["c"], ["c"], ["b"], ["b"], ["b"]], ["a", "b", "c"])
    assert jr.fit(exhausted, "instant_runoff").ranks.tolist() == [3, 1, 2]


def test_an_open_end_is_below_and_in_no_order():
    top = jr.Rankings([["a"], ["b", "a"]], ["a", "b", "c"], unlisted="below")
    assert jr.fit(top, "borda").scores.tolist() == [3, 2.5, 0.5]
    assert jr.fit(top, "copeland").scores.tolist() == [1, 1, -2]
    assert jr.fit(top, "minimax", variant="winning_votes").scores.tolist() == [0, 0, -2]
    absent = jr.Rankings([["a"], ["b", "a"]], ["a", "b"])
    assert jr.fit(absent, "copeland").scores.tolist() == [-1, 1]  # the first list says nothing of b


@pytest.mark.filterwarnings("ignore:4 models have no result on some questions")
@pytest.mark.parametrize("method", RULES)
def test_lists_and_questions_are_the_same_voters(method):
    """An ordered list votes as a question does on which the models have such grades."""
    places = np.random.default_rng(4).integers(0, 4, (9, 5))
    places[:, 0] = 1
    lists = jr.Rankings.from_places(places)
    grades = np.where(lists.places > 0, 4 - lists.places, -1).T
    assert isinstance(lists.statistic(Ballots), Ballots)
    a, b = jr.fit(lists, method, dtype="float64"), jr.fit(jr.Responses(grades), method, dtype="float64")
    np.testing.assert_allclose(a.scores, b.scores, rtol=1e-12)


@pytest.mark.parametrize("method", ["elo", "glicko", "trueskill"])
def test_lists_of_two_are_battles(method):
    """interface 16: rating systems read a list as an event."""
    pairs = [("a", "b"), ("c", "b"), ("a", "c"), ("b", "a"), ("b", "c")]
    battles = jr.Comparisons(*zip(*pairs, strict=True), [1] * len(pairs))
    lists = jr.Rankings([list(pair) for pair in pairs])
    a, b = (jr.fit(data, method, dtype="float64").scores for data in (battles, lists))
    np.testing.assert_allclose(a, b, rtol=1e-13)
    ties = jr.Rankings([["a", "b"], [["a", "b"]]]), jr.Comparisons(["a", "a"], ["b", "b"], [1, 0.5])
    a, b = (jr.fit(data, method, ties="draw", dtype="float64").scores for data in ties)
    np.testing.assert_allclose(a, b, rtol=1e-13)


def test_a_list_is_one_event_for_elo():
    options = {"K": 32, "per_event": "sum", "dtype": "float64"}
    points = lambda orders, **more: jr.fit(jr.Rankings(orders, list("abc"), **more), "elo", **options).scores - 1500
    assert points([["a", "b", "c"]]).tolist() == pytest.approx([32, 0, -32])
    assert points([["a"]], unlisted="below").tolist() == pytest.approx([32, -16, -16])  # b and c do not meet
    options |= {"per_event": "mean", "ties": "draw"}
    assert points([["a", ["b", "c"]]]).tolist() == pytest.approx([16, -8, -8])
    options |= {"ties": "skip"}
    assert points([["a", ["b", "c"]]]).tolist() == pytest.approx([16, -16, -16])


def test_ratings_need_an_order():
    with pytest.raises(UnsupportedDataError, match="a row of its own"):
        jr.fit(TENNESSEE, "elo")


def test_choices_of_lists_are_plackett_luce():
    """interface 12: one likelihood of lists, whatever it is called."""
    lists = jr.Rankings([[0, 1, 2, 3], [1, 0, 3, 2], [2, 1, 0], [3, 0, 1, 2]], count=[3, 2, 2, 1])
    wanted = jr.fit(lists, "plackett_luce_rankings_map", dtype="float64").scores
    for method in ("bradley_terry_luce_map", "plackett_luce_map", PlackettLuce(prior=1.0)):
        np.testing.assert_allclose(jr.fit(lists, method, dtype="float64").scores, wanted, atol=1e-8)


def test_counted_lists_are_repeated_lists():
    orders, count = [["a", "b", "c"], ["b", "c", "a"], ["c", "a"]], [3, 1, 2]
    counted = jr.Rankings(orders, count=count)
    repeated = jr.Rankings([o for o, n in zip(orders, count, strict=True) for _ in range(n)])
    for method in ("borda", "bradley_terry_map"):
        a, b = (jr.bootstrap(data, method, n_replicates=32, seed=1) for data in (counted, repeated))
        np.testing.assert_allclose(a.replicate_scores, b.replicate_scores, rtol=1e-6)
    points = jr.bootstrap(TENNESSEE, "borda", n_replicates=32).replicate_scores
    assert np.all(points.sum(axis=1) == 600) and len(np.unique(points[:, 0])) > 3  # every replicate has 100 voters


def test_all_lists_in_random_order_end_at_the_ranking():
    con = jr.convergence(TENNESSEE, ["borda", "instant_runoff"], n_replicates=16, scheme="subsample(100)",
                         reference="self", grid=[1, 50])  # fmt: skip
    assert con.tau("borda")[-1] == 1 and con.tau("instant_runoff")[-1] == 1
