"""The Luce family on events: golden values, closed forms against differences, existence, ties, cases."""

from __future__ import annotations

import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Events
from jaxrank.data.weights import Weights
from jaxrank.errors import NoFiniteOptimumError
from jaxrank.methods.luce import BradleyTerryLuce, DavidsonLuce
from jaxrank.models.setwise.choices import choices, joint, set_totals
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, LuceLikelihood
from jaxrank.numerics.status import Status
from jaxrank.numerics.symmetric import joint_inclusion, log_symmetric
from tests.oracles import golden, tensor_params
from tests.problems import graded

METHODS = ("bradley_terry_luce", "bradley_terry_luce_map", "davidson_luce", "davidson_luce_map")


def log_esf(log_x):
    """Reference: the recursion in log space, log e_t for t = 0..L."""
    e = np.full(len(log_x) + 1, -np.inf)
    e[0] = 0
    for value in log_x:
        e[1:] = np.logaddexp(e[1:], value + e[:-1])
    return e


symmetric, inclusions = jax.jit(log_symmetric), jax.jit(joint_inclusion)
slope = jax.jit(jax.grad(lambda a, size, present: log_symmetric(a[None], size[None], present).log_e[0]))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("tensor", tensor_params())
@pytest.mark.parametrize("method", METHODS)
def test_golden_tensors(tensor, method):
    oracle = golden("11b_tensor_oracles")["tensors"][tensor]
    expected = oracle["methods"][method]
    fit = jr.fit(np.array(oracle["R"]), method, dtype="float64")
    assert fit.status == Status.CONVERGED
    np.testing.assert_allclose(fit.scores, expected["log"], atol=1e-12)
    for order, value in expected.get("log_delta", {}).items():
        assert np.log(fit.params["tie_strengths"][int(order) - 1]) == pytest.approx(value, abs=1e-11)
    if method == "bradley_terry_luce":
        assert fit.params["log_likelihood"] == pytest.approx(expected["loglik"], abs=1e-10)
    groups = [set(group) for group in expected["ranking"]]
    assert [set(np.flatnonzero(fit.ranks == rank).tolist()) for rank in np.unique(fit.ranks)] == groups


@pytest.mark.parametrize(
    ("n_items", "spread"), [(3, 1.0), (20, 2.0), (64, 5.0), (64, 30.0), (7, 100.0), (90, 1.0), (300, 0.1), (300, 4.0)]
)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float32", 5e-5)])
def test_symmetric_polynomials_match_the_recursion(n_items, spread, dtype, tolerance):
    log_x = np.random.default_rng(0).normal(size=n_items) * spread
    order = np.arange(1, n_items + 1, dtype=dtype)
    every = np.tile(log_x.astype(dtype), (n_items, 1))
    got = symmetric(every, order, np.ones(n_items, bool))
    expected = log_esf(log_x.astype(dtype).astype(float))[1:]
    np.testing.assert_allclose(got.log_e, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(np.sum(got.inclusion, axis=1), order, rtol=tolerance)


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_inclusion_probabilities_by_enumeration(size):
    log_x = np.random.default_rng(1).normal(size=7)
    present = np.array([1, 1, 0, 1, 1, 1, 1], bool)
    subsets = list(itertools.combinations(np.flatnonzero(present), size))
    weight = np.array([np.exp(log_x[list(s)].sum()) for s in subsets])
    member = np.array([np.isin(np.arange(7), s) for s in subsets], float)
    expected = np.einsum("s,si,sj->ij", weight / weight.sum(), member, member)
    got = symmetric(log_x[None], np.array([float(size)]), present)
    np.testing.assert_allclose(inclusions(got, np.ones(1)), expected, atol=1e-14)
    np.testing.assert_allclose(slope(log_x, float(size), present), np.diag(expected), atol=1e-13)


def test_inclusion_probabilities_of_many_items():
    log_x = np.random.default_rng(2).normal(size=150) * 2
    order = np.array([1.0, 20.0, 75.0, 149.0])
    got = symmetric(np.tile(log_x, (4, 1)), order, np.ones(150, bool))
    total, left = log_esf(log_x), log_esf(np.delete(log_x, 7))
    t = order.astype(int)
    np.testing.assert_allclose(got.inclusion[:, 7], np.exp(left[t - 1] + log_x[7] - total[t]), rtol=1e-11)
    for i in range(4):  # the other members of a subset of size t that holds an item are t - 1
        joint = inclusions(got, np.eye(4)[i])
        np.testing.assert_allclose(np.sum(joint, axis=1), order[i] * got.inclusion[i], rtol=1e-11)


def test_parts_in_blocks_of_orders(monkeypatch):
    rng = np.random.default_rng(3)
    outcomes = np.where(rng.random((30, 9)) < 0.15, -1, rng.integers(0, 2, (30, 9)))
    totals = set_totals(choices(outcomes, rng.random(30)), 8)
    params = rng.normal(size=17)
    parts = lambda: jax.jit(lambda x, t: DavidsonLuceLikelihood(8).parts(x, t))(params, totals)
    whole = parts()
    monkeypatch.setattr("jaxrank.models.setwise.likelihoods._IN_MEMORY", 5 * 9 * 3)
    for a, b in zip(parts(), whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_a_batch_of_weights_has_one_table_of_products(shared, monkeypatch):
    """Else each lane has its own, of events by models, and a compiler for GPUs may refuse the product."""
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 2, (12, 3)) * 1.0, rng.integers(0, 2, (12, 4)) * 1.0
    weights, xs = rng.random((5, 12)), rng.integers(0, 2, (5, 12, 3)) * 1.0
    if not shared:
        monkeypatch.setattr("jaxrank.models.setwise.choices.MOST_PAIRS", 12 * 3 * 4 - 1)
    batch = jax.vmap(joint, (None, None, 0))
    assert ("5,12,3]" in str(jax.make_jaxpr(batch)(x, y, weights)).replace(" ", "")) is not shared
    np.testing.assert_allclose(batch(x, y, weights), np.einsum("be,ei,ej->bij", weights, x, y), rtol=1e-12)
    each = jax.vmap(joint, (0, None, 0))(xs, y, weights)
    np.testing.assert_allclose(each, np.einsum("be,bei,ej->bij", weights, xs, y), rtol=1e-12)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("whole", [pytest.param(False, marks=pytest.mark.slow), True])
def test_parts_are_the_derivatives_of_log_prob(missing, whole):
    rng = np.random.default_rng(2)
    outcomes = rng.integers(-1 if missing else 0, 2, (40, 5))
    c = choices(outcomes, rng.random(40), whole)
    n_orders = 5 if whole else 4
    cases = [(LuceLikelihood(), c, rng.normal(size=5))]
    if whole:  # the composite likelihood has no term for a tie of everyone
        cases = []
    totals = set_totals(c, n_orders, whole)
    at = np.concatenate([rng.normal(size=5), np.where(totals.free, rng.normal(size=n_orders), 0)])
    cases.append((DavidsonLuceLikelihood(n_orders), totals, at))
    for likelihood, stat, x in cases:
        minus = lambda v, likelihood=likelihood, stat=stat: -likelihood.log_prob(v, stat)
        value, gradient, curvature = jax.jit(likelihood.parts)(x, stat)
        expected, slopes, hessian = jax.jit(lambda v, f=minus: (*jax.value_and_grad(f)(v), jax.jacfwd(jax.grad(f))(v)))(
            x
        )
        moves = np.concatenate([np.ones(5, bool), np.asarray(totals.free)])[: len(x)]
        assert value == pytest.approx(float(expected), rel=1e-12)
        np.testing.assert_allclose(gradient, slopes * moves, atol=1e-10)
        hessian = np.asarray(hessian) * moves * moves[:, None] + np.diag(1.0 - moves)
        np.testing.assert_allclose(curvature, hessian, atol=1e-9)


@pytest.mark.slow
def test_davidson_luce_probabilities_of_all_sets_sum_to_one():
    rng = np.random.default_rng(3)
    theta, eta = rng.normal(size=5), np.concatenate([[0.0], rng.normal(size=3)])
    total = 0.0
    for size in range(1, 5):
        for chosen in itertools.combinations(range(5), size):
            outcomes = np.zeros((5, 5), int)  # four events more, so that every order occurs
            outcomes[0, list(chosen)] = 1
            for row in range(1, 5):
                outcomes[row, :row] = 1
            c = choices(outcomes, np.array([1.0, 0, 0, 0, 0]))
            # every order is active, though without a weight
            totals = set_totals(c, 4)._replace(orders=jnp.asarray(np.arange(1, 5) == size, float) + 1e-300)
            log_prob = DavidsonLuceLikelihood(4).log_prob(jnp.asarray(np.concatenate([theta, eta])), totals)
            total += np.exp(float(log_prob))
    assert total == pytest.approx(1, abs=1e-12)


def test_case_J05_a_tie_order_that_never_occurs():
    R = [[1, 1, 0, 0, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1]]
    fit = jr.fit(R, "davidson_luce", dtype="float64")
    np.testing.assert_allclose(fit.params["tie_strengths"], [1, 0, 1.2766], atol=1e-3)
    np.testing.assert_allclose(np.exp(fit.scores), [2.53743, 1.2819, 1.2819, 0.23983], atol=1e-3)
    assert fit.ranks.tolist() == [1, 2, 2, 4]
    stat = Events.of(jr.Responses(R))
    errors = jax.jit(lambda s, f: DavidsonLuce().standard_errors(s, f))(stat, fit.fit)
    assert np.all(np.isfinite(errors))
    assert np.all(errors > 0)


def test_case_A01_separated():
    R = [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
    for method in ("bradley_terry_luce", "davidson_luce"):
        with pytest.raises(NoFiniteOptimumError, match="_map"):
            jr.fit(R, method)
        fit = jr.fit(R, method, on_failure="return")
        assert fit.status == Status.NO_FINITE_OPTIMUM
        assert np.all(np.isnan(fit.scores))
        assert jr.fit(R, method + "_map").ranks.tolist() == [1, 2, 2]


@pytest.mark.parametrize("method", METHODS)
def test_symmetric_models_tie_whatever_their_labels(method):
    """Swapping the first and the last model permutes the events of this table (its pairwise wins tie all three)."""
    R = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]])
    for order in itertools.permutations(range(3)):
        ranks = jr.fit(R[list(order)], method).ranks
        assert ranks[order.index(0)] == ranks[order.index(2)] != ranks[order.index(1)]


def test_case_C13_one_event():
    fit = jr.fit(np.array([1, 1, 1, 0, 0])[:, None], "bradley_terry_luce_map")
    assert fit.ranks.tolist() == [1, 1, 1, 4, 4]
    fit = jr.fit(np.array([0, 1, 1, 0, 1])[:, None], "davidson_luce_map")
    assert fit.ranks.tolist() == [4, 1, 1, 4, 1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0, 1])
def test_case_A08_all_tied(method, value):
    fit = jr.fit(np.full((3, 2, 2), value), method)
    assert fit.status == Status.CONVERGED
    assert fit.ranks.tolist() == [1, 1, 1]
    assert np.all(fit.scores == 0)


@pytest.mark.parametrize("method", METHODS[::2])
def test_disconnected(method):
    R = np.full((4, 8), -1)
    R[:2, :4] = [[1, 0, 1, 0], [0, 1, 0, 1]]
    R[2:, 4:] = [[1, 0, 1, 0], [0, 1, 0, 1]]
    fit = jr.fit(R, method, on_failure="return")
    assert fit.status == Status.DISCONNECTED
    assert np.all(np.isnan(fit.scores))
    with pytest.raises(NoFiniteOptimumError, match="'model 0', 'model 1'"):
        jr.fit(R, method)


@pytest.mark.parametrize("method", [BradleyTerryLuce, DavidsonLuce])
def test_existence_agrees_with_a_recession_search(method):
    """On complete data: no finite optimum iff some linear order's ray keeps every chosen set on top."""
    rng = np.random.default_rng(0)
    outcomes = [R.T for R in rng.integers(0, 2, (260, 4, 5)) if ((R.sum(0) > 0) & (R.sum(0) < 4)).any()][:240]
    events = Events(jnp.asarray(np.array(outcomes)), jnp.ones((240, 5)))
    status = jax.jit(jax.vmap(method()))(events).status
    rays = [np.array(ray) for ray in itertools.product((0, 1), repeat=4) if 0 < sum(ray) < 4]
    for R, found in zip(outcomes, np.asarray(status), strict=True):
        informative = [e for e in R if 0 < e.sum() < 4]
        unbounded = any(all(ray[e == 1].min() >= ray[e == 0].max() for e in informative) for ray in rays)
        assert (found != Status.CONVERGED) == unbounded


@pytest.mark.slow
def test_partial_slates_and_merged_events():
    """Missing cells leave models out of a slate; merging equal events changes nothing."""
    rng = np.random.default_rng(5)
    R = rng.integers(0, 2, (5, 12, 6))
    R[rng.random(R.shape) < 0.3] = -1
    data = jr.Responses(R)
    merged = Events.of(data)
    apart = Events.gather(jnp.asarray(R), merged)
    for method in (BradleyTerryLuce(), DavidsonLuce()):
        a, b = method(merged), method(apart)
        assert a.status == b.status == Status.CONVERGED
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-12)


@pytest.mark.slow
def test_ties_held_back_by_other_slates():
    """Not strongly connected, yet finite: with slates of different sizes the tie parameters cannot follow the
    strengths."""
    outcomes = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]]
    complete = Events(jnp.asarray(outcomes), jnp.ones(4))
    assert DavidsonLuce()(complete).status == Status.CONVERGED
    one_way = Events(jnp.asarray([[1, 0, 0], [1, 1, 0], [1, 0, -1]]), jnp.ones(3))
    fit = DavidsonLuce()(one_way)
    assert fit.status == Status.NO_FINITE_OPTIMUM
    assert np.all(np.isnan(fit.scores))


def test_more_winners_than_max_tied_is_undefined():
    R = np.random.default_rng(6).integers(0, 2, (4, 30))
    assert jr.fit(R, "davidson_luce", max_tied=2, on_failure="return").status == Status.UNDEFINED
    with pytest.raises(jr.errors.OptionError):
        jr.fit(R, "davidson_luce", max_tied=0)


@pytest.mark.parametrize("method", METHODS)
def test_twins_and_labels(method):
    rng = np.random.default_rng(7)
    R = rng.integers(0, 2, (5, 20, 2))
    R[3] = R[1]
    fit = jr.fit(R, method)
    assert fit.ranks[3] == fit.ranks[1]
    order = np.array([3, 0, 4, 1, 2])
    np.testing.assert_allclose(jr.fit(R[order], method).scores, fit.scores[order], atol=5e-5)


@pytest.mark.slow
def test_replicates_equal_single_fits():
    rng = np.random.default_rng(8)
    data = jr.Responses(rng.integers(0, 2, (5, 10, 8)))
    rows = Events.rows(data)
    weights = jnp.asarray(rng.multinomial(8, np.ones(8) / 8, size=6), float)
    for method in (BradleyTerryLuce(), DavidsonLuce(prior=2.0)):
        batch = jax.jit(jax.vmap(lambda w, method=method: method(Events.reduce(rows, Weights(trials=w)))))(weights)
        for b in range(6):
            repeated = np.repeat(data.outcomes, np.asarray(weights[b], int), axis=2)
            np.testing.assert_allclose(batch.scores[b], method(Events.of(jr.Responses(repeated))).scores, atol=1e-10)


@pytest.mark.slow
def test_standard_errors():
    """Davidson-Luce with single choices and Luce agree; the sandwich equals the information where events are single."""
    rng = np.random.default_rng(9)
    outcomes = np.zeros((60, 4), int)
    outcomes[np.arange(60), rng.integers(0, 4, 60)] = 1
    stat = Events(jnp.asarray(outcomes), jnp.ones(60))
    luce, davidson = BradleyTerryLuce(), DavidsonLuce()
    a, b = luce(stat), davidson(stat)
    np.testing.assert_allclose(a.scores, b.scores, atol=1e-10)
    # With one slate the counts of choices are multinomial: var(log share_i - mean log share) in closed form.
    share = outcomes.mean(0)
    centre = np.eye(4) - 0.25
    expected = np.sqrt(np.diag(centre @ np.diag(1 / share) @ centre) / 60)
    np.testing.assert_allclose(davidson.standard_errors(stat, b), expected, rtol=1e-8)
    np.testing.assert_allclose(luce.standard_errors(stat, a), expected, rtol=1e-8)


@pytest.mark.slow
def test_64_models():
    rng = np.random.default_rng(10)
    ability = np.linspace(-2, 2, 64)
    R = (rng.random((64, 40)) < 1 / (1 + np.exp(-ability[:, None] - rng.normal(0, 1, 40)))).astype(int)
    for dtype in ("float32", "float64"):
        fit = jr.fit(R, "davidson_luce", dtype=dtype)
        assert fit.status == Status.CONVERGED
        assert jr.kendall_tau(fit.scores, R.mean(1)) > 0.9
    # At the optimum the expected mean choices are the observed ones.
    stat = Events.of(jr.Responses(R))
    totals = set_totals(choices(stat.outcomes, stat.weights), 63)
    delta = np.asarray(fit.params["tie_strengths"])
    at = np.concatenate([fit.scores, np.log(np.where(delta > 0, delta, 1))])
    _, gradient, _ = DavidsonLuceLikelihood(63).parts(jnp.asarray(at), totals)
    assert np.max(np.abs(gradient)) < 1e-8


@pytest.mark.slow
def test_davidson_luce_is_fast():
    R = graded(0, (20, 30, 80))
    jr.fit(R, "davidson_luce")
    begin = time.perf_counter()
    jr.fit(R, "davidson_luce")
    assert time.perf_counter() - begin < 1
