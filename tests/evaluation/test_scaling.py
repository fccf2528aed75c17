"""ARISE and the scaling metric: hand examples, uncertainty, adaptive sampling."""

from __future__ import annotations

import itertools

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
    # Equation 1 divides by all pairs: one with equal tokens adds 0 and counts.
    assert float(scaling.scaling_metric([[0, 1]], [[5, 5]])) == 0
    assert float(scaling.scaling_metric([[0, 0.5, 1]], [[100, 200, 200]])) == pytest.approx(0.005)
    assert np.isnan(scaling.scaling_metric([[np.nan, 1]], [[5, 6]]))


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
    for of in ("arise", "cross_fit", "rates", "scaling_metric"):
        alone = np.stack([np.asarray(s.interval(of=of))[:, 0] for s in single], axis=1)
        np.testing.assert_allclose(np.asarray(result.interval(of=of)), alone, rtol=1e-5, atol=1e-9)
    lower, upper = result.interval(of="arise")
    assert np.all((lower < result.arise) & (result.arise < upper))
    wide = result.interval()
    assert np.all(wide.lower == lower) and np.all(wide.upper > upper)
    again = scaling.evaluate_scaling(y, t, n_replicates=300)
    assert again.cv().tolist() == result.cv().tolist()
    np.testing.assert_allclose(result.samples.mean(1), result.arise, rtol=1e-5)


def test_bootstrap_spread_is_that_of_new_samples():
    """The replicates' standard deviation against that of fresh data of the same kind."""
    fresh = np.array([float(scaling.arise(y.mean(-1), t.mean(-1))[0]) for y, t in (recorded(s, 1) for s in range(200))])
    y, t = recorded(999, 1)
    sd = {how: scaling.evaluate_scaling(y, t, n_replicates=500, resample=how).sd()[0] for how in ("samples", "both")}
    assert 0.7 < sd["samples"] / fresh.std() < 1.4
    assert sd["both"] > sd["samples"]


def test_falling_tokens_are_reported():
    y, t = recorded()
    t[0, :10, 2] = 1.0
    with pytest.warns(jr.JaxrankWarning, match="25 % of the samples of 'model 0'"):
        result = scaling.evaluate_scaling(y, t, n_replicates=10)
    assert result.falling.tolist() == [0.25, 0, 0]
    y[0, :10] = [[0], [0], [1]]
    with pytest.warns(jr.JaxrankWarning, match="bound of 1 .* does not hold there, the largest of a sample is"):
        above = scaling.evaluate_scaling(y, t, n_replicates=10, n_exchanges=1)
    assert np.nanmax(above.samples) > 100


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


def outcomes(rates, n_trials):
    """All outcomes of two levels (2, N) with their probabilities."""
    for bits in itertools.product((0.0, 1.0), repeat=2 * n_trials):
        y = np.reshape(bits, (2, n_trials))
        p = np.asarray(rates)[:, None]
        yield y, float(np.prod(np.where(y == 1, p, 1 - p)))


@pytest.mark.parametrize("n_trials", [2, 3])
@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.9), (0.3, 0.6), (0.8, 0.1), (0.0, 1.0)])
def test_success_rates_lie_between_the_published_score_and_the_cross_fit(rates, n_trials):
    """In expectation, by enumeration of all outcomes; exactly where nothing changes or everything is certain."""
    step, k = rates[1] - rates[0], 0.5
    truth = step * (k if step > 0 else 1 / k)
    tokens = np.broadcast_to([[100.0], [200.0]], (2, n_trials))[None]
    ys, weights = zip(*outcomes(rates, n_trials), strict=True)
    y, t = np.stack(ys), np.broadcast_to(tokens, (len(ys), 2, n_trials))
    plain = np.asarray(scaling.arise_samples(y.mean(-1)[:, None], t.mean(-1)[:, None]))[:, 0]
    plain, crossed = (float(np.dot(weights, x)) for x in (plain, scaling.cross_fit_samples(y, t)))
    assert plain <= truth + 1e-6 and crossed >= truth - 1e-9
    if step == 0 or abs(step) == 1:
        assert crossed == pytest.approx(truth, abs=1e-12)


def test_cross_fit_by_hand_and_with_ragged_trials():
    y = np.array([[[1, 0, np.nan], [1, 1, 0]]])
    t = np.where(np.isnan(y), np.nan, [[[100.0] * 3, [300.0] * 3]])
    size = 0.0
    for a, b in itertools.product(range(2), range(3)):
        rest = (y[0, 1].sum() - y[0, 1, b]) / 2 - (np.nansum(y[0, 0]) - y[0, 0, a])
        size += (y[0, 1, b] - y[0, 0, a]) * np.sign(rest) / 6
    k, step = 1 / 3, 2 / 3 - 1 / 2
    want = (k + 1 / k) / 2 * step - (1 / k - k) / 2 * size
    np.testing.assert_allclose(scaling.cross_fit_samples(y, t), [want])
    assert np.isnan(scaling.cross_fit_samples(y[..., :1], t[..., :1])).all()


def nothing_scales(seed, n_trials=3, n_samples=40, n_levels=3):
    rng = np.random.default_rng(seed)
    y = rng.random((1, n_samples, n_levels, n_trials)) < rng.beta(0.5, 0.5, (n_samples, 1, 1))
    return y.astype(float), np.broadcast_to(100 * 2.0 ** np.arange(n_levels)[:, None], y.shape)


def test_noise_is_not_taken_for_scaling():
    """With nothing scaling the published score is far below 0; what is said of the success rates holds 0, and the
    p-value is one."""
    found = [scaling.evaluate_scaling(*nothing_scales(s), n_replicates=300, n_exchanges=39) for s in range(40)]
    assert np.mean([f.arise[0] for f in found]) < -0.15
    assert abs(np.mean([f.cross_fit[0] for f in found])) < 0.05
    np.testing.assert_allclose(np.mean([f.null[0] for f in found]), np.mean([f.arise[0] for f in found]), atol=0.03)
    inside = [bool(low <= 0 <= high) for low, high in (np.asarray(f.interval())[:, 0] for f in found)]
    assert np.mean(inside) >= 0.9
    assert not any(f.interval(of="arise").upper[0] > 0 for f in found)
    assert 2 <= sum(f.p_value[0] <= 0.25 for f in found) <= 18
    y, t = nothing_scales(0)
    y[:, :20, 1:] = 1
    assert scaling.evaluate_scaling(y, t, n_replicates=2, n_exchanges=39).p_value[0] == 1 / 40


def test_one_trial_leaves_the_upper_end_open():
    y, t = recorded(n_trials=1)
    found = scaling.evaluate_scaling(y, t, n_replicates=20, n_exchanges=2)
    assert np.isnan(found.cross_fit).all() and np.isinf(found.interval().upper).all()
    assert np.isfinite(found.interval().lower).all()


def test_models_are_ranked_on_paired_draws():
    y, t = recorded()
    y[1] = y[0]
    t[1] = t[0] * 0.999 ** np.arange(3)[:, None]  # the same with slightly better ratios
    found = scaling.evaluate_scaling(y, t, n_replicates=300, n_exchanges=2)
    low, high = found.differences()
    assert high[1, 0] - low[1, 0] < 0.02 < found.sd()[0]
    above, tied = found.superiority()
    np.testing.assert_allclose(above + above.T + tied, 1)
    first, last = found.rank_intervals(0.9)
    assert np.all((first <= found.ranks) & (found.ranks <= last))
    assert found.to_frame()["rank"].tolist() == sorted(found.ranks.tolist())
    again = scaling.evaluate_scaling(y, t * 1.5, n_replicates=300, n_exchanges=2)
    change, ends = found.change(again)
    np.testing.assert_allclose(change, 0, atol=1e-6)
    assert np.all(ends.upper - ends.lower < 1e-5)
    with pytest.raises(OptionError, match="n_replicates"):
        found.change(scaling.evaluate_scaling(y, t, n_replicates=20, n_exchanges=2))


def test_models_may_have_different_levels_and_samples():
    y, t = recorded()
    y[1, :, 1] = np.nan
    t[2, 5] = np.nan
    with pytest.warns(jr.JaxrankWarning, match=r"39 to 40, 39 in common"):
        found = scaling.evaluate_scaling(y, t, n_replicates=50, n_exchanges=2)
    alone = scaling.evaluate_scaling(y[1:2][:, :, [0, 2]], t[1:2][:, :, [0, 2]], n_replicates=50, n_exchanges=2)
    assert found.levels.tolist() == [3, 2, 3] and np.isnan(found.accuracy[1, 1])
    for name in ("arise", "cross_fit", "scaling_metric"):
        np.testing.assert_allclose(getattr(found, name)[1], getattr(alone, name)[0], rtol=1e-5)
        np.testing.assert_allclose(found.draws[name][:, 1], alone.draws[name][:, 0], rtol=1e-4, atol=1e-9)
    common = scaling.evaluate_scaling(y, t, n_replicates=50, n_exchanges=2, common=True)
    assert common.samples.shape == (3, 39)
    with pytest.raises(DataError, match="'model 0' has trials at 1 level"):
        scaling.evaluate_scaling(np.where(np.arange(3)[:, None] == 1, y, np.nan)[:1], t[:1])


def test_cells_draw_their_own_trials_again():
    """A cell with 3 of 10 trials got none in 2.8 % of the draws, and its sample was lost."""
    y, t = recorded(n_models=1, n_trials=10)
    y[:, ::2, :, 3:] = np.nan
    full = scaling.evaluate_scaling(y, t, n_replicates=200, n_exchanges=2, resample="trials")
    assert np.isfinite(full.draws["arise"]).all() and "cross_fit" not in full.draws
    short = scaling.evaluate_scaling(
        y[:, ::2, :, :3], t[:, ::2, :, :3], n_replicates=200, n_exchanges=2, resample="trials"
    )
    rest = scaling.evaluate_scaling(y[:, 1::2], t[:, 1::2], n_replicates=200, n_exchanges=2, resample="trials")
    want = (short.sd()[0] ** 2 + rest.sd()[0] ** 2) ** 0.5 / 2
    assert full.sd()[0] == pytest.approx(want, rel=0.2)
    with pytest.raises(OptionError, match="cross-fit"):
        full.interval()


def test_transitions_add_up_to_arise():
    y, t = recorded()
    a, tok = y.mean(-1), t.mean(-1)
    found = scaling.transitions(a, tok)
    np.testing.assert_allclose((found.gains + found.losses).sum(-1), scaling.arise(a, tok), rtol=1e-5)
    np.testing.assert_allclose((found.gained - found.lost).sum(-1), (a[..., -1] - a[..., 0]).mean(-1), atol=1e-12)
    single = scaling.transitions([[0, 1, 0], [1, 1, 0]], [[1, 2, 4], [1, 2, 4]])
    assert (single.n_gained.tolist(), single.n_lost.tolist()) == ([1, 0], [0, 2])
    assert (single.gains.tolist(), single.losses.tolist()) == ([0.25, 0], [0, -2])
    cv_a, cv_t = scaling.noise_parts(y, t)
    assert cv_a[0, 0, 0] + cv_t[0, 0, 0] == pytest.approx(scaling.noise(y[0, 0, 0], t[0, 0, 0]))


def test_groups():
    y, t = recorded()
    found = scaling.evaluate_scaling(y, t, n_replicates=5, n_exchanges=2)
    by = found.by_group(["x", "y"] * 20)
    np.testing.assert_allclose(by.arise.mean(0), found.arise, rtol=1e-5)
    np.testing.assert_allclose(by.se[0], found.samples[:, ::2].std(1, ddof=1) / 20**0.5)
    assert by.groups == ("x", "y") and by.n.tolist() == [[20] * 3] * 2 and by.cv.shape == (3,)
    with pytest.raises(DataError, match="2 labels for 40 samples"):
        found.by_group(["x", "y"])


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (["high", "low", "medium"], ("low", "medium", "high")),
        (["think", "no_think"], ("no_think", "think")),
        (["High", "Minimal"], ("Minimal", "High")),
        (["1024", "256", "4096"], ("256", "1024", "4096")),
        ([2.0, 0.0, 1.0], (0.0, 1.0, 2.0)),
        (["max", "none", "high"], ("none", "high", "max")),
    ],
)
def test_levels_of_effort_are_never_in_the_order_of_the_alphabet(found, want):
    assert scaling.order_levels(found) == want


def test_levels_of_unknown_order_are_named():
    with pytest.raises(DataError, match="brief, long"):
        scaling.order_levels(["brief", "long"])
    assert scaling.order_levels(["brief", "long"], ["brief", "long", "endless"]) == ("brief", "long")
    for order, words in ((["long"], "lacks brief"), (["long", "long"], "twice")):
        with pytest.raises(OptionError, match=words):
            scaling.order_levels(["brief", "long"], order)


def test_algorithm_1_in_one_call():
    y, t = (x[0] for x in recorded(n_models=1, n_trials=12, n_samples=15))
    kept = {}

    def evaluate(i, j):
        n = len(kept.get((i, j), []))
        return y[i, j, n], t[i, j, n]

    found = scaling.run(evaluate, 15, 3, kept, n_replicates=20, n_exchanges=2)
    used = scaling.replay(y, t)
    assert found.n_trials.tolist() == used.tolist() and found.calls == used.sum()
    cells = [(y[i, j, : used[i, j]], t[i, j, : used[i, j]]) for i, j in np.ndindex(15, 3)]
    assert found.converged.ravel().tolist() == [scaling.noise(*cell) < 0.5 for cell in cells]
    means = np.array([[a.mean(), b.mean()] for a, b in cells]).reshape(15, 3, 2)
    assert found.result.arise[0] == pytest.approx(float(scaling.arise(means[..., 0], means[..., 1])), rel=1e-5)
    assert scaling.run(evaluate, 15, 3, kept, n_replicates=20, n_exchanges=2).calls == 0
    kept.clear()
    budget = scaling.run(evaluate, 15, 3, kept, budget=180, n_replicates=20, n_exchanges=2, m_max=12)
    assert budget.calls == budget.n_trials.sum() <= 180 and budget.n_trials.min() == 3
    with pytest.raises(OptionError, match="too small"):
        scaling.run(evaluate, 15, 3, {}, budget=100)
    with pytest.raises(DataError, match="has the cell"):
        scaling.run(evaluate, 2, 2, {(9, 0): []})
