"""Pass@k, Pass^k, G-Pass@k and mG-Pass@k: exact rationals, extremes, thresholds, errors and batches."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction
from math import ceil, comb, factorial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError, UndefinedScoreError
from jaxrank.methods.pass_family import GPassAtKTau, MGPassAtK, PassAtK, PassHatK
from jaxrank.numerics import hypergeometric
from jaxrank.numerics.status import Status
from tests.oracles import golden, tensor_params

METRICS = {"pass_at_k": PassAtK, "pass_hat_k": PassHatK, "mg": MGPassAtK}


@pytest.fixture(params=["few", "many"])
def path(request, monkeypatch):
    """Both ways of computing: products (few draws) and logarithms with saddle points (many draws)."""
    monkeypatch.setattr(hypergeometric, "FEW_DRAWS", 10**6 if request.param == "few" else 0)


def chances(make, cases, **names):
    """The score of single cells (c, n, k, ...), compiled once and mapped over the cases."""
    with jax.enable_x64(True):
        one = lambda row: make(**{name: row[i] for i, name in enumerate(names["options"], 2)}).chance(row[:1], row[1:2])
        return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(cases, float)))[:, 0]


def relative(got, want):
    want = np.asarray(want, float)
    return np.max(np.abs(got - want) / np.where(want == 0, 1, np.abs(want)))


@pytest.mark.parametrize("metric", METRICS)
def test_exact_rationals(metric, path):
    grid = golden("09_bayes_pass")["grid"]
    got = chances(METRICS[metric], [(e["c"], e["n"], e["k"]) for e in grid], options=("k",))
    assert relative(got, [float(Fraction(e[metric])) for e in grid]) < 2e-13


def test_exact_rationals_of_thresholds(path):
    rows = [
        (e["c"], e["n"], e["k"], float(Fraction(t)), v)
        for e in golden("09_bayes_pass")["grid"]
        for t, v in e["g_tau"].items()
    ]
    got = chances(GPassAtKTau, [row[:4] for row in rows], options=("k", "tau"))
    assert relative(got, [float(Fraction(row[4])) for row in rows]) < 2e-13


@pytest.mark.slow
def test_rounding_of_tau_times_k_does_not_raise_the_threshold():
    cases = golden("09_bayes_pass")["tau_float_boundary"]["cases"]
    got = chances(GPassAtKTau, [(e["c"], e["n"], e["k"], e["tau"]) for e in cases], options=("k", "tau"))
    assert relative(got, [e["value_exact"] for e in cases]) < 1e-12
    R = np.zeros((2, 1, 50), int)
    R[0, 0, :25] = 1
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-13)):
        score = jr.fit(R, "g_pass_at_k_tau", k=25, tau=0.28, dtype=dtype).scores[0]
        assert score == pytest.approx(1289553610487 / 1289904147324, abs=tolerance)


def test_extreme_sizes():
    cases = golden("09_bayes_pass")["extreme"]
    rows = [(e["c"], e["n"], e["k"]) for e in cases]
    for metric, name in ((PassAtK, "pass_at_k"), (PassHatK, "pass_hat_k"), (MGPassAtK, "mg_pass_at_k")):
        known = [i for i, e in enumerate(cases) if e[name] is not None]
        got = chances(metric, [rows[i] for i in known], options=("k",))
        assert relative(got, [float(cases[i][name]) for i in known]) < 1e-12, name
    known = [e for e in cases if e["g_pass_tau_half"] is not None]
    got = chances(GPassAtKTau, [(e["c"], e["n"], e["k"], 0.5) for e in known], options=("k", "tau"))
    assert relative(got, [float(e["g_pass_tau_half"]) for e in known]) < 1e-12


@pytest.mark.parametrize(
    ("c", "n", "k"), [(3, 10**6, 50_000), (40, 10**6, 50_000), (999_990, 10**6, 50_000), (1, 10**5, 50_000)]
)
def test_a_million_trials(c, n, k):
    """Against whole-number arithmetic: C(n - c, k)/C(n, k) as a product over the smaller of c and n - c."""

    def none(c):
        value = Fraction(1)
        for i in range(c):
            value *= Fraction(n - k - i, n - i)
        return value

    got_any, got_all = (chances(m, [(c, n, k)], options=("k",))[0] for m in (PassAtK, PassHatK))
    if c <= 1000:
        assert got_any == pytest.approx(float(1 - none(c)), rel=1e-12)
        assert got_all == 0
    else:
        assert got_any == 1
        assert got_all == pytest.approx(float(none(n - c)), rel=1e-12)


def test_thresholds_of_a_large_draw_against_sums_of_whole_numbers():
    n, c, k = 400, 130, 90
    weights = [comb(c, x) * comb(n - c, k - x) for x in range(k + 1)]
    total = comb(n, k)
    cases = [(c, n, k, tau) for tau in (0.05, 0.2, 0.3, 0.34, 0.4, 0.6, 0.9)]
    want = [float(Fraction(sum(weights[max(1, ceil(Fraction(str(t)) * k)) :]), total)) for *_, t in cases]
    assert relative(chances(GPassAtKTau, cases, options=("k", "tau")), want) < 1e-12
    excess = Fraction(2 * sum((x - 45) * w for x, w in enumerate(weights) if x > 45), total * k)
    assert chances(MGPassAtK, [(c, n, k)], options=("k",))[0] == pytest.approx(float(excess), rel=1e-12)


@pytest.mark.parametrize("tensor", tensor_params("T1", "T2", "T3", "T4", slow=("T2", "T3", "T4")))
def test_scores_and_orders_of_the_oracle_tensors(tensor):
    stored = golden("11b_tensor_oracles")["tensors"][tensor]
    R = np.asarray(stored["R"])
    for name, method in (
        ("pass_at_k", "pass_at_k_2"),
        ("pass_hat_k", "pass_hat_k_2"),
        ("mg_pass_at_k", "mg_pass_at_k_2"),
        ("g_pass_at_k_tau_0.7", "g_pass_at_k_tau"),
    ):
        fit = jr.fit(R, method, dtype="float64")
        np.testing.assert_allclose(fit.scores, stored["methods"][name]["scores"], rtol=0, atol=1e-14)
        order = [sorted(np.flatnonzero(fit.ranks == r).tolist()) for r in np.unique(fit.ranks)]
        assert order == [sorted(group) for group in stored["methods"][name]["ranking"]]
        assert jr.fit(R, method).scores == pytest.approx(fit.scores, rel=1e-5)


@pytest.mark.parametrize("method", ["pass_at_k", "pass_hat_k", "g_pass_at_k_tau", "mg_pass_at_k"])
def test_case_F01_k_above_the_number_of_trials(method):
    R = [[[0, 0]], [[1, 0]]]
    with pytest.raises(UndefinedScoreError, match=r"k=5.*N=2.*'question 0'.*k <= 2"):
        jr.fit(R, method, k=5)
    assert issubclass(UndefinedScoreError, jr.JaxrankError)


def test_case_F02_questions_are_not_trials():
    R = np.zeros((2, 164, 1), int)
    R[0, :50], R[1, :49] = 1, 1
    assert jr.fit(R, "pass_at_k", k=1).scores == pytest.approx([0.304878, 0.29878], abs=1e-6)
    with pytest.raises(UndefinedScoreError, match="k=10"):
        jr.fit(R, "pass_at_k", k=10)


def test_case_F03_one_success_in_two_hundred():
    R = np.zeros((2, 1, 200), int)
    R[0, 0, 17] = 1
    assert jr.fit(R, "pass_at_k", k=1).scores == pytest.approx([0.005, 0.0], rel=1e-6)


def test_case_F06_ragged_trials():
    R = [[[1, 0, 0], [1, 0]], [[0, 0, 1], [0, 0]]]
    masked = np.array([[[1, 0, 0], [1, 0, -1]], [[0, 0, 1], [0, 0, -1]]])
    for data in (R, masked):
        assert jr.fit(data, "pass_at_k", k=2).scores == pytest.approx([0.833333, 0.333333], abs=1e-6)
    with pytest.raises(UndefinedScoreError, match=r"k=3.*N=2: 'question 1'"):
        jr.fit(R, "pass_at_k", k=3)


def test_case_F07_mg_pass_of_a_perfect_model():
    R = np.ones((2, 1, 5), int)
    R[1] = 0
    got = [jr.fit(R, "mg_pass_at_k", k=k).scores[0] for k in (2, 3, 4, 5)]
    with pytest.warns(jr.JaxrankWarning, match="k=1"):
        tied = jr.fit(R, "mg_pass_at_k", k=1)
    assert [tied.scores[0], *got] == pytest.approx([0.0, 1.0, 2 / 3, 1.0, 0.8], abs=1e-6)
    assert tied.ranks.tolist() == [1, 1]


@pytest.mark.parametrize(("options", "words"), [({"k": 0}, "k=0"), ({"k": 1.5}, "k=1.5"), ({"tau": 1.2}, "tau=1.2")])
def test_options_out_of_range(options, words):
    with pytest.raises(OptionError, match=words):
        jr.fit(np.eye(3, dtype=int)[..., None].repeat(3, 2), "g_pass_at_k_tau", **options)


def test_a_batch_counts_replicates_with_too_few_trials():
    categories = np.array([[[[1.0, 1.0]], [[0.0, 2.0]]], [[[1.0, 0.0]], [[0.0, 2.0]]]])
    stat = Counts(categories, np.ones(1), np.arange(2.0))
    fits = jax.jit(lambda s: jax.vmap(PassAtK(k=2), in_axes=(Counts(0, None, None),))(s))(stat)
    assert fits.status.tolist() == [Status.CONVERGED, Status.UNDEFINED]
    assert np.isnan(fits.scores[1, 0])
    assert fits.scores[1, 1] == 1


def test_a_sweep_over_k_compiles_once():
    traces = []

    @eqx.filter_jit
    def scores(ranker, stat):
        traces.append(1)
        return ranker(stat).scores

    stat = Counts.of(jr.Responses(np.random.default_rng(0).integers(0, 2, (3, 4, 24))))
    swept = [scores(PassAtK(k=k), stat) for k in (1, 2, 20)]
    assert len(traces) == 1
    mapped = jax.jit(jax.vmap(lambda k: PassAtK(k=k)(stat).scores))(np.array([1.0, 2.0, 20.0]))
    np.testing.assert_allclose(mapped, np.stack(swept), rtol=1e-5)


@pytest.mark.slow
def test_multiplicity_of_questions():
    R = np.random.default_rng(3).integers(0, 2, (4, 5, 6))
    times = np.array([2, 0, 1, 3, 1])
    stat = Counts.of(jr.Responses(R))
    weighted = Counts(stat.categories, jnp.asarray(times, stat.questions.dtype), stat.levels)
    for ranker in (PassAtK(k=3), PassHatK(k=3), GPassAtKTau(k=3), MGPassAtK(k=3)):
        np.testing.assert_allclose(
            ranker(weighted).scores, ranker(Counts.of(jr.Responses(R.repeat(times, axis=1)))).scores, rtol=1e-6
        )


def test_stirling_error_against_exact_factorials():
    getcontext().prec = 40
    pi = Decimal("3.141592653589793238462643383279502884197")

    def exact(twice):  # at x = twice / 2, from factorials
        x, half = Decimal(twice) / 2, twice // 2
        gamma = (
            Decimal(factorial(half - 1))
            if twice % 2 == 0
            else Decimal(factorial(2 * half)) / (4**half * factorial(half)) * pi.sqrt()
        )
        return float(gamma.ln() - ((x - Decimal("0.5")) * x.ln() - x + (2 * pi).ln() / 2))

    twice = [*range(2, 40), 201, 2000]
    with jax.enable_x64(True):
        got = jax.jit(hypergeometric.stirling_error)(np.array(twice) / 2)
    np.testing.assert_allclose(got, [exact(t) for t in twice], rtol=0, atol=4e-15)


@pytest.mark.parametrize("n", [pytest.param(60, marks=pytest.mark.slow), 200])
def test_grid_of_rationals_to_two_hundred_trials(n):
    for k in (2, 17, n // 2, n - 1):
        cells = list(range(0, n + 1, n // 15))
        needed, half = max(1, -(-7 * k // 10)), -(-k // 2)
        want = []
        for c in cells:
            weights = [comb(c, x) * comb(n - c, k - x) for x in range(k + 1)]
            excess = sum((x - half) * w for x, w in enumerate(weights) if x > half)
            tops = (comb(n, k) - weights[0], weights[k], sum(weights[needed:]), Fraction(2 * excess, k))
            want.append([float(Fraction(top, comb(n, k))) for top in tops])
        with jax.enable_x64(True):
            c, trials = np.array(cells, float), np.full(len(cells), float(n))
            rankers = (PassAtK(k=k), PassHatK(k=k), GPassAtKTau(k=k, tau=0.7), MGPassAtK(k=k))
            chance = eqx.filter_jit(lambda ranker, c, n: ranker.chance(c, n))
            got = np.stack([np.asarray(chance(r, c, trials)) for r in rankers], axis=1)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
