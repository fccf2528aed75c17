"""ARISE and the scaling metric: hand examples, uncertainty, adaptive sampling."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation import scaling


def test_hand_examples():
    t0, t1, t2, t3 = 100.0, 250.0, 400.0, 900.0
    assert float(scaling.arise([[0, 1]], [[t0, t1]])) == pytest.approx(t0 / t1)
    assert float(scaling.arise([[1, 0]], [[t0, t1]])) == pytest.approx(-t1 / t0)
    zigzag = scaling.arise([[0, 1, 0, 1]], [[t0, t1, t2, t3]])
    assert float(zigzag) == pytest.approx(t0 / t1 - t2 / t1 + t2 / t3, rel=1e-6)
    assert float(scaling.arise([[0.5, 0.5]], [[t0, t1]])) == 0


def test_scaling_metric_by_hand():
    a, t = np.array([[0.0, 0.5, 1.0], [0.0, 0.5, 0.0]]), np.array([[100.0, 200, 400], [100, 200, 400]])
    slopes = [0.5 / 100, 0.5 / 300, 0.0]
    assert float(scaling.scaling_metric(a, t)) == pytest.approx(np.mean(slopes), rel=1e-6)
    # Pairs are taken by falling tokens too: only those with more tokens count.
    assert float(scaling.scaling_metric(a[:, ::-1], t[:, ::-1])) == pytest.approx(np.mean(slopes), rel=1e-6)
    assert np.isnan(scaling.scaling_metric([[0, 1]], [[5, 5]]))


def test_missing_levels_leave_a_sample_out():
    a, t = np.array([[0.0, 1.0], [np.nan, 1.0]]), np.array([[1.0, 2.0], [1.0, 4.0]])
    assert float(scaling.arise(a, t)) == 0.5
    assert float(scaling.scaling_metric(a, t)) == 1.0


def recorded(seed=0, n_models=3, n_samples=40, n_levels=3, n_trials=8):
    rng = np.random.default_rng(seed)
    p = np.clip(rng.random((n_models, n_samples, 1)) + 0.15 * np.arange(n_levels), 0, 0.98)
    y = (rng.random((n_models, n_samples, n_levels, n_trials)) < p[..., None]).astype(float)
    t = 500 * 2.0 ** np.arange(n_levels)[:, None] * rng.lognormal(0, 0.1, y.shape)
    return y, t


def test_evaluation_of_many_models():
    y, t = recorded()
    result = scaling.evaluate_scaling(y, t, n_replicates=300)
    single = [scaling.evaluate_scaling(y[i : i + 1], t[i : i + 1], n_replicates=300) for i in range(3)]
    np.testing.assert_allclose(result.arise, [s.arise[0] for s in single], rtol=1e-6)
    lower, upper = result.arise_interval
    np.testing.assert_allclose(lower, np.concatenate([s.arise_interval.lower for s in single]), rtol=1e-5)
    np.testing.assert_allclose(upper, np.concatenate([s.arise_interval.upper for s in single]), rtol=1e-5)
    assert np.all((lower < result.arise) & (result.arise < upper))
    again = scaling.evaluate_scaling(y, t, n_replicates=300)
    assert again.arise_cv.tolist() == result.arise_cv.tolist()
    np.testing.assert_allclose(result.samples.mean(1), result.arise, rtol=1e-5)


def test_bootstrap_spread_is_that_of_new_samples():
    """The replicates' standard deviation against that of fresh data of the same kind."""
    fresh = np.array([float(scaling.arise(y.mean(-1), t.mean(-1))[0]) for y, t in (recorded(s, 1) for s in range(200))])
    y, t = recorded(999, 1)
    sd = {
        how: scaling.evaluate_scaling(y, t, n_replicates=500, resample=how).arise_sd[0] for how in ("samples", "both")
    }
    assert 0.7 < sd["samples"] / fresh.std() < 1.4
    assert sd["both"] > sd["samples"]


def test_falling_tokens_are_reported():
    y, t = recorded()
    t[0, :10, 2] = 1.0
    with pytest.warns(jr.JaxrankWarning, match="25% of the samples of 'model 0'"):
        result = scaling.evaluate_scaling(y, t, n_replicates=10)
    assert result.falling.tolist() == [0.25, 0, 0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, t: (y + 1, t), "in .0, 1."),
        (lambda y, t: (y, t * 0), "above 0"),
        (lambda y, t: (y[0], t[0]), "shape"),
    ],
)
def test_bad_trajectories(change, words):
    with pytest.raises(DataError, match=words):
        scaling.evaluate_scaling(*change(*recorded()))
    with pytest.raises(DataError, match="two levels"):
        scaling.arise([[1.0]], [[1.0]])


def test_adaptive_sampling_stops_and_resumes():
    calls = []

    def evaluate(sample, level):
        calls.append((sample, level))
        correct = 1.0 if sample == 0 else float(len(calls) % 2)
        return correct, 100.0

    trials = scaling.adaptive_sampling(evaluate, [(0, 0), (1, 0)])
    assert [len(trials[c]) for c in ((0, 0), (1, 0))] == [3, 10]
    before = len(calls)
    assert scaling.adaptive_sampling(evaluate, [(0, 0), (1, 0)], trials) is trials
    assert len(calls) == before

    def breaks(sample, level):
        if len(kept.get((0, 0), [])) == 2:
            raise TimeoutError
        return 1.0, 50.0

    kept = {}
    with pytest.raises(TimeoutError):
        scaling.adaptive_sampling(breaks, [(0, 0)], kept)
    assert kept == {(0, 0): [(1.0, 50.0)] * 2}
    assert len(scaling.adaptive_sampling(evaluate, [(0, 0)], kept)[0, 0]) == 3
    with pytest.raises(DataError, match="gave"):
        scaling.adaptive_sampling(lambda i, j: (2.0, 1.0), [(0, 0)])


def test_replay_is_the_driver_on_recorded_trials():
    y, t = (x[0] for x in recorded(n_trials=10))
    used = scaling.replay(y, t)

    def recorded_trial(i, j):
        n = len(trials.get((i, j), []))
        return y[i, j, n], t[i, j, n]

    trials = {}
    scaling.adaptive_sampling(recorded_trial, np.ndindex(y.shape[:2]), trials)
    assert used.tolist() == [[len(trials[i, j]) for j in range(y.shape[1])] for i in range(y.shape[0])]
    assert used.min() >= 3
    assert used.max() <= 10


def test_allocation_of_a_budget():
    cv = np.array([[0.0, 1.0], [1.0, 2.0]])
    plan = scaling.allocate(cv, 23)
    assert plan.sum() == 23
    assert plan.tolist() == [[3, 6], [6, 8]]
    assert scaling.allocate(np.zeros((2, 2)), 14).sum() == 14
    assert scaling.allocate(cv, 12).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(OptionError, match="too small"):
        scaling.allocate(cv, 11)
