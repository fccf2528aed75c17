"""Evaluation metrics with uncertainty: printed examples, moments against quadrature, intervals, priors, batches."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import jaxrank as jr
from jaxrank import evaluation as ev
from jaxrank.data.statistics import Counts
from jaxrank.errors import DataError, JaxrankError, OptionError, UndefinedScoreError, UnsupportedDataError
from jaxrank.numerics.beta_moments import Polynomial, all_moments, any_moments, pair_weights, weighted_moments
from jaxrank.numerics.credits import AllSuccesses, AnySuccess, AreaUnderPass, AtLeast, Excess, Thresholds
from tests.oracles import golden

R_PRINTED, W_PRINTED = [[0, 1, 2, 2, 1], [1, 1, 0, 2, 2]], (0, 0.5, 1)
moments_of = {
    "any": jax.jit(any_moments),
    "all": jax.jit(all_moments),
    "weighted": eqx.filter_jit(weighted_moments),
}
CREDITS = {
    "any": AnySuccess,
    "all": AllSuccesses,
    "threshold": lambda k: AtLeast(k, max(1, -(-7 * k // 10))),
    "excess": Excess,
    "area": AreaUnderPass,
    "spectrum": lambda k: Thresholds(np.linspace(0, 1, k + 1)[1:] / k),
}
FAMILY = {
    "pass_at_k": lambda R, k, **o: ev.pass_at_k(R, k, **o),
    "pass_hat_k": lambda R, k, **o: ev.pass_hat_k(R, k, **o),
    "g_pass_at_k_tau": lambda R, k, **o: ev.g_pass_at_k_tau(R, k, 0.7, **o),
    "mg_pass_at_k": lambda R, k, **o: ev.mg_pass_at_k(R, k, **o),
}


def test_printed_examples_to_six_digits():
    for dtype in ("float32", "float64"):
        plain = ev.bayes(R_PRINTED, w=W_PRINTED, dtype=dtype)
        informed = ev.bayes(R_PRINTED, w=W_PRINTED, R0=[[0, 2], [1, 2]], dtype=dtype)
        average = ev.avg(R_PRINTED, w=W_PRINTED, dtype=dtype)
        got = [plain.mean, plain.sd, informed.mean, informed.sd, average.point, average.sd]
        assert [round(float(v), 6) for v in got] == [0.5625, 0.091998, 0.575, 0.084275, 0.6, 0.147196]


def test_intervals_of_the_golden_examples():
    for example in golden("09_bayes_pass")["bayes_examples"]:
        w = None if example["w"] is None else [eval_fraction(v) for v in example["w"]]
        got = ev.bayes(example["R"], w=w, R0=example["R0"], dtype="float64")
        lo, hi = example["normal_95_interval"]
        bounds = (0, 1) if w is None else (min(w), max(w))
        assert [got.lower, got.upper] == pytest.approx([max(lo, bounds[0]), min(hi, bounds[1])], abs=1e-14)


def eval_fraction(text):
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


def curve_moments(curve, a, b):
    """Mean and variance of curve(p), p ~ Beta(a, b), by adaptive quadrature."""
    density = stats.beta(a, b).pdf
    opts = {"epsabs": 1e-14, "epsrel": 1e-13, "limit": 400, "points": [(a - 1) / max(a + b - 2, 1)]}
    mean = integrate.quad(lambda p: curve(p) * density(p), 0, 1, **opts)[0]
    return mean, integrate.quad(lambda p: (curve(p) - mean) ** 2 * density(p), 0, 1, **opts)[0]


@pytest.mark.parametrize("k", [1, 2, 5, 16])
@pytest.mark.parametrize("kind", ["any", "all", "threshold", "excess", "area", "spectrum"])
def test_moments_against_quadrature(kind, k):
    credits = CREDITS[kind](k)
    cases = [(1.0, 1.0), (4.0, 2.0), (1.0, 31.0), (31.0, 1.0), (41.0, 41.0), (3.5, 2.25)]
    a, b = map(np.array, zip(*cases, strict=True))
    with jax.enable_x64(True):
        if kind in ("any", "all"):
            got = moments_of[kind](a, b, k)
        else:
            got = moments_of["weighted"](a, b, Polynomial.of(credits.vector()))
    want = [curve_moments(lambda p: float(credits.curve(np.float64(p))), *case) for case in cases]
    np.testing.assert_allclose(np.transpose(got), want, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("kind", ["threshold", "excess"])
def test_moments_of_ten_thousand_tries(kind):
    """Against fine quadrature on a grid around the posterior of a well measured rate."""
    k, needed = 10_000, 5_000
    a, b = np.array([401.0, 2001.0]), np.array([401.0, 1801.0])
    credits = AtLeast(k, needed) if kind == "threshold" else Excess(k)
    with jax.enable_x64(True):
        mean, variance = moments_of["weighted"](a, b, Polynomial.of(credits.vector()))
    p = np.linspace(0.3, 0.7, 400_001)
    value = credits.curve(p)
    for i in range(2):
        density = stats.beta(a[i], b[i]).pdf(p) * (p[1] - p[0])
        expected = (value * density).sum()
        assert mean[i] == pytest.approx(expected, rel=1e-8)
        assert variance[i] == pytest.approx(((value - expected) ** 2 * density).sum(), rel=1e-7)


def test_moments_at_a_hundred_thousand_trials():
    with jax.enable_x64(True):
        a, b = np.array([3.0, 50_001.0]), np.array([99_999.0, 50_001.0])
        mean, variance = moments_of["any"](a, b, 50_000)
        low, _ = moments_of["all"](b, a, 50_000)
    # p is nearly Gamma(3)/10^5, so the mean of q^k is nearly (1 + k/10^5)^-3.
    assert float(mean[0]) == pytest.approx(1 - 1.5**-3, abs=1e-5)
    np.testing.assert_allclose(mean, 1 - np.asarray(low), rtol=1e-12)
    assert np.all(np.isfinite(variance))
    assert float(variance[0]) > 0


def test_pair_weights_by_enumeration():
    k, u = 4, np.array([0.0, 0.1, 0.5, 0.7, 2.0])
    got = pair_weights(tuple(u))
    for s in range(2 * k + 1):
        chance = stats.hypergeom(2 * k, s, k).pmf(np.arange(k + 1))
        want = sum(chance[x] * u[x] * u[s - x] for x in range(k + 1) if 0 <= s - x <= k)
        assert got[s] == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("metric", FAMILY)
def test_points_are_those_of_the_methods(metric):
    R = np.random.default_rng(0).integers(0, 2, (5, 7, 9))
    options = {"tau": 0.7} if metric.startswith("g_") else {}
    for k in (2, 3, 9):
        ranked = jr.fit(R, metric, k=k, dtype="float64", **options)
        np.testing.assert_allclose(FAMILY[metric](R, k, dtype="float64").point, ranked.scores, rtol=1e-13)


def test_tau_bench_published_figures():
    R = jr.datasets.load("tau_bench_airline").outcomes
    got = [float(ev.pass_hat_k(R[0], k).point) for k in (1, 2, 3, 4)]
    assert [round(v, 3) for v in got] == [0.420, 0.273, 0.220, 0.200]


def test_inspect_published_accuracies_and_errors():
    R = jr.datasets.load("inspect_popularity").outcomes
    assert np.round(ev.avg(R).point, 2).tolist() == pytest.approx([0.60, 0.70, 0.66])
    assert np.round(np.asarray(ev.clustered_error(R), float), 4).tolist() == pytest.approx([0.1633, 0.1528, 0.1492])


@pytest.mark.parametrize("metric", FAMILY)
def test_one_model_many_models_jit_and_vmap_agree(metric):
    R = np.random.default_rng(1).integers(0, 2, (3, 6, 5))
    whole = FAMILY[metric](R, 3, method="normal")
    one = FAMILY[metric](R[1], 3, method="normal")
    traced = jax.jit(lambda r: FAMILY[metric](r, 3, method="normal"))(R)
    batch = jax.jit(jax.vmap(lambda r: FAMILY[metric](r, 3, method="normal")))(R[None].repeat(2, 0))
    for name in ("point", "mean", "sd", "lower", "upper"):
        want = np.asarray(getattr(whole, name))
        assert getattr(one, name) == pytest.approx(want[1], rel=1e-6)
        assert isinstance(want, np.ndarray)
        np.testing.assert_allclose(getattr(traced, name), want, rtol=1e-6)
        np.testing.assert_allclose(getattr(batch, name), np.stack([want, want]), rtol=1e-6)


@pytest.mark.parametrize("metric", ["pass_at_k", "pass_hat_k", "g_pass_at_k_tau", "mg_pass_at_k"])
def test_intervals_of_the_pass_family_hold_their_points(metric):
    """front-door A6: .947 lay beside [.400, .646], the posterior of the fifth power under a uniform prior."""
    rng = np.random.default_rng(0)
    R = (rng.random((4, 30, 5)) < rng.beta(1.2, 0.3, (4, 30, 1))).astype(int)
    R[0] = 1  # nothing differs, and still no width of zero
    for k in (1, 2, 3, 5):
        found = FAMILY[metric](R, k, dtype="float64")
        top = 2 / k * (k - -(-k // 2)) if metric == "mg_pass_at_k" else 1
        assert np.all((found.lower <= found.point) & (found.point <= found.upper) & (found.upper <= top + 1e-12))
        assert (found.upper - found.lower).min() > 0.01 * top or top == 0
        fit = jr.fit(R, metric, k=k, dtype="float64") if k > 1 else None
        if fit is not None:
            np.testing.assert_allclose(fit.interval(), (found.lower, found.upper), atol=1e-9)
    with pytest.raises(OptionError, match='use method="normal"'):
        jax.jit(lambda r: FAMILY[metric](r, 2, method="questions"))(R)


def test_bayes_and_avg_inside_jit():
    R = np.random.default_rng(2).integers(0, 3, (3, 6, 5))
    for metric in (ev.bayes, ev.avg):
        traced = jax.jit(lambda r, metric=metric: metric(r, w=(0, 0.5, 1)))(jnp.asarray(R))
        np.testing.assert_allclose(traced.sd, metric(R, w=(0, 0.5, 1)).sd, rtol=1e-6)


def test_ragged_and_missing_trials():
    ragged = [[[1, 0, 0], [1, 0]], [[0, 0, 1], [0, 0]]]
    masked = np.array([[[1, 0, 0], [1, 0, -1]], [[0, 0, 1], [0, 0, -1]]], float)
    masked[masked == -1] = np.nan
    for R in (ragged, masked):  # case F06
        assert ev.pass_at_k(R, 2).point == pytest.approx([0.833333, 0.333333], abs=1e-6)
    assert ev.pass_at_k(ragged[0], 2).point == pytest.approx(0.833333, abs=1e-6)
    unobserved = np.array([[[1, 0], [-1, -1]]])
    assert ev.pass_at_k(unobserved, 2).mean[0] == pytest.approx(
        float(ev.pass_at_k(unobserved[0, :1], 2).mean), rel=1e-6
    )


def test_case_F01_and_extrapolation():
    R = [[[0, 0]], [[1, 0]]]
    for metric in FAMILY.values():
        with pytest.raises(UndefinedScoreError, match=r"k=5.*N=2.*question 0"):
            metric(R, 5)
        beyond = metric(R, 5, extrapolate=True)
        assert np.all(np.isnan(beyond.point))
        assert np.all(
            (beyond.mean > 0) & (beyond.mean < 1) & (beyond.lower <= beyond.mean) & (beyond.mean <= beyond.upper)
        )


def test_case_F02_F03_F07_points():
    R = np.zeros((2, 164, 1), int)
    R[0, :50], R[1, :49] = 1, 1
    assert ev.pass_at_k(R, 1).point == pytest.approx([0.304878, 0.29878], abs=1e-6)
    single = np.zeros((1, 200), int)
    single[0, 3] = 1
    assert float(ev.pass_at_k(single, 1).point) == pytest.approx(0.005, rel=1e-6)
    perfect = np.ones((1, 5), int)
    got = [float(ev.mg_pass_at_k(perfect, k).point) for k in range(1, 6)]
    assert got == pytest.approx([0, 1, 2 / 3, 1, 0.8], abs=1e-6)


def test_case_G05_intervals_at_the_boundary():
    R = np.zeros((2, 1, 30), int)
    R[0], R[1, 0, :15] = 1, 1
    for method in ("normal", "exact"):
        got = ev.bayes(R, method=method, dtype="float64")
        assert got.mean == pytest.approx([0.96875, 0.5])
        assert np.all(got.upper - got.lower > 0.05)
    one_question = ev.pass_at_k(R, 1, method="exact", dtype="float64")
    assert one_question.lower[0] == pytest.approx(stats.beta(31, 1).ppf(0.025), abs=1e-12)


@pytest.mark.parametrize("metric", FAMILY)
def test_normal_and_exact_intervals_agree_with_many_questions(metric):
    R = np.random.default_rng(3).binomial(1, 0.4, (2, 120, 8))
    normal, precise = (FAMILY[metric](R, 4, method=m, dtype="float64") for m in ("normal", "exact"))
    np.testing.assert_allclose(normal.lower, precise.lower, atol=0.004)
    np.testing.assert_allclose(normal.upper, precise.upper, atol=0.004)
    again = FAMILY[metric](R, 4, method="exact", dtype="float64")
    assert again.lower.tolist() == precise.lower.tolist()


def test_exact_intervals_of_bayes_and_avg():
    R = np.random.default_rng(4).integers(0, 3, (2, 200, 6))
    for metric in (ev.bayes, ev.avg):
        normal, precise = (metric(R, method=m, dtype="float64") for m in ("normal", "exact"))
        np.testing.assert_allclose(normal.lower, precise.lower, atol=0.006)
        np.testing.assert_allclose(normal.upper, precise.upper, atol=0.006)


def test_strength_of_a_prior_interpolates():
    R, R0 = np.random.default_rng(5).integers(0, 2, (2, 3, 6, 4))
    none, whole = ev.bayes(R), ev.bayes(R, R0=R0)
    np.testing.assert_allclose(ev.bayes(R, R0=R0, strength=0.0).mean, none.mean, rtol=1e-6)
    np.testing.assert_allclose(ev.bayes(R, R0=R0, strength=1.0).mean, whole.mean, rtol=1e-6)
    assert np.all(np.asarray(ev.bayes(R, R0=R0, strength=0.5).sd) < np.asarray(none.sd))
    assert np.all(np.asarray(whole.sd) < np.asarray(ev.bayes(R, R0=R0, strength=0.5).sd))
    assert np.all(np.asarray(ev.pass_at_k(R, 2, R0=R0).sd) < np.asarray(ev.pass_at_k(R, 2).sd))


def test_counts_with_multiplicity_of_questions():
    R = np.random.default_rng(6).integers(0, 2, (4, 5, 6))
    times = np.array([2, 0, 1, 3, 1])
    stat = Counts.of(jr.Responses(R))
    weighted = Counts(stat.categories, times.astype(np.float32), stat.levels)
    for metric in (ev.bayes, ev.avg, lambda r: ev.g_pass_at_k_tau(r, 4, 0.6)):
        got, want = metric(weighted), metric(R.repeat(times, axis=1))
        np.testing.assert_allclose(got.mean, want.mean, rtol=1e-5)
        np.testing.assert_allclose(got.sd, want.sd, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda R: ev.pass_at_k(R, 0), OptionError, "k=0"),
        (lambda R: ev.pass_at_k(R, 2.5), OptionError, "k=2.5"),
        (lambda R: ev.g_pass_at_k_tau(R, 2, 1.5), OptionError, "tau=1.5"),
        (lambda R: ev.bayes(R, level=1.0), OptionError, "level"),
        (lambda R: ev.bayes(R, method="best"), OptionError, "method"),
        (lambda R: ev.bayes(R, w=(1,)), OptionError, "1 weights"),
        (lambda R: ev.bayes(R, R0=np.zeros((4, 2), int), strength=2), OptionError, "strength"),
        (lambda R: ev.bayes(R[0], R0=np.zeros((3, 4, 2), int)), DataError, "one model"),
        (lambda R: ev.pass_at_k(R + 1, 2), UnsupportedDataError, "3 categories"),
        (lambda R: ev.bayes(R, dtype="float16"), OptionError, "float16"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(np.random.default_rng(7).integers(0, 2, (3, 4, 5)))


def test_whatever_fit_takes(tmp_path):
    """interface: ``evaluation.bayes("results.csv")`` failed; frames and files are read, battles refused."""
    R = np.random.default_rng(3).integers(0, 2, (2, 3, 4))
    rows = [(f"m{i}", f"q{m}", n, int(R[i, m, n])) for i, m, n in np.ndindex(R.shape)]
    frame = dict(zip(("model", "question", "trial", "score"), map(list, zip(*rows, strict=True)), strict=True))
    path = tmp_path / "results.csv"
    path.write_text("\n".join([",".join(frame), *(",".join(map(str, row)) for row in rows)]))
    want = ev.bayes(R).mean
    for given in (frame, path, str(path), [path], jr.Responses(R), R.tolist()):
        np.testing.assert_array_equal(ev.bayes(given).mean, want)
        assert ev.next_trials(given, 6).shape == (2, 3)
        np.testing.assert_allclose(ev.greedy_alignment(given, R), 1, atol=1e-6)
    assert ev.trials_needed(path, ("m0", "m1")) == ev.trials_needed(R, (0, 1))
    battles = jr.Comparisons(["ada"], ["bob"], [1])
    for call in (ev.bayes, ev.avg, ev.clustered_error, lambda R: ev.pass_at_k(R, 1), lambda R: ev.next_trials(R, 1)):
        with pytest.raises(UnsupportedDataError, match=r"battles .*jaxrank\.fit"):
            call(battles)


def test_two_axes_are_one_model_and_messages_say_so():
    R = np.random.default_rng(3).integers(0, 2, (3, 4))
    assert ev.bayes(R).mean.shape == () and ev.bayes(R[:, :, None]).mean.shape == (3,)
    for call in (lambda: ev.next_trials(R, 4), lambda: ev.trials_needed(R, (0, 1)), lambda: ev.bayes(R[0])):
        with pytest.raises(JaxrankError, match=r"\(questions, trials\) of one model.*R\[:, :, None\]"):
            call()
    ragged = [[[], [1, 0]], [[1], [0]]]  # the first cell is empty: three axes nevertheless
    np.testing.assert_array_equal(ev.bayes(ragged).mean, ev.bayes(jr.Responses(ragged)).mean)
