"""PageRank, spectral, rank centrality, alpha-rank, Nash, SerialRank, HodgeRank."""

from __future__ import annotations

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

import jaxrank as jr
from jaxrank.data.statistics import Pairs
from jaxrank.errors import NoFiniteOptimumError, OptionError
from jaxrank.numerics.solve.equilibrium import max_entropy_equilibrium
from jaxrank.numerics.solve.hodge import harmonic_part, potentials
from jaxrank.numerics.solve.stationary import (
    log_stationary_distribution,
    perron_vector,
    stationary_distribution,
)
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import run
from tests.oracles import golden, tensor_params

stationary = jax.jit(stationary_distribution)
log_stationary = jax.jit(lambda rates: log_stationary_distribution(jnp.log(rates)))
equilibrium = jax.jit(max_entropy_equilibrium, static_argnames="max_steps")
MATRICES = ("baseball", *tensor_params("T1", "T3", "T4", "T5"), "rps_weighted", "dominated")
HODGE = [(s, w) for s in ("binary", "log_odds") for w in ("total", "decisive", "uniform")]
ALPHARANKS = {"alpha1_m50": (1, 50), "alpha0.1_m50": (0.1, 50), "alpha10_m50": (10, 50), "alpha1_m2": (1, 2)}
PLAIN = {
    "pagerank_0.85": "pagerank",
    "pagerank_selfloop_variant_scorio": "pagerank_self_loops",
    "spectral_appendix": "spectral",
    "rank_centrality_half": "rank_centrality_tie_half",
    "rank_centrality_ignore": "rank_centrality_tie_ignore",
    **{f"hodge_{s}_{w}": f"hodge_rank_{s}_{w}" for s, w in HODGE},
}


def matrix(name):
    block = golden("07_graph")["matrices"][name]
    return block, jr.Comparisons.from_matrix(np.array(block["wins"], float), np.array(block["ties"], float))


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("method", PLAIN)
def test_golden_scores(name, method):
    block, data = matrix(name)
    if "scores" not in block[method]:
        # The source refuses reducible chains; the stationary distribution exists all the same, on the best class.
        fit = jr.fit(data, PLAIN[method], dtype="float64")
        assert fit.scores.tolist() == [1, 0, 0, 0]
        return
    fit = jr.fit(data, PLAIN[method], dtype="float64")
    assert np.abs(fit.scores - block[method]["scores"]).max() < 1e-14
    if "residual_l2" in block[method]:
        left = float(fit.params["curl"] + fit.params["harmonic"])
        assert np.sqrt(max(left, 0)) == pytest.approx(block[method]["residual_l2"], abs=1e-7)
        assert np.sqrt(float(fit.params["inconsistency"])) == pytest.approx(
            block[method]["relative_residual_l2"], abs=1e-7
        )


@pytest.mark.parametrize("name", MATRICES)
def test_golden_alpharank(name):
    block, data = matrix(name)
    for key, (alpha, m) in ALPHARANKS.items():
        fit = jr.fit(data, "alpharank", alpha=alpha, population=m, dtype="float64")
        assert np.abs(fit.params["mass"] - block["alpharank"][key]).max() < 1e-13
        assert np.all(np.isfinite(fit.scores))


@pytest.mark.parametrize("name", MATRICES)
def test_golden_nash(name):
    block, data = matrix(name)
    want = block["nash_max_entropy"]
    fit = jr.fit(data, "nash", dtype="float64")
    exact = "exact" in want
    mixture = [float(Fraction(x)) for x in want["exact"]] if exact else want["approx"]
    assert np.abs(fit.params["equilibrium"] - mixture).max() < (1e-14 if exact else 1e-8)
    if "scores_vs_equilibrium" in want:
        assert np.abs(fit.scores - want["scores_vs_equilibrium"]).max() < 1e-14
        other = jr.fit(data, "nash_advantage_vs_equilibrium", dtype="float64")
        assert np.abs(other.scores - (2 * fit.scores - 1)).max() < 1e-14


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("kind", ["prob_diff", "sign"])
def test_golden_serial_rank(name, kind):
    block, data = matrix(name)
    want = block[f"serial_rank_{kind}"]
    fit = jr.fit(data, f"serial_rank_{kind}", dtype="float64")
    assert float(fit.params["eigenvalue"]) == pytest.approx(want["eigenvalues"][1], abs=1e-12)
    if name == "rps_weighted":
        # No direction agrees better with a symmetric cycle: the golden sign is arbitrary, ours is a tie that says so.
        assert fit.status == Status.NOT_UNIQUE
        assert fit.ranks.tolist() == [1, 1, 1]
    else:
        assert fit.status == Status.CONVERGED
        assert np.abs(fit.scores - want["fiedler"]).max() < 1e-14


@pytest.mark.parametrize(
    "case", ["rps", "rps_with_cloned_rock", "biased_rps", "all_ties", "condorcet_winner", "two_tied_top"]
)
def test_golden_equilibria(case):
    block = golden("07_graph")["special_cases"][case]
    with jax.enable_x64(True):
        found = equilibrium(np.array(block["A"], float))
    assert bool(found.reached)
    assert np.abs(np.asarray(found.mixture) - [float(Fraction(x)) for x in block["max_entropy_nash"]]).max() < 1e-14


def cyclic_games():
    rng = np.random.default_rng(0)
    for trial in range(12):
        n = 6
        if trial % 3 == 2:  # clones: many equilibria
            k = rng.integers(-3, 4, (3, 3))
            of = rng.integers(0, 3, n)
            B = k[np.ix_(of, of)]
            yield (B - B.T).astype(float)
        else:
            B = rng.normal(size=(n, n)) if trial % 3 else rng.integers(-2, 3, (n, n))
            yield (np.triu(B, 1) - np.triu(B, 1).T).astype(float)


def test_equilibria_of_random_games_are_optimal():
    """Against a linear program (the gap) and the optimality conditions: log x lies in the span of the active rows."""
    with jax.enable_x64(True):
        for A in cyclic_games():
            found = equilibrium(A)
            x = np.asarray(found.mixture)
            assert bool(found.reached)
            assert x.sum() == pytest.approx(1, abs=1e-13)
            assert (A @ x).max() <= 1e-13 * max(1, np.abs(A).max())
            lp = linprog(np.zeros(6), A_ub=A, b_ub=np.zeros(6), A_eq=np.ones((1, 6)), b_eq=[1])
            entropy = lambda p: -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0))
            assert entropy(x) >= entropy(lp.x) - 1e-9
            if found.steps > 0:
                # Best improvement of the linearised entropy over all equilibria: none, at the maximum. Off the support
                # the slope is infinite; there no equilibrium may have mass.
                support = x > 1e-12
                slope = np.where(support, np.log(np.where(support, x, 1)), 0)
                best = linprog(slope, A_ub=A, b_ub=np.full(6, 1e-12), A_eq=np.ones((1, 6)), b_eq=[1])
                assert best.fun >= slope @ x - 1e-6
                outside = linprog(-(~support).astype(float), A_ub=A, b_ub=np.zeros(6), A_eq=np.ones((1, 6)), b_eq=[1])
                assert -outside.fun < 1e-7


def test_equilibrium_on_the_border_of_the_optimal_set():
    """Models 0 and 1 draw; 2 loses to 0 but beats 1 by twice: mixtures need at least 2/3 of model 0."""
    A = np.array([[0, 0, 1.0], [0, 0, -2.0], [-1.0, 2.0, 0]])
    with jax.enable_x64(True):
        found = equilibrium(A)
    assert np.asarray(found.mixture) == pytest.approx([2 / 3, 1 / 3, 0], abs=1e-12)


def test_stationary_distribution_of_all_sizes():
    """One elimination for 5, 64, 65 and 150 states; the balance equations hold."""
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        for n in (5, 64, 65, 150):
            rates = rng.random((n, n)) ** 8
            np.fill_diagonal(rates, 0)
            mass, n_closed = stationary(rates)
            pi = np.asarray(mass)
            assert int(n_closed) == 1
            assert pi @ rates == pytest.approx(pi * rates.sum(1), rel=1e-11)
            if n <= 65:
                logs = np.asarray(log_stationary(rates))
                assert logs == pytest.approx(np.log(pi), abs=1e-11)


def test_reducible_chains():
    with jax.enable_x64(True):
        two_classes = np.array([[0, 1.0, 1.0, 0], [0, 0, 0, 0], [0, 0, 0, 1.0], [0, 0, 2.0, 0]])
        mass, n_closed = stationary(two_classes)
        assert int(n_closed) == 2
        # Half of what starts at 0 ends in each class; the classes keep what starts in them.
        assert np.asarray(mass) == pytest.approx([0, 3 / 8, 5 / 8 * 2 / 3, 5 / 8 / 3], abs=1e-12)
        for n in (3, 70):
            mass, n_closed = stationary(np.zeros((n, n)))
            assert int(n_closed) == n
            assert np.asarray(mass) == pytest.approx(np.full(n, 1 / n))


def test_perron_vector_against_numpy():
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        A = rng.random((7, 7))
        x, reached, steps = jax.jit(perron_vector)(A, np.full(7, 1 / 7), np.asarray(True))
        values, vectors = np.linalg.eig(A)
        want = np.abs(vectors[:, np.argmax(values.real)].real)
        assert bool(reached)
        assert int(steps) <= 8
        assert np.asarray(x) == pytest.approx(want / want.sum(), abs=1e-14)


def nearly_separable(L, reps):
    columns = [np.repeat((np.arange(L) <= m)[:, None], reps, 1) for m in range(L - 1)]
    for m in range(L - 1):
        odd = (np.arange(L) < m).astype(int)
        odd[m + 1] = 1
        columns.append(odd[:, None])
    return np.concatenate(columns, axis=1).astype(int)


def test_case_B03_no_step_limit_to_miss():
    """Direct eliminations: nothing to stop early. The one loop, of Nash, reports its gap."""
    R = (np.random.default_rng(7).random((6, 10, 5)) < np.linspace(0.8, 0.2, 6)[:, None, None]).astype(int)
    for name in ("pagerank", "rank_centrality_tie_ignore", "spectral", "alpharank"):
        fit = jr.fit(R, name)
        assert fit.status == Status.CONVERGED
        assert int(fit.fit.steps) == 0
    assert float(jr.fit(R, "nash").params["gap"]) <= 1e-6
    with jax.enable_x64(True):
        cut = equilibrium(np.array([[0, -2.0, 1], [2, 0, -3], [-1, 3, 0]]), max_steps=1)
    assert not bool(cut.reached)


def test_case_I01_spectral_two_models():
    R = np.array([[1, 1], [0, 0]])
    assert jr.fit(R, "spectral_keener", dtype="float64").scores == pytest.approx([0.633975, 0.366025], abs=1e-6)
    assert jr.fit(R, "spectral", dtype="float64").scores.tolist() == [1, 0]


def test_case_I02_slow_chains_are_solved_directly():
    R = nearly_separable(10, 500)
    data = jr.Responses(R)
    with jax.enable_x64(True):
        pairs = Pairs.of(data)
    wins = np.asarray(pairs.wins)
    chance = wins / np.where(wins + wins.T > 0, wins + wins.T, 1)
    pi = jr.fit(data, "rank_centrality_tie_ignore", dtype="float64").scores
    assert pi @ chance.T == pytest.approx(pi * chance.T.sum(1), rel=1e-10)
    assert jr.fit(data, "rank_centrality_tie_ignore", dtype="float64").ranks.tolist() == list(range(1, 11))
    assert jr.fit(data, "pagerank_self_loops", dtype="float64").ranks.tolist() == list(range(1, 11))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case_I03_alpharank_beyond_underflow(dtype):
    R = (np.arange(10)[None, :] < np.array([9, 5, 1])[:, None]).astype(int)
    fit = jr.fit(R, "alpharank", alpha=10, population=50, dtype=dtype)
    assert fit.ranks.tolist() == [1, 2, 3]
    tolerance = 1e-4 if dtype == "float64" else 1e-3
    assert fit.scores / np.log(10) == pytest.approx([0.0, -43.4294, -86.8589], abs=tolerance)


def test_alpharank_chain_agrees_with_the_closed_form():
    """A hole in the data takes the closed form away; a hole of no consequence leaves the masses."""
    R = (np.arange(10)[None, :] < np.array([9, 5, 1])[:, None]).astype(int)
    with jax.enable_x64(True):
        pairs = Pairs.of(jr.Responses(R))
        whole = run(jr.methods.alpharank.AlphaRank(alpha=0.5), pairs).scores
        keep = np.array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]])
        holed = Pairs(pairs.wins * keep, pairs.ties * keep)
        chain = run(jr.methods.alpharank.AlphaRank(alpha=0.5), holed).scores
    assert np.asarray(chain) == pytest.approx(np.asarray(whole), abs=1e-12)  # a reversible chain on a path


def test_case_I06_the_paper_formula_has_the_name():
    R = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]])
    for name, want in (
        ("pagerank", [0.381873, 0.358386, 0.25974]),
        ("pagerank_self_loops", [0.600072, 0.246141, 0.153787]),
        ("spectral", [0.678832, 0.211679, 0.109489]),
        ("spectral_keener", [0.430315, 0.313937, 0.255748]),
    ):
        assert jr.fit(R, name, dtype="float64").scores == pytest.approx(want, abs=1e-6)


def test_case_I08_two_models():
    R = (np.arange(10)[None, :] < np.array([9, 1])[:, None]).astype(int)
    assert jr.fit(R, "pagerank").scores.tolist() == [0.5, 0.5]
    assert "two models both always score 1/2" in " ".join(jr.methods.pagerank.PageRank.__doc__.split())
    assert int(jr.fit(R, "pagerank").params["self_loops"]) == 0
    variant = jr.fit(R, "pagerank_self_loops")
    assert variant.ranks.tolist() == [1, 2]
    assert int(variant.params["self_loops"]) == 1


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_case_I07_complete_binary_data_have_the_order_of_the_accuracies(seed):
    R = np.random.default_rng(seed).integers(0, 2, (7, 5, 3))
    accuracy = R.mean((1, 2))
    ranks = jr.fit(R, "avg", dtype="float64").ranks
    for name in (
        "hodge_rank_binary_total",
        "hodge_rank_binary_uniform",
        "serial_rank",
        "nash",
        "rank_centrality_tie_half",
        "spectral",
        "spectral_keener",
        "pagerank_self_loops",
        "alpharank",
    ):
        options = {"alpha": 0.1} if name == "alpharank" else {}
        fit = jr.fit(R, name, dtype="float64", **options)
        assert np.array_equal(fit.ranks, ranks), name
    assert jr.fit(R, "hodge_rank", dtype="float64").scores == pytest.approx(accuracy - accuracy.mean(), abs=1e-14)
    assert jr.fit(R, "nash", dtype="float64").scores == pytest.approx(0.5 + (accuracy - accuracy.max()) / 2, abs=1e-14)


def test_serial_rank_of_ties_is_a_tie():
    fit = jr.fit(np.array([[1, 0], [0, 1]]), "serial_rank")
    assert fit.ranks.tolist() == [1, 1]
    assert fit.status == Status.NOT_UNIQUE
    for n, key in ((4, "serial_perfect_order_4"), (8, "serial_perfect_order_8")):
        wins = np.triu(np.ones((n, n)), 1)
        got = jr.fit(jr.Comparisons.from_matrix(wins), "serial_rank_sign", dtype="float64").scores
        assert got == pytest.approx(golden("07_graph")["special_cases"][key]["fiedler"], abs=1e-13)


def random_flow(n, edges, seed=0):
    rng = np.random.default_rng(seed)
    weight = np.zeros((n, n))
    flow = np.zeros((n, n))
    for i, j in edges:
        weight[i, j] = weight[j, i] = rng.uniform(0.5, 3)
        flow[i, j] = rng.normal()
        flow[j, i] = -flow[i, j]
    return flow, weight


def test_hodge_parts_against_a_dense_projection():
    """Two triangles and a square around a hole: the three parts by least squares on explicit matrices."""
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 0), (1, 5), (2, 5)]
    triangles = [(0, 1, 2), (1, 2, 5)]
    flow, weight = random_flow(6, edges)
    root = np.sqrt([weight[e] for e in edges])
    y = np.array([flow[e] for e in edges])
    gradient = np.zeros((len(edges), 6))
    for k, (i, j) in enumerate(edges):
        gradient[k, i], gradient[k, j] = 1, -1
    s = np.linalg.lstsq(root[:, None] * gradient, root * y, rcond=None)[0]
    curl = np.zeros((len(edges), len(triangles)))
    for t, (i, j, k) in enumerate(triangles):
        for a, b in ((i, j), (j, k), (k, i)):
            curl[edges.index((min(a, b), max(a, b))), t] = 1 if a < b else -1
    left = y - gradient @ s
    around = curl / root[:, None] ** 2  # the adjoint in the weighted inner product
    explained = around @ np.linalg.lstsq(root[:, None] * around, root * left, rcond=None)[0]
    with jax.enable_x64(True):
        got = jax.jit(potentials)(flow, weight, np.ones((6, 6), bool))
        residual = np.where(weight > 0, flow - (np.asarray(got)[:, None] - np.asarray(got)[None, :]), 0)
        harmonic = np.asarray(jax.jit(harmonic_part)(residual, weight))
    assert np.asarray(got) == pytest.approx(s - s.mean(), abs=1e-12)
    assert np.array([harmonic[e] for e in edges]) == pytest.approx(left - explained, abs=1e-10)


def test_hodge_of_disconnected_data():
    wins = np.zeros((4, 4))
    wins[0, 1], wins[2, 3], wins[3, 2] = 3, 2, 1
    data = jr.Comparisons.from_matrix(wins)
    with pytest.raises(NoFiniteOptimumError):
        jr.fit(data, "hodge_rank")
    fit = jr.fit(data, "hodge_rank", on_failure="return", dtype="float64")
    assert fit.status == Status.DISCONNECTED
    assert fit.scores == pytest.approx([0.5, -0.5, 1 / 6, -1 / 6], abs=1e-13)


def test_rank_centrality_smoothing_ranks_everyone():
    _, data = matrix("dominated")
    fit = jr.fit(data, "rank_centrality", smoothing=1.0, dtype="float64")
    assert len(set(fit.ranks)) == 4
    assert fit.ranks[0] == 1
    assert jr.fit(data, "rank_centrality", teleport=0.01, dtype="float64").scores.min() > 0


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ("pagerank", {"damping": 1.0}),
        ("rank_centrality", {"ties": "draw"}),
        ("alpharank", {"population": 1}),
        ("nash", {"score": "lp"}),
        ("hodge_rank", {"epsilon": 0}),
    ],
)
def test_options_are_checked(entry, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        jr.fit(np.array([[1, 0], [0, 1]]), entry, **options)
