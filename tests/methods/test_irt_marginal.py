"""Marginal maximum likelihood: golden values, quadrature, extreme questions, posterior quantiles."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.methods.irt_marginal import RaschMarginal, ThreeParameterMarginal, TwoParameterMarginal
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite, GaussHermite
from tests.methods.test_irt_joint import E01, E08, ITEMS, from_table, items
from tests.oracles import golden, tensor_params

FINE = AdaptiveGaussHermite(31)
LOGIT_FIFTH = float(np.log(0.25))


def counts(k: list, n: int) -> jr.Responses:
    return jr.Responses.from_counts(np.array(k), np.full(np.shape(k), n))


@pytest.mark.parametrize("tensor", tensor_params())
def test_rasch_mml_against_exact_integrals(tensor):
    block = golden("11b_tensor_oracles")["tensors"][tensor]
    want = block["methods"]["rasch_mml"]
    R = np.array(block["R"])
    for quadrature, tolerance in ((AdaptiveGaussHermite(), 1e-6), (FINE, 1e-10)):
        fit = jr.fit(R, RaschMarginal(quadrature=quadrature), dtype="float64")
        np.testing.assert_allclose(fit.scores, want["scores"], atol=tolerance)
        np.testing.assert_allclose(fit.params["sd"], want["sd"], atol=tolerance)
        b = fit.params["difficulty"][want["informative_items"]]
        np.testing.assert_allclose(b, want["difficulty_informative_items"], atol=tolerance)
        np.testing.assert_allclose(fit.params["log_likelihood"], want["loglik_kernel"], atol=tolerance)
    credible = jr.fit(R, RaschMarginal(quantile=0.05, quadrature=FINE), dtype="float64")
    np.testing.assert_allclose(credible.scores, block["methods"]["rasch_mml_credible"]["scores"], atol=1e-9)
    fixed = jr.fit(R, RaschMarginal(quadrature=GaussHermite(21)), dtype="float64")
    gh = block["methods"]["rasch_mml_gh21_converged"]
    np.testing.assert_allclose(fixed.scores, gh["scores"], atol=1e-9)
    np.testing.assert_allclose(fixed.params["sd"], gh["sd"], atol=1e-9)


def test_rasch_mml_on_a_binary_table():
    table = golden("05_jml_tables")["tables"]["binary_6x8"]
    want = table["mml_sigma1"]
    fit = jr.fit(from_table(table), RaschMarginal(quadrature=FINE), dtype="float64")
    np.testing.assert_allclose(fit.scores, want["EAP"], atol=1e-10)
    np.testing.assert_allclose(fit.params["difficulty"], want["difficulty"], atol=1e-10)
    credible = jr.fit(from_table(table), RaschMarginal(quantile=0.05, quadrature=FINE), dtype="float64")
    np.testing.assert_allclose(credible.scores, want["quantile_0_05"], atol=1e-9)


def compare(fit: jr.Result, want: dict, row: np.ndarray, fields: tuple[str, ...], tolerance: float) -> None:
    """Scores, standard deviations, likelihood and further fields of params against golden values."""
    got = {**fit.params, "mean": fit.scores}
    for field in (*fields, "log_likelihood", "mean", "sd"):
        expected = np.array(want[field])[row] if field in ("mean", "sd") else want[field]
        np.testing.assert_allclose(got[field], expected, rtol=0, atol=tolerance, err_msg=field)


@pytest.mark.parametrize("table", ITEMS)
def test_a_thousand_people_and_five_questions(table):
    R, row, values = items(table)
    want = values["rasch_mml"]
    fit = jr.fit(R, RaschMarginal(quadrature=FINE, details=True), dtype="float64")
    compare(fit, want, row, ("difficulty", "difficulty_se"), 1e-10)
    np.testing.assert_allclose(fit.params["aic"], 10 - 2 * want["log_likelihood"], rtol=1e-12)
    np.testing.assert_allclose(fit.params["bic"], 5 * np.log(len(R)) - 2 * want["log_likelihood"], rtol=1e-12)

    fit = jr.fit(R, TwoParameterMarginal(quadrature=FINE, slope_prior=None, details=True), dtype="float64")
    fields = ("discrimination", "intercept", "difficulty", "discrimination_se", "intercept_se", "difficulty_se")
    compare(fit, values["mml_2pl"], row, fields, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("table", ITEMS)
def test_quantiles_and_fixed_nodes_of_a_thousand_people(table):
    R, row, values = items(table)
    fit = jr.fit(R, RaschMarginal(quadrature=FINE, quantile=0.05), dtype="float64")
    np.testing.assert_allclose(fit.scores, np.array(values["rasch_mml"]["quantile_0_05"])[row], rtol=0, atol=1e-10)
    fit = jr.fit(R, RaschMarginal(quadrature=GaussHermite(21), details=True), dtype="float64")
    compare(fit, values["rasch_mml_21_nodes"], row, ("difficulty", "difficulty_se"), 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("table", ITEMS)
def test_3pl_of_a_thousand_people(table):
    R, row, values = items(table)
    # A slope of 2.7 bends the posteriors so much that 31 nodes leave an error of 8e-5 in it.
    options = {"quadrature": AdaptiveGaussHermite(61), "details": True}
    fixed = ThreeParameterMarginal(slope_prior=None, guessing=0.2, **options)
    prior = ThreeParameterMarginal(slope_prior=None, guessing_prior=(LOGIT_FIFTH, 0.5), **options)
    # A lognormal density in a is a normal one in log a, moved by minus the variance.
    priors = ThreeParameterMarginal(
        slope_prior=(-0.25, 0.5), intercept_prior=(0.0, 2.0), guessing_prior=(LOGIT_FIFTH, 0.5), **options
    )
    fields = ("discrimination", "intercept", "difficulty", "guessing")
    errors = ("discrimination_se", "intercept_se", "difficulty_se")
    for ranker, key, more in (
        (fixed, "mml_3pl_guessing_0_2", errors),
        (prior, "mml_3pl_guessing_prior", (*errors, "guessing_se")),
        (priors, "mml_3pl_all_priors", ()),  # its standard errors are those of log a
    ):
        compare(jr.fit(R, ranker, dtype="float64"), values[key], row, fields + more, 5e-6)


@pytest.mark.slow
def test_the_default_nodes_of_3pl_are_enough_for_the_skew_that_guessing_makes():
    """11 nodes, enough for 2PL, left 6e-3 in a slope."""
    rng = np.random.default_rng(1)
    ability, a, b = rng.normal(size=(400, 1)), np.exp(rng.normal(0, 0.5, 5)), rng.normal(size=5)
    R = (rng.random((400, 5)) < 0.2 + 0.8 / (1 + np.exp(-a * (ability - b)))).astype(int)
    for make in (TwoParameterMarginal, ThreeParameterMarginal):
        default, fine = (jr.fit(R, make(**o), dtype="float64") for o in ({}, {"quadrature": AdaptiveGaussHermite(61)}))
        np.testing.assert_allclose(default.params["discrimination"], fine.params["discrimination"], atol=5e-4)
        np.testing.assert_allclose(default.scores, fine.scores, atol=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize("guessing", [None, 0.1])
def test_600_persons_and_32_questions_against_a_sum_over_a_grid(guessing):
    """No step from the fit raises the likelihood written out here: its slope is nothing, and it curves downwards."""
    rng = np.random.default_rng(12)
    a, d = rng.lognormal(0, 0.3, 32), rng.normal(0, 1.2, 32)
    c = guessing or 0.0
    p = c + (1 - c) / (1 + np.exp(-(a * rng.normal(size=(600, 1)) + d)))
    R = (rng.random((600, 32)) < p).astype(int)
    grid = np.linspace(-9, 9, 901)
    weights = np.exp(-(grid**2) / 2) * (grid[1] - grid[0]) / np.sqrt(2 * np.pi)

    def posterior(a, d):
        right = c + (1 - c) / (1 + np.exp(-(a[:, None] * grid + d[:, None])))
        joint = np.exp(R @ np.log(right) + (1 - R) @ np.log1p(-right)) * weights
        total = joint.sum(axis=1)
        return np.log(total).sum(), joint @ grid / total

    if guessing is None:
        ranker = TwoParameterMarginal(quadrature=FINE, slope_prior=None)
    else:
        ranker = ThreeParameterMarginal(quadrature=FINE, slope_prior=None, guessing=guessing)
    fit = jr.fit(R, ranker, dtype="float64")
    a, d = fit.params["discrimination"], fit.params["intercept"]
    best, means = posterior(a, d)
    np.testing.assert_allclose(fit.params["log_likelihood"], best, rtol=1e-9)
    np.testing.assert_allclose(fit.scores, means, atol=1e-7)
    step = 1e-3
    for m in (0, 7, 31):
        for field in (0, 1):
            move = np.zeros((2, 32))
            move[field, m] = step
            up, down = (posterior(a + s * move[0], d + s * move[1])[0] for s in (1, -1))
            assert up < best > down
            assert abs(up - down) / (2 * step) < 1e-3 * (2 * best - up - down) / step**2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case_B07_ordinary_counts_do_not_fail(dtype):
    fit = jr.fit(counts([[100, 300], [104, 304], [300, 380], [8, 120]], 400), "mml_rasch", dtype=dtype)
    np.testing.assert_allclose(fit.params["difficulty"], [1.0771, -1.1462], atol=2e-3)
    np.testing.assert_allclose(fit.scores, [-0.0343, 0.0191, 2.0887, -2.0734], atol=2e-3)
    np.testing.assert_allclose(fit.params["sd"], [0.0817, 0.0817, 0.1033, 0.1011], atol=2e-3)


def test_case_E05_posteriors_narrower_than_the_gap_between_nodes():
    # With the other two models of B07 the difficulties are those of the case.
    data = counts([[100, 300], [104, 304], [300, 380], [8, 120]], 400)
    fits = [jr.fit(data, RaschMarginal(quadrature=AdaptiveGaussHermite(n)), dtype="float64") for n in (9, 15, 61)]
    for fit in fits:
        np.testing.assert_allclose(fit.scores[:2], [-0.0343, 0.019], atol=2e-4)
        np.testing.assert_allclose(fit.params["sd"][:2], 0.0817, atol=1e-3)
        np.testing.assert_allclose(fit.scores, fits[-1].scores, atol=1e-6)
        assert fit.scores[0] < fit.scores[1]
    fixed = jr.fit(data, RaschMarginal(quadrature=GaussHermite(21)), dtype="float64")
    assert np.all(fixed.params["sd"][:2] < 0.01)  # what fixed nodes do, as the docstring says


def test_case_E06_no_spurious_ties():
    rng = np.random.default_rng(0)
    theta, b = np.linspace(-2.2, 1.6, 20), rng.normal(0, 1.2, 30)
    a = rng.lognormal(0, 0.3, 30)
    p = 1 / (1 + np.exp(-a * (theta[:, None] - b)))
    R = (rng.random((20, 30, 80)) < p[..., None]).astype(int)
    for data in (R[:, :, :40], R):
        totals = data.sum(axis=(1, 2))
        fit = jr.fit(data, "mml_rasch")
        np.testing.assert_array_equal(fit.ranks, 1 + (totals[None, :] > totals[:, None]).sum(axis=1))
    assert len(set(R[:, :, :40].sum(axis=(1, 2)).tolist())) == 20


def test_case_E12_two_models_one_question():
    fit = jr.fit(counts([[250], [500]], 1000), "mml_rasch")
    np.testing.assert_allclose(fit.params["difficulty"], [0.5496], atol=2e-3)
    np.testing.assert_allclose(fit.scores, [-0.5474, 0.5474], atol=2e-3)
    np.testing.assert_allclose(fit.params["sd"], [0.0728, 0.0632], atol=2e-3)


def test_case_E01_extreme_models():
    fit = jr.fit(E01, "mml_rasch", dtype="float64")
    np.testing.assert_allclose(fit.scores, [1.096, 0, 0, -1.096], atol=1e-3)
    np.testing.assert_array_equal(fit.ranks, [1, 2, 2, 4])


def test_case_E08_a_question_that_nobody_solved():
    fit = jr.fit(E08, "mml_rasch")
    np.testing.assert_allclose(fit.params["difficulty"], [-0.8186, -0.8186, np.inf], atol=1e-4)
    np.testing.assert_allclose(fit.scores, [-0.2438, 0.4875, -0.2438], atol=1e-4)
    np.testing.assert_array_equal(fit.ranks, [2, 1, 2])


def test_case_E02_orientation_of_the_2pl():
    R = np.random.default_rng(11).integers(0, 2, (8, 12))
    R[0], R[7] = 1, 0
    for method in ("mml_2pl", "mml_3pl"):
        fit = jr.fit(R, method)
        assert fit.ranks[0] == 1 and fit.ranks[7] == 8
        assert np.all(fit.params["discrimination"] > 0)


@pytest.mark.parametrize("value", [0, 1])
def test_case_A08_all_equal(value):
    for method in ("mml_rasch", "rasch_mml_credible", "mml_2pl"):
        np.testing.assert_array_equal(jr.fit(np.full((3, 2, 2), value), method).ranks, [1, 1, 1])


def test_fixed_nodes_tie_what_a_quantile_separates():
    rng = np.random.default_rng(3)
    R = (rng.random((10, 20, 60)) < np.linspace(0.35, 0.6, 10)[:, None, None]).astype(int)
    fixed = jr.fit(R, RaschMarginal(quantile=0.05, quadrature=GaussHermite(21)))
    adaptive = jr.fit(R, "mml_rasch_credible")
    assert len(set(fixed.scores.tolist())) < 10 == len(set(adaptive.ranks.tolist()))
    nodes = GaussHermite(21).nodes
    assert np.all(np.min(np.abs(fixed.scores[:, None] - nodes), axis=1) < 1e-5)


def test_options_out_of_range_are_refused():
    with pytest.raises(jr.errors.OptionError):
        RaschMarginal(quantile=1.5)
    with pytest.raises(jr.errors.OptionError):
        GaussHermite(2)


def test_fixed_nodes_are_never_surer_than_the_gap_between_them():
    """A posterior on one node had no width: of equal models those on two neighbours were told apart for certain."""
    R = np.random.default_rng(0).binomial(1, 0.6, (4, 12, 40))
    fit = jr.fit(R, "rasch_mml", dtype="float64")
    assert np.all(fit.standard_errors >= 0.3)
    assert np.all(fit.standard_errors > fit.params["sd"])
    assert jr.tiers(fit).n_tiers == 1
    np.testing.assert_array_equal(jr.fit(R, "mml_rasch").standard_errors, jr.fit(R, "mml_rasch").params["sd"])
