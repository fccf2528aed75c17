"""Conditional maximum likelihood and the dynamic models."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import jaxrank as jr
from jaxrank.models.irt.conditional import _invert
from jaxrank.models.irt.table import ItemTable
from jaxrank.numerics.status import Status
from tests.methods.test_irt_joint import E08, ITEMS, items
from tests.oracles import golden, tensor_params
from tests.problems import graded


@pytest.mark.parametrize("table", ITEMS)
def test_conditional_likelihood_of_a_thousand_people(table):
    R, _, values = items(table)
    want = values["rasch_cml"]
    fit = jr.fit(R, "rasch_cml", details=True, dtype="float64")
    np.testing.assert_allclose(fit.params["difficulty"], want["difficulty"], atol=1e-10)
    np.testing.assert_allclose(fit.params["difficulty_se"], want["difficulty_se"], atol=1e-10)
    np.testing.assert_allclose(fit.params["log_likelihood"], want["log_likelihood"], rtol=1e-12)


def test_conditional_likelihood_of_many_trials_and_missing_cells():
    rng = np.random.default_rng(0)
    n = np.full((5, 4), 6)
    n[2, 1] = 0
    k = rng.binomial(n, np.linspace(0.3, 0.8, 5)[:, None])

    def cost(b: np.ndarray) -> float:
        total = 0.0
        for right, trials in zip(k, n, strict=True):
            symmetric = np.ones(1)
            for m, count in enumerate(trials):
                for _ in range(count):
                    symmetric = np.convolve(symmetric, [1, np.exp(-b[m])])
            total += right @ b + np.log(symmetric[right.sum()])
        return total

    best = minimize(cost, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    data = jr.Responses.from_counts(k, n)
    for dtype, tolerance in (("float64", 1e-6), ("float32", 1e-4)):
        with pytest.warns(jr.errors.JaxrankWarning):
            fit = jr.fit(data, "rasch_cml", dtype=dtype)
        np.testing.assert_allclose(fit.params["difficulty"], best.x - best.x.mean(), atol=tolerance)
        np.testing.assert_allclose(fit.params["log_likelihood"], -best.fun, rtol=tolerance)


def test_probabilities_of_totals_are_exact_whatever_their_spread():
    """numerics section 4: where the deviation of a total is near 3 the integral was cut off, by 2e-9."""
    rng = np.random.default_rng(1)
    trials = rng.integers(0, 3, (300, 8)) * rng.choice([1, 2, 5, 20], (300, 1))
    trials[:, 0] += 2
    p = 1 / (1 + np.exp(-rng.normal(0, 2, (300, 8))))
    right = np.clip(np.rint((trials * p).sum(axis=1)), 1, trials.sum(axis=1) - 1)
    b, theta = -np.log(p / (1 - p)), np.zeros(300)
    for _ in range(60):
        chance = 1 / (1 + np.exp(b - theta[:, None]))
        theta += (right - (trials * chance).sum(axis=1)) / (trials * chance * (1 - chance)).sum(axis=1)
    spread = np.sqrt((trials * chance * (1 - chance)).sum(axis=1))
    assert spread.min() < 1
    assert spread.max() > 6
    assert np.sum(abs(spread - 3) < 0.3) > 10

    def one(n: jax.Array, total: jax.Array, b: jax.Array, theta: jax.Array) -> jax.Array:
        table = ItemTable(jnp.zeros((1, 8)).at[0, 0].set(total), n[None], jnp.ones(8), jnp.zeros(8, int))
        return _invert(table, b, theta[None]).log_p[0]

    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(one))(*(np.asarray(x, float) for x in (trials, right, b, theta)))
    for n, q, r, value in zip(trials, chance, right.astype(int), np.asarray(found), strict=True):
        exact = np.ones(1)
        for share in np.repeat(q, n):
            exact = np.convolve(exact, [1 - share, share])
        assert abs(value - np.log(exact[r])) < 1e-12


def conditional_estimate_exists(R: np.ndarray) -> bool:
    """Fischer's condition, by closure of the graph of questions."""
    m = R.shape[1]
    edge = np.array([[np.any((R[:, i] == 1) & (R[:, j] == 0)) for j in range(m)] for i in range(m)])
    for k, i in itertools.product(range(m), range(m)):
        edge[i] |= edge[i, k] & edge[k]
    return bool(np.all(edge | np.eye(m, dtype=bool)))


def test_conditional_existence():
    rng = np.random.default_rng(4)
    verdicts = []
    for _ in range(60):
        R = rng.integers(0, 2, (4, 4))
        if np.any(R.sum(0) == 0) or np.any(R.sum(0) == 4):
            continue
        fit = jr.fit(R, "rasch_cml", on_failure="return")
        exists = conditional_estimate_exists(R)
        assert (fit.status == Status.CONVERGED) == exists, R
        verdicts.append(exists)
    assert 5 < sum(verdicts) < len(verdicts) - 5


def test_conditional_ranks_are_those_of_the_totals_and_extremes_are_finite():
    rng = np.random.default_rng(5)
    R = (rng.random((8, 9, 3)) < np.linspace(0.3, 0.7, 8)[:, None, None]).astype(int)
    R[0], R[-1] = 0, 1
    fit = jr.fit(R, "rasch_cml")
    np.testing.assert_array_equal(fit.ranks, jr.fit(R, "avg").ranks)
    assert np.all(np.isfinite(fit.scores))
    np.testing.assert_array_equal(jr.fit(E08, "rasch_cml").ranks, [2, 1, 2])


@pytest.mark.parametrize("tensor", tensor_params("T1", "T3"))
def test_dynamic_models(tensor):
    block = golden("11b_tensor_oracles")["tensors"][tensor]
    R, values = np.array(block["R"]), block["methods"]
    for score in ("initial", "final", "gain", "mean"):
        fit = jr.fit(R, "dynamic_irt_growth", score=score, dtype="float64")
        np.testing.assert_allclose(fit.scores, values[f"dynamic_irt_growth_{score}"]["scores"], atol=1e-12)
    np.testing.assert_allclose(fit.params["difficulty"], values["dynamic_irt_growth_initial"]["difficulty"], atol=1e-12)
    fit = jr.fit(R, "dynamic_irt_state_space", dtype="float64")
    np.testing.assert_allclose(fit.scores, values["dynamic_irt_state_space_final"]["scores"], atol=1e-12)
    np.testing.assert_allclose(fit.params["path"], values["dynamic_irt_state_space_final"]["path"], atol=1e-12)


def test_dynamic_models_follow_a_change():
    rng = np.random.default_rng(6)
    p = np.stack([np.linspace(0.2, 0.8, 40), np.linspace(0.8, 0.2, 40), np.full(40, 0.5)])
    R = (rng.random((3, 12, 40)) < p[:, None, :]).astype(int)
    for method in ("dynamic_irt_growth", "dynamic_irt_state_space"):
        np.testing.assert_array_equal(jr.fit(R, method, score="gain").ranks, [1, 3, 2])
        np.testing.assert_array_equal(jr.fit(R, method, score="initial").ranks, [3, 1, 2])
        np.testing.assert_array_equal(jr.fit(R, method, score="final").ranks, [1, 3, 2])
    with pytest.raises(jr.errors.OptionError):
        jr.fit(R, "dynamic_irt_growth", score="best")


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-12), ("float32", 1e-5)])
def test_abilities_that_walk_are_eliminated_trial_by_trial(dtype, close, monkeypatch):
    """The same optimum as by one dense system of all levels, with missing results and a question that all passed."""
    rng = np.random.default_rng(4)
    R = (rng.random((4, 6, 9)) < np.linspace(0.2, 0.8, 4)[:, None, None]).astype(int)
    R[rng.random(R.shape) < 0.2] = -1
    R[:, 2], R[:, :, 8] = 1, -1
    fits = []
    for small in (0, 10_000):
        monkeypatch.setattr("jaxrank.methods.dynamic_irt.SMALL", small)
        fits.append(jr.fit(jr.Responses(R), "dynamic_irt_state_space", dtype=dtype))
    assert fits[0].status == fits[1].status == Status.CONVERGED and fits[0].steps == fits[1].steps
    for name in ("path", "difficulty"):
        np.testing.assert_allclose(fits[0].params[name], fits[1].params[name], atol=close)


def test_case_A08_growth_has_no_finite_optimum_for_all_equal_rows():
    R = np.ones((3, 2, 2), int)
    with pytest.raises(jr.errors.NoFiniteOptimumError):
        jr.fit(R, "dynamic_irt_growth")
    np.testing.assert_array_equal(jr.fit(R, "dynamic_irt_state_space").ranks, [1, 1, 1])


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("dynamic_irt_growth", "final"),
        ("dynamic_irt_state_space", "final"),
        pytest.param("dynamic_irt_growth", "mean", marks=pytest.mark.slow),
        pytest.param("dynamic_irt_state_space", "mean", marks=pytest.mark.slow),
    ],
)
def test_time_ends_at_the_last_trial_with_a_result(name, score, n):
    """Numerics 13: a prefix of n trials has the scores of those trials alone, not of a longer time."""
    R = graded(12, (5, 10, 8))
    prefix = np.where(np.arange(8) < n, R, -1)
    ranker = jr.entries()[name].ranker(score=score)
    with jax.enable_x64(True):
        fits = [jax.jit(lambda s: ranker(s))(ranker.statistic.of(jr.Responses(x))) for x in (prefix, R[:, :, :n])]
    assert int(fits[0].status) == int(fits[1].status)
    np.testing.assert_allclose(fits[0].scores, fits[1].scores, atol=1e-6, equal_nan=True)
