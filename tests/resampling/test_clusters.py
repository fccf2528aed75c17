"""Clusters of questions and battles drawn again, against every draw written out; sandwich errors by cluster."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Pairs
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.resampling import draws
from jaxrank.resampling.sources import make_source

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "clusters.json").read_text())["examples"]

R = np.array(
    [[0.9, 0.2, 0.7, 0.4, 0.8, 0.1, 0.6], [0.5, 0.3, 0.9, 0.1, 0.2, 0.7, 0.4], [0.3, 0.8, 0.1, 0.6, 0.5, 0.2, 0.9]]
)
ONE, TWO = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 2, 0, 1, 2, 2])
pytestmark = pytest.mark.filterwarnings("ignore:.*clusters of .* make intervals too short")


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
    with pytest.warns(jr.JaxrankWarning, match="there are 3 clusters of 'group'"):
        jr.bootstrap(jr.Responses(R, groups=ONE), "avg", scheme=jr.clusters("group"), n_replicates=10)


def battles(example: dict[str, Any]) -> jr.Comparisons:
    given = example["input"]
    outcome = (np.array(given["outcome"]) + 1) / 2
    return jr.Comparisons(given["a"], given["b"], outcome, models=given["models"], columns={"voter": given["voter"]})


METHODS = {
    "bradley_terry": ("bradley_terry", {}),
    "davidson": ("bradley_terry_davidson", {}),
    "rao_kupper": ("rao_kupper", {"tie_strength": None}),
}


@pytest.mark.parametrize("example", [e for e in GOLDEN if e["kind"] in METHODS], ids=lambda e: e["kind"])
def test_sandwich_errors_by_voter(example):
    name, options = METHODS[example["kind"]]
    fit = jr.fit(battles(example), name, dtype="float64", **options)
    np.testing.assert_allclose(fit.scores, example["values"]["theta"], atol=1e-12)
    errors = np.sqrt(np.diag(fit.covariance("sandwich", cluster="voter")))
    np.testing.assert_allclose(errors, example["values"]["sandwich_se_theta"], rtol=1e-10)
    by_voter = fit.clustered("voter")
    np.testing.assert_allclose(by_voter.standard_errors, errors, rtol=0.25)  # which allow for unequal voters
    assert by_voter.interval().unit == by_voter.difference_intervals().unit == "clusters"


@pytest.mark.parametrize("example", [e for e in GOLDEN if e["kind"] == "pigeonhole"], ids=lambda e: e["id"])
def test_weights_of_battles_drawn_by_two_columns(example):
    """Every battle is of two models of its own, so that the wins of a replicate are the weights of the battles."""
    n = len(example["input"]["voter"])
    data = jr.Comparisons(
        [f"a{i}" for i in range(n)], [f"b{i}" for i in range(n)], np.ones(n), columns=example["input"]
    )
    place = {name: i for i, name in enumerate(data.models)}
    won, lost = ([place[f"{side}{i}"] for i in range(n)] for side in "ab")
    scheme = jr.clusters("voter", "prompt").bound(data)
    source = make_source(data, jr.entries()["bradley_terry_map"].ranker(), scheme, "aligned", "bradley_terry_map")
    key = jax.random.key(3)
    one = lambda b: source(draws.replicate_key(key, b), b, None)[0].wins
    weights = np.asarray(jax.jit(jax.vmap(one))(np.arange(20_000)))[:, won, lost]
    expected = np.array(example["values"]["mean_weight_product"])
    product = weights[:, :, None] * weights[:, None, :]
    error = product.std(axis=0) / np.sqrt(len(weights))
    assert np.all(np.abs(product.mean(axis=0) - expected) < 5 * error)
    empty, share = (weights.sum(axis=1) == 0).mean(), example["values"]["share_of_draws_without_any_row"]
    assert abs(empty - share) < 5 * np.sqrt(share / len(weights))
    assert isinstance(jax.eval_shape(lambda: source(key, 0, None)[0]), Pairs)


def test_a_voter_who_repeats_himself_says_nothing_new():
    """Each voter casts his vote k times: clustered errors stay, those of single battles fall by the root of k."""
    rng = np.random.default_rng(0)
    a, b = np.array([[i, j] for i in range(4) for j in range(4) if i != j]).T
    a, b = np.tile(a, 5), np.tile(b, 5)
    won = (rng.random(len(a)) < 1 / (1 + np.exp((a - b) * 0.4))).astype(int)
    once = jr.Comparisons(a, b, won, columns={"voter": np.arange(len(a))})
    a4, b4, won4 = (np.repeat(x, 4) for x in (a, b, won))
    often = jr.Comparisons(a4, b4, won4, columns={"voter": np.repeat(np.arange(len(a)), 4)})
    one, four = (jr.fit(x, "bradley_terry", dtype="float64") for x in (once, often))
    np.testing.assert_allclose(four.clustered("voter").standard_errors, one.clustered("voter").standard_errors)
    np.testing.assert_allclose(four.standard_errors, one.standard_errors / 2)
    options: dict[str, Any] = {"method": "bradley_terry_map", "n_replicates": 500, "scheme": jr.clusters("voter")}
    drawn = jr.bootstrap(often, **options)
    np.testing.assert_allclose(drawn.sd, jr.bootstrap(once, **options).sd, rtol=0.2)
    assert drawn.unit == "clusters"
    np.testing.assert_array_equal(drawn.separated(), drawn.estimate.clustered("voter").difference_intervals(
        simultaneous=True).lower > 0)  # fmt: skip


def test_intervals_of_means_by_cluster():
    """Questions of one group that are copies of each other are one piece of evidence; replicates say the same."""
    rng = np.random.default_rng(1)
    R = rng.normal(size=(3, 30, 1))
    copies = jr.Responses(np.repeat(R, 3, axis=1), groups=np.repeat(np.arange(30), 3))
    fit, alone = jr.fit(copies, "avg", dtype="float64"), jr.fit(jr.Responses(R), "avg", dtype="float64")
    np.testing.assert_allclose(fit.clustered("group").standard_errors, alone.standard_errors)
    rep = jr.bootstrap(copies, "avg", scheme=jr.clusters("group"), n_replicates=4000)
    lower, upper = rep.interval()
    expected = fit.clustered("group").interval()
    np.testing.assert_allclose(lower, expected.lower, atol=0.05)
    np.testing.assert_allclose(upper, expected.upper, atol=0.05)


def test_clusters_that_a_method_or_the_data_cannot_bear():
    data = battles(next(e for e in GOLDEN if e["kind"] == "davidson"))
    fit = jr.fit(data, "pagerank")
    with pytest.raises(UnsupportedDataError, match=r"use jaxrank.bootstrap\(data, 'pagerank', scheme=jaxrank.clusters"):
        fit.clustered("voter")
    assert jr.bootstrap(data, "pagerank", scheme=jr.clusters("voter"), n_replicates=8).unit == "clusters"
    with pytest.raises(OptionError, match="the battles have no such column; there are 'voter'"):
        fit.clustered("judge")
    with pytest.raises(OptionError, match="without an order"):
        jr.bootstrap(data, "elo", scheme=jr.clusters("voter"), n_replicates=8)
    with pytest.raises(OptionError, match="the ordered lists have no such column; there are none"):
        jr.bootstrap(jr.Rankings([["x", "y"], ["y", "x"]]), scheme=jr.clusters("voter"), n_replicates=8)
    voter = np.array(["u"] * 40 + [None] * (len(data.a) - 40), object)
    some = jr.Comparisons(data.a, data.b, (data.outcome == 0) + 0.5 * (data.outcome == 2), columns={"voter": voter})
    with pytest.warns(jr.JaxrankWarning, match="140 have no value in 'voter': each is a cluster of its own"):
        jr.bootstrap(some, "bradley_terry_map", scheme=jr.clusters("voter"), n_replicates=8)
