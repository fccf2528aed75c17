"""Marginal maximum likelihood: golden values, quadrature, extreme questions, posterior quantiles."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.methods.irt_marginal import RaschMarginal, ThreeParameterMarginal, TwoParameterMarginal
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite, GaussHermite
from tests.methods.test_irt_joint import E01, E08, from_table
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


@pytest.mark.parametrize("data", ["lsat6", pytest.param("lsat7", marks=pytest.mark.slow)])
def test_lsat(data):
    block = golden(f"04_irt_{data}")
    patterns, times = np.array(block["input"]["patterns"]), np.array(block["input"]["counts"])
    R, values = np.repeat(patterns, times, axis=0), block["values"]
    want = values["mml_rasch_sigma1"]
    fit = jr.fit(R, RaschMarginal(quadrature=FINE, details=True), dtype="float64")
    np.testing.assert_allclose(fit.params["difficulty"], want["difficulty"], atol=1e-8)
    np.testing.assert_allclose(fit.params["difficulty_se"], want["se"], atol=1e-8)
    np.testing.assert_allclose(fit.params["log_likelihood"], want["loglik"], atol=1e-7)
    np.testing.assert_allclose(fit.params["aic"], 10 - 2 * want["loglik"], atol=1e-6)
    np.testing.assert_allclose(fit.params["bic"], 5 * np.log(len(R)) - 2 * want["loglik"], atol=1e-6)

    want = values["mml_2pl"]
    fit = jr.fit(R, TwoParameterMarginal(quadrature=FINE, slope_prior=None, details=True), dtype="float64")
    for key, name in (("discrimination", "a"), ("intercept", "d"), ("difficulty", "b")):
        np.testing.assert_allclose(fit.params[key], want[name], atol=1e-6)
    np.testing.assert_allclose(fit.params["discrimination_se"], want["se_a"], atol=1e-6)
    np.testing.assert_allclose(fit.params["intercept_se"], want["se_d"], atol=1e-6)
    np.testing.assert_allclose(fit.params["log_likelihood"], want["loglik"], atol=1e-7)
    first = np.cumsum(times) - times
    seen = {tuple(p["pattern"]): p for p in want["by_pattern"]}
    for pattern, count, row in zip(patterns, times, first, strict=True):
        if count:
            np.testing.assert_allclose(fit.scores[row], seen[tuple(pattern)]["EAP"], atol=1e-6)
            np.testing.assert_allclose(fit.params["sd"][row], seen[tuple(pattern)]["SD"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["lsat6", "lsat7"])
def test_lsat_3pl(data):
    block = golden(f"04_irt_{data}")
    R = np.repeat(np.array(block["input"]["patterns"]), np.array(block["input"]["counts"]), axis=0)
    values = block["values"]
    fixed = ThreeParameterMarginal(quadrature=FINE, slope_prior=None, guessing=0.2, details=True)
    prior = ThreeParameterMarginal(quadrature=FINE, slope_prior=None, guessing_prior=(LOGIT_FIFTH, 0.5))
    # A lognormal density in a is a normal one in log a, moved by minus the variance.
    priors = ThreeParameterMarginal(
        quadrature=FINE, slope_prior=(-0.25, 0.5), intercept_prior=(0.0, 2.0), guessing_prior=(-2 * np.log(2), 0.5)
    )
    for ranker, key in (
        (fixed, "mml_3pl_fixed_guessing_0_2"),
        (prior, "mml_3pl_guessing_prior"),
        (priors, "mml_3pl_all_priors"),
    ):
        want = values[key]
        fit = jr.fit(R, ranker, dtype="float64")
        np.testing.assert_allclose(fit.params["discrimination"], want["a"], atol=2e-5)
        np.testing.assert_allclose(fit.params["intercept"], want["d"], atol=2e-5)
        np.testing.assert_allclose(fit.params["log_likelihood"], want["loglik"], atol=1e-5)
        if "se_a" in want:
            np.testing.assert_allclose(fit.params["discrimination_se"], want["se_a"], atol=1e-5)


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
    fit = jr.fit(counts([[100, 300], [104, 304], [300, 380], [8, 120]], 400), "rasch_mml", dtype=dtype)
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
        fit = jr.fit(data, "rasch_mml")
        np.testing.assert_array_equal(fit.ranks, 1 + (totals[None, :] > totals[:, None]).sum(axis=1))
    assert len(set(R[:, :, :40].sum(axis=(1, 2)).tolist())) == 20


def test_case_E12_two_models_one_question():
    fit = jr.fit(counts([[250], [500]], 1000), "rasch_mml")
    np.testing.assert_allclose(fit.params["difficulty"], [0.5496], atol=2e-3)
    np.testing.assert_allclose(fit.scores, [-0.5474, 0.5474], atol=2e-3)
    np.testing.assert_allclose(fit.params["sd"], [0.0728, 0.0632], atol=2e-3)


def test_case_E01_extreme_models():
    fit = jr.fit(E01, "rasch_mml", dtype="float64")
    np.testing.assert_allclose(fit.scores, [1.096, 0, 0, -1.096], atol=1e-3)
    np.testing.assert_array_equal(fit.ranks, [1, 2, 2, 4])


def test_case_E08_a_question_that_nobody_solved():
    fit = jr.fit(E08, "rasch_mml")
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
    for method in ("rasch_mml", "rasch_mml_credible", "mml_2pl"):
        np.testing.assert_array_equal(jr.fit(np.full((3, 2, 2), value), method).ranks, [1, 1, 1])


def test_fixed_nodes_tie_what_a_quantile_separates():
    rng = np.random.default_rng(3)
    R = (rng.random((10, 20, 60)) < np.linspace(0.35, 0.6, 10)[:, None, None]).astype(int)
    fixed = jr.fit(R, RaschMarginal(quantile=0.05, quadrature=GaussHermite(21)))
    adaptive = jr.fit(R, "rasch_mml_credible")
    assert len(set(fixed.scores.tolist())) < 10 == len(set(adaptive.ranks.tolist()))
    nodes = GaussHermite(21).nodes
    assert np.all(np.min(np.abs(fixed.scores[:, None] - nodes), axis=1) < 1e-5)


def test_options_out_of_range_are_refused():
    with pytest.raises(jr.errors.OptionError):
        RaschMarginal(quantile=1.5)
    with pytest.raises(jr.errors.OptionError):
        GaussHermite(2)
