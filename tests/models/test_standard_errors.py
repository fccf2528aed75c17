"""Standard errors against numerical Hessians, the jackknife and exact answers, and NaN where nothing is known."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.weights import Weights
from jaxrank.methods import catalogue
from jaxrank.models.pairs.fit import fitted_params
from jaxrank.numerics.status import Status

WINS = np.array([[0, 6, 7, 5], [4, 0, 5, 7], [2, 4, 0, 6], [3, 1, 3, 0]])
TIES = np.array([[0, 2, 1, 0], [2, 0, 1, 2], [1, 1, 0, 3], [0, 2, 3, 0]])
BATTLES = jr.Comparisons.from_matrix(WINS, TIES)
PRIORS = {
    "flat": None,
    "gaussian": jr.priors.Gaussian(0.0, 0.5),
    "laplace": jr.priors.Laplace(0.4, 3.0),
    "cauchy": jr.priors.Cauchy(0.0, 0.2),
}


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def information(log_prob, prior, params, n_models: int) -> np.ndarray:
    """Pseudo-inverse of the Hessian of the objective, whose directions without meaning are those of no curvature."""

    def objective(p):
        t = p[:n_models] - jnp.mean(p[:n_models])
        return -log_prob(p) + (0.0 if prior is None else prior.penalty(t))

    return np.linalg.pinv(np.asarray(jax.jit(jax.hessian(objective))(params)), rcond=1e-9)[:n_models, :n_models]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("method", ["bradley_terry", "bradley_terry_davidson", "rao_kupper"])
def test_covariance_is_the_inverse_hessian(method, prior):
    """numerics 18: a Cauchy prior gave 0.15 for 0.27, the inverse of a bound on its curvature."""
    chosen = PRIORS[prior]
    options = {"tie_strength": None} if method == "rao_kupper" else {}
    fit = jr.fit(BATTLES, method, prior=chosen, dtype="float64", **options)
    assert fit.status == Status.CONVERGED
    ranker, stat = fit.ranker, fit.ranker.read(fit.stat)
    params = jnp.asarray(fitted_params(ranker, fit.fit))
    expected = information(lambda p: ranker.likelihood.log_prob(p, stat), chosen, params, 4)
    np.testing.assert_allclose(fit.covariance(), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(np.diag(expected)), rtol=1e-6)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("method", ["plackett_luce_rankings", "davidson_luce"])
def test_covariance_of_set_models_is_the_inverse_hessian(method, prior):
    """numerics 18, for choices from sets."""
    chosen = PRIORS[prior]
    if method == "davidson_luce":
        data = (np.random.default_rng(3).random((4, 12, 3)) < 0.5).astype(int)
    else:
        rng = np.random.default_rng(2)
        data = jr.Rankings([list(rng.permutation(list("abcd"))) for _ in range(12)])
    fit = jr.fit(data, method, prior=chosen, dtype="float64")
    assert fit.status == Status.CONVERGED
    likelihood, stat = fit.ranker.problem(fit.stat)
    params = jnp.asarray(fit.scores)
    if method == "davidson_luce":
        delta = fit.params["tie_strengths"]
        params = jnp.concatenate([params, jnp.log(jnp.where(delta > 0, delta, 1))])
    expected = information(lambda p: likelihood.log_prob(p, stat), chosen, params, 4)
    np.testing.assert_allclose(fit.covariance(), expected, rtol=1e-5, atol=1e-8)


def test_a_model_at_a_kink_has_none():
    """numerics 18: the Laplace prior gave 7e-5 to a model that it holds in its place."""
    fit = jr.fit(BATTLES, "bradley_terry", prior=jr.priors.Laplace(0.0, 0.05), dtype="float64")
    held = np.abs(fit.scores) < 1e-6
    assert held.any()
    np.testing.assert_array_equal(np.isnan(fit.standard_errors), held)


ONES = np.ones((3, 4, 2), int)
SEPARATED = jr.Comparisons.from_matrix([[0, 3, 4], [0, 0, 2], [0, 1, 0]])


@pytest.mark.parametrize("method", ["bradley_terry", "plackett_luce", "bradley_terry_davidson", "bradley_terry_luce"])
def test_nothing_known_is_no_certainty(method):
    """numerics 9: standard errors of 0."""
    assert np.isnan(jr.fit(ONES, method).standard_errors).all()


def test_a_model_apart_is_not_certain():
    """numerics 9: an unbeaten model under "extend" had the interval [1.27, 1.27]."""
    fit = jr.fit(SEPARATED, "bradley_terry", separation="extend", dtype="float64")
    np.testing.assert_array_equal(np.isnan(fit.standard_errors), [True, False, False])
    spread = fit.differences()[1]
    assert np.isnan(spread[0, 1:]).all()
    np.testing.assert_allclose(spread[1, 2], np.sqrt(1 / 2 + 1))


def test_ranks_of_equal_models_are_uncertain():
    """numerics 9: thompson gave 5 equal models a standard deviation of 0; of a uniform rank it is sqrt(2)."""
    R = np.tile([[1, 0, 1, 0]], (5, 1))[:, None, :]
    fit = jr.fit(R, "thompson")
    assert fit.ranks.tolist() == [1] * 5
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(2), rtol=0.02)


def test_differences_of_set_models():
    """numerics 17: strengths that sum to 0 were taken for independent, 0.211 instead of 0.298."""
    fit = jr.fit(jr.Rankings([["a", "b"]] * 30 + [["b", "a"]] * 18), "plackett_luce", dtype="float64")
    np.testing.assert_allclose(fit.differences()[1][0, 1], np.sqrt(1 / 30 + 1 / 18), rtol=1e-8)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("bradley_terry", {}),
        ("bradley_terry", {"pseudo": 4.0}),
        ("bradley_terry", {"prior": 0.05}),
        ("bradley_terry_davidson", {}),
        ("rao_kupper", {}),
    ],
    ids=["plain", "pseudo", "prior", "davidson", "rao_kupper"],
)
def test_sandwich_is_the_jackknife_of_questions(method, options):
    """numerics 16: with pseudo-counts 0.218 for 0.116; a prior was not centred; tie parameters were those of one
    question."""
    rng = np.random.default_rng(5)
    easy = rng.normal(size=(1, 60, 1))
    R = (rng.random((4, 60, 3)) < 1 / (1 + np.exp(easy - np.linspace(0.6, -0.6, 4)[:, None, None]))).astype(int)
    fit = jr.fit(R, method, dtype="float64", **options)
    ranker = catalogue.make(method, **options)
    left_out = jnp.asarray(1 - np.eye(60))
    rows = ranker.statistic.rows(jr.Responses(R), "question")
    refit = eqx.filter_jit(jax.vmap(lambda w: ranker(ranker.statistic.reduce(rows, Weights(None, w))).scores))
    scores = np.asarray(refit(left_out))
    jackknife = 59 / 60 * np.sum((scores - scores.mean(axis=0)) ** 2, axis=0)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance("sandwich"))), np.sqrt(jackknife), rtol=0.06)


def test_sandwich_of_counts():
    """numerics section 2: it was refused for counts, which suffice where every trial is paired with every other."""
    rng = np.random.default_rng(6)
    R = (rng.random((3, 40, 4)) < np.array([0.7, 0.5, 0.4])[:, None, None]).astype(int)
    counts = jr.Responses.from_counts(R.sum(axis=2), np.full((3, 40), 4))
    whole, counted = (jr.fit(d, "bradley_terry", pairing="all", dtype="float64") for d in (R, counts))
    np.testing.assert_allclose(counted.covariance("sandwich"), whole.covariance("sandwich"), rtol=1e-10)
    assert np.all(np.diag(counted.covariance("sandwich")) > 0)
