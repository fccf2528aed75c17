"""Ordered lists: validation, stages, Plackett-Luce and its ties against golden values."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.order_statistic import Orders
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError, NoFiniteOptimumError, UnsupportedDataError
from jaxrank.methods.plackett_luce_orders import PlackettLuceRankings
from jaxrank.models.setwise.choices import choices
from jaxrank.models.setwise.likelihoods import LuceLikelihood
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import run
from tests.oracles import golden


def check_golden(rankings, values, **options):
    fit = jr.fit(rankings, "plackett_luce_rankings", dtype="float64", **options)
    assert fit.status == Status.CONVERGED
    np.testing.assert_allclose(fit.scores, values["log_worth"], atol=1e-11)
    if rankings.n_tied == 1:  # fits with ties give none
        assert fit.params["log_likelihood"] == pytest.approx(values["log_likelihood"], abs=1e-8)
    return fit


def golden_rankings(name):
    """The golden block of lists, and the same as `Rankings`."""
    g = golden("03_orders")[name]
    return g, jr.Rankings(g["orders"], [f"m{i}" for i in range(len(g["values"]["log_worth"]))], g["counts"])


def check_errors(rankings, values, **options):
    with jax.enable_x64(True):
        ranker, stat = PlackettLuceRankings(**options), Orders.of(rankings)
        errors = jax.jit(lambda s: ranker.standard_errors(s, ranker(s)))(stat)
        np.testing.assert_allclose(errors, values["se"], rtol=1e-8)


def test_golden_full_lists():
    g, rankings = golden_rankings("full")
    check_golden(rankings, g["values"], max_tied=1)
    check_errors(rankings, g["values"], max_tied=1)
    posterior = jr.fit(rankings, "plackett_luce_map", dtype="float64")  # the name on pairs means the lists here
    # The golden prior is on the uncentred log-worth, whose optimum for a flat direction is centred.
    np.testing.assert_allclose(posterior.scores, g["map"]["log_worth"], atol=1e-11)


@pytest.mark.slow
def test_golden_partial_lists():
    g, rankings = golden_rankings("partial")
    check_golden(rankings, g["values"], max_tied=1)
    check_errors(rankings, g["values"], max_tied=1)


@pytest.mark.slow
def test_golden_lists_with_ties():
    g, rankings = golden_rankings("tied")
    assert rankings.n_tied == 3
    fit = check_golden(rankings, g["values"])
    np.testing.assert_allclose(fit.params["tie_strengths"][1:3], g["values"]["tie_strengths"], atol=1e-11)
    places = np.zeros((len(g["orders"]), 5), int)
    for row, order in zip(places, g["orders"], strict=True):
        for place, group in enumerate(order, start=1):
            row[group] = place
    np.testing.assert_array_equal(jr.Rankings.from_places(places, rankings.models).places, rankings.places)
    check_errors(rankings, g["values"])


def test_stages():
    outcomes, weights = jr.Rankings([["a", ["b", "c"], "d"], ["d", "a"]], count=[2, 1]).stages()
    got = {tuple(row.tolist()): w for row, w in zip(outcomes, weights, strict=True)}
    assert got == {(1, 0, 0, 0): 2, (-1, 1, 1, 0): 2, (0, -1, -1, 1): 1}
    outcomes, _ = jr.Rankings([["a"], ["b", "c"]], ["a", "b", "c"], unlisted="below").stages()
    assert sorted(map(tuple, outcomes.tolist())) == [(0, -1, 1), (0, 1, 0), (1, 0, 0)]
    outcomes, _ = jr.Rankings([[["a", "b"]]]).stages()
    assert outcomes.tolist() == [[1, 1]]


def test_wins_and_ties_by_hand():
    rankings = jr.Rankings([["a", ["b", "c"]], ["b", "a"]], count=[2, 1])
    assert rankings.wins.tolist() == [[0, 2, 2], [1, 0, 0], [0, 0, 0]]
    assert rankings.ties.tolist() == [[0, 0, 0], [0, 0, 2], [0, 2, 0]]
    top = jr.Rankings([["a"]], ["a", "b", "c"], unlisted="below")
    assert top.wins.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert top.ties.sum() == 0
    assert jr.fit(jr.Rankings([[0, 1], [0, 1], [1, 0]]), "bradley_terry").scores == pytest.approx(
        [np.log(2) / 2, -np.log(2) / 2], abs=1e-5
    )


def test_probabilities_of_all_orders_sum_to_one():
    """The log-likelihood at the optimum, taken over every order of four models, is a distribution."""
    data = jr.Rankings([[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1], [1, 3, 2, 0]])
    fit = jr.fit(data, "plackett_luce_rankings", dtype="float64", max_tied=1)
    with jax.enable_x64(True):
        total, theta = 0.0, jnp.asarray(fit.scores)
        for order in itertools.permutations(range(4)):
            stat = Orders.of(jr.Rankings([list(order)]))
            total += np.exp(float(LuceLikelihood().log_prob(theta, choices(stat.outcomes, stat.weights))))
    assert total == pytest.approx(1, abs=1e-12)


def test_separated_and_tied():
    with pytest.raises(NoFiniteOptimumError, match="'model 0'"):
        jr.fit(jr.Rankings([[0, 1, 2], [0, 2, 1]]), "plackett_luce_rankings", max_tied=1)
    fit = jr.fit(jr.Rankings([[0, 1, 2], [0, 2, 1]]), "plackett_luce_rankings_map")
    assert fit.ranks.tolist() == [1, 2, 2]
    fit = jr.fit(jr.Rankings([[[0, 1, 2]]]), "plackett_luce_rankings")
    assert fit.status == Status.CONVERGED
    assert fit.ranks.tolist() == [1, 1, 1]
    fit = jr.fit(jr.Rankings([[0, 1], [1, 0], [2, 3], [3, 2]]), "plackett_luce_rankings", on_failure="return")
    assert fit.status == Status.DISCONNECTED


def test_ties_larger_than_allowed():
    rankings = jr.Rankings([[0, [1, 2]], [1, 0, 2], [2, 1, 0]])
    fit = jr.fit(rankings, "plackett_luce_rankings", max_tied=1, on_failure="return")
    assert fit.status == Status.UNDEFINED


def test_replicates_of_orders():
    rankings = jr.Rankings([[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0]])
    rows = Orders.rows(rankings)
    drawn = np.array([1.0, 2.0, 1.0, 3.0], np.float32)
    ranker = PlackettLuceRankings(max_tied=1)
    a = run(ranker, Orders.reduce(rows, Weights(trials=drawn)))
    b = run(ranker, Orders.of(jr.Rankings([[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0]], count=[1, 2, 1, 3])))
    np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)
    c, d = Orders.reduce(rows, Weights()), Orders.of(rankings)
    np.testing.assert_allclose(c.weights, d.weights)


@pytest.mark.parametrize(
    ("orders", "options", "message"),
    [
        ([], {}, "no orders"),
        ([[]], {}, "order 0 is empty"),
        ([["a", "a"]], {}, "twice"),
        ([["a", []]], {}, "empty group"),
        ([["a", 1]], {}, "mix"),
        ([["a", "b"]], {"models": ["a"]}, "not in models"),
        ([["a", "b"], ["b", "a"]], {"models": [3, 2]}, "not in models: 'a', 'b'; .*is count="),  # F01: its second place
        ([["a"]], {"models": ["a", "b"]}, "no order lists 'b'"),
        ([[0, 5]], {"models": ["a", "b"]}, "refer to model 5"),
        ([[-1, 0]], {}, "negative"),
        ([["a", "b"]], {"count": [-1]}, "count"),
        ([["a", "b"]], {"count": [1, 2]}, "count"),
        (["ab"], {}, "order 0"),
        ([[1.5, 2]], {}, "names or indices"),
        ([["a", "b"]], {"unlisted": "last"}, "unlisted"),
        ([["a", "b"]], {"models": ["a", "a"]}, "duplicate"),
    ],
)
def test_malformed(orders, options, message):
    with pytest.raises(DataError, match=message):
        jr.Rankings(orders, **options)


@pytest.mark.parametrize("places", [[[1.5, 2]], [[-1, 2]], [1, 2], [[np.nan, 1]], [["a", "b"]]])
def test_malformed_places(places):
    with pytest.raises(DataError, match="places"):
        jr.Rankings.from_places(places)


def test_kinds_of_data_do_not_mix():
    with pytest.raises(UnsupportedDataError, match="Rankings"):
        jr.fit([[1, 0], [0, 1]], "plackett_luce_rankings")
    with pytest.raises(UnsupportedDataError):
        jr.fit(jr.Rankings([[0, 1]]), "avg")


def test_documented():
    from tests.methods.test_conformance import check_documented

    check_documented("plackett_luce_rankings")
    assert "full" in repr(jr.Rankings([[0, 1]]))
    assert "partial" in repr(jr.Rankings([[0, 1], [0, 1, 2]]))


def test_columns_go_with_the_orders_and_their_models():
    price = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    data = jr.Rankings([["ada", "bob", "cyd"], ["cyd", "ada"]], columns={"voter": ["v", None], "price": price})
    assert np.array_equal(data.columns["price"], [[1, 2, 3], [4, np.nan, 6]], equal_nan=True)  # bob took no part
    part = data.select(models=["cyd", "ada"], orders=[1])
    assert part.columns["price"].tolist() == [[6, 4]] and part.columns["voter"].tolist() == [None]
    assert data.select(orders=[1]).columns["voter"].tolist() == [None]
    other = jr.Rankings([["eve", "ada"]], columns={"price": [[7.0, 8.0]], "day": [2]})
    both = data + other
    assert both.models == ("ada", "bob", "cyd", "eve")
    assert np.array_equal(both.columns["price"][2], [7, np.nan, np.nan, 8], equal_nan=True)
    assert both.columns["voter"].tolist() == ["v", None, None]
    assert np.array_equal(both.columns["day"], [np.nan, np.nan, 2], equal_nan=True)
    frame = data.to_frame()
    assert frame["price"].tolist() == [1, 2, 3, 4, 6] and frame["voter"].dropna().tolist() == ["v", "v", "v"]
    with pytest.raises(ValueError, match="read-only"):
        data.columns["price"][0, 0] = 9
    with pytest.raises(DataError, match=r"'price' needs one value for each of 2 orders, or a table of 2 x 3"):
        jr.Rankings([["a", "b", "c"], ["b", "a"]], columns={"price": [1, 2, 3]})
    with pytest.raises(DataError, match="holds texts"):
        jr.Rankings([["a", "b"], ["b", "a"]], columns={"price": [["x", "y"], ["y", "x"]]})
    with pytest.raises(DataError, match="for each order in one part"):
        jr.concat([data, jr.Rankings([["eve", "ada"]], columns={"price": [7.0]})])
