"""Judges: likelihood, identifiability, priors, inference, baselines."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, OptionError, UnfinishedError
from jaxrank.evaluation import judges
from jaxrank.evaluation.judges import baselines
from jaxrank.evaluation.judges.inference import joint_log_likelihood
from jaxrank.evaluation.judges.patterns import distinct_answers, patterns_of

DRAWS = {"n_samples": 1000, "n_warmup": 500, "n_chains": 2}  # with 300 R-hat reaches 1.07, by the compiler


def simulate(pi, theta, n_questions, seed=0):
    """Scores (J, K, Q) and true levels (K, Q)."""
    rng = np.random.default_rng(seed)
    draw = lambda p: (rng.random(p.shape[:-1])[..., None] > np.cumsum(p, -1)[..., :-1]).sum(-1)
    truth = draw(np.broadcast_to(np.asarray(pi)[:, None], (len(pi), n_questions, np.shape(pi)[1])))
    return np.stack([draw(np.asarray(t)[truth]) for t in theta]), truth


THETA = np.array(
    [[[0.8, 0.15, 0.05], [0.2, 0.6, 0.2], [0.05, 0.15, 0.8]], [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]]
)
PI = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])


def test_joint_likelihood_by_enumeration():
    scores, truth = simulate(PI, THETA, 4)
    scores[0, 1, 2] = -1
    gold = np.where(np.arange(4)[None] == 1, truth, -1)
    want = 0.0
    for k, q in itertools.product(range(3), range(4)):
        total = 0.0
        for t in range(3):
            if gold[k, q] in (-1, t):
                total += PI[k, t] * np.prod([THETA[j, t, scores[j, k, q]] for j in range(2) if scores[j, k, q] >= 0])
        want += np.log(total)
    with jax.enable_x64(True):
        got = jax.jit(joint_log_likelihood)(np.asarray(PI), np.asarray(THETA), patterns_of(scores, gold, 3))
    assert float(got) == pytest.approx(want, rel=1e-12)


def test_patterns_merge_equal_answers_and_count_the_others_apart():
    scores = np.array([[[0, 0, 1, -1, 0], [1, 1, 1, 1, 1]], [[2, 2, 0, -1, 2], [0, 0, 0, 0, -1]]])
    gold = np.array([[-1, -1, 1, -1, 2], [-1, -1, -1, -1, -1]])
    found = patterns_of(scores, gold, 3)
    counts = [sorted(row[row > 0]) for row in found.count]
    # the first: two questions alike, two of their own, one without score and label; the second: four alike
    assert counts == [[1, 1, 2], [1, 4]]
    assert found.hot.shape == (6, *found.count.shape) and found.possible.shape == (3, *found.count.shape)
    pair = int(np.argmax(found.count[0]))
    assert found.hot[:, 0, pair].tolist() == [1, 0, 0, 0, 0, 1] and found.possible[:, 0, pair].tolist() == [1, 1, 1]
    labelled = {tuple(found.possible[:, 0, u]) for u in np.flatnonzero(found.count[0] == 1)}
    assert labelled == {(0, 1, 0), (0, 0, 1)}
    lone = int(np.flatnonzero(found.count[1] == 1)[0])
    assert found.hot[:, 1, lone].tolist() == [0, 1, 0, 0, 0, 0]


def test_two_levels_are_ordered_by_any_judge_better_than_chance():
    judged = np.array([[0.3, 0.7], [0.45, 0.55], [0.5, 0.5], [0.5, 0.5]])
    found = judges.identifiability(judged)
    assert found.identified
    assert found.example is None
    assert found.ordered[0, 1]
    assert found.ordered[1, 2]
    assert not found.ordered[2, 3]


def test_three_levels_have_opposite_orders_of_equal_likelihood():
    judged = np.array([[0.30, 0.40, 0.30], [0.34, 0.30, 0.36]])
    found = judges.identifiability(judged)
    assert not found.identified
    assert found.example is not None
    (i, j), first, second = found.example
    for theta, pi in (first, second):
        np.testing.assert_allclose(pi @ theta[0], judged, atol=1e-6)
        assert np.all(np.diff(np.cumsum(theta[0], -1)[:, :-1], axis=0) <= 1e-6)
        np.testing.assert_allclose(judges.relative_volumes(theta[0], judged[i]), pi[i], atol=1e-4)
    value = np.arange(3)
    assert (first[1][i] - first[1][j]) @ value > 0.005
    assert (second[1][j] - second[1][i]) @ value > 0.005


@pytest.mark.rank_promotion("allow")
def test_rows_of_monotone_priors_are_stochastically_ordered():
    from numpyro.handlers import seed, trace

    sampled = []
    for name in ("weak", "strong", "ladder_moderate"):
        theta = np.asarray(
            jax.jit(lambda key, name=name: seed(judges.PRIORS[name].sample, key)(500, 3))(jax.random.key(0))
        )
        sampled.append(np.einsum("jmm->", theta))
        np.testing.assert_allclose(theta.mean(0), judges.PRIORS[name].expected(3), atol=0.06)
        np.testing.assert_allclose(theta.sum(-1), 1, atol=1e-5)
        assert np.all(np.diff(np.cumsum(theta, -1), axis=1) <= 1e-5)
    assert sampled[0] < sampled[1]
    assert not trace(judges.PRIORS["perfect"].sample).get_trace(2, 3)


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_posterior_recovers_candidates_and_reports_diagnostics():
    scores, _ = simulate(PI, THETA, 150, seed=1)
    found = judges.infer(scores, prior="moderate", **DRAWS)
    truth = PI @ np.arange(3)
    low, high = found.interval(0.99)
    assert np.all((low <= truth) & (truth <= high))
    assert found.ranks.tolist() == [3, 2, 1]
    assert np.all(found.r_hat < 1.05)
    above, tied = found.superiority()
    assert above[2, 0] > 0.99
    assert found.rank_intervals().upper.shape == (3,)
    np.testing.assert_allclose(above + above.T + tied, 1, atol=1e-12)


def test_trust_is_the_expected_accuracy_at_any_number_of_levels():
    """papers-arise-judges, priors: "strong" expected .55 .31 .18 ... .98 right by level at M = 10."""
    for m in (2, 3, 4, 5, 10):
        for trust in (0.0, 0.1, 0.5, 0.9):
            expected = judges.JudgePrior(trust=trust).expected(m)
            assert np.trace(expected) / m == pytest.approx(1 / m + trust * (1 - 1 / m), abs=1e-3)
            np.testing.assert_allclose(expected, expected[::-1, ::-1], atol=1e-12)
            assert np.all(np.diff(np.cumsum(expected, -1), axis=0) < 1e-12)
    strong = np.diag(judges.PRIORS["ladder_strong"].expected(10))
    np.testing.assert_allclose(strong, [0.55, 0.31, 0.18, 0.12, 0.08, 0.06, 0.05, 0.04, 0.04, 0.98], atol=0.006)


def test_weights_and_edges_of_the_ladder_are_open():
    plain, one = judges.JudgePrior("ladder", beta=0.0), judges.JudgePrior("ladder", beta=0.0, reach=1)
    assert plain.expected(3)[1].tolist() == pytest.approx([1 / 9, 1 / 9 + 1 / 6, 1 / 9 + 1 / 6 + 1 / 3])
    assert one.expected(3)[1].tolist() == pytest.approx([1 / 6, 1 / 6 + 1 / 6, 1 / 6 + 1 / 3])
    named = judges.JudgePrior("ladder", beta={(0, 0): [8, 1, 1]})
    assert named.expected(3)[1].tolist() == pytest.approx([0.8 / 3, 0.1 / 3 + 1 / 6, 0.1 / 3 + 1 / 6 + 1 / 3])
    assert hash(named) == hash(judges.JudgePrior("ladder", beta={(0, 0): (8.0, 1.0, 1.0)}))
    with pytest.raises(OptionError, match="3 weights for node"):
        judges.JudgePrior("ladder", beta={(0, 1): [1, 1, 1]}).expected(3)


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_a_scale_turned_round_turns_the_scores_round():
    """The published ladder differed by .3 on the same data turned round."""
    scores, _ = simulate(PI, THETA, 150, seed=4)
    found = judges.infer(scores, prior="weak", **DRAWS)
    turned = judges.infer(2 - scores, prior="weak", **DRAWS)
    error = np.sqrt((found.sd**2 / found.ess) + (turned.sd**2 / turned.ess))
    assert np.all(np.abs(2 - turned.scores - found.scores) < 4 * error)


def test_perfect_judges_are_taken_at_their_word():
    """Two judges, one always 0, the other always 1: the mean is .5 for certain, not the prior's sd of .275."""
    scores = np.stack([np.zeros((1, 50)), np.ones((1, 50))])
    found = judges.infer(scores, prior="perfect", **DRAWS)
    with pytest.raises(OptionError, match="perfect judges have none"):
        judges.infer(scores, prior="perfect", spread="free", **DRAWS)
    assert found.scores[0] == pytest.approx(0.5) and found.sd[0] < 1e-9
    mixed, truth = simulate(PI, THETA, 100, seed=5)
    mixed[0, 1, :40] = -1
    found = judges.infer(mixed, prior="perfect", **DRAWS)
    np.testing.assert_allclose(found.scores, judges.plug_in_scores(mixed), atol=0.015)
    one = judges.infer(mixed[:1, :1], prior="perfect", **DRAWS)
    assert one.sd[0] == pytest.approx(mixed[0, 0].std() / 101**0.5, rel=0.05)
    np.testing.assert_allclose(found.pi @ np.arange(3), judges.plug_in_scores(mixed), rtol=1e-12)
    counted = judges.infer(mixed, prior="perfect", likelihood="counts", **DRAWS)
    np.testing.assert_allclose(counted.scores, judges.plug_in_scores(mixed), atol=0.02)
    labelled = judges.infer(mixed, gold=truth, prior="perfect", **DRAWS)
    np.testing.assert_allclose(labelled.scores, truth.mean(1), atol=0.015)
    with pytest.raises(DataError, match="judges disagree on"):
        judges.infer(mixed, prior=judges.JudgePrior("identity"), **DRAWS)


def test_likelihood_of_judges_that_differ_by_candidate():
    scores, truth = simulate(PI, THETA, 6)
    patterns = patterns_of(scores, np.full(truth.shape, -1), 3)
    with jax.enable_x64(True):
        same = joint_log_likelihood(jnp.asarray(PI), jnp.asarray(THETA), patterns)
        each = joint_log_likelihood(jnp.asarray(PI), jnp.asarray(np.broadcast_to(THETA, (3, *THETA.shape))), patterns)
        assert float(each) == pytest.approx(float(same), rel=1e-12)


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
@pytest.mark.filterwarnings("ignore:the chains under")
def test_judges_that_may_differ_by_candidate_widen_the_posterior():
    scores, _ = simulate(PI, THETA, 150, seed=1)
    short = {"n_samples": 200, "n_warmup": 200, "n_chains": 2}
    fixed = judges.infer(scores, likelihood="counts", **short)
    free = judges.infer(scores, likelihood="counts", spread=1.0, **short)
    assert free.sd.mean() > 1.1 * fixed.sd.mean() and (fixed.likelihood, free.likelihood) == ("counts", "counts")
    counted = judges.infer(counts=judges.level_counts(scores), **short)
    np.testing.assert_array_equal(counted.draws, fixed.draws)


@pytest.mark.parametrize(("m", "n_judges", "n_candidates"), [(2, 2, 5), (3, 2, 3), (3, 2, 5), (3, 3, 4)])
def test_several_judges_and_many_candidates_are_compatible_with_their_own_distributions(m, n_judges, n_candidates):
    """Every case with two or more judges and more candidates than levels was refused."""
    rng = np.random.default_rng(m + n_judges)
    steps = np.sort(rng.dirichlet(np.ones(m), (n_judges, m)), axis=1)
    theta = 0.5 * np.eye(m) + 0.5 * steps / steps.sum(-1, keepdims=True)
    theta = np.sort(theta.cumsum(-1), axis=1)[:, ::-1]
    theta = np.diff(theta, axis=-1, prepend=0)  # rows made stochastically ordered
    pi = rng.dirichlet(np.ones(m), n_candidates)
    judged = np.einsum("km,jmn->jkn", pi, theta)
    found = judges.identifiability(judged, margin=0.02, n_starts=1)
    assert found.distance < 1e-7
    score = pi @ np.arange(m)
    gap = score[:, None] - score
    assert np.all((found.low - 1e-6 <= gap) & (gap <= found.high + 1e-6))
    if m == 2:
        assert found.identified and np.array_equal(found.ordered, gap > 0)
    else:
        assert not found.identified
        (i, j), *both = found.example
        for sign, (other, shares) in zip((1, -1), both, strict=True):
            np.testing.assert_allclose(np.einsum("km,jmn->jkn", shares, other), judged, atol=1e-6)
            assert np.all(np.diff(np.cumsum(other, -1)[..., :-1], axis=1) <= 1e-6)
            assert sign * (shares[i] - shares[j]) @ np.arange(m) > 0.005


def test_counts_leave_a_profile_set():
    scores, _ = simulate(PI, THETA, 60, seed=2)
    counts = judges.level_counts(scores)
    exact = judges.identifiability(counts, n_starts=1)
    wide = judges.identifiability(counts, n_starts=1, level=0.95)
    gap = PI @ np.arange(3)
    gap = gap[:, None] - gap
    assert np.all((wide.low <= gap) & (gap <= wide.high))
    assert np.mean(wide.high - wide.low) > np.mean(exact.high - exact.low)
    with pytest.raises(OptionError, match="needs counts"):
        judges.identifiability(counts / counts.sum(-1, keepdims=True), level=0.9)


def test_ranks_with_labels_hold_the_truth():
    inside, spread, error = [], [], []
    value = PI @ np.arange(3)
    truth_ranks = 1 + (value[None] > value[:, None]).sum(1)
    for seed in range(60):
        scores, truth = simulate(PI, THETA[1:], 200, seed=seed)
        gold = judges.label_share(truth, 0.1, seed)
        assert ((gold >= 0).sum(1) == 20).all()
        found = judges.prediction_powered_draws(scores, gold, n_samples=400, seed=seed)
        low, high = found.rank_intervals(0.9)
        inside.append((low <= truth_ranks) & (truth_ranks <= high))
        score, se = judges.prediction_powered(scores, gold)
        np.testing.assert_allclose(found.scores, score, atol=0.06)
        spread.append(found.sd)
        error.append(se)
    np.testing.assert_allclose(np.mean(spread), np.mean(error), rtol=0.05)
    assert np.mean(inside) > 0.9
    with pytest.raises(DataError, match="two or more"):
        judges.label_share(truth, 0.004)


def test_two_judges_do_not_identify_dawid_skene():
    scores, _ = simulate(PI, THETA, 30)
    with pytest.warns(jr.JaxrankWarning, match="needs three judges, not 2"):
        judges.dawid_skene(scores)


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_gold_labels_narrow_the_posterior():
    scores, truth = simulate(PI, THETA[1:], 80, seed=2)
    without = judges.infer(scores, prior="weak", **DRAWS)
    gold = np.where(np.arange(80) < 40, truth, -1)
    labelled = judges.infer(scores, gold=gold, prior="weak", **DRAWS)
    assert labelled.sd.mean() < 0.8 * without.sd.mean()


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_short_chains_are_flagged():
    scores, _ = simulate(PI, THETA, 20)
    with pytest.warns(jr.JaxrankWarning, match="not settled"):
        judges.infer(scores, n_samples=10, n_warmup=10, n_chains=2)


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_sensitivity_runs_the_family():
    scores, _ = simulate(PI, THETA, 60)
    found = judges.sensitivity(scores, priors=("moderate", "perfect"), **DRAWS)
    assert list(found) == ["moderate", "perfect"]
    assert found["moderate"].sd.mean() > found["perfect"].sd.mean()


def test_dawid_skene_recovers_judges_and_beats_the_votes():
    theta = np.concatenate([THETA, np.full((1, 3, 3), 1 / 3)])  # the third judge throws dice
    scores, truth = simulate(PI, theta, 2000, seed=3)
    found = judges.dawid_skene(scores)
    assert found.converged
    np.testing.assert_allclose(found.theta[:2], THETA, atol=0.12)
    error = lambda s: np.abs(s - truth.mean(1)).mean()
    assert error(found.scores) < 0.5 * error(judges.plug_in_scores(scores))


def test_draws_of_dawid_skene_are_its_fits_of_questions_drawn_again():
    """Against the fit of a data set in which every question stands as often as its weight says, and about the point."""
    theta = np.concatenate([THETA, THETA[:1]])
    scores, _ = simulate(PI, theta, 200, seed=6)
    scores[0, 1, :50] = -1
    answers, places = distinct_answers(scores)
    np.testing.assert_array_equal(np.take_along_axis(answers, places[None], axis=2), scores)
    with jax.enable_x64(True):
        often = np.random.default_rng(0).multinomial(200, np.full(200, 1 / 200))
        counts = np.stack([np.bincount(row, often, answers.shape[2]) for row in places])
        pi, change = baselines._draws(jnp.asarray(answers), jnp.asarray(counts[None]), jnp.asarray(0.01), 3, 10000)
        again = judges.dawid_skene(np.repeat(scores, often, axis=2), max_steps=10000)
        assert float(change[0]) < 1e-10 and again.converged
        np.testing.assert_allclose(pi[0], again.pi, atol=1e-7)
    found = judges.dawid_skene_draws(scores, n_samples=64)
    np.testing.assert_allclose(found.scores, judges.dawid_skene(scores).scores, atol=0.05)
    means = np.where(scores < 0, np.nan, scores)
    plain = np.nanmean(means, axis=(0, 2))
    assert np.all(found.sd > means.std(axis=(0, 2), where=scores >= 0) / 200**0.5) and found.draws.shape == (64, 3)
    assert np.abs(found.scores - plain).max() > 0.1  # judges are not taken at their word
    with pytest.raises(DataError, match="three judges, not 2"):
        judges.dawid_skene_draws(scores[:2])
    with pytest.warns(jr.JaxrankWarning, match="did not end within 2 steps"):
        judges.dawid_skene_draws(scores, max_steps=2, n_samples=64)


def test_means_majority_and_missing_scores():
    scores = np.array([[[0, 2, -1]], [[1, 2, 2]], [[1, -1, -1]]])
    np.testing.assert_allclose(judges.each_judge(scores), [[1], [5 / 3], [1]])
    np.testing.assert_allclose(judges.plug_in_scores(scores), [11 / 9])
    np.testing.assert_allclose(judges.majority_scores(scores), [5 / 3])
    assert judges.level_counts(scores)[0, 0].tolist() == [1, 0, 1]


def test_prediction_powered_means_are_unbiased_and_cover():
    inside, estimates = 0, []
    for seed in range(200):
        scores, truth = simulate(PI, THETA[1:], 300, seed=seed)
        gold = np.where(np.arange(300) < 60, truth, -1)
        score, error = judges.prediction_powered(scores, gold)
        estimates.append(score)
        inside += (np.abs(score - PI @ np.arange(3)) < 1.96 * error).mean()
    np.testing.assert_allclose(np.mean(estimates, 0), PI @ np.arange(3), atol=0.03)
    assert 0.91 < inside / 200 < 0.98


def test_own_family_is_left_out_or_judged_apart():
    scores, _ = simulate(PI, THETA, 5)
    own = np.array([[True, False, False], [False, False, False]])
    assert np.all(judges.split_own(scores, own)[0, 0] == -1)
    apart = judges.split_own(scores, own, "own_matrix")
    assert apart.shape == (3, 3, 5)
    assert np.array_equal(apart[2, 0], scores[0, 0])
    assert np.all(apart[2, 1:] == -1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: judges.infer(s, prior="blind"), OptionError, "blind"),
        (lambda s: judges.infer(s[0]), DataError, "shape"),
        (lambda s: judges.infer(s + 0.5), DataError, "whole levels"),
        (lambda s: judges.infer(), OptionError, "counts"),
        (lambda s: judges.infer(s, gold=np.zeros((2, 2))), DataError, "gold"),
        (lambda s: judges.infer(counts=np.ones((1, 2, 3)), gold=np.zeros((2, 2))), OptionError, "gold"),
        (lambda s: judges.infer(s, values=(0, 1)), OptionError, "values"),
        (lambda s: judges.prediction_powered(s, np.full(s.shape[1:], -1)), DataError, "labelled"),
        (lambda s: judges.JudgePrior("odd"), OptionError, "odd"),
        (lambda s: judges.infer(s, likelihood="both"), OptionError, "likelihood"),
        (lambda s: judges.infer(s, gold=s[0], likelihood="counts"), OptionError, "joint"),
        (lambda s: judges.infer(s, spread="wide"), OptionError, "spread"),
        (lambda s: judges.identifiability([[0.5, 0.5], [0.4, 0.6]], margin=1.5), DataError, "lower margin"),
        (lambda s: judges.split_own(s, np.zeros((1, 1))), DataError, "own"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call(simulate(PI, THETA, 6)[0])


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_chains_of_judges_are_shared_through_a_folder(tmp_path):
    """Of one prior and of several, with a folder each; draws of perfect judges take no time and are not kept."""
    scores = np.random.default_rng(0).integers(0, 3, (3, 4, 20))
    how = {"n_chains": 2, "n_warmup": 20, "n_samples": 20, "seed": 1}
    alone = judges.sensitivity(scores, priors=["moderate", "perfect"], **how)
    folder = tmp_path / "study"
    several = lambda shard: judges.sensitivity(
        scores, priors=["moderate", "perfect"], checkpoint=folder, shard=shard, **how
    )
    with pytest.raises(UnfinishedError, match="shard 2/2 is done, 1 of 2 chains"):
        several("2/2")
    for shared in (several("1/2"), several("merge")):
        for name, found in alone.items():
            np.testing.assert_array_equal(shared[name].draws, found.draws)
    assert sorted(p.name for p in folder.iterdir()) == ["moderate"]
    with pytest.raises(OptionError, match="another study"):
        judges.infer(scores[:2], checkpoint=folder / "moderate", **how)
    with pytest.raises(OptionError, match="draws none"):
        judges.infer(scores, prior="perfect", checkpoint=folder, **how)
