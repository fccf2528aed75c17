"""Covariates, side, weights and existence of the paired comparison models of battles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.stats import norm
from scipy.stats import t as student

import jaxrank as jr
from jaxrank.data.battle_statistic import BattleReader
from jaxrank.data.clusters import clustering
from jaxrank.data.covariates import Design
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError, NoFiniteOptimumError, OptionError
from jaxrank.models.pairs.clusters import battle_deviations
from jaxrank.models.pairs.covariates import CovariateLikelihood
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood, DavidsonLikelihood, RaoKupperLikelihood
from jaxrank.numerics.contributions import contributions
from tests.oracles import golden
from tests.resampling.drawn import drawn_by_cluster

pytestmark = pytest.mark.filterwarnings("ignore:.*clusters of .* make intervals too short")

METHODS = {
    "bradley_terry": ("bradley_terry", {}),
    "bradley_terry_weights": ("bradley_terry", {}),
    "davidson": ("bradley_terry_davidson", {}),
    "rao_kupper": ("rao_kupper", {"tie_strength": None}),
    "bradley_terry_ordinal": ("bradley_terry_ordinal", {}),
}
WEIGHTED = {
    "integer_weights": "weight",
    "with_side_weighted": "weight",
    "covariate_side_weighted": "weight",
    "real_weights": "weight_real",
    "map_theta_var1_beta_var4_real_weights": "weight_real",
}
COLUMNS = ("length", "headers", "voter", "question")
FITS = [
    (example, name)
    for example in golden("battles")
    if example["kind"] in (*METHODS, "real_battles")
    for name, value in example["values"].items()
    if isinstance(value, dict) and "se_theta" in value
]


def battles_of(example: dict, name: str = "") -> jr.Comparisons:
    table = example["input"].get("table", example["input"])
    both = {**table, **example["input"]}
    weight = both[WEIGHTED[name]] if name in WEIGHTED else None
    columns = {c: table[c] for c in COLUMNS if c in table}
    if example["kind"] == "bradley_terry_ordinal":
        columns["grade"] = table["outcome"]
    outcome = (np.sign(table["outcome"]) + 1) / 2
    return jr.Comparisons(table["a"], table["b"], outcome, weight, example["input"]["models"], columns=columns)


def fitted(example: dict, name: str) -> tuple[jr.Result, dict]:
    value, kind = example["values"][name], example["kind"]
    if kind == "real_battles":
        kind = next(k for k in ("davidson", "rao_kupper", "bradley_terry") if name.startswith(k))
    method, options = METHODS[kind]
    battles = battles_of(example, name)
    covariates = [c for c in ("length", "headers") if c in battles.columns][: len(value["beta"])]
    options = {**options, "covariates": covariates, "side": len(value["beta"]) > len(covariates)}
    options |= {"prior": 1.0} if name.startswith("map") else {}
    options |= {"covariate_var": 4.0} if "beta_var4" in name else {}
    options |= {"tie_strength": 1.1} if name.endswith("kappa_1_1") else {}
    return jr.fit(battles, method, dtype="float64", **options), value


def sandwich_errors(fit: jr.Result, cluster: str, n_slopes: int) -> dict[str, np.ndarray]:
    """Corrected by G / (G - 1) alone, as the golden values are."""
    ranker: Any = fit.ranker
    with fit.precision():
        moved, _ = battle_deviations(ranker, fit.stat, fit.fit, fit.data, clustering(fit.data, cluster))
    errors = contributions(moved).errors
    n = len(fit.models)
    parts = np.split(errors, [n, n + n_slopes])
    return {f"sandwich_se_{name}": part for name, part in zip(("theta", "beta", "extra"), parts, strict=True)}


def differences(example: dict, name: str) -> dict[str, float]:
    """The largest difference of each estimate and error from the golden values."""
    fit, value = fitted(example, name)
    params = [np.log(fit.params[p]) for p in ("nu", "kappa") if p in fit.params and value["extra"]]
    params = fit.params.get("thresholds", params)
    beta = [*fit.params.get("beta", ()), *([fit.params["delta"]] if "delta" in fit.params else [])]
    found = {"theta": fit.scores, "beta": beta, "extra": params, "se_theta": fit.standard_errors}
    if beta:
        found["se_beta"] = jr.coefficients(fit).standard_errors
    if "sandwich_se_theta" in value:
        cluster = "question" if name.endswith("by_prompt") else "voter"
        found |= sandwich_errors(fit, cluster, len(beta))
        plain = np.sqrt(np.diag(fit.covariance("sandwich", cluster=cluster)))
        assert np.allclose(plain, value["sandwich_se_theta"], rtol=1e-8)
    return {k: float(np.abs(np.array(v) - value[k]).max(initial=0)) for k, v in found.items()}


@pytest.mark.parametrize(("example", "name"), FITS, ids=[f"{e['id']}-{n}" for e, n in FITS])
def test_fits_are_those_of_independent_programs(example, name, record_property):
    """Newton with complex steps and statsmodels (Bradley-Terry, Davidson), R's clm (Rao-Kupper, grades)."""
    worst = differences(example, name)
    record_property("largest", worst)
    assert max(worst.values()) < 1e-8, worst


def test_ratings_of_elo_and_the_anchor_that_widens_nobody():
    example = golden("battles")[0]
    fit, _ = fitted(example, "with_side")
    plain, anchored = jr.ratings(fit), jr.ratings(fit, anchor=("m0", 1000))
    assert np.allclose(plain.ratings, example["values"]["elo_with_side"], atol=1e-8)
    assert np.allclose(anchored.ratings, example["values"]["elo_anchor_m0_1000"], atol=1e-8)
    assert np.allclose(anchored.standard_errors, example["values"]["elo_se_with_side"], atol=1e-8)
    assert np.allclose(anchored.upper - anchored.lower, plain.upper - plain.lower)
    assert anchored["m0"].rating == pytest.approx(1000) and "anchor" in anchored.note
    with pytest.raises(OptionError, match="m9"):
        jr.ratings(fit, anchor=("m9", 1000))


def test_a_pair_of_columns_is_their_ratio_over_its_root_mean_square():
    example = next(e for e in golden("battles") if e["kind"] == "covariate_scaling")
    a, b = (example["input"][f"headers_{side}"] for side in "ab")
    battles = jr.Comparisons(["x"] * len(a), ["y"] * len(a), [1] * len(a), columns={"headers_a": a, "headers_b": b})
    x, scale = Design(("headers",)).values(battles)
    assert np.allclose(x[0], example["values"]["ratio"], atol=1e-14)
    assert scale[0] == pytest.approx(example["values"]["root_mean_square"], abs=1e-14)
    assert np.array_equal(Design(("headers",), relative=False).values(battles)[0][0], np.subtract(a, b))


SMALL = {"length": [0.5, -1.0, 0.3, 0.9, -0.2, 0.1, -0.7, 0.4, 0.2, -0.3]}
A, B = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 2, 0, 1, 1, 2, 0, 2]
WON = [1, 0, 0.5, 1, 1, 0, 0, 1, 0.5, 0]


def test_exchanging_sides_changes_signs_alone():
    whole = jr.Comparisons(A, B, WON, columns=SMALL)
    flip = np.arange(10) % 3 == 0
    swap = lambda x, y: np.where(flip, y, x)
    x = np.array(SMALL["length"])
    other = jr.Comparisons(
        swap(A, B), swap(B, A), np.where(flip, 1 - np.array(WON), WON), columns={"length": swap(x, -x)}
    )
    fits = [jr.fit(c, "bradley_terry_davidson_map", covariates="length", dtype="float64") for c in (whole, other)]
    assert np.allclose(fits[0].scores, fits[1].scores, atol=1e-12)
    assert np.allclose(fits[0].params["beta"], fits[1].params["beta"], atol=1e-12)


def test_equal_battles_share_a_place_and_weights_are_repetitions():
    twice = jr.Comparisons(A * 2, B * 2, WON * 2, columns={"length": SMALL["length"] * 2})
    counted = jr.Comparisons(A, B, WON, [2] * 10, columns=SMALL)
    reader = BattleReader(Design(("length",), side=True))
    one, two = reader.of(twice), reader.of(counted)
    assert jax.tree.all(jax.tree.map(lambda x, y: bool(jnp.array_equal(x, y)), one, two))
    assert int((one.counts.sum(axis=0) > 0).sum()) == 10
    rows = reader.rows(twice)
    weights = np.arange(20) % 3.0
    drawn = reader.reduce(rows, Weights(trials=jnp.asarray(weights)))
    pairs = jr.Comparisons(A * 2, B * 2, WON * 2, weights)
    assert np.allclose(drawn.pairs().wins, pairs.wins) and np.allclose(drawn.pairs().ties, pairs.ties)


def test_many_battles_have_places_of_their_own(monkeypatch):
    """As of tables in which covariates hardly ever agree: the fit, replicates by cluster and an update are those of
    battles that share places."""
    rng = np.random.default_rng(5)
    n = 240
    a = rng.integers(0, 5, n)
    battles = jr.Comparisons(
        a, (a + rng.integers(1, 5, n)) % 5, rng.choice([0, 0.5, 1], n), models=list("abcde"),
        columns={"length": rng.normal(size=n), "voter": rng.integers(0, 30, n).astype(float)},
    )  # fmt: skip
    options: dict[str, Any] = {"covariates": "length", "side": True, "ties": "half", "dtype": "float64"}
    draw = lambda: jr.bootstrap(
        battles, "bradley_terry", scheme=jr.clusters("voter"), n_replicates=12, seed=2, progress=False, **options
    )
    first, shared = draw(), jr.fit(battles, "bradley_terry", **options)
    monkeypatch.setattr("jaxrank.data.battle_statistic._FEW", 16)
    monkeypatch.setattr("jaxrank.models.pairs.battles._MANY", 16)  # and replicates end without the curvature
    rows = BattleReader(Design(("length",), side=True)).rows(battles)
    assert rows.place is None and rows.in_order()[0].battle is None
    second, apart = draw(), jr.fit(battles, "bradley_terry", **options)
    assert np.allclose(apart.scores, shared.scores, atol=1e-12)
    assert np.allclose(second.replicate_scores, first.replicate_scores, atol=1e-9)
    assert not np.array_equal(second.kept.steps, first.kept.steps)
    halves = [battles.select(battles=np.arange(n) % 2 == k) for k in (0, 1)]
    updated = jr.update(jr.fit(halves[0], "bradley_terry", **options), halves[1])
    assert np.allclose(updated.scores, shared.scores, atol=1e-9)


@pytest.mark.parametrize("pair", [BradleyTerryLikelihood(), DavidsonLikelihood(), RaoKupperLikelihood(None)])
def test_derivatives_are_those_of_the_log_probability(pair, monkeypatch):
    if pair.tied and pair.untied:  # in several pieces, as of many battles
        monkeypatch.setattr("jaxrank.models.pairs.covariates._PIECE", 4)
    with jax.enable_x64(True):
        stat = BattleReader(Design(("length",), side=True)).of(jr.Comparisons(A, B, WON, columns=SMALL))
        likelihood = CovariateLikelihood(pair, 2, 0.25)
        point = jnp.array([0.3, 0.3, -0.6, 0.4, -0.2, *[0.5] * pair.n_extra])
        value, gradient, curvature = jax.jit(likelihood.parts)(point, stat)
        of = lambda p: -likelihood.log_prob(p, stat)
        assert np.allclose(value, of(point)) and np.allclose(gradient, jax.jit(jax.grad(of))(point), atol=1e-12)
        assert np.allclose(curvature, jax.jit(jax.hessian(of))(point), atol=1e-12)


EXISTENCE = [e for e in golden("battles") if e["kind"] == "existence"]


@pytest.mark.parametrize("example", EXISTENCE, ids=[e["id"] for e in EXISTENCE])
def test_existence_by_hand(example):
    given, value = example["input"], example["values"]
    columns = {f"x{i}": column for i, column in enumerate(np.array(given["covariates"]).reshape(len(given["a"]), -1).T)}
    battles = jr.Comparisons(
        given["a"], given["b"], (np.array(given["outcome"]) + 1) / 2, models=given["models"], columns=columns
    )
    options = {"covariates": list(columns), "side": given["side"], "dtype": "float64"}
    if not value["identified"]:
        with pytest.raises(OptionError, match="the same function of the models"):
            jr.fit(battles, "bradley_terry", **options)
        options["covariates"] = []
    if value["finite"]:
        assert jr.fit(battles, "bradley_terry", **options).converged
    else:
        with pytest.raises(NoFiniteOptimumError, match="covariate_var"):
            jr.fit(battles, "bradley_terry", **options)


def test_existence_on_random_sets_is_that_of_a_linear_program(record_property):
    """Bradley-Terry: a direction (t, g) with no battle less likely and one more likely, by HiGHS; false answers: 0."""
    rng = np.random.default_rng(5)
    n_finite, false = 0, 0
    for _ in range(60):
        a = rng.integers(0, 3, 12)
        b = (a + rng.integers(1, 3, 12)) % 3
        x = rng.normal(size=12).round(1)
        won = rng.random(12) < 1 / (1 + np.exp(-3 * x))
        design = np.column_stack([np.eye(3)[a] - np.eye(3)[b], x]) * np.where(won, 1, -1)[:, None]
        found = linprog(-design.sum(axis=0), A_ub=-design, b_ub=np.zeros(12), bounds=[(-1, 1)] * 4)
        finite = -found.fun < 1e-7
        battles = jr.Comparisons(a, b, won, models=["a", "b", "c"], columns={"x": x})
        fit = jr.fit(battles, "bradley_terry", covariates="x", dtype="float64", on_failure="return")
        false += fit.converged != finite
        n_finite += finite
    record_property("false", f"{false} of 60, {n_finite} finite")
    assert false == 0 and 10 < n_finite < 50


def test_balanced_battles_are_weighted_by_inverse_propensity():
    example = next(e for e in golden("battles") if e["kind"] == "inverse_propensity")
    a, b = example["input"]["a"], example["input"]["b"]
    battles = jr.Comparisons(a, b, np.arange(len(a)) % 2).balanced()
    assert np.allclose(battles.weight, example["values"]["mean_one"], atol=1e-14)
    total = battles.wins + battles.wins.T
    assert np.allclose(total[np.triu_indices(3, 1)], len(a) / 3) and "same total weight" in battles.notes[-1]


def test_what_is_wrong_with_a_covariate_is_said():
    battles = jr.Comparisons(A, B, WON, columns={**SMALL, "text": ["x"] * 10, "gap": [np.nan, *range(9)]})
    for covariates, error, says in (
        (["depth"], OptionError, "'length'"),
        (["text"], jr.errors.UnsupportedDataError, "texts"),
        (["gap"], DataError, "row 0"),
        (["length", "length"], OptionError, "each once"),
    ):
        with pytest.raises(error, match=says):
            jr.fit(battles, "bradley_terry", covariates=covariates)
    with pytest.raises(OptionError, match="covariates are columns of battles"):
        jr.fit([[1, 0], [0, 1]], "bradley_terry", side=True)
    of_models = np.array([2.0, 0.5, -1.0])
    known = jr.Comparisons(A, B, WON, columns={"size": of_models[A] - of_models[B]})
    with pytest.raises(OptionError, match="'size' is the same function"):
        jr.fit(known, "bradley_terry", covariates="size")
    assert jr.fit(known, "bradley_terry_map", covariates="size", covariate_var=1.0).converged
    with pytest.raises(jr.errors.UnsupportedDataError, match="covariates"):
        jr.coefficients(jr.fit(battles, "bradley_terry"))


def test_coefficients_of_replicates_are_fits_of_the_clusters_drawn():
    """Replicates by voter against fits of the battles written out as often as their voters came up; intervals hold
    what a further replicate does."""
    rng = np.random.default_rng(11)
    n = 120
    a = rng.integers(0, 3, n)
    columns = {"length": rng.normal(size=n), "voter": rng.integers(0, 24, n).astype(float)}
    battles = jr.Comparisons(
        a, (a + rng.integers(1, 3, n)) % 3, rng.random(n) < 0.5, models=list("abc"), columns=columns
    )
    options: dict[str, Any] = {"covariates": "length", "side": True, "relative": False, "dtype": "float64"}
    scheme = jr.clusters("voter")
    rep = jr.bootstrap(battles, "bradley_terry", scheme=scheme, n_replicates=79, seed=4, progress=False, **options)
    assert rep.replicate_coefficients is not None and rep.replicate_coefficients.shape == (79, 2)
    for b, (theta, beta) in enumerate(zip(rep.replicate_scores[:3], rep.replicate_coefficients[:3], strict=True)):
        rows = np.repeat(np.arange(n), drawn_by_cluster(battles, scheme, 4, b))
        design = np.column_stack([np.eye(3)[battles.a] - np.eye(3)[battles.b], columns["length"], np.ones(n)])[rows]
        sign = np.where(battles.outcome[rows] == 0, 1.0, -1.0)
        loss = lambda p, d=design, s=sign: np.logaddexp(0, -s * (d @ p)).sum() + p[:3].sum() ** 2
        found = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
        assert np.allclose(np.r_[theta, beta], found, atol=1e-6)
    rows = jr.coefficients(rep, level=0.9)
    assert rows.names == ("length", "side") and "clusters drawn again" in rows.kind
    assert np.allclose(rows.estimates, jr.coefficients(jr.fit(battles, "bradley_terry", **options)).estimates)
    assert np.allclose(rows.standard_errors, rep.replicate_coefficients.std(axis=0, ddof=1))
    ends = np.sort(rep.replicate_coefficients, axis=0)[[3, 75]]  # of 79 and a further one 4 of 80 lie beyond each
    wider = np.array([rows.lower, rows.upper]) - rows.estimates
    assert np.allclose(wider / (ends - rows.estimates), student.ppf(0.95, 23) / norm.ppf(0.95) * (24 / 23) ** 0.5)
    plain = jr.bootstrap(battles, "bradley_terry", n_replicates=4, seed=4, progress=False)
    with pytest.raises(jr.errors.UnsupportedDataError, match="without"):
        jr.coefficients(plain)


def test_replicates_are_fits_of_weighted_battles():
    battles = jr.Comparisons(A * 4, B * 4, WON * 4, columns={"length": np.tile(SMALL["length"], 4)})
    rep = jr.bootstrap(battles, "bradley_terry_map", covariates="length", n_replicates=6, seed=1, progress=False)
    assert rep.replicate_scores.shape == (6, 3) and np.isfinite(rep.replicate_scores).all()
    assert len(np.unique(rep.replicate_scores[:, 0])) == 6


GRADES = [2, -1, 0, 1, 1, -2, -1, 2, 0, -1]


def test_grades_say_their_order_alone_and_those_that_nobody_gave_are_none():
    fits = [
        jr.fit(jr.Comparisons(A, B, WON, columns={"grade": grades}), "bradley_terry_ordinal_map", dtype="float64")
        for grades in (GRADES, np.sign(GRADES) * np.array([0, 10, 70])[np.abs(GRADES)], np.array(GRADES) * 3)
    ]
    for other in fits[1:]:
        assert np.allclose(other.scores, fits[0].scores) and len(other.params["thresholds"]) == 2
    gap = jr.Comparisons(A, B, WON, columns={"grade": [np.nan, *GRADES[1:]]})
    with pytest.raises(DataError, match="1 of 10 battles, the first is row 0"):
        jr.fit(gap, "bradley_terry_ordinal")
    untied = jr.Comparisons(A, B, np.round(WON), columns={"grade": np.where(np.array(GRADES) == 0, 1, GRADES)})
    assert jr.fit(untied, "bradley_terry_ordinal_map").params["thresholds"][0] == 0


def test_one_grade_is_rao_kupper():
    battles = jr.Comparisons(A, B, WON, columns=SMALL)
    options = {"covariates": "length", "prior": 1.0, "dtype": "float64"}
    graded = jr.fit(battles, "bradley_terry_ordinal", **options)
    ties = jr.fit(battles, "rao_kupper", tie_strength=None, **options)
    assert np.allclose(graded.scores, ties.scores, atol=1e-9)
    assert np.allclose(graded.standard_errors, ties.standard_errors, atol=1e-8)
    assert np.exp(graded.params["thresholds"][0]) == pytest.approx(float(ties.params["kappa"]), abs=1e-8)


def test_existence_with_grades_is_that_of_a_linear_program():
    """The cumulative link written out: Pr(y) = sigmoid(k_y - d) - sigmoid(k_{y-1} - d) in every direction."""
    rng = np.random.default_rng(8)
    n_finite, false = 0, 0
    for _ in range(40):
        a = rng.integers(0, 3, 9)
        b = (a + rng.integers(1, 3, 9)) % 3
        grade = rng.integers(-2, 3, 9)
        if len(np.unique(np.abs(grade))) < 3 or len(np.unique([a, b])) < 3:
            continue
        rows = []  # what may not fall: theta_0, theta_1, theta_2, k_0, k_1
        for i, j, y in zip(a.tolist(), b.tolist(), grade.tolist(), strict=True):
            d = np.eye(5)[i] - np.eye(5)[j]
            k = lambda c: np.zeros(5) if c in (-3, 2) else np.eye(5)[3 + c] if c >= 0 else -np.eye(5)[2 - c]
            rows += [k(y) - d] * (y < 2) + [d - k(y - 1)] * (y > -2)
        table = np.array(rows)
        found = linprog(-table.sum(axis=0), A_ub=-table, b_ub=np.zeros(len(table)), bounds=[(-1, 1)] * 5)
        finite = -found.fun < 1e-7
        battles = jr.Comparisons(a, b, (np.sign(grade) + 1) / 2, models=["a", "b", "c"], columns={"grade": grade})
        fit = jr.fit(battles, "bradley_terry_ordinal", dtype="float64", on_failure="return")
        false += fit.converged != finite
        n_finite += finite
    assert false == 0 and 5 < n_finite < 35
