"""Joint Rasch, 2PL and 3PL fits: golden values, the exact existence test, extreme models and questions, precision."""

from __future__ import annotations

import itertools

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.methods.irt_joint import TwoParameter
from jaxrank.methods.rasch import Rasch
from jaxrank.models.irt import joint_step
from jaxrank.models.irt.cells import guessing_cell, plain_cell, probability
from jaxrank.models.irt.joint import JointModel, _step, _terms, _value, fit_joint
from jaxrank.models.irt.table import item_table, joint_existence
from jaxrank.models.priors import Cauchy, Flat, Gaussian, Laplace
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import run
from tests.oracles import golden, tensor_params

E01 = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]])
E08 = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]])
TABLES = ("binary_6x8", *(pytest.param(x, marks=pytest.mark.slow) for x in ("binomial_5x6x5", "binomial_11x30x10")))

ITEMS = ("even", "steep")


def items(name: str) -> tuple[np.ndarray, np.ndarray, dict]:
    """Answers of 1,000 people to five questions (04_items), for each person the row of the pattern, golden values."""
    table = golden("04_items")[name]
    row = np.repeat(np.arange(len(table["counts"])), table["counts"])
    return np.array(table["patterns"])[row], row, table["values"]


def from_table(table: dict) -> jr.Responses:
    k = np.array(table["K"])
    return jr.Responses.from_counts(k, np.full(k.shape, table["N"]))


@pytest.mark.parametrize("name", TABLES)
def test_joint_maximum_likelihood_and_standard_errors(name):
    table = golden("05_jml_tables")["tables"][name]
    want = table["jml"]
    fit = jr.fit(from_table(table), "rasch", details=True, dtype="float64")
    np.testing.assert_allclose(fit.scores, want["theta"], atol=1e-13)
    np.testing.assert_allclose(fit.params["difficulty"], want["difficulty_mean_zero"], atol=1e-13)
    errors = np.concatenate([fit.params["ability_se"], fit.params["difficulty_se"]])
    np.testing.assert_allclose(errors, want["se"], atol=1e-13)
    np.testing.assert_allclose(fit.params["log_likelihood"], want["loglik_kernel"], rtol=1e-13)


@pytest.mark.parametrize("name", TABLES)
def test_map_under_both_identifications(name):
    table = golden("05_jml_tables")["tables"][name]
    for centred, key in ((True, "map_N01_theta_items_centred"), (False, "map_N01_theta_items_free")):
        fit = jr.fit(from_table(table), "rasch_map", centred=centred, dtype="float64")
        np.testing.assert_allclose(fit.scores, table[key]["theta"], atol=1e-13)
        np.testing.assert_allclose(fit.params["difficulty"], table[key]["difficulty"], atol=1e-13)


@pytest.mark.parametrize("table", ["even", pytest.param("steep", marks=pytest.mark.slow)])
def test_joint_maximum_likelihood_of_a_thousand_people_without_the_extreme_ones(table):
    R, _, values = items(table)
    R = R[(R.sum(1) > 0) & (R.sum(1) < 5)]
    want = values["rasch_without_extreme_people"]
    fit = jr.fit(R, "rasch", dtype="float64")
    np.testing.assert_allclose(fit.params["difficulty"], want["difficulty"], atol=1e-12)
    for total, theta in want["ability_by_total"].items():
        np.testing.assert_allclose(fit.scores[R.sum(1) == int(total)], theta, atol=1e-12)


@pytest.mark.parametrize("tensor", tensor_params("T1", "T2", "T3"))
@pytest.mark.parametrize("method", ["rasch_2pl", "rasch_2pl_map"])
def test_2pl_reaches_the_best_of_sixty_starts(tensor, method):
    block = golden("11_joint_2pl")["tensors"][tensor]
    want = block["methods"][method]
    fit = jr.fit(np.array(block["R"]), method, dtype="float64")
    assert float(fit.params["objective"]) <= want["objective"] + 1e-8
    # The golden run stopped at a gradient of 1e-6; the discriminations of single questions are that flat.
    np.testing.assert_allclose(fit.scores, want["theta"], atol=2e-5)
    np.testing.assert_allclose(fit.params["difficulty"], want["difficulty"], atol=2e-4)


def test_ranks_of_complete_data_are_those_of_the_totals():
    rng = np.random.default_rng(5)
    R = (rng.random((12, 9, 3)) < np.linspace(0.3, 0.7, 12)[:, None, None]).astype(int)
    totals = jr.fit(R, "avg")
    for method in ("rasch", "rasch_map", "dynamic_irt_linear"):
        np.testing.assert_array_equal(jr.fit(R, method).ranks, totals.ranks)


def separated_by_programming(k: np.ndarray, n: np.ndarray) -> bool:
    """Whether a direction exists in which no success becomes less likely, no failure more, and something changes."""
    n_models, n_questions = k.shape
    rows, gain = [], np.zeros(n_models + n_questions)
    for i, m in itertools.product(range(n_models), range(n_questions)):
        for hit, sign in ((k[i, m] > 0, 1.0), (n[i, m] > k[i, m], -1.0)):
            if hit:
                row = np.zeros(n_models + n_questions)
                row[i], row[n_models + m] = sign, -sign
                rows.append(-row)
                gain += row
    best = linprog(-gain, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    return -best.fun > 1e-7


def test_existence_is_that_of_the_linear_program():
    rng = np.random.default_rng(0)
    verdicts = []
    check = jax.jit(lambda s: joint_existence(item_table(s, keep_extreme=True))[0])
    for _ in range(150):
        n = rng.integers(0, 3, (4, 4)) + (rng.random((4, 4)) < 0.7)
        n[0], n[:, 0] = np.maximum(n[0], 1), np.maximum(n[:, 0], 1)
        k = rng.binomial(n, rng.uniform(0.3, 0.7))
        stat = Counts(
            np.stack([n - k, k], -1).astype(np.float32), np.ones(4, np.float32), np.arange(2, dtype=np.float32)
        )
        verdict = int(check(stat)) == Status.CONVERGED
        assert verdict != separated_by_programming(k, n), (k, n)
        verdicts.append(verdict)
    assert 20 < sum(verdicts) < 130


def test_disconnected_models_are_told_apart_from_separated_ones():
    nan = np.nan
    R = np.array([[[1, 0], [nan, nan]], [[0, 1], [nan, nan]], [[nan, nan], [1, 0]], [[nan, nan], [0, 1]]])
    assert int(run(Rasch(), Counts.of(jr.Responses(R))).status) == Status.DISCONNECTED


def test_case_E01_extreme_models():
    fit = jr.fit(E01, "rasch", on_failure="return")
    assert fit.status == Status.NO_FINITE_OPTIMUM
    np.testing.assert_array_equal(fit.params["separated"], [True, False, False, True])
    assert np.all(np.isnan(fit.scores))
    names = ("best", "second", "third", "worst")
    with pytest.raises(jr.errors.NoFiniteOptimumError, match=r"best, worst.*rasch_map"):
        jr.fit(jr.Responses(E01, models=names), "rasch")
    fit = jr.fit(E01, "rasch_map", dtype="float64")
    np.testing.assert_array_equal(fit.ranks, [1, 2, 2, 4])
    np.testing.assert_allclose(fit.scores, -fit.scores[::-1], atol=1e-12)
    np.testing.assert_allclose(fit.scores[1:3], 0, atol=1e-12)


def test_case_E08_a_question_that_nobody_solved():
    fit = jr.fit(E08, "rasch_map")
    np.testing.assert_array_equal(fit.ranks, [2, 1, 2])
    assert fit.params["difficulty"][2] == np.inf
    # Under the 2PL one of the two other questions may weigh more, and with it the model that solved it.
    fit = jr.fit(E08, "rasch_2pl_map")
    assert fit.ranks[1] == 1 and np.all(fit.ranks > 0)
    assert fit.params["difficulty"][2] == np.inf


@pytest.mark.parametrize("value", [0, 1])
def test_case_A08_all_equal(value):
    R = np.full((3, 2, 2), value)
    for method in ("rasch_map", "rasch_2pl_map", "rasch_3pl_map"):
        np.testing.assert_array_equal(jr.fit(R, method).ranks, [1, 1, 1])
    for method in ("rasch", "rasch_2pl", "rasch_3pl"):
        with pytest.raises(jr.errors.NoFiniteOptimumError):
            jr.fit(R, method)


def test_case_E02_orientation_of_the_2pl():
    R = np.random.default_rng(11).integers(0, 2, (8, 12))
    R[0], R[7] = 1, 0
    fit = jr.fit(R, "rasch_2pl_map")
    assert fit.ranks[0] == 1 and fit.ranks[7] == 8
    assert np.all(fit.params["discrimination"] > 0)


def test_case_E03_three_parameter_curve():
    theta = jnp.array([-40.0, 0.4, 40.0])
    np.testing.assert_allclose(probability(theta, 1.3, 0.4, 0.25), [0.25, 0.625, 1.0], atol=1e-6)


def test_case_H04_missing_cells_do_not_bias_the_joint_estimate():
    nan = np.nan
    k = np.array([[9, 8, nan, nan], [9, 8, 4, 3]])
    n = np.where(np.isnan(k), 0, 10)
    data = jr.Responses.from_counts(np.nan_to_num(k), n)
    with pytest.warns(jr.errors.JaxrankWarning):
        fit = jr.fit(data, "rasch", dtype="float64")
    np.testing.assert_allclose(fit.scores, 0.58269, atol=1e-5)
    np.testing.assert_array_equal(fit.ranks, [1, 1])
    with pytest.warns(jr.errors.JaxrankWarning):
        prior = jr.fit(data, "rasch_map", dtype="float64")
    np.testing.assert_allclose(prior.scores, [0.391, 0.516], atol=1e-3)


def test_case_B03_a_stop_at_the_step_limit_is_reported():
    rng = np.random.default_rng(7)
    R = (rng.random((6, 10, 5)) < np.linspace(0.8, 0.2, 6)[:, None, None]).astype(int)
    for method in (Rasch(max_steps=1), TwoParameter(max_steps=1)):
        assert jr.fit(R, method, on_failure="return").status == Status.MAX_STEPS
        with pytest.raises(jr.errors.ConvergenceError, match=r"step limit.*use .*max_steps above 1 or a prior"):
            jr.fit(R, method)


def test_a_search_that_has_not_converged_names_remedies_that_it_has():
    R = (np.random.default_rng(7).random((6, 10, 5)) < np.linspace(0.8, 0.2, 6)[:, None, None]).astype(int)
    told = lambda data, **options: jr.fit(data, "rasch_3pl_map", on_failure="return", **options).explain()
    assert told(R, max_steps=3, dtype="float64").endswith("(3 steps); use max_steps above 3")
    chance = 1 / (1 + np.exp(np.linspace(-1, 1, 5) - np.linspace(1.5, -1.5, 4)[:, None]))
    many = jr.Responses.from_counts(np.random.default_rng(7).binomial(10**7, chance), np.full((4, 5), 10**7))
    ended = told(many, dtype="float32")
    assert ended.startswith("rounding ended the search") and ended.endswith('; use dtype="float64"')


def test_case_K02_float32_is_near_float64():
    rng = np.random.default_rng(0)
    theta, b = np.linspace(-2.2, 1.6, 20), rng.normal(0, 1.2, 30)
    R = (rng.random((20, 30, 80)) < 1 / (1 + np.exp(-(theta[:, None] - b)))[..., None]).astype(int)
    one, two = (jr.fit(R, "rasch", dtype=d) for d in ("float32", "float64"))
    np.testing.assert_allclose(one.scores, two.scores, atol=1e-5)
    np.testing.assert_array_equal(one.ranks, two.ranks)


def test_case_K06_counts_of_any_size():
    k = np.array([[4, 3, 2], [2, 5, 1], [1, 3, 3]])
    want = None
    for factor in (1, 1e3, 1e6, 1e9):
        fit = jr.fit(jr.Responses.from_counts(k * factor, np.full((3, 3), 6 * factor)), "rasch", dtype="float64")
        want = fit.scores if want is None else want
        np.testing.assert_allclose(fit.scores, want, atol=1e-10)
        assert fit.status == Status.CONVERGED


def test_a_question_drawn_twice_counts_twice():
    rng = np.random.default_rng(1)
    R = (rng.random((6, 5, 8)) < np.linspace(0.25, 0.75, 6)[:, None, None]).astype(int)
    weights = np.array([2.0, 1.0, 0.0, 1.0, 1.0])
    for ranker in (Rasch(), Rasch(prior=1.0), TwoParameter(prior=1.0)):
        with jax.enable_x64(True):
            whole = Counts.of(jr.Responses(R))
            weighted = Counts(whole.categories, weights, whole.levels)
            a = run(ranker, weighted)
            b = run(ranker, Counts.of(jr.Responses(R[:, [0, 0, 1, 3, 4]])))
            np.testing.assert_allclose(a.scores, b.scores, atol=1e-7)


@pytest.mark.parametrize("prior", [Flat(), Gaussian(0.3, 2.0), Laplace(0.0, 1.0), Cauchy(0.0, 1.0)])
def test_priors_against_a_general_optimiser(prior):
    from scipy.optimize import minimize

    k = np.array([[5, 4, 1], [3, 2, 2], [4, 1, 0], [1, 3, 1]])
    n = 6
    with jax.enable_x64(True):
        fit = jr.fit(jr.Responses.from_counts(k, np.full(k.shape, n)), Rasch(prior=prior), dtype="float64")

        penalty = jax.jit(lambda t: prior.penalty(t))

        def cost(x: np.ndarray) -> float:
            theta, b = x[:4], np.append(x[4:], -x[4:].sum())
            eta = theta[:, None] - b
            return float((n * np.logaddexp(0, eta) - k * eta).sum() + float(penalty(theta)))

        best = minimize(
            cost, np.zeros(6), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-11, "maxiter": 20000}
        )
    np.testing.assert_allclose(fit.scores, best.x[:4], atol=2e-4)


def test_derivatives_of_a_cell():
    with jax.enable_x64(True):
        k, n = np.array(3.0), np.array(7.0)
        value = lambda e, h: guessing_cell(e, k, n, h, 0.5).value
        cell_of = jax.jit(lambda e, k, n, h: guessing_cell(e, k, n, h, 0.5))
        slopes = jax.jit(lambda e, h: (jax.grad(value, (0, 1))(e, h), jax.hessian(value, (0, 1))(e, h)))
        for eta, g in itertools.product((-2.0, 0.3, 4.0), (-1.5, 0.4)):
            cell = cell_of(eta, k, n, g)
            (by_eta, by_g), ((ee, eg), (_, gg)) = slopes(eta, g)
            p = 0.5 / (1 + np.exp(-g)) + (1 - 0.5 / (1 + np.exp(-g))) / (1 + np.exp(-eta))
            np.testing.assert_allclose(cell.value, 3 * np.log(p) + 4 * np.log(1 - p), rtol=1e-12)
            np.testing.assert_allclose(cell.eta, by_eta, rtol=1e-10)
            np.testing.assert_allclose(cell.g, by_g, rtol=1e-10)
            np.testing.assert_allclose(-cell.ee, ee, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(-cell.eg, eg, rtol=1e-9)
            np.testing.assert_allclose(-cell.gg, gg, rtol=1e-9)
        plain = jax.jit(plain_cell)(0.7, k, n)
        np.testing.assert_allclose(plain.value, 3 * 0.7 - 7 * np.log1p(np.exp(0.7)), rtol=1e-12)
        # Expected curvature: at k = n p the observed one.
        p = float(probability(0.7, 1.0, 0.0, 0.25))
        mean = cell_of(0.7, 7 * p, 7.0, 0.0)
        for observed, expected in ((mean.ee, mean.fisher_ee), (mean.eg, mean.fisher_eg), (mean.gg, mean.fisher_gg)):
            np.testing.assert_allclose(observed, expected, rtol=1e-10)


def test_the_joint_step_is_newtons_on_the_dense_curvature(monkeypatch):
    """2PL, 3PL and a given guessing probability, alone and in a batch: H step = -gradient, without the common shift."""
    monkeypatch.setattr(joint_step, "_DAMPING", 0.0)
    with jax.enable_x64(True):
        rng = np.random.default_rng(2)
        p = probability(np.linspace(-1, 1, 6)[:, None], np.array([0.8, 1, 1.2, 1.5]), np.array([-1, 0, 0.5, 1]), 0.2)
        k = rng.binomial(400, np.asarray(p)).astype(float)
        stat = Counts(np.stack([400 - k, k], -1), np.array([1.0, 2, 1, 1]), np.arange(2.0))
        table = jax.jit(lambda s: item_table(s, keep_extreme=False))(stat)
        for estimated, given in ((False, None), (True, None), (False, 0.2)):
            model = JointModel(Gaussian(0.0, 1.0), 0.01, 0.1, estimated, given)
            start = rng.normal(size=6) / 4, rng.normal(size=(4, model.depth)) / 4
            best = fit_joint(model, table, 1, True, 300).params
            x = jax.tree.map(lambda at, off: at + off / 10_000, best, start)
            flat, value = _flat_value(model, table, x)
            np.testing.assert_allclose(jax.jit(lambda x, model=model: _value(model, table, x, 0.0))(x), value(flat))
            gradient, curvature = jax.jit(jax.grad(value))(flat), jax.jit(jax.hessian(value))(flat)
            step = lambda x, model=model: _step(model, table, x, 0.0, jnp.zeros(()))
            single = jax.jit(step)(x)
            batch = jax.jit(jax.vmap(step))(jax.tree.map(lambda leaf: jnp.stack([leaf] * 9), x))
            np.testing.assert_allclose(curvature @ jax.flatten_util.ravel_pytree(single)[0], -gradient, atol=1e-9)
            np.testing.assert_allclose(np.sum(table.weight * single[1][:, 0]), 0, atol=1e-9)
            for one, many in zip(single, batch, strict=True):
                np.testing.assert_allclose(many, jnp.stack([one] * 9), rtol=1e-9, atol=1e-12)
            certain = lambda x, model=model: joint_step.uncertainty(_terms(model, table, x, 0.0, jnp.zeros(())))
            rounded, spread = jax.jit(certain)(x)
            expected = _dense_uncertainty(table, x, np.asarray(curvature), model)
            np.testing.assert_allclose([rounded, spread], expected, rtol=1e-6)


def _flat_value(model, table, x):
    """``x`` in one vector, and minus the log posterior (prior of variance 1) of such a vector."""
    flat, back = jax.flatten_util.ravel_pytree(x)

    def value(v):
        theta, items = back(v)
        b, a, c = (part[None] for part in model.curve(items))
        p = probability(theta[:, None], a, b, c)
        fit = jnp.sum(table.successes * jnp.log(p) + table.failures * jnp.log1p(-p))
        above = theta - jnp.sum(table.weight * items[:, 0]) / jnp.sum(table.weight)
        logits = jnp.sum(table.weight * items[:, 2] ** 2) if model.estimates_guessing else 0
        penalty = 0.01 * jnp.sum(table.weight * items[:, 1] ** 2) + 0.1 * logits
        return jnp.sum(above**2) / 2 + penalty - fit

    return flat, value


@pytest.mark.parametrize("seed", [3, 7])
def test_a_question_that_only_the_prior_holds_takes_newtons_step(seed):
    """A question that ranks models in reverse is nearly flat at the optimum, where its own curvature has a negative
    eigenvalue that the prior on the mean difficulty makes up for."""
    with jax.enable_x64(True):
        reverse = np.arange(5) == 4
        eta = np.where(reverse, -1.0, 1.5) * (np.linspace(-1, 1, 6)[:, None] + 1.2) - np.where(reverse, -1.2, 0)
        k = np.random.default_rng(seed).binomial(40, 1 / (1 + np.exp(-eta))).astype(float)
        stat = Counts(np.stack([40 - k, k], -1), np.ones(5), np.arange(2.0))
        table = jax.jit(lambda s: item_table(s, keep_extreme=False))(stat)
        model = JointModel(Gaussian(0.0, 1.0), 0.01, 0.1, True, None)
        found = jax.jit(lambda t: fit_joint(model, t, 3, True, 300))(table)
        assert found.status == Status.CONVERGED and found.steps < 40
        x = jax.tree.map(lambda v: v + 1e-5 * np.sin(np.arange(v.size)).reshape(v.shape), found.params)
        flat, value = _flat_value(model, table, x)
        gradient, curvature = jax.jit(jax.grad(value))(flat), np.asarray(jax.jit(jax.hessian(value))(flat))
        own = curvature[-3:, -3:] - 6 / 25 * np.diag([1, 0, 0])
        assert np.linalg.eigvalsh(own)[0] < -1e-3 < np.linalg.eigvalsh(curvature)[0]
        step = jax.jit(lambda x: _step(model, table, x, 0.0, jnp.zeros(())))(x)
        np.testing.assert_allclose(curvature @ jax.flatten_util.ravel_pytree(step)[0], -gradient, atol=1e-9)


def _dense_uncertainty(table, x, curvature, model):
    """`uncertainty` from the pseudo-inverse of the whole curvature."""
    theta, items, table = jax.tree.map(np.asarray, (*x, table))
    n_models = len(theta)
    a, eta = np.exp(items[:, 1]), np.exp(items[:, 1]) * (theta[:, None] - items[:, 0])
    s, c = 1 / (1 + np.exp(-eta)), np.asarray(model.curve(items)[2])
    p = c + (1 - c) * s
    by_eta, by_g = (1 - c) * s * (1 - s), c * (1 - 2 * c) * (1 - s)
    least = np.argmin(np.sum(table.trials * (by_eta * a) ** 2 / (p * (1 - p)), axis=1))
    contrast = np.eye(len(curvature))[least] - np.where(np.arange(len(curvature)) < n_models, 1 / n_models, 0)
    row = np.linalg.pinv(curvature) @ contrast
    d = row[n_models:].reshape(items.shape)
    moved = a * (row[:n_models, None] - d[:, 0]) + eta * d[:, 1]
    guessed = d[:, 2] if model.estimates_guessing else 0 * a
    known = np.sum(table.trials * (by_eta * moved + by_g * guessed) ** 2 / (p * (1 - p)))
    plain = table.successes + table.trials * p
    size = table.successes * by_eta / p + table.failures * s if model.guesses else plain
    size_g = by_g * (table.successes / p + table.failures / (1 - p))
    squares = np.sum((size * moved) ** 2 + (size_g * guessed) ** 2)
    return 16 * np.finfo(float).eps * np.sqrt(squares), np.sqrt(known)


@pytest.mark.parametrize("method", ["rasch_2pl_map", "rasch_3pl_map"])
def test_single_trials_converge_in_float32(method):
    """Questions that split the models leave their difficulty open within rounding, and steep ones have a slope and no
    information: neither keeps abilities from their optimum."""
    rng = np.random.default_rng(4)
    p = probability(np.linspace(-2, 2, 15)[:, None], rng.uniform(1, 4, 30), rng.normal(0, 1, 30), 0.1)
    fits = jr.subsample((rng.random((15, 30, 40)) < np.asarray(p)[:, :, None]).astype(int), method, n=1, progress=False)
    assert fits.status_counts().get(Status.CONVERGED, 0) + fits.status_counts().get(Status.NOT_UNIQUE, 0) >= 38


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["rasch_2pl_map", "rasch_3pl_map"])
def test_single_trials_that_few_questions_explain_converge(method, dtype):
    """Of these 24 tables three or four had a question that only the prior held, and ended at the step limit."""
    rng = np.random.default_rng(5)
    p = probability(rng.normal(0, 1.5, 20)[:, None], np.exp(rng.normal(0, 0.7, 30)), rng.normal(0, 1.5, 30), 0.0)
    outcomes = (rng.random((20, 30, 24)) < np.asarray(p)[:, :, None]).astype(int)
    assert jr.subsample(outcomes, method, n=1, dtype=dtype, progress=False).status_counts() == {Status.CONVERGED: 24}


def test_2pl_with_a_prior_ranks_58_models_on_trick_prompts():
    with pytest.warns(jr.errors.JaxrankWarning, match="no result on some questions"):
        fit = jr.fit(jr.datasets.load("misguided_attention"), "rasch_2pl_map", dtype="float64")
    assert fit.status == Status.CONVERGED and fit.steps < 150
