"""What is said about uncertainty holds, or is not said: intervals of scores, and who is told apart from whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.numerics.contributions import contributions
from jaxrank.numerics.proportion import effective_size, wilson

N_SETS = 150
RIGHT = np.repeat([1, 0], [37, 3])


def close(found: Any, wanted: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def binary(n_models: int, n_questions: int, n_trials: int, rate: Any = 0.5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((n_models, n_questions, n_trials)) < np.reshape(rate, (-1, 1, 1))).astype(int)


def test_wilson_ends_where_the_score_test_rejects() -> None:
    """The ends are the rates q with (p - q)^2 = z^2 q (1 - q) / n, roots of a quadratic; 37 of 40 and 0 of 50."""
    z2 = 1.959963984540054**2
    for right, n in ((37, 40), (0, 50), (50, 50)):
        p = right / n
        roots = sorted(np.roots([1 + z2 / n, -(2 * p + z2 / n), p**2]).real)
        close(np.ravel(wilson(np.array([p]), np.array([n]), 0.95)), roots, 1e-9)
    assert wilson(np.array([0.5]), np.array([0.0]), 0.95) == ([0.0], [1.0])


def test_intervals_of_accuracies_stay_on_the_scale_and_hold_the_score() -> None:
    """37 of 40 had [.706, 1.144], all right and none right had no width, one trial had none at all."""
    data = np.stack([RIGHT, np.ones(40, int), np.zeros(40, int)])
    fit = jr.fit(data)
    low, high = fit.interval()
    close(fit.scores, [0.925, 1, 0], 1e-6)
    assert np.all((low >= 0) & (low <= fit.scores) & (fit.scores <= high) & (high <= 1))
    assert np.all(high - low > 0.05)
    # by question the effective size is what Student's t leaves of 40 independent trials (v = p(1 - p) / 39)
    size = effective_size(np.array([0.925]), np.array([0.925 * 0.075 / 39]), np.array([40]), np.array([40]), 0.95)
    close(size, [39 * (1.959964 / 2.022691) ** 2], 1e-4)
    close([low[0], high[0]], np.ravel(wilson(np.array([0.925]), size, 0.95)), 1e-6)
    words = fit.interval().words
    assert "Wilson" in words and "questions drawn again" in words


def test_intervals_say_what_they_rest_on() -> None:
    data = binary(3, 12, 2)
    bayes, pairs = jr.fit(data, "bayes").interval(), jr.fit(data, "rasch_map").interval()
    assert bayes.noun == "credible interval" and "of the posterior under its prior" in bayes.words
    assert pairs.noun == "interval" and "as its model has it" in pairs.words
    said = "no interval from 9 questions can be relied on"
    few, enough = jr.fit(data[:, :9]), jr.fit(data[:, :10])
    assert said in few.summary() and "be relied on" not in enough.summary()
    assert said in jr.bootstrap(data[:, :9], n_replicates=20).summary()
    assert not jr.fit(data[:, :9], "rasch_map").few and not jr.fit(data[:, :1]).few


def test_the_two_units() -> None:
    """Trials of easy and hard questions differ less than the questions do; one trial says nothing about trials."""
    rate = np.tile([0.05, 0.95], 25)
    rng = np.random.default_rng(0)
    data = (rng.random((2, 50, 8)) < rate[None, :, None]).astype(int)
    fit = jr.fit(data)
    by_question, by_trial = fit.interval(), fit.interval(unit="trials")
    assert np.all(by_trial.upper - by_trial.lower < 0.6 * (by_question.upper - by_question.lower))
    assert (by_question.unit, by_trial.unit) == ("questions", "trials")
    with pytest.raises(OptionError, match="two trials in every cell"):
        jr.fit(data[:, :, 0]).interval(unit="trials")
    with pytest.raises(OptionError, match="two questions or more"):
        jr.fit(data[:, :1]).interval(unit="questions")
    assert jr.fit(data[:, :1]).interval().unit == "trials"
    with pytest.raises(UnsupportedDataError, match="scheme='independent'"):
        jr.fit(data, "bradley_terry").interval(unit="trials")


def test_grades_have_the_interval_of_their_mean() -> None:
    grades = np.random.default_rng(1).integers(0, 4, (2, 30, 1))
    fit = jr.fit(grades)
    means = grades[:, :, 0]
    half = 2.04523 * means.std(axis=1, ddof=1) / 30**0.5
    close(fit.interval().lower, means.mean(1) - half, 1e-5)
    assert np.all(jr.fit(np.full((2, 3, 1), 3)).interval().upper <= 3)


def test_standard_errors_are_by_question() -> None:
    """Ten copies of every trial are no more information (numerics 5): of means, Pass@k and pair models."""
    data = binary(4, 30, 4, [0.3, 0.5, 0.6, 0.7])
    copies = np.tile(data, (1, 1, 10))
    for method in ("avg", "bradley_terry", "bradley_terry_davidson", "rao_kupper", "plackett_luce"):
        one, ten = (jr.fit(x, method, dtype="float64").standard_errors for x in (data, copies))
        close(ten, one, 1e-6)
    close(jr.fit(data).standard_errors, data.mean(2).std(axis=1, ddof=1) / 30**0.5, 1e-6)
    gap = data.mean(2)[0] - data.mean(2)[1]
    close(jr.fit(data).differences()[1][0, 1], gap.std(ddof=1) / 30**0.5, 1e-6)


def test_contributions_of_pass_at_k_are_those_of_its_questions() -> None:
    data = binary(3, 20, 4, [0.3, 0.5, 0.6])
    fit = jr.fit(data, "pass_at_k", k=2)
    alone = np.stack([jr.fit(data[:, [m]], "pass_at_k", k=2).scores for m in range(20)])
    close(fit.standard_errors, alone.std(axis=0, ddof=1) / 20**0.5, 1e-6)
    low, high = fit.interval()
    assert np.all((low < fit.scores) & (fit.scores < high))


def test_a_model_with_one_question_is_told_apart_from_nobody() -> None:
    """A model that failed, or solved, its only question has no error that is known."""
    data = binary(3, 60, 2, [0.9, 0.5, 0.5]).astype(float)
    data[2, 1:] = np.nan
    data[2, 0] = 1
    with pytest.warns(jr.JaxrankWarning):
        fit = jr.fit(data)
    assert np.isnan(fit.standard_errors[2])
    above = fit.difference_intervals(simultaneous=True).lower > 0
    assert above[0, 1] and not above[2].any() and not above[:, 2].any()
    low, high = fit.interval()
    assert (low[2], high[2]) == (0, 1)


def test_equal_differences_of_few_questions_are_no_proof() -> None:
    for n_questions, told in ((3, False), (30, True)):
        fit = jr.fit(np.stack([np.ones(n_questions, int), np.zeros(n_questions, int)]))
        assert (jr.tiers(fit).n_tiers == 2) == told


@pytest.mark.parametrize(("n_models", "n_questions", "n_trials"), [(2, 20, 2), (5, 10, 1), (12, 30, 8)])
def test_equal_models_are_told_apart_in_at_most_one_of_twenty_data_sets(
    n_models: int, n_questions: int, n_trials: int
) -> None:
    """The error of a fixed standard deviation is .10, .22 and about .2 here. 8 % and three standard errors."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(N_SETS):
        means = rng.binomial(n_trials, 0.5, (n_questions, n_models)) / n_trials
        found = contributions((means - means.mean(0)) / n_questions)
        gap = means.mean(0)[:, None] - means.mean(0)
        wrong += bool((gap > found.reach(0.95) * found.spread).any())
    assert wrong / N_SETS < 0.08 + 3 * (0.08 * 0.92 / N_SETS) ** 0.5


def test_few_clusters_with_most_of_the_information_are_allowed_for() -> None:
    """Ratios of sums, as strengths are: by the contributions alone equal ones were told apart far too often."""
    rng, n_sets, wrong = np.random.default_rng(0), 150, np.zeros(2)
    for _ in range(n_sets):
        size = rng.beta(0.3, 1.2, (30, 1)) * 8
        outcome = rng.normal(size=(30, 8)) * np.sqrt(size)
        scores, shares = outcome.sum(0) / size.sum(), size[:, 0] / size.sum()
        moved = (outcome - size * scores) / size.sum()
        gap = scores[:, None] - scores
        for i, found in enumerate((contributions(moved), contributions(moved, shares=shares))):
            wrong[i] += (gap > found.reach(0.95) * found.spread).any()
    assert wrong[0] / n_sets > 0.1
    assert wrong[1] / n_sets < 0.08


def test_equal_shares_are_no_shares() -> None:
    moved = np.random.default_rng(0).normal(size=(15, 4))
    moved -= moved.mean(0)
    plain, shared = contributions(moved), contributions(moved, shares=np.full(15, 1 / 15))
    close(shared.values, plain.values, 1e-12)
    close(shared.reach(0.95), plain.reach(0.95), 1e-4)
    pairs = np.arange(30) // 2
    for one in (plain, shared):
        twice = contributions(np.repeat(moved, 2, 0) / 2, shares=None if one is plain else np.full(30, 1 / 30))
        close(twice.grouped(pairs).values, one.values, 1e-12)


@pytest.mark.parametrize(("method", "scale"), [("avg", 1), ("pass_at_k", 1), ("bradley_terry_davidson", None)])
def test_clusters_are_the_unit_where_they_are_drawn(method: str, scale: int | None) -> None:
    """Copies of every question as one cluster are that question; the copies alone were taken for more questions."""
    data = binary(4, 25, 3, [0.3, 0.5, 0.6, 0.9])
    copies = jr.Responses(np.repeat(data, 4, axis=1), groups=[f"{m:02}" for m in range(25) for _ in range(4)])
    common = {"n_replicates": 200, "dtype": "float64"}
    one = jr.bootstrap(data, method, **common)
    many = jr.bootstrap(copies, method, scheme=jr.clusters("group"), **common)
    ends = [np.array(x.difference_intervals(simultaneous=True)) for x in (one, many)]
    close(ends[1], ends[0], 1e-6)
    assert (many.interval().unit, many.difference_intervals(simultaneous=True).unit) == ("clusters", "clusters")
    if scale:
        low, high = many.interval()
        assert np.all((low >= 0) & (low < many.scores) & (many.scores <= high) & (high <= scale))
        close(np.array([low, high]), np.array(one.interval()), 0.03)  # the most trials that count differ


@pytest.mark.parametrize("scheme", ["questions", "independent", "questions_and_trials"])
def test_intervals_of_shares_from_replicates_stay_on_the_scale_and_hold_the_point(scheme: str) -> None:
    """Percentiles and symmetric intervals did neither; of a model without a failure they had no width."""
    data = binary(3, 30, 4, [0.5, 0.97, 0.9])
    data[2] = 1
    for keep in ("scores", "summary"):
        rep = jr.bootstrap(data, "pass_at_k", k=2, scheme=scheme, n_replicates=200, keep=keep)
        low, high = rep.interval()
        assert np.all((low >= 0) & (low < rep.scores) & (rep.scores <= high) & (high <= 1))
        assert low[2] < 0.999
    if scheme == "questions":
        close(np.array([low, high]), np.array(jr.fit(data, "pass_at_k", k=2).interval()), 1e-6)


def test_models_that_hardly_differ_do_not_hide_others() -> None:
    """Two models that differ on one question of a hundred once made every reach infinite."""
    data = binary(3, 100, 1, [0.9, 0.9, 0.2])
    data[1] = data[0]
    data[1, 7] = 1 - data[0, 7]
    assert jr.tiers(jr.fit(data)).n_tiers == 2


def test_one_test_of_separation() -> None:
    """A fit, its replicates and their counts say the same about the same data (front-door A)."""
    data = binary(5, 40, 2, [0.3, 0.4, 0.5, 0.6, 0.9])
    for method in ("avg", "bradley_terry_map"):
        fit = jr.fit(data, method)
        rep = jr.bootstrap(data, method, n_replicates=50)
        counted = jr.bootstrap(data, method, n_replicates=50, keep="summary")
        want = fit.difference_intervals(simultaneous=True).lower > 0
        assert want.any()
        for source in (rep, counted):
            np.testing.assert_array_equal(source.separated(), want)
            assert jr.tiers(source).groups == jr.tiers(fit).groups


def test_the_default_scheme_draws_questions() -> None:
    """A log of one trial had intervals of no width and p_best 1; battles and lists draw what they have."""
    rep = jr.bootstrap(binary(3, 30, 1, [0.4, 0.5, 0.6]), n_replicates=200)
    assert (rep.method, rep.scheme, rep.unit) == ("avg", "questions", "questions")
    low, high = rep.interval()
    assert np.all(high - low > 0.1)
    assert jr.bootstrap(binary(2, 1, 20), n_replicates=10).scheme == "trials"
    battles = jr.Comparisons(["a", "b", "a"], ["b", "a", "b"], [1, 1, 0])
    assert jr.bootstrap(battles, n_replicates=10).unit == "battles"


def test_schemes_of_trials_need_trials() -> None:
    with pytest.raises(OptionError, match="every cell has one"):
        jr.bootstrap(binary(2, 10, 1), scheme="trials", n_replicates=10)
    with pytest.warns(jr.JaxrankWarning, match="10 distinct replicates"):
        jr.bootstrap(binary(2, 10, 3), scheme="trials", n_replicates=10)


def test_replicates_of_few_units_do_not_shrink() -> None:
    """The variance of a draw of n units is (n - 1)/n of that of the sample: at two trials half was missing."""
    data = binary(2, 400, 2, seed=3)
    rep = jr.bootstrap(data, "inverse_difficulty", scheme="independent", n_replicates=2000)
    wide = rep.interval()
    raw = np.quantile(rep.replicate_scores, [0.025, 0.975], axis=0, method="weibull")
    close((wide.upper - wide.lower) / (raw[1] - raw[0]), 2**0.5 * 1.9659 / 1.95996, 1e-3)


def test_ratings_of_trials_claim_nothing() -> None:
    """Glicko's deviations take pairs of one trial for independent battles: 3.5 times too small on 30 questions x 8."""
    fit = jr.fit(binary(3, 10, 4, [0.3, 0.5, 0.7]), "glicko")
    assert not fit.has_interval
    with pytest.raises(UnsupportedDataError, match="independent battles, which those of one trial or question are not"):
        fit.interval()
    battles = jr.Comparisons(["a", "b", "a"], ["b", "a", "b"], [1, 1, 0])
    assert jr.fit(battles, "glicko").has_interval


def test_a_shared_first_place_is_no_lead() -> None:
    """Ties counted as first for each of them: p_best > .95 was false in 17 % of sets of 20 x 20 x 1."""
    data = np.stack([np.eye(2, dtype=int)[0], np.eye(2, dtype=int)[1], np.zeros(2, int)])
    rep = jr.bootstrap(data, n_replicates=400, seed=0)
    close(rep.p_best.sum(), 1, 1e-9)
    ties = rep.superiority().tied[0, 1]
    assert 0.3 < ties < 0.7
    close(rep.p_best[2], 0, 1e-9)
    close(rep.p_best[0] + ties / 2, rep.rank_probabilities()[0, 0], 1e-9)
    counted = jr.bootstrap(data, n_replicates=400, seed=0, keep="summary")
    close(counted.p_best, rep.p_best, 1e-9)
