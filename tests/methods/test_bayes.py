"""Bayes@N: golden rationals, priors, quantiles, missing cells, intervals on ranks, errors."""

from __future__ import annotations

import warnings
from fractions import Fraction

import jax
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.errors import DataError, JaxrankWarning, OptionError
from jaxrank.evaluation import metrics
from jaxrank.evaluation.decisions import rank_with_intervals, ranking_confidence
from jaxrank.methods.bayes import Bayes
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import run
from tests.oracles import golden, tensor_params

pytestmark = pytest.mark.filterwarnings("ignore:R0 is shared by all models")  # scores are what is asked for


def second(R):
    """Data of two models whose first is R; a ranking needs two."""
    return np.stack([np.asarray(R), np.zeros_like(R)])


@pytest.mark.parametrize("index", range(10))
def test_golden_rationals(index):
    example = golden("09_bayes_pass")["bayes_examples"][index]
    options = {} if example["w"] is None else {"w": [float(Fraction(v)) for v in example["w"]]}
    fit = jr.fit(second(example["R"]), "bayes", R0=example["R0"], dtype="float64", **options)
    assert fit.scores[0] == pytest.approx(float(Fraction(example["mu"])), abs=1e-15)
    assert fit.params["sd"][0] == pytest.approx(float(Fraction(example["sigma2"])) ** 0.5, abs=1e-15)
    low = jr.fit(second(example["R"]), "bayes", R0=example["R0"], dtype="float64", quantile=0.025, **options)
    assert low.scores[0] == pytest.approx(example["normal_95_interval"][0], abs=1e-14)


def test_printed_examples():
    R, w, R0 = [[0, 1, 2, 2, 1], [1, 1, 0, 2, 2]], (0, 0.5, 1), [[0, 2], [1, 2]]
    plain, informed = (jr.fit(second(R), "bayes", w=w, R0=prior, dtype="float64") for prior in (None, R0))
    assert (plain.scores[0], round(plain.params["sd"][0], 6)) == (0.5625, 0.091998)
    assert (round(informed.scores[0], 6), round(informed.params["sd"][0], 6)) == (0.575, 0.084275)


@pytest.mark.parametrize("tensor", tensor_params())
def test_oracle_tensors(tensor):
    stored = golden("11b_tensor_oracles")["tensors"][tensor]
    for name, method in (("bayes", "bayes"), ("bayes_q0.05", "bayes_ci")):
        fit = jr.fit(np.asarray(stored["R"]), method, dtype="float64")
        np.testing.assert_allclose(fit.scores, stored["methods"][name]["scores"], rtol=0, atol=1e-14)
        order = [sorted(np.flatnonzero(fit.ranks == r).tolist()) for r in np.unique(fit.ranks)]
        assert order == [sorted(group) for group in stored["methods"][name]["ranking"]]
        assert jr.fit(np.asarray(stored["R"]), method).scores == pytest.approx(fit.scores, rel=1e-5)


def test_order_is_that_of_the_average_and_the_published_spread_a_multiple():
    R = np.random.default_rng(0).integers(0, 2, (6, 9, 4))
    bayes, avg = jr.fit(R, "bayes", dtype="float64"), jr.fit(R, "avg", dtype="float64")
    np.testing.assert_array_equal(bayes.ranks, avg.ranks)
    with jax.enable_x64(True):
        spread = np.asarray(metrics.avg(R).sd)
    np.testing.assert_allclose(spread, (1 + 1 + 4) / 4 * bayes.params["sd"], rtol=1e-13)


def test_priors_shared_and_per_model():
    rng = np.random.default_rng(1)
    R, R0 = rng.integers(0, 3, (3, 5, 4)), rng.integers(0, 3, (3, 5, 2))
    each = jr.fit(R, "bayes", R0=R0, dtype="float64")
    for i in range(3):
        joined = np.concatenate([R[i : i + 1], R0[i : i + 1]], axis=2)
        pooled = jr.fit(np.concatenate([joined, joined]), "bayes", dtype="float64")  # prior outcomes count as outcomes
        assert each.scores[i] == pytest.approx(pooled.scores[0], abs=1e-15)
        assert each.params["sd"][i] == pytest.approx(pooled.params["sd"][0], abs=1e-15)
    shared = jr.fit(R, "bayes", R0=R0[1], dtype="float64")
    assert shared.scores[1] == pytest.approx(each.scores[1], abs=1e-15)


def test_a_prior_that_can_change_no_rank_is_warned_about():
    rng = np.random.default_rng(6)
    R, R0 = rng.integers(0, 2, (4, 5, 3)), rng.integers(0, 2, (4, 5, 2))
    with pytest.warns(JaxrankWarning, match="changes no rank"):
        shared = jr.fit(R, "bayes", R0=R0[0], dtype="float64")
    np.testing.assert_array_equal(shared.ranks, jr.fit(R, "bayes", dtype="float64").ranks)
    uneven = R.copy()
    uneven[0, 0, 0] = -1  # one trial less: the prior weighs more in that cell
    with warnings.catch_warnings(action="error"):
        warnings.filterwarnings("ignore", "1 model")
        for data, prior, options in (
            (R, R0, {}),
            (R, R0[0], {"quantile": 0.05}),
            (uneven, R0[0], {}),
        ):
            jr.fit(data, "bayes", R0=prior, **options)


def test_missing_prior_outcomes_do_not_count():
    R = np.random.default_rng(2).integers(0, 2, (3, 4, 2))
    R0 = np.array([[1, -1], [0, 1], [-1, -1], [1, 1]])
    short = jr.fit(R, "bayes", R0=R0, dtype="float64")
    by_hand = (R.sum(2) + 1 + (R0 == 1).sum(1)) / (4 + (R0 >= 0).sum(1))
    np.testing.assert_allclose(short.scores, by_hand.mean(1), rtol=1e-14)


def test_unequal_trials_and_unobserved_questions():
    R = np.array([[[1, 1, -1], [0, -1, -1]], [[1, 0, 1], [-1, -1, -1]]])
    with pytest.warns(jr.JaxrankWarning, match="'model 1' 1/2"):
        fit = jr.fit(R, "bayes", dtype="float64")
    np.testing.assert_allclose(fit.scores, [(3 / 4 + 1 / 3) / 2, (3 / 5 + 1 / 2) / 2], rtol=1e-14)
    variance = [(3 / 16 / 5 + 2 / 9 / 4) / 4, (6 / 25 / 6 + 1 / 4 / 3) / 4]
    np.testing.assert_allclose(fit.params["sd"], np.sqrt(variance), rtol=1e-14)


def test_graded_levels_are_the_default_weights():
    R = np.array([[[0, 0.5, 1]], [[0.5, 0.5, 0]]])
    graded = jr.fit(jr.Responses(R, levels=(0, 0.5, 1)), "bayes", dtype="float64")
    by_weights = jr.fit((2 * R).astype(int), "bayes", w=(0, 0.5, 1), dtype="float64")
    np.testing.assert_allclose(graded.scores, by_weights.scores, rtol=1e-15)
    seen_twice = jr.fit(np.array([[[0, 1]], [[0, 0]]]), "bayes", w=(0, 0.5, 1), dtype="float64")  # no 2
    np.testing.assert_allclose(seen_twice.scores, [(0.5 * 2 + 1) / 5, (0.5 + 1) / 5], rtol=1e-15)


def test_multiplicity_of_questions():
    R = np.random.default_rng(3).integers(0, 3, (4, 5, 6))
    times = np.array([2, 0, 1, 3, 1])
    stat = Counts.of(jr.Responses(R))
    weighted = run(Bayes(), Counts(stat.categories, times.astype(np.float32), stat.levels))
    whole = run(Bayes(), Counts.of(jr.Responses(R.repeat(times, axis=1))))
    np.testing.assert_allclose(weighted.scores, whole.scores, rtol=1e-6)
    np.testing.assert_allclose(weighted.params["sd"], whole.params["sd"], rtol=1e-6)


def test_greedy_needs_earlier_outcomes():
    R = np.random.default_rng(4).integers(0, 2, (3, 4, 2))
    with pytest.raises(OptionError, match="pass R0"):
        jr.fit(R, "bayes_greedy")
    R0 = R[:, :, :1]
    np.testing.assert_array_equal(jr.fit(R, "bayes_greedy", R0=R0).scores, jr.fit(R, "bayes", R0=R0).scores)
    assert run(Bayes(needs_R0=True), Counts.of(jr.Responses(R))).status == Status.UNDEFINED


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"R0": np.zeros((3, 1), int)}, DataError, r"R0 has shape \(3, 1\).*\(4, D\)"),
        ({"R0": np.zeros((2, 4, 1), int)}, DataError, "R0 has shape"),
        ({"R0": np.full((4, 1), 2)}, DataError, r"R0 has the outcome 2 at \(0, 0\)"),
        ({"R0": np.full((4, 1), "x")}, DataError, "R0 holds"),
        ({"w": (1,)}, OptionError, "1 weights"),
        ({"w": (0, np.nan)}, OptionError, "finite"),
        ({"quantile": 1.0}, OptionError, "quantile"),
    ],
)
def test_bad_options(kwargs, error, words):
    with pytest.raises(error, match=words):
        jr.fit(np.random.default_rng(5).integers(0, 2, (3, 4, 2)), "bayes", **kwargs)


def test_case_G05_the_interval_of_a_perfect_model_has_width():
    R = np.zeros((2, 1, 30), int)
    R[0], R[1, 0, :15] = 1, 1
    fit = jr.fit(R, "bayes", dtype="float64")
    assert fit.scores == pytest.approx([0.96875, 0.5])
    assert np.all(fit.params["sd"] > 0)


def test_case_G07_ranks_with_intervals_do_not_chain():
    mu, sigma = np.arange(10.0, 0, -1), np.ones(10)
    assert rank_with_intervals(mu, sigma, level=0.95).tolist() == [1, 1, 1, 4, 4, 4, 7, 7, 7, 10]
    assert rank_with_intervals(mu, sigma, level=0.95, method="dense").tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert rank_with_intervals(mu, sigma, level=0.95, ties="adjacent").tolist() == [1] * 10
    shuffle = np.random.default_rng(0).permutation(10)
    assert (
        rank_with_intervals(mu[shuffle], sigma, level=0.95).tolist()
        == np.array([1, 1, 1, 4, 4, 4, 7, 7, 7, 10])[shuffle].tolist()
    )
    with pytest.raises(OptionError, match="leader"):
        rank_with_intervals(mu, sigma, level=0.95, ties="chain")


def test_intervals_that_differ_in_width_and_batches():
    mu = np.array([[0.9, 0.8, 0.5], [0.5, 0.5, 0.5]])
    sigma = np.array([[0.01, 0.2, 0.01], [0.1, 0.1, 0.1]])
    assert rank_with_intervals(mu, sigma, level=0.95).tolist() == [[1, 1, 3], [1, 1, 1]]
    assert rank_with_intervals(mu, sigma, level=0.95, ties="adjacent").tolist() == [[1, 1, 1], [1, 1, 1]]


def test_ranking_confidence():
    with jax.enable_x64(True):
        pairs = ranking_confidence(np.array([0.6, 0.5]), np.array([0.03, 0.04]))
    np.testing.assert_allclose(pairs, [[0.5, 0.9772498680518208], [0.9772498680518208, 0.5]], rtol=1e-12)
