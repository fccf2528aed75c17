"""Choices from sets with covariates: battles and ordered lists under Plackett-Luce, Luce and Davidson-Luce."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import jaxrank as jr
from jaxrank.data.covariates import Design
from jaxrank.data.slates import SlateReader
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError, NoFiniteOptimumError, OptionError, UnsupportedDataError
from jaxrank.methods.luce import BradleyTerryLuce, DavidsonLuce
from jaxrank.models.setwise.slates import slate_problem
from tests.existence import have_optimum, slates_cone
from tests.resampling.drawn import drawn_by_cluster

pytestmark = pytest.mark.filterwarnings("ignore:.*clusters of .* make intervals too short", "ignore:.*were not read")
NAMES = list("abcde")


def battles(n: int = 80) -> jr.Comparisons:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 5, n)
    columns = {
        "length_a": rng.integers(0, 90, n), "length_b": rng.integers(0, 90, n), "x": rng.normal(size=n),
        "voter": rng.integers(0, 20, n).astype(float), "weight": rng.choice([0.5, 1, 2], n),
    }  # fmt: skip
    outcome = rng.choice([0, 0.5, 1], n, p=[0.4, 0.2, 0.4])
    return jr.Comparisons(a, (a + rng.integers(1, 5, n)) % 5, outcome, rng.integers(1, 4, n), NAMES, columns=columns)


def as_lists(data: jr.Comparisons) -> jr.Rankings:
    """The same battles, without their weights, as lists of two with columns for x and the side."""
    rows, shape = np.arange(len(data.a)), (len(data.a), 5)
    places, x, first = np.zeros(shape, int), np.full(shape, np.nan), np.full(shape, np.nan)
    places[rows, data.a], places[rows, data.b] = 1 + (data.outcome == 1), 1 + (data.outcome == 0)
    x[rows, data.a], x[rows, data.b] = data.columns["x"] + 7, 7
    first[rows, data.a], first[rows, data.b] = 1, 0
    columns = {"x": x, "first": first, "voter": data.columns["voter"]}
    return jr.Rankings.from_places(places, NAMES, data.count, columns=columns)


def lists(n: int = 14, seed: int = 0, n_models: int = 4, slope: float = 0.8) -> jr.Rankings:
    """Full lists whose order depends on two covariates."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_models, 2)).round(1)
    value = np.linspace(0.5, -0.5, n_models) + x @ [slope, -0.4] + rng.gumbel(size=(n, n_models))
    places = np.argsort(np.argsort(-value, axis=1), axis=1) + 1
    columns = {"price": x[..., 0], "age": x[..., 1]}
    return jr.Rankings.from_places(places, NAMES[:n_models], columns=columns)


def winners(n: int = 24, seed: int = 1, n_models: int = 4, slope: float = 0.8) -> jr.Rankings:
    """Sets of winners of one to three of four models, the others left over."""
    full = lists(n, seed, n_models, slope)
    size = np.random.default_rng(seed).integers(1, n_models, n)
    orders = [[[NAMES[i] for i in np.flatnonzero(p <= s)]] for p, s in zip(full.places, size, strict=True)]
    return jr.Rankings(orders, NAMES[:n_models], unlisted="below", columns=dict(full.columns))


def same(one: jr.Result, two: jr.Result, tolerance: float = 1e-8) -> None:
    """Scores, coefficients and the errors of both."""
    styles = [jr.coefficients(fit) for fit in (one, two)]
    assert np.allclose(one.scores, two.scores, atol=tolerance)
    assert np.allclose(styles[0].estimates, styles[1].estimates, atol=tolerance)
    assert np.allclose(styles[0].standard_errors, styles[1].standard_errors, atol=tolerance)
    assert np.allclose(one.standard_errors, two.standard_errors, atol=tolerance)


@pytest.mark.parametrize("method", ["plackett_luce", "bradley_terry_luce", "davidson_luce"])
def test_of_two_alternatives_the_model_is_bradley_terry(method):
    """With covariates, side, weights, and errors by voter; Luce's own errors are the sandwich by battle."""
    data, options = battles(), {"covariates": ["length", "x"], "side": True, "dtype": "float64"}
    paired, sets = (jr.fit(data, name, **options) for name in ("bradley_terry", method))
    assert jr.coefficients(sets).names == ("length", "x", "side")
    assert np.allclose(jr.coefficients(sets).units, jr.coefficients(paired).units)
    same(paired.clustered("voter"), sets.clustered("voter"))
    if method != "bradley_terry_luce":
        same(paired, sets)
    held = {**options, "prior": 2.0, "covariate_var": 0.5}
    same(jr.fit(data, "bradley_terry", **held).clustered("voter"), jr.fit(data, method, **held).clustered("voter"))


@pytest.mark.parametrize("held", [{}, {"prior": 1.0, "covariate_var": 2.0}], ids=["ml", "map"])
def test_lists_of_two_with_ties_are_davidsons_model(held):
    data = battles()
    plain = jr.Comparisons(
        data.a, data.b, np.array([1, 0, 0.5])[data.outcome], data.count, NAMES, columns={"x": data.columns["x"]}
    )
    paired = jr.fit(plain, "bradley_terry_davidson", covariates="x", side=True, dtype="float64", **held)
    listed = jr.fit(as_lists(data), "plackett_luce", covariates=["x", "first"], dtype="float64", **held)
    assert listed.method == "plackett_luce"
    assert np.allclose(listed.scores, paired.scores, atol=1e-8)
    both = [jr.coefficients(fit) for fit in (paired, listed)]
    assert np.allclose(both[0].estimates, both[1].estimates, atol=1e-8)
    assert np.allclose(both[0].standard_errors, both[1].standard_errors, atol=1e-8)
    assert listed.params["tie_strengths"][1] == pytest.approx(float(paired.params["nu"]), abs=1e-8)


def stages_of(places: np.ndarray) -> list[tuple[list[int], list[int]]]:
    """Of one list who is chosen and who is left, stage by stage."""
    found = []
    for p in range(1, places.max() + 1):
        chosen, left = list(np.flatnonzero(places == p)), list(np.flatnonzero(places > p))
        if len(chosen) + len(left) > 1:
            found.append((chosen, left))
    return found


def minus_log_probability(params: np.ndarray, data: jr.Rankings, kind: str) -> float:
    """Written out set by set: nothing of the library in it."""
    n = len(data.models)
    theta, beta, ties = params[:n], params[n : n + 2], np.r_[0, params[n + 2 :]]
    total = theta.sum() ** 2
    for row, places in enumerate(data.places):
        eta = theta + np.stack([data.columns["price"][row], data.columns["age"][row]], axis=1) @ beta
        stages = stages_of(places) if kind == "lists" else stages_of(places)[:1]
        for chosen, left in stages:
            if kind != "davidson":
                total -= sum(eta[i] - np.log(np.exp(eta[[i, *left]]).sum()) for i in chosen)
                continue
            slate, worth = chosen + left, lambda s, eta=eta: ties[len(s) - 1] + eta[list(s)].mean()
            sets = [s for t in range(1, len(slate)) for s in itertools.combinations(slate, t)]
            total -= worth(chosen) - np.log(np.exp([worth(s) for s in sets]).sum())
    return total


@pytest.mark.parametrize(
    ("kind", "method", "n_ties"),
    [("lists", "plackett_luce", 0), ("luce", "bradley_terry_luce", 0), ("davidson", "davidson_luce", 2)],
)
def test_fits_are_the_maximum_of_a_likelihood_written_out(kind, method, n_ties):
    data = lists() if kind == "lists" else winners()
    fit = jr.fit(data, method, covariates=["price", "age"], dtype="float64")
    begin = np.zeros(6 + n_ties)
    found = minimize(minus_log_probability, begin, (data, kind), method="BFGS", options={"gtol": 1e-9})
    ours = np.r_[fit.scores, fit.params["beta"]]
    if n_ties:
        ours = np.r_[ours, np.log(fit.params["tie_strengths"][1:])]
    assert np.allclose(ours, found.x, atol=1e-7)
    if kind != "davidson":
        assert fit.params["log_likelihood"] == pytest.approx(-found.fun, abs=1e-9)
    least = minus_log_probability(ours, data, kind)
    assert least <= found.fun + 1e-12


@pytest.mark.parametrize("ranker", [BradleyTerryLuce, DavidsonLuce])
def test_derivatives_are_those_of_the_log_probability(ranker):
    with jax.enable_x64(True):
        model: Any = ranker(covariates=["price", "age"], covariate_var=4.0)
        likelihood, problem = slate_problem(model, model.reader.of(winners()))
        point = jnp.array([0.3, 0.3, -0.6, 0.4, -0.2, 0.5, 0.0, 0.7, -0.3][: 6 + likelihood.n_orders])
        value, gradient, curvature = jax.jit(likelihood.parts)(point, problem)
        of = lambda p: -likelihood.log_prob(p, problem)
        assert np.allclose(value, of(point)) and np.allclose(gradient, jax.jit(jax.grad(of))(point), atol=1e-11)
        bent = jax.jit(jax.jacfwd(lambda p: likelihood.parts(p, problem)[1]))(point)
        moves = np.diag(curvature) != 1  # a tie parameter that is the unit is held
        assert np.allclose(np.where(moves, curvature, 0), np.where(moves, bent, 0), atol=1e-11)
        slopes = jnp.sum(problem.slates.weights[:, None] * likelihood.slopes(point, problem), axis=0)
        ridge = jnp.zeros_like(point).at[4:6].set(point[4:6] / 4)
        assert np.allclose(-slopes + ridge, gradient, atol=1e-11)


KINDS = [("lists", "plackett_luce"), ("luce", "bradley_terry_luce"), ("davidson", "davidson_luce")]


@pytest.mark.parametrize(("kind", "method"), KINDS, ids=[k for k, _ in KINDS])
def test_existence_on_random_tables_is_that_of_a_linear_program(kind, method, record_property):
    """False answers: 0 of 100 tables of each kind."""
    rng = np.random.default_rng(7)
    said, cones = [], []
    for _ in range(100):
        make: Any = lists if kind == "lists" else winners
        n = {"lists": 7, "luce": 12, "davidson": 7}[kind]
        data = make(n, int(rng.integers(10**6)), 3, rng.choice([0.8, 4, 12]))
        x = data.columns["price"][..., None]
        stages = [(row, s) for row, p in enumerate(data.places) for s in stages_of(p)[: None if kind == "lists" else 1]]
        outcomes = np.full((len(stages), 3), -1)
        for table, (_, (chosen, left)) in zip(outcomes, stages, strict=True):
            table[chosen], table[left] = 1, 0
        cones.append(slates_cone(outcomes, x[[row for row, _ in stages]], kind != "davidson"))
        said.append(jr.fit(data, method, covariates="price", dtype="float64", on_failure="return").converged)
    true = have_optimum(cones)
    false = int((np.array(said) != true).sum())
    record_property("false", f"{false} of 100, {sum(true)} finite")
    assert false == 0 and 10 < sum(true) < 95


def test_a_covariate_that_decides_every_choice_is_named():
    data = lists(40)
    size = np.random.default_rng(1).uniform(-0.4, 0.4, data.places.shape) - data.places
    decided = jr.Rankings.from_places(data.places, data.models, columns={**data.columns, "size": size})
    for method in ("plackett_luce", "bradley_terry_luce"):
        with pytest.raises(NoFiniteOptimumError, match=r"the coefficient of .*size.* can grow for ever.*covariate_var"):
            jr.fit(decided, method, covariates=["age", "size"])
    # A prior on strengths holds no coefficient back, a prior on coefficients does.
    with pytest.raises(NoFiniteOptimumError, match="size"):
        jr.fit(decided, "plackett_luce_map", covariates=["size"], dtype="float64")
    assert jr.fit(decided, "plackett_luce_map", covariates=["size"], covariate_var=1.0).converged
    sets = winners(60)
    chosen = jr.Rankings._made(*sets.arrays(), sets.models, (), {"size": (sets.places == 1) * 1.0})
    with pytest.raises(NoFiniteOptimumError, match="the coefficient of 'size' can grow for ever"):
        jr.fit(chosen, "davidson_luce", covariates="size")


def test_replicates_are_fits_of_the_lists_drawn():
    data = lists(30)
    reader = SlateReader(Design(("price", "age")))
    ranker: Any = BradleyTerryLuce(covariates=("price", "age"))
    counts = np.random.default_rng(2).integers(0, 3, (3, 30)).astype(float)
    with jax.enable_x64(True):
        rows = reader.rows(data)
        fit_of = lambda w: ranker(reader.reduce(rows, Weights(trials=w)))
        batch = jax.jit(jax.vmap(fit_of))(jnp.asarray(counts))
        for k, count in enumerate(counts):
            alone = jr.fit(
                jr.Rankings.from_places(data.places, data.models, count, columns=data.columns), ranker, dtype="float64"
            )
            assert np.allclose(batch.scores[k], alone.scores, atol=1e-9)
            assert np.allclose(batch.params["beta"][k], alone.params["beta"], atol=1e-9)


def test_replicates_by_cluster_have_coefficients():
    data = lists(40)
    voter = (np.arange(40) // 2).astype(float)
    data = jr.Rankings.from_places(data.places, data.models, columns={**data.columns, "voter": voter})
    options: dict[str, Any] = {"covariates": ["price", "age"], "dtype": "float64"}
    scheme = jr.clusters("voter")
    rep = jr.bootstrap(data, "plackett_luce", scheme=scheme, n_replicates=9, seed=4, progress=False, **options)
    assert rep.replicate_coefficients is not None and rep.replicate_coefficients.shape == (9, 2)
    drawn = data.select(orders=np.repeat(np.arange(40), drawn_by_cluster(data, scheme, 4, 1)))
    alone = jr.fit(drawn, "plackett_luce", **options)
    assert np.allclose(rep.replicate_scores[1], alone.scores, atol=1e-8)
    assert np.allclose(rep.replicate_coefficients[1], alone.params["beta"], atol=1e-8)
    assert jr.coefficients(rep).names == ("price", "age")
    plain = jr.bootstrap(data, "plackett_luce", n_replicates=9, seed=4, progress=False, **options)
    assert np.isfinite(plain.replicate_scores).all() and len(np.unique(plain.replicate_scores[:, 0])) == 9


def test_errors_of_several_winners_by_cluster_are_those_of_their_gradients():
    """Of sets that are each a cluster: the sandwich of Luce's composite likelihood, written out."""
    sets = winners(40)
    voter = np.arange(40.0)
    data = jr.Rankings._made(*sets.arrays(), sets.models, (), {**sets.columns, "voter": voter})
    fit = jr.fit(data, "bradley_terry_luce", covariates=["price", "age"], dtype="float64")
    n = len(data.models)

    def gradients(params: np.ndarray) -> np.ndarray:
        rows = [data.select(orders=[row]) for row in range(40)]
        base = [minus_log_probability(params, row, "luce") for row in rows]
        out = np.zeros((40, n + 2))
        for k in range(n + 2):
            step = np.zeros(n + 2)
            step[k] = 1e-6
            out[:, k] = [minus_log_probability(params + step, row, "luce") for row in rows]
        return (out - np.array(base)[:, None]) / 1e-6

    at = np.r_[fit.scores, fit.params["beta"]]
    scores = gradients(at)
    step = 1e-4 * np.eye(n + 2)
    bread = np.stack([(gradients(at + s) - gradients(at - s)).sum(axis=0) for s in step]) / 2e-4
    moved = scores @ np.linalg.pinv(bread)
    errors = jr.coefficients(fit).standard_errors
    assert np.allclose(errors, np.sqrt((moved**2).sum(axis=0))[n:], rtol=1e-3)
    clustered = fit.covariance("sandwich", cluster="voter")
    assert np.allclose(clustered, fit.covariance() * 40 / 39, rtol=1e-8)


def test_what_does_not_go_together_is_said():
    data, table = lists(), [[1, 0, 1], [0, 1, 1]]
    for method in ("bradley_terry_luce", "davidson_luce"):
        with pytest.raises(
            OptionError, match=r"columns of battles .* or ordered lists .*leave covariates and side out"
        ):
            jr.fit(table, method, covariates="price")
    with pytest.raises(OptionError, match="use plackett_luce_rankings"):
        jr.fit(data, "bradley_terry", covariates="price")
    with pytest.raises(OptionError, match=r"side=True.*position"):
        jr.fit(data, "plackett_luce", side=True)
    with pytest.raises(UnsupportedDataError, match="with covariates"):
        jr.coefficients(jr.fit(data, "plackett_luce"))
    with pytest.raises(UnsupportedDataError, match=r"plackett_luce has no errors by clusters.*bootstrap"):
        jr.fit(as_lists(battles()), "plackett_luce").clustered("voter")


def test_what_is_wrong_with_a_covariate_is_said():
    data = lists()
    gap = np.where(np.arange(14)[:, None] == 3, np.nan, data.columns["price"])
    whole = np.arange(14.0)
    of_models = np.broadcast_to(np.array([0.2, 0.9, -0.1, 3.0]), (14, 4)) + whole[:, None]
    columns = {**data.columns, "gap": gap, "voter": whole, "size": of_models, "flat": np.full((14, 4), 0.1) * 3}
    data = jr.Rankings.from_places(data.places, data.models, columns=columns)
    for covariates, error, says in (
        (["depth"], OptionError, r"'depth' is not there.*'price', 'age'"),
        (["voter"], OptionError, "one value for a whole order"),
        (["gap"], DataError, r"in 1 of 14 orders, the first is 'a' in row 3"),
        (["size"], OptionError, "'size' is the same function of the models in every order"),
        (["price", "flat"], OptionError, "'flat' is the same function"),
    ):
        with pytest.raises(error, match=says):
            jr.fit(data, "plackett_luce", covariates=covariates)
    assert jr.fit(data, "plackett_luce_map", covariates=["size"], covariate_var=1.0).converged


@pytest.mark.parametrize("n_models", [3, 4, 5, 7])
@pytest.mark.parametrize("seed", range(4))
def test_a_function_of_the_models_is_named_whatever_the_sums_round(n_models: int, seed: int) -> None:
    """Shares of thirds and sevenths left eigenvalues that were taken for more than 0."""
    rng = np.random.default_rng(seed)
    places = np.argsort(rng.random((300, n_models)), axis=1) + 1
    names = [f"m{i}" for i in range(n_models)]
    own = np.broadcast_to(rng.normal(size=n_models), (300, n_models))
    data = jr.Rankings.from_places(places, names, columns={"size": own})
    for method in ("plackett_luce", "bradley_terry_luce", "davidson_luce"):
        with pytest.raises(OptionError, match="'size' is the same function"):
            jr.fit(data, method, covariates="size")
    a = rng.integers(0, n_models, 600)
    b = (a + rng.integers(1, n_models, 600)) % n_models
    size = {"size": own[0][a] - own[0][b], "weight": rng.random(600) / 3}
    votes = jr.Comparisons(a, b, rng.random(600) < 0.5, models=names, columns=size)
    with pytest.raises(OptionError, match="'size' is the same function"):
        jr.fit(votes, "bradley_terry", covariates="size")


def test_only_orders_that_say_nothing_are_unread() -> None:
    """The last stage of every list was counted as an event that is not read."""
    lists = jr.Rankings.from_places([[1, 1, 2], [1, 2, 2], [1, 1, 1], [2, 1, 1]], ["a", "b", "c"], count=[1, 2, 3, 1])
    for method in ("davidson_luce_map", "bradley_terry_luce_map"):
        fit = jr.fit(lists, method)
        assert fit.unread == (
            "3 of 7 orders, in which all models stand alike, were not read; plackett_luce_rankings reads ties"
        )
        assert not jr.fit(lists.select(orders=[0, 1, 3]), method).unread


def test_the_method_of_lists_and_the_command_line_name_take_covariates():
    default = jr.fit(lists(), covariates=["price"], dtype="float64")
    assert default.method == "plackett_luce_rankings_wide" and default.params["beta"].shape == (1,)
    ranker = jr.fit(battles(), "plackett_luce", covariates="x").ranker
    assert jr.fit(as_lists(battles()), ranker, dtype="float64").params["beta"].shape == (1,)
