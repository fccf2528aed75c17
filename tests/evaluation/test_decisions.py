"""Decisions: trials needed, stopping, allocation, alignment."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank import evaluation as ev
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.allocation import _fill


def coins(p, n, seed=0):
    return np.random.default_rng(seed).binomial(1, np.asarray(p)[:, :, None], (*np.shape(p), n))


def test_trials_needed_is_the_first_number_that_separates():
    successes = np.array([[30, 20, 10], [26, 22, 8]])
    data = jr.Responses.from_counts(successes, 40, models=["a", "b"])
    n = ev.trials_needed(data, ("a", "b"))

    def z(trials):  # the formula of Bayes@N at fixed rates
        nu = 1 + trials * successes / 40
        total = trials + 2
        mean, variance = nu / total, nu / total * (1 - nu / total) / (total + 1)
        return abs(mean[0].mean() - mean[1].mean()) / np.sqrt(variance.sum() / 9)

    assert z(n) >= 1.645 > z(n - 1)
    assert ev.trials_needed(data, (0, 1), z=1.96) / n == pytest.approx((1.96 / 1.645) ** 2, rel=0.05)
    assert ev.trials_needed(jr.fit(data), ("b", "a")) == n


def test_trials_needed_of_equal_rates_is_none():
    data = jr.Responses.from_counts([[3, 1], [1, 3]], 4)
    assert ev.trials_needed(data, (0, 1)) is None
    with pytest.raises(OptionError, match="'x'"):
        ev.trials_needed(data, ("x", "model 0"))
    with pytest.raises(OptionError, match="model 2"):
        ev.trials_needed(data, (0, 2))


def test_stopping_rule():
    settled = ev.stopping_rule([0.5, 0.9, 0.7], [0.01, 0.01, 0.01], looks=1)
    assert bool(settled.stop)
    assert settled.order.tolist() == [1, 2, 0]
    close = ev.stopping_rule([0.500, 0.9, 0.501], [0.01, 0.01, 0.01], looks=1)
    assert (bool(close.stop), close.separated.tolist()) == (False, [True, False])
    tied = ev.stopping_rule([0.500, 0.9, 0.501], [0.01, 0.01, 0.01], looks=1, width=0.03)
    assert (bool(tied.stop), tied.tied.tolist()) == (True, [False, True])
    assert bool(ev.stopping_rule([0.500, 0.9, 0.501], [0.01, 0.01, 0.01], looks=1, top=1).stop)
    assert not bool(ev.stopping_rule([0.5, 0.5], [0.0, 0.0], looks=1).separated[0])
    with pytest.raises(OptionError, match="top=3"):
        ev.stopping_rule([0.1, 0.2, 0.3], [0.1, 0.1, 0.1], looks=1, top=3)


def test_stopping_rule_asks_for_more_at_many_looks():
    """Bonferroni: at 80 looks of 95 % a pair needs z of one look at 99.9375 %; none is declared at a lower z."""
    gap, sd = 0.1, np.array([0.1 / 3.3, 0.1 / 3.1, 0.1 / 1.7]) / np.sqrt(2)
    mu = np.stack([np.full(3, 0.5 + gap), np.full(3, 0.5)], axis=1)
    sigma = np.stack([sd, sd], axis=1)
    stops = [ev.stopping_rule(mu, sigma, looks=n).stop.tolist() for n in (1, 80)]
    assert stops == [[True, True, True], [True, False, False]]  # z: 1.645 and 3.227
    with pytest.raises(OptionError, match="looks=0"):
        ev.stopping_rule([0.1, 0.2], [0.1, 0.1], looks=0)


def test_next_trials_spends_the_budget_where_it_matters():
    p = np.array([[0.95] * 6, [0.6, 0.5, 0.6, 0.5, 0.99, 0.01], [0.5, 0.5, 0.5, 0.5, 0.99, 0.01], [0.05] * 6])
    R = coins(p, 20)
    plan = ev.next_trials(R, 200, top=2)
    assert plan.shape == (4, 6)
    assert plan.sum() == 200
    assert np.all(plan >= 0)
    # Models 1 and 2 stand at the border; within them, questions near one half are the uncertain ones.
    assert plan[1:3].sum() > 0.9 * 200
    assert plan[1:3, :4].mean() > 3 * plan[1:3, 4:].mean()
    order = ev.next_trials(R, 200)
    assert order.sum() == 200
    assert ev.next_trials(R, 0).sum() == 0


def test_next_trials_does_not_depend_on_labels():
    R = coins(np.random.default_rng(1).random((5, 6)), 15)
    shuffle = np.array([3, 0, 4, 1, 2])
    assert (
        ev.next_trials(R, 97, top=2)[shuffle].sum(1).tolist() == ev.next_trials(R[shuffle], 97, top=2).sum(1).tolist()
    )


def test_filling_up_to_target_shares():
    assert _fill(np.array([10.0, 10.0, 10.0]), np.array([0.5, 0.25, 0.25]), 10).tolist() == [10, 0, 0]
    assert _fill(np.array([10.0, 10.0, 10.0]), np.array([0.5, 0.25, 0.25]), 30).tolist() == [20, 5, 5]
    assert _fill(np.array([0.0, 0.0]), np.array([0.5, 0.5]), 3).sum() == 3


@pytest.mark.parametrize(("options", "words"), [({"budget": -1}, "budget"), ({"budget": 5, "top": 5}, "top=5")])
def test_bad_allocation(options, words):
    with pytest.raises(OptionError, match=words):
        ev.next_trials(coins(np.full((5, 3), 0.5), 4), **options)


def test_greedy_alignment():
    R = coins(np.linspace(0.1, 0.9, 6)[:, None].repeat(8, 1), 30)
    assert ev.greedy_alignment(R, R[:, :, :5]) > 0.8
    with pytest.warns(jr.JaxrankWarning, match="tau-b -"):
        assert ev.greedy_alignment(R, R[::-1, :, :5]) < -0.8
    with pytest.raises(DataError, match="5 models"):
        ev.greedy_alignment(R, R[:5])


def test_trials_needed_of_one_trial_is_an_error():
    """Rates of 0 and 1 have no variance: a gap of 2 in 150 asked for 14 trials, where 36 are right."""
    with pytest.raises(jr.errors.OptionError, match="single trial"):
        ev.trials_needed([[[1], [1], [0]], [[0], [1], [0]]], (0, 1))
