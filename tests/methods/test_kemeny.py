"""Kemeny-Young: golden profiles, all optima by enumeration, large real data with proof, time limits."""

from __future__ import annotations

import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.errors import ConvergenceError, UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.models.preferences import preferences
from jaxrank.numerics.solve import linear_order_host
from jaxrank.numerics.solve.linear_order import best_orders
from jaxrank.numerics.solve.linear_order_host import all_best_orders, chain_levels, condorcet_components
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import run
from tests.oracles import golden

SMALL = ["tennessee", "cycle3", "condorcet60", "condorcet81", "schulze45", "schulze_vs_ranked_pairs"]
SMALL += ["nanson_vs_baldwin", "nanson_weak_vs_strict", "minimax_elects_condorcet_loser", "unanimous"]
SMALL += ["kemeny_schulze_rp_all_differ", "borda_copeland_minimax_all_differ", "margins_vs_winning_votes_ties"]
SMALL += ["weak_orders_small", "all_indifferent"]


def election(voters):
    """Counts with one question a distinct voter: grades are the numbers of models ranked below."""
    ranks = np.array([ranks for _, ranks in voters])
    k = (ranks[:, None, :] > ranks[:, :, None]).sum(axis=2).T.astype(float)
    weights = np.array([weight for weight, _ in voters], float)
    return Counts(np.stack([len(k) - 1 - k, k], -1), weights, np.arange(2.0))


def optima(margin):
    """Fewest votes lost, and the pairs ordered alike in every best order, by trying all orders."""
    n = len(margin)
    loss = np.maximum(margin, 0)
    totals = {
        order: sum(loss[b, a] for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(n))
    }
    best = min(totals.values())
    above = np.ones((n, n), bool)
    for order, total in totals.items():
        if total == best:
            rank = np.argsort(order)
            above &= rank[:, None] < rank[None, :]
    return best, above


def random_margin(rng, n, most):
    votes = np.triu(rng.integers(-most, most + 1, (n, n)), 1).astype(float)
    return votes - votes.T


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("policy", ["half", "ignore"])
@pytest.mark.parametrize("program", [False, True])
def test_golden_profile(name, policy, program, monkeypatch):
    """By dynamic programming, and the same by integer programming."""
    if program:
        monkeypatch.setattr(linear_order_host, "MAX_ITEMS", 2)
    found = golden("06_voting")["profiles"][name]
    want = found["results"].get(f"kemeny_{policy}", found["results"].get("kemeny"))
    fit = run(make(f"kemeny_young_tie_{policy}"), election(found["voters"]))
    assert int(fit.status) == Status.CONVERGED
    assert float(fit.params["agreement"]) == float(want["score"])
    assert float(fit.params["gap"]) == 0
    ranks = np.asarray(jr.rank_scores(fit.scores))
    assert [np.flatnonzero(ranks == r).tolist() for r in np.unique(ranks)] == want["ranking_forced_levels"]


@pytest.mark.parametrize("name", ["tennessee", "weak_orders_small", "condorcet81", "kemeny_schulze_rp_all_differ"])
def test_golden_profile_on_device(name):
    found = golden("06_voting")["profiles"][name]
    want = found["results"].get("kemeny_half", found["results"].get("kemeny"))
    fit = run(make("kemeny_young_small"), election(found["voters"]))
    ranks = np.asarray(jr.rank_scores(fit.scores))
    assert float(fit.params["agreement"]) == float(want["score"])
    assert [np.flatnonzero(ranks == r).tolist() for r in np.unique(ranks)] == want["ranking_forced_levels"]


@pytest.mark.parametrize("most", [1, 2, 6])
def test_three_ways_to_all_optima(most, monkeypatch):
    """Enumeration, dynamic programming, integer programming: one optimum, the same forced pairs."""
    rng = np.random.default_rng(most)
    monkeypatch.setattr(linear_order_host, "MAX_ITEMS", 2)
    for n in (3, 4, 5, 6):
        for _ in range(6):
            margin = random_margin(rng, n, most)
            loss, above = optima(margin)
            found = all_best_orders(margin)
            gain = np.maximum(margin, 0)
            best, possible = best_orders(gain, 0, np)
            assert found.proven
            assert found.loss == found.least == loss == gain.sum() - best
            assert np.array_equal(found.above, above)
            assert np.array_equal(possible & ~possible.T, above)


def test_programs_agree_on_fourteen_items(monkeypatch):
    """Random margins of 14 items, where most pairs lie on cycles."""
    rng = np.random.default_rng(0)
    for most in (1, 20):
        margin = random_margin(rng, 14, most)
        by_subsets = all_best_orders(margin)
        with monkeypatch.context() as patch:
            patch.setattr(linear_order_host, "MAX_ITEMS", 2)
            by_programs = all_best_orders(margin)
        assert by_programs.programs > 0 == by_subsets.programs
        assert by_programs.loss == by_subsets.loss
        assert np.array_equal(by_programs.above, by_subsets.above)


def test_device_and_host_are_one_recursion():
    rng = np.random.default_rng(1)
    gains = np.stack([np.maximum(random_margin(rng, 6, 3), 0) for _ in range(8)]).astype(np.float32)
    best, possible = jax.jit(jax.vmap(best_orders))(jnp.asarray(gains))
    for b in range(8):
        one, pairs = best_orders(gains[b], 0, np)
        assert float(best[b]) == float(one)
        assert np.array_equal(possible[b], pairs)


def test_components_beat_all_that_follow():
    rng = np.random.default_rng(2)
    margin = random_margin(rng, 9, 2) + 5 * np.sign(np.arange(9)[None, :] // 3 - np.arange(9)[:, None] // 3)
    parts = condorcet_components(margin)
    for a, b in itertools.combinations(parts, 2):
        assert (margin[np.ix_(a, b)] > 0).all()
    assert sorted(np.concatenate(parts).tolist()) == list(range(9))
    assert len(parts) >= 3


def test_case_C06_two_opposite_voters():
    fit = jr.fit([[[1, 1], [0, 0]], [[1, 0], [1, 0]], [[0, 0], [1, 1]]], "kemeny_young")
    assert fit.ranks.tolist() == [1, 1, 1]
    assert float(fit.params["agreement"]) == 3.0


def test_case_K11_twenty_models_with_proof():
    rng = np.random.default_rng(0)
    k = np.array([rng.permutation(20) for _ in range(5)]).T
    data = jr.Responses.from_counts(k, 19)
    fit = jr.fit(data, "kemeny_young")
    assert float(fit.params["gap"]) == 0
    assert float(fit.params["programs"]) > 0
    with pytest.raises(ConvergenceError, match="limit"):
        jr.fit(data, "kemeny_young", time_limit=0)


def test_a_limit_gives_no_ranking():
    rng = np.random.default_rng(0)
    k = np.array([rng.permutation(24) for _ in range(5)]).T
    fit = jr.fit(jr.Responses.from_counts(k, 23), "kemeny_young", time_limit=0, on_failure="return")
    assert fit.status == Status.HOST_LIMIT
    assert np.isnan(fit.scores).all()
    assert float(fit.params["gap"]) > 0
    solved = jr.fit(jr.Responses.from_counts(k, 23), "kemeny_young").params["agreement"]
    assert fit.params["agreement"] <= solved <= fit.params["bound"]


def test_a_component_too_large_for_a_program_gives_no_ranking(monkeypatch):
    monkeypatch.setattr(linear_order_host, "MAX_PROGRAM", 20)
    k = np.random.default_rng(0).integers(0, 6, (24, 9))
    fit = jr.fit(jr.Responses.from_counts(k, 5), "kemeny_young", on_failure="return")
    assert fit.status == Status.HOST_LIMIT
    assert np.isnan(fit.scores).all()
    assert float(fit.params["gap"]) > 0


@pytest.mark.slow
def test_the_time_limit_holds_where_noise_makes_one_large_cycle():
    R = np.random.default_rng(0).integers(0, 2, (300, 60, 5))
    assert make("kemeny_young").time_limit == 60
    begin = time.perf_counter()
    fit = jr.fit(R, "kemeny_young", time_limit=3, on_failure="return")
    assert time.perf_counter() - begin < 30  # the limit, compilation, and one sweep of the local search
    assert fit.status == Status.HOST_LIMIT


@pytest.mark.filterwarnings("ignore:.*have no result on some questions")
def test_58_models_of_real_data_with_proof():
    """Every pair of the relation is forced by majority components or by a program; the order loses what it must."""
    data = jr.datasets.load("misguided_attention")
    fit = jr.fit(data, "kemeny_young")
    assert len(data.models) == 58
    assert fit.status == Status.CONVERGED
    assert float(fit.params["gap"]) == 0
    assert float(fit.params["programs"]) > 0
    margin = np.asarray(jax.jit(preferences)(Counts.of(data)).margins, float)
    for part, other in itertools.combinations(condorcet_components(margin), 2):
        assert fit.scores[part].min() > fit.scores[other].max()


def test_more_models_than_subsets_allow_are_refused_on_device():
    k = np.random.default_rng(3).integers(0, 3, (17, 4))
    with pytest.raises(UnsupportedDataError, match="limited to 16 models"):
        jr.fit(jr.Responses.from_counts(k, 2), "kemeny_young_small")


def test_levels_are_longest_chains():
    above = np.zeros((4, 4), bool)
    above[0, 1] = above[1, 2] = above[0, 2] = above[3, 2] = True
    assert chain_levels(above).tolist() == [0, 1, 2, 0]
