"""Paired comparison models: golden values on classic data, existence of the optimum, standard errors, priors."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import jaxrank as jr
from jaxrank.data.statistics import Pairs
from jaxrank.methods.paired import BradleyTerry, Davidson, RaoKupper
from jaxrank.models.pairs.likelihoods import recession_exists
from jaxrank.numerics.solve.lbfgs import LBFGS
from jaxrank.numerics.solve.newton import Newton
from tests.oracles import golden

TOLERANCE = 1e-9


def close(a, b, tolerance=TOLERANCE):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def icehockey() -> np.ndarray:
    d = golden("01c_bt_icehockey")["input"]
    wins = np.zeros((len(d["names"]),) * 2)
    for i, j, wij, wji, _ in d["pairs_i_j_wij_wji_draws"]:
        wins[i, j] += wij
        wins[j, i] += wji
    return wins


@pytest.mark.parametrize("method", ["bradley_terry", "plackett_luce"])
@pytest.mark.parametrize("name", ["01a_bt_baseball", "01b_bt_citations"])
def test_golden_bradley_terry(name, method):
    d = golden(name)
    data = jr.Comparisons.from_matrix(d["input"]["wins"], models=d["input"]["names"])
    result = jr.fit(data, method, dtype="float64")
    close(result.scores, d["values"]["log_abilities_centered"])
    close(result.standard_errors, d["values"]["se_centered"])
    close(result.covariance(), d["values"]["cov_centered"])


def test_golden_bradley_terry_sparse():
    values = golden("01c_bt_icehockey")["values"]
    result = jr.fit(jr.Comparisons.from_matrix(icehockey()), "bradley_terry", dtype="float64")
    close(result.scores, values["log_abilities_centered"])
    close(result.standard_errors, values["se_centered"])


@pytest.mark.parametrize("variance", ["1.0", "10.0"])
def test_golden_map(variance):
    d = golden("01a_bt_baseball")
    expected = d["values"]["map_gaussian"][variance]
    data = jr.Comparisons.from_matrix(d["input"]["wins"])
    for method in ("bradley_terry_map", "plackett_luce_map"):
        result = jr.fit(data, method, prior=float(variance), dtype="float64")
        close(result.scores, expected["log_abilities"])


def test_golden_ties():
    d = golden("02b_ties_springall")
    inputs = d.get("input", d)
    data = jr.Comparisons.from_matrix(inputs["wins"], inputs["ties"])
    v = d["davidson"]["values"]
    result = jr.fit(data, "bradley_terry_davidson", dtype="float64")
    close(result.scores, v["log_abilities_centered"])
    close(result.params["nu"], v["nu"])
    close(result.standard_errors, np.array(v["se_centered"])[: len(result.scores)])
    close(jr.fit(data, "bradley_terry_davidson_map", dtype="float64").scores, d["davidson"]["map_N01"]["log_abilities"])
    for key, method, options in (
        ("mle_kappa_estimated", "rao_kupper", {"tie_strength": None}),
        ("mle_kappa_fixed_1_1", "rao_kupper", {}),
        ("map_N01_kappa_fixed_1_1", "rao_kupper_map", {}),
    ):
        v = d["rao_kupper"][key]
        result = jr.fit(data, method, dtype="float64", **options)
        close(result.scores, v["log_abilities_centered"])
        if "kappa" in result.params:
            close(result.params["kappa"], v["kappa"])


@pytest.mark.parametrize("kind", ["tie", "both"])
def test_golden_arena(kind):
    d = golden("02c_ties_arena10")["sets"][kind]
    data = jr.Comparisons.from_matrix(d["wins"], d["ties"])
    for method, options, values in (
        ("bradley_terry", {}, d["bradley_terry_ties_dropped"]),
        ("bradley_terry_davidson", {}, d["davidson"].get("values", d["davidson"])),
    ):
        result = jr.fit(data, method, dtype="float64", **options)
        close(result.scores, values.get("values", values)["log_abilities_centered"])


def test_both_iterations_reach_the_optimum():
    data = jr.Comparisons.from_matrix(golden("02b_ties_springall")["input"]["wins"])
    newton = jr.fit(data, "bradley_terry", dtype="float64")
    for update in ("newman", "hunter"):
        close(jr.fit(data, "plackett_luce", update=update, dtype="float64").scores, newton.scores, 1e-8)


def test_float32_near_float64():
    """Relative to the largest strength: 1e-4."""
    data = jr.Comparisons.from_matrix(
        golden("02b_ties_springall")["input"]["wins"], golden("02b_ties_springall")["input"]["ties"]
    )
    for method in ("bradley_terry", "bradley_terry_davidson", "rao_kupper", "plackett_luce"):
        narrow, wide = (jr.fit(data, method, dtype=t).scores for t in ("float32", "float64"))
        assert np.max(np.abs(narrow - wide)) < 1e-4 * np.max(np.abs(wide)), method


SEPARATED = [[1, 1, 1], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("method", ["bradley_terry", "plackett_luce"])
def test_case_A01_no_finite_optimum(method):
    with pytest.raises(jr.errors.NoFiniteOptimumError, match=r"'model 0'.*_map"):
        jr.fit(SEPARATED, method)
    result = jr.fit(SEPARATED, method, on_failure="return")
    assert result.status == jr.Status.NO_FINITE_OPTIMUM and np.all(np.isnan(result.scores))
    extended = jr.fit(SEPARATED, method, separation="extend")
    assert extended.status == jr.Status.NO_FINITE_OPTIMUM
    assert extended.ranks.tolist() == [1, 2, 2]
    mapped = jr.fit(SEPARATED, f"{method}_map", dtype="float64")
    close(mapped.scores, [0.861693, -0.430847, -0.430847], 1e-6)
    assert mapped.ranks.tolist() == [1, 2, 2]


@pytest.mark.parametrize("R", [[[1, 1, 1], [0, 1, 0]], [[[1, 1], [1, 0]], [[1, 0], [0, 0]]]], ids=["A02", "A03"])
def test_case_A02_A03_davidson_tie_parameter_runs_off(R):
    with pytest.raises(jr.errors.NoFiniteOptimumError):
        jr.fit(R, "bradley_terry_davidson")


def test_case_A09_two_models():
    R = [[1, 1, 1, 0, 1, 0, 1, 0], [0, 0, 0, 1, 1, 0, 1, 0]]
    ratio = lambda method, **o: float(np.exp(np.diff(jr.fit(R, method, dtype="float64", **o).scores[::-1]))[0])
    close(ratio("bradley_terry"), 3.0)
    close(ratio("bradley_terry", ties="half"), 5 / 3)
    close(ratio("bradley_terry_davidson"), 3.0)
    close(jr.fit(R, "bradley_terry_davidson", dtype="float64").params["nu"], 4 / np.sqrt(3))
    close(jr.fit(R, "rao_kupper", tie_strength=None, dtype="float64").params["kappa"], 3.41565, 1e-5)
    close(ratio("rao_kupper", tie_strength=None), 2.04939, 1e-5)
    close(ratio("rao_kupper"), 1.423495, 1e-6)


def nearly_separated(n_models: int, repeats: int) -> np.ndarray:
    columns = [np.repeat([[1] * (m + 1) + [0] * (n_models - m - 1)], repeats, 0) for m in range(n_models - 1)]
    for m in range(n_models - 1):
        column = np.array([1] * m + [0, 1] + [0] * (n_models - m - 2))
        columns.append(column[None])
    return np.concatenate(columns).T


@pytest.mark.parametrize("method", ["bradley_terry", "plackett_luce"])
def test_case_B01_nearly_separated(method):
    R = nearly_separated(5, 1000)
    assert R.shape == (5, 4004)
    result = jr.fit(R, method, dtype="float64")
    close(result.scores, [13.8245, 6.9137, 0.0, -6.9137, -13.8245], 1e-4)


@pytest.mark.parametrize("method", ["bradley_terry", "bradley_terry_davidson", "rao_kupper"])
def test_case_B03_step_limit_is_reported(method):
    rng = np.random.default_rng(7)
    R = (rng.random((6, 10, 5)) < np.linspace(0.8, 0.2, 6)[:, None, None]).astype(int)
    solver = Newton(max_steps=1)
    with pytest.raises(jr.errors.ConvergenceError, match="1 steps"):
        jr.fit(R, method, solver=solver)
    result = jr.fit(R, method, solver=solver, on_failure="return")
    assert result.status == jr.Status.MAX_STEPS and not result.converged and result.steps == 1


W_B04 = np.array([[0, 4, 3], [2, 0, 5], [1, 3, 0]], float)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-4)])
def test_case_B04_accuracy(dtype, tolerance):
    result = jr.fit(jr.Comparisons.from_matrix(W_B04), "bradley_terry", dtype=dtype)
    close(result.scores, [0.60533747, -0.05791097, -0.5474265], tolerance)
    close(np.exp(result.scores) / np.exp(result.scores).sum(), [0.54616817, 0.28137224, 0.17245959], tolerance)


@pytest.mark.parametrize("method", ["bradley_terry", "bradley_terry_davidson", "plackett_luce", "rao_kupper"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case_K06_scale_of_the_counts(method, dtype):
    fits = [jr.fit(jr.Comparisons.from_matrix(W_B04 * m), method, dtype=dtype) for m in (1, 1e3, 1e6, 1e9)]
    for fit in fits[1:]:
        close(fit.scores, fits[0].scores, 1e-5 if dtype == "float32" else 1e-9)
    assert all(f.status == jr.Status.CONVERGED for f in fits)


PAIRED = [
    f"{m}{suffix}"
    for m in ("bradley_terry", "bradley_terry_davidson", "rao_kupper", "plackett_luce")
    for suffix in ("", "_map")
]


@pytest.mark.parametrize("method", PAIRED)
def test_case_C01_symmetric_wins_tie(method):
    R = [[0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]]
    for order in itertools.permutations(range(3)):
        result = jr.fit([R[i] for i in order], method, dtype="float64")
        assert result.ranks.tolist() == [1, 1, 1]
        close(result.scores, [0, 0, 0], 1e-9)


def test_case_G04_anchor():
    result = jr.fit(jr.Comparisons.from_matrix(W_B04), "bradley_terry", dtype="float64")
    s = result.scores
    close([s[0] - s[1], s[0] - s[2]], [0.663248, 1.152764], 1e-6)


def test_case_H12_unrelated_model():
    two = jr.Comparisons.from_matrix([[0, 3], [1, 0]])
    three = jr.Comparisons.from_matrix([[0, 3, 0], [1, 0, 0], [0, 0, 0]], models=["a", "b", "idle"])
    contrast = lambda data, **o: float(-np.diff(jr.fit(data, "bradley_terry", dtype="float64", **o).scores[:2])[0])
    close(contrast(two), 1.098612, 1e-6)
    close(contrast(three, separation="extend"), 1.098612, 1e-6)
    close(contrast(two, pseudo=1.0), contrast(three, pseudo=1.0, separation="extend"))
    close(contrast(two, pseudo=1.0), np.log(3.5 / 1.5))
    with pytest.raises(jr.errors.NoFiniteOptimumError, match="'idle'"):
        jr.fit(three, "bradley_terry")


def test_case_J01_pairing_of_trials():
    R = np.array([[[1, 0], [0, 1], [1, 1]], [[0, 1], [0, 0], [0, 1]], [[0, 1], [1, 0], [0, 0]]])
    reversed_first = R.copy()
    reversed_first[0] = R[0][:, ::-1]
    first = jr.fit(R, "bradley_terry_map", dtype="float64")
    close(first.scores, [0.437971, -0.269729, -0.168242], 1e-6)
    assert first.ranks.tolist() == [1, 3, 2]
    second = jr.fit(reversed_first, "bradley_terry_map", dtype="float64")
    close(second.scores, [0.861693, -0.430847, -0.430847], 1e-6)
    assert second.ranks.tolist() == [1, 2, 2]
    close(*(jr.fit(x, "bradley_terry_map", pairing="all", dtype="float64").scores for x in (R, reversed_first)))


def test_all_pairing_is_the_expectation_over_alignments():
    R = np.random.default_rng(1).integers(0, 3, (3, 4, 2))
    wins = np.zeros((3, 3))
    for i, j in itertools.permutations(range(3), 2):
        for m in range(4):
            wins[i, j] += sum(R[i, m, a] > R[j, m, b] for a in range(2) for b in range(2)) / 2
    close(np.asarray(Pairs.of(jr.Responses(R), pairing="all").wins), wins, 1e-6)


@pytest.mark.parametrize("likelihood", [BradleyTerry(), Davidson(), RaoKupper(), RaoKupper(tie_strength=None)])
def test_gradient_and_curvature(likelihood):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        wins = rng.integers(0, 5, (4, 4)).astype(float) * (1 - np.eye(4))
        ties = rng.integers(1, 4, (4, 4)).astype(float)
        ties = (ties + ties.T) * (1 - np.eye(4))
        stat = likelihood.read(Pairs(jnp.asarray(wins), jnp.asarray(ties)))
        model = likelihood.likelihood
        x = jnp.asarray(rng.normal(size=4 + model.n_extra))
        if model.n_extra:
            x = x.at[-1].set(0.3)
        negative = lambda p: -model.log_prob(p, stat)
        everything = lambda p: (model.parts(p, stat), negative(p), jax.grad(negative)(p), jax.hessian(negative)(p))
        (value, gradient, curvature), expected, slopes, bends = jax.jit(everything)(x)
        close(value, expected)
        close(gradient, slopes)
        close(curvature, bends, 1e-8)


@pytest.mark.parametrize("ranker", [BradleyTerry(), Davidson(), RaoKupper(tie_strength=None)])
def test_two_solvers_agree(ranker):
    d = golden("02b_ties_springall")
    data = jr.Comparisons.from_matrix(d["input"]["wins"], d["input"]["ties"])
    with jax.enable_x64(True):
        stat = ranker.read(Pairs.of(data))
        model = ranker.likelihood
        free = lambda p: (-model.log_prob(p, stat), -jax.grad(model.log_prob)(p, stat), jnp.eye(len(p)))
        solution = jax.jit(lambda s: LBFGS(max_steps=300)(free, s))(model.start(stat))
    newton = jr.fit(data, ranker, dtype="float64")
    assert int(solution.status) == jr.Status.CONVERGED
    theta = np.asarray(solution.params)[:9]
    close(theta - theta.mean(), newton.scores, 1e-6)


@pytest.mark.parametrize(
    "prior", [jr.priors.Laplace(0.0, 0.5), jr.priors.Cauchy(0.0, 1.0), jr.priors.Gaussian(0.0, 2.0)]
)
def test_priors_reach_the_optimum(prior):
    """No small move of the centred strengths lowers the penalised objective."""
    d = golden("02b_ties_springall")
    wins = np.array(d["input"]["wins"], float)
    result = jr.fit(jr.Comparisons.from_matrix(wins), "bradley_terry", prior=prior, dtype="float64")

    penalty = jax.jit(lambda t: prior.penalty(t))

    def objective(theta):
        d = theta[:, None] - theta[None, :]
        with jax.enable_x64(True):
            return np.sum(wins * np.logaddexp(0, -d)) + float(penalty(theta - theta.mean()))

    best = objective(result.scores)
    rng = np.random.default_rng(0)
    for scale in (1e-2, 1e-4):
        assert min(objective(result.scores + scale * rng.normal(size=9)) for _ in range(100)) > best - 1e-9


def test_empirical_prior_centres_on_log_odds():
    R0 = np.array([[1, 1, 1, 0], [1, 0, 0, 0]])
    prior = jr.priors.Empirical(R0, var=1e-8)
    R = [[0, 1, 0, 1], [1, 0, 1, 0]]
    close(jr.fit(R, "bradley_terry", prior=prior, dtype="float64").scores, np.log([3, 1 / 3]), 1e-6)


@pytest.mark.slow
def test_existence_with_a_free_tie_parameter_matches_a_linear_program():
    """Potentials exist exactly where the linear program that defines them is feasible; 300 random small tables."""
    rng = np.random.default_rng(2)
    feasible_seen = 0
    for _ in range(300):
        n = int(rng.integers(2, 5))
        wins = (rng.random((n, n)) < 0.4) * (1 - np.eye(n))
        ties = np.triu(rng.random((n, n)) < 0.4, 1)
        ties = (ties + ties.T).astype(float)
        rows, bounds = [], []
        for i, j in itertools.permutations(range(n), 2):
            unit = np.zeros(n)
            unit[i], unit[j] = -1, 1
            if wins[i, j]:
                rows.append(unit)
                bounds.append(-1)
            if ties[i, j]:
                rows.append(unit)
                bounds.append(1)
        feasible = not rows or linprog(np.zeros(n), rows, bounds, bounds=(None, None)).status == 0
        assert bool(recession_exists(Pairs(jnp.asarray(wins), jnp.asarray(ties)))) == feasible, (wins, ties)
        feasible_seen += feasible
    assert 20 < feasible_seen < 280


def test_sandwich_is_wider_for_clustered_trials():
    """Ten copies of each answer are one observation: the sandwich knows, the information does not."""
    R = np.repeat((np.random.default_rng(0).random((4, 40, 1)) < 0.5), 10, axis=2).astype(int)
    result = jr.fit(R, "bradley_terry", dtype="float64")
    plain, robust = (np.sqrt(np.diag(result.covariance(k))) for k in ("information", "sandwich"))
    assert np.all(robust > 2 * plain)
    single = jr.fit(R[:, :, :1], "bradley_terry", dtype="float64")
    close(np.sqrt(np.diag(single.covariance("sandwich"))), robust, 1e-9)


@pytest.mark.parametrize("method", ["bradley_terry", "plackett_luce", "bradley_terry_davidson", "rao_kupper"])
def test_extend_invents_no_order(method):
    """numerics 15: of x > y > z and w > z it said "converged" with w above y, and groups that never met were merged."""
    fit = lambda a, b: jr.fit(
        jr.Comparisons(a, b, [1] * len(a)), method, separation="extend", dtype="float64", on_failure="return"
    )
    chain = fit(["x", "y", "w"], ["y", "z", "z"])
    assert chain.status == jr.Status.NOT_UNIQUE
    assert "'w'" in chain.explain()
    assert "'y'" in chain.explain()
    s = dict(zip(chain.models, chain.scores, strict=True))
    assert s["x"] > s["y"] > s["z"]  # what the results do order
    assert s["w"] > s["z"]
    apart = fit(["a", "b", "c", "d"], ["b", "a", "d", "c"])
    assert apart.status == jr.Status.DISCONNECTED
    assert np.isnan(apart.scores).all()
    with pytest.raises(jr.errors.NoFiniteOptimumError, match="never compared"):
        jr.fit(jr.Comparisons(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1] * 4), method, separation="extend")


def test_extended_optimum_orders_components_and_fits_inside():
    """Two groups; the first beats the second always. Inside each the scores are those of the group alone."""
    inside = np.array([[0, 3, 1], [1, 0, 2], [2, 1, 0]], float)
    wins = np.zeros((6, 6))
    wins[:3, :3], wins[3:, 3:] = inside, inside.T
    wins[:3, 3:] = 2
    result = jr.fit(jr.Comparisons.from_matrix(wins), "bradley_terry", separation="extend", dtype="float64")
    assert result.status == jr.Status.NO_FINITE_OPTIMUM
    for part, alone in ((slice(0, 3), inside), (slice(3, 6), inside.T)):
        scores = result.scores[part] - result.scores[part].mean()
        close(scores, jr.fit(jr.Comparisons.from_matrix(alone), "bradley_terry", dtype="float64").scores)
    assert result.scores[:3].min() > result.scores[3:].max()


def test_case_C13_plackett_luce_map_of_one_event():
    """Three models right, two wrong: each right one has two victories, so a = 2 sigmoid(b - a) with b = -3a/2."""
    R = np.array([1, 1, 1, 0, 0])[:, None]
    a = brentq(lambda x: 2 / (1 + np.exp(2.5 * x)) - x, 0, 2, xtol=1e-15)
    fit = jr.fit(R, "plackett_luce_map", dtype="float64")
    assert fit.ranks.tolist() == [1, 1, 1, 4, 4]
    assert max(np.ptp(fit.scores[:3]), np.ptp(fit.scores[3:])) < 1e-15
    close(fit.scores, [a, a, a, -1.5 * a, -1.5 * a], 1e-12)
    order = [3, 0, 4, 1, 2]
    permuted = jr.fit(R[order], "plackett_luce_map", dtype="float64")
    assert permuted.ranks.tolist() == fit.ranks[order].tolist()
    close(permuted.scores, fit.scores[order], 1e-15)
