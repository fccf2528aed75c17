"""Elo, Glicko, TrueSkill: golden values, worked examples, and what they promise about order, ties and extremes."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import truncnorm

import jaxrank as jr
from jaxrank.data.statistics import Sequence
from jaxrank.errors import OptionError
from jaxrank.methods.elo import Elo
from jaxrank.methods.glicko import Glicko
from jaxrank.methods.trueskill import TrueSkill
from jaxrank.models.stream import ABSENT, TIES, matched
from jaxrank.numerics.solve.gaussian import draw_moments, hazard_excess, win_moments
from jaxrank.studies.fit import run
from tests.oracles import golden, tensor_params

TAU_PAPER = 0.00333333333
CASES = {
    **{f"elo_{t}": ("elo", {"K": 32, "per_event": "sum", "ties": t}) for t in TIES},
    **{f"elo_K0.05_{t}": (f"elo_tie_{t}", {}) for t in TIES},
    **{f"glicko_{t}": (f"glicko_tie_{t}", {}) for t in TIES},
    "trueskill": ("trueskill", {"tau": 25 / 300}),
    "trueskill_tau_paper": ("trueskill", {}),
}


@pytest.mark.parametrize("tensor", tensor_params())
@pytest.mark.parametrize("method", CASES)
def test_golden_tensors(method, tensor):
    entry, options = CASES[method]
    block = golden("11b_tensor_oracles")["tensors"][tensor]
    want = block["methods"][method]
    fit = jr.fit(np.array(block["R"]), entry, dtype="float64", **options)
    assert np.abs(fit.scores - want["scores"]).max() < 1e-11
    for name, key in (("rd", "rd"), ("sigma", "sigma")):
        if key in want:
            assert np.abs(fit.params[name] - want[key]).max() < 1e-11
    for place, group in enumerate(want["ranking"]):
        above = sum(len(g) for g in want["ranking"][:place])
        assert set(fit.ranks[group]) == {above + 1}


def battles(games, models=3):
    i, j, score = zip(*games, strict=True)
    return jr.Comparisons([str(x) for x in i], [str(x) for x in j], list(score), models=[str(m) for m in range(models)])


@pytest.mark.parametrize("K", [16, 32])
def test_golden_stream_of_battles(K):
    case = golden("08_sequential")["cases"][f"elo_stream_K{K}"]
    fit = jr.fit(battles(case["games_i_j_score"]), "elo", K=K, ties="draw", dtype="float64")
    assert np.abs(fit.scores - case["final"]).max() < 1e-10


@pytest.mark.parametrize("stream", ["decisive_only_no_margin", "decisive_and_draws_dp0.1"])
def test_golden_trueskill_stream(stream):
    case = golden("08_sequential")["cases"][f"trueskill_stream_{stream}"]
    options = {"ties": "draw", "draw_margin": case["settings"]["draw_margin"], "tau": 0.0}
    fit = jr.fit(battles(case["games_i_j_score"]), "trueskill", dtype="float64", **options)
    assert np.abs(fit.scores - case["tau_zero"]["mu"]).max() < 1e-12
    assert np.abs(fit.params["sigma"] - case["tau_zero"]["sigma"]).max() < 1e-12


def play(system, state, outcome):
    """One event from a given state, in float64; arrays are (models, 1)."""
    with jax.enable_x64(True):
        options = tuple(np.asarray(x, float)[None, None] for x in system.options())
        columns = tuple(np.asarray(x, float)[:, None] for x in state)
        out = jax.jit(lambda *event: system.play(*event))(columns, np.asarray(outcome, float)[:, None], options)
        return [np.asarray(x)[:, 0] for x in out]


def test_glickman_worked_example():
    """1500 (RD 200) beats 1400 (30), loses to 1550 (100) and 1700 (300): 1464.1, 151.4. The others' games with each
    other are left out by playing the three pairings from one state and adding up what they say about the first."""
    case = golden("08_sequential")["cases"]["glicko1_worked_example"]
    variance, pull = 1 / 200**2, 0.0
    for rating, rd, won in case["opponents"]:
        offset, after = play(Glicko(), ([0.0, rating - 1500], [200.0**2, rd**2]), [won, 1 - won])
        variance += 1 / after[0] - 1 / 200**2
        pull += offset[0] / after[0]
    assert 1500 + pull / variance == pytest.approx(case["new_r"], abs=1e-9)
    assert variance**-0.5 == pytest.approx(case["new_rd"], abs=1e-9)
    assert round(1500 + pull / variance) == 1464
    assert round(variance**-0.5, 1) == 151.4


def test_trueskill_first_match_and_upsets():
    cases = golden("08_sequential")["cases"]
    for upset in cases["trueskill_upsets"]:
        state = ([upset["mu1"] - 25.0, upset["mu2"] - 25.0], [upset["sigma"] ** 2] * 2)
        mean, variance = play(TrueSkill(), state, [1, 0])
        want = upset["new"]
        assert mean + 25 == pytest.approx([want[0], want[2]], abs=1e-9)
        assert np.sqrt(variance) == pytest.approx([want[1], want[3]], abs=1e-9)
    first = cases["trueskill_first_match_default"]
    margin = cases["trueskill_defaults"]["draw_margin"]
    sigma = np.hypot(25 / 3, 25 / 300)
    for outcome, want in (([1, 0], first["win"]), ([1, 1], first["draw"])):
        mean, variance = play(TrueSkill(ties="draw", draw_margin=margin), ([0.0, 0.0], [sigma**2] * 2), outcome)
        assert mean + 25 == pytest.approx([want["mu1"], want["mu2"]], abs=1e-9)
        assert np.sqrt(variance) == pytest.approx([want["sigma1"], want["sigma2"]], abs=1e-9)


@pytest.mark.parametrize("entry", ["elo", "glicko", "trueskill"])
def test_case_C12_zero_is_a_result_not_a_gap(entry):
    spread = {}
    for value in (0, 1):
        fit = jr.fit(np.full((2, 1, 1), value), entry, ties="draw", dtype="float64")
        assert np.all(fit.scores == (25 if entry == "trueskill" else 1500))
        spread[value] = fit.params.get("rd", fit.params.get("sigma"))
    if entry != "elo":
        assert np.array_equal(spread[0], spread[1])
        assert np.all(spread[0] < (25 / 3 if entry == "trueskill" else 350))


@pytest.mark.parametrize("entry", ["elo", "glicko", "trueskill"])
def test_case_C13_equal_results_equal_ratings(entry):
    R = np.array([1, 1, 1, 0, 0])[:, None, None]
    fit = jr.fit(R, entry, dtype="float64")
    assert fit.ranks.tolist() == [1, 1, 1, 4, 4]
    assert len(set(fit.scores[:3])) == len(set(fit.scores[3:])) == 1
    order = [3, 0, 4, 1, 2]
    assert np.array_equal(jr.fit(R[order], entry, dtype="float64").scores, fit.scores[order])


def test_case_C13_elo_by_hand():
    R = np.array([1, 1, 1, 0, 0])[:, None, None]
    assert jr.fit(R, "elo", K=32, per_event="sum").scores.tolist() == [1532, 1532, 1532, 1452, 1452]
    assert jr.fit(R, "elo", K=32, per_event="mean").scores.tolist() == [1516, 1516, 1516, 1484, 1484]


def test_case_D01_one_snapshot_an_event_and_the_spread_over_orders():
    R = np.array([[[1], [0], [0], [1]], [[0], [1], [0], [0]], [[0], [0], [1], [0]]])
    options = {"K": 32, "per_event": "sum", "dtype": "float64"}
    assert jr.fit(R, "elo", **options).scores == pytest.approx([1528.2994, 1483.7077, 1487.9929], abs=1e-4)
    assert jr.fit(R[:, ::-1], "elo", **options).scores == pytest.approx([1528.2994, 1487.9929, 1483.7077], abs=1e-4)
    shuffled = jr.fit(R, "elo", order="shuffled", n_orders=200, **options)
    assert np.all(shuffled.params["order_sd"] > 1)
    assert shuffled.scores[1] == pytest.approx(shuffled.scores[2], abs=1.5)
    again = jr.fit(R, "elo", order="shuffled", n_orders=200, **options)
    other = jr.fit(R, "elo", order="shuffled", n_orders=200, seed=1, **options)
    assert np.array_equal(again.scores, shuffled.scores)
    assert not np.array_equal(other.scores, shuffled.scores)


def test_case_D02_many_models_stay_on_the_scale():
    rng = np.random.default_rng(0)
    R = (rng.random((200, 20, 1)) < np.linspace(0.9, 0.1, 200)[:, None, None]).astype(int)
    scores = jr.fit(R, "elo").scores
    assert np.ptp(scores) < 1500
    assert jr.kendall_tau(scores, R.mean((1, 2))) >= 0.9


def test_case_D07_two_orders_agree_at_the_default():
    rng = np.random.default_rng(0)
    ability, difficulty = np.linspace(-2.2, 1.6, 20), rng.normal(0, 1.2, 30)
    slope = rng.lognormal(0, 0.3, 30)
    p = 1 / (1 + np.exp(-slope * (ability[:, None] - difficulty)))
    R = (rng.random((20, 30, 80)) < p[..., None]).astype(int)
    one, two = (
        jr.fit(R[:, g.permutation(30)][:, :, g.permutation(80)], "elo").scores
        for g in (np.random.default_rng(s) for s in (1, 2))
    )
    assert jr.kendall_tau(one, two) >= 0.9
    assert jr.kendall_tau(one, R.mean((1, 2))) >= 0.9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case_D05_an_upset_of_a_hundred_deviations(dtype):
    with jax.enable_x64(dtype == "float64"):
        state = (np.array([[1250.0], [2040.0]], dtype), np.array([[1.3**2], [1.1**2]], dtype))
        win, draw = TrueSkill(), TrueSkill(ties="draw", draw_margin=1.0)
        options = tuple(np.asarray(x, dtype)[None, None] for x in win.options())
        play = jax.jit(lambda *event: win.play(*event))
        mean, variance = play(state, np.array([[1.0], [0.0]], dtype), options)
        assert float(mean[0, 0]) == pytest.approx(1285.489, abs=0.01)
        assert float(mean[1, 0]) < 2040
        assert 0 < float(variance[0, 0]) <= 1.3**2
        assert 0 < float(variance[1, 0]) <= 1.1**2
        options = tuple(np.asarray(x, dtype)[None, None] for x in draw.options())
        play = jax.jit(lambda *event: draw.play(*event))
        mean, variance = play(state, np.array([[1.0], [1.0]], dtype), options)
        assert 1250 < float(mean[0, 0]) < float(mean[1, 0]) < 2040
        assert np.all((np.asarray(variance) > 0) & (np.asarray(variance) <= np.array([[1.3**2], [1.1**2]])))


def test_case_D06_one_compilation_a_shape():
    rng = np.random.default_rng(5)
    chex.clear_trace_counter()
    fit = jax.jit(chex.assert_max_traces(lambda s: Glicko()(s), n=1))
    for share in (0.1, 0.5, 0.9):
        R = (rng.random((6, 5, 4)) < share).astype(int)
        assert np.all(np.isfinite(np.asarray(fit(Sequence.of(jr.Responses(R))).scores)))


@pytest.mark.parametrize("system", [Elo(ties="draw"), Glicko(c=30.0), TrueSkill(ties="correct_draw_only")])
def test_batch_last_scan_is_a_loop_of_single_fits(system):
    outcomes = np.random.default_rng(2).integers(-1, 2, (3, 4, 5, 6)).astype(np.int8)
    batch = jax.jit(jax.vmap(system))(Sequence(outcomes))
    for b in range(3):
        one = run(system, Sequence(outcomes[b]))
        assert np.asarray(batch.scores[b]) == pytest.approx(np.asarray(one.scores), rel=1e-6)
    swept = jax.jit(jax.vmap(lambda k: Elo(K=k)(Sequence(outcomes[0])).scores))(np.array([1.0, 8.0]))
    assert np.asarray(swept[1]) == pytest.approx(np.asarray(run(Elo(K=8.0), Sequence(outcomes[0])).scores), rel=1e-6)


def test_many_models_use_the_same_sums():
    """Above 64 models the sum over opponents is a loop: padding with models that never play changes nothing."""
    R = np.random.default_rng(3).integers(0, 2, (5, 6, 2))
    padded = np.concatenate([R, np.full((65, 6, 2), -1)])
    small, large = Sequence.of(jr.Responses(R)), Sequence(padded.transpose(2, 1, 0).astype(np.int8))
    for system in (Elo(ties="draw"), Glicko(ties="draw"), TrueSkill()):
        a, b = np.asarray(run(system, small).scores), np.asarray(run(system, large).scores)
        assert b[:5] == pytest.approx(a, rel=1e-6)
        assert len(set(b[5:])) == 1


def test_tail_functions_against_scipy():
    with jax.enable_x64(True):
        t = np.linspace(-6, 6, 49)
        v, w = jax.jit(win_moments)(t)
        want = np.exp(-(np.asarray(t) ** 2) / 2) / np.sqrt(2 * np.pi) / ndtr(np.asarray(t))
        assert np.asarray(v) == pytest.approx(want, rel=1e-12)
        assert np.asarray(w) == pytest.approx(want * (want + np.asarray(t)), abs=1e-12)
        far = np.array([50.0, 1e3, 1e6])
        assert np.asarray(jax.jit(hazard_excess)(far)) * np.asarray(far) == pytest.approx([1, 1, 1], abs=1e-3)
        for margin in (0.1, 1.0, 4.0):
            v, w = jax.jit(draw_moments)(t, np.full_like(t, margin))
            low, high = -margin - np.asarray(t), margin - np.asarray(t)
            mean, variance = truncnorm.stats(low, high)
            assert np.asarray(v) == pytest.approx(mean, abs=1e-9)
            assert np.asarray(w) == pytest.approx(1 - variance, abs=1e-9)


def test_absent_models_never_match():
    for rule in TIES:
        for other in (ABSENT, 0, 1):
            assert not bool(matched(rule, np.asarray(ABSENT), np.asarray(other)))


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ("elo", {"K": 0}),
        ("elo", {"ties": "half"}),
        ("elo", {"order": "random"}),
        ("glicko", {"rd": -1}),
        ("trueskill", {"beta": float("nan")}),
    ],
)
def test_options_are_checked(entry, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        jr.fit(np.array([[1, 0], [0, 1]]), entry, **options)


STARTS = {"elo": ("initial",), "glicko": ("initial", "rd"), "trueskill": ("mu", "sigma")}


def test_start_ratings_enter_the_updates():
    """N31: a player of 1500 beats one of 2000 with K = 32."""
    game = jr.Comparisons(["w"], ["s"], [1.0], models=["s", "w"])
    for initial in ([2000, 1500], {"s": 2000}, {"w": 1500, "s": 2000}):
        fit = jr.fit(game, "elo", K=32, initial=initial, dtype="float64")
        np.testing.assert_allclose(fit.scores, [1969.704, 1530.296], atol=1e-3)
    fit = jr.fit(game, "glicko", initial=[2000, 1500], dtype="float64")
    np.testing.assert_allclose(fit.scores, [_glicko(2000, 1500, 0), _glicko(1500, 2000, 1)], rtol=1e-9)


def _glicko(own: float, other: float, won: int, rd: float = 350.0) -> float:
    """Glickman (1999), written out for one game."""
    q = np.log(10) / 400
    g = 1 / np.sqrt(1 + 3 * q**2 * rd**2 / np.pi**2)
    e = 1 / (1 + 10 ** (-g * (own - other) / 400))
    return own + q / (1 / rd**2 + q**2 * g**2 * e * (1 - e)) * g * (won - e)


@pytest.mark.parametrize("method", STARTS)
def test_going_on_from_earlier_ratings_is_the_run_over_all(method):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 60)
    b = (a + rng.integers(1, 5, 60)) % 5
    won, names = rng.integers(0, 2, 60), list("abcde")
    part = lambda s: jr.Comparisons([names[i] for i in a[s]], [names[i] for i in b[s]], won[s] * 1.0, models=names)
    whole, first = (jr.fit(part(s), method, dtype="float64") for s in (slice(0, 60), slice(0, 25)))
    own = (first.scores, *(first.params[n] for n in STARTS[method][1:]))
    by_name = {o: dict(zip(names, v.tolist(), strict=True)) for o, v in zip(STARTS[method], own, strict=True)}
    for start in (dict(zip(STARTS[method], own, strict=True)), by_name):
        second = jr.fit(part(slice(25, 60)), method, dtype="float64", **start)
        np.testing.assert_allclose(second.scores, whole.scores, rtol=1e-10)
        np.testing.assert_allclose(second.params["offset"], second.scores - own[0], atol=1e-9)


@pytest.mark.parametrize("method", STARTS)
def test_wrong_starts_are_refused_in_a_sentence(method):
    R = np.random.default_rng(0).integers(0, 2, (3, 4, 2))
    for option in STARTS[method]:
        with pytest.raises(OptionError, match=f"^{option} has 2 values for 3 models"):
            jr.fit(R, method, **{option: [1.0, 2.0]})
        with pytest.raises(OptionError, match=f"^{option} names 'nobody'"):
            jr.fit(R, method, **{option: {"nobody": 3.0}})
        with pytest.raises(OptionError, match=r"model 0"):
            jr.fit(R, method, **{option: {"model 0": "much"}})


def test_pools_refuse_options_of_each_model():
    R = np.random.default_rng(0).integers(0, 2, (4, 4, 2))
    for ranker in (Elo(initial=[1.0, 2, 3, 4]), jr.methods.BradleyTerry(prior=jr.priors.Gaussian([0.0, 1, 2, 3], 1.0))):
        with pytest.raises(OptionError, match="for each model"):
            jr.model_pools(R, [ranker], size=2, n_replicates=4)


@pytest.mark.parametrize("method", STARTS)
def test_replicates_have_the_start_ratings_too(method):
    R = np.random.default_rng(0).integers(0, 2, (3, 4, 2))
    start = [3.0, 1.0, 2.0]
    rep = jr.bootstrap(
        R, method, n_replicates=8, seed=0, scheme="trials", **{STARTS[method][0]: start}, dtype="float64"
    )
    plain = jr.bootstrap(R, method, n_replicates=8, seed=0, scheme="trials", dtype="float64")
    base = {"elo": 1500.0, "glicko": 1500.0, "trueskill": 25.0}[method]
    apart = rep.scores - (plain.scores - base + np.array(start))
    assert 0 < np.abs(apart).max() < 1.5  # the start, and a little that it changes in the updates


def test_ratings_that_run_apart_do_not_overflow():
    """Numerics 21: K = 32 summed over a thousand opponents gave NaN for everyone, and "converged", in float32."""
    R = np.zeros((200, 30, 2), int)
    R[np.arange(200)[:, None, None] < 100 + np.arange(-15, 15)[None, :, None] + np.zeros((1, 1, 2), int)] = 1
    for per_event, K in (("sum", 200), ("mean", 1e5)):
        wide = jr.fit(R, "elo", K=K, per_event=per_event)
        exact = jr.fit(R, "elo", K=K, per_event=per_event, dtype="float64")
        assert np.isfinite(wide.scores).all()
        assert np.ptp(exact.scores) > 15_000
        np.testing.assert_allclose(wide.scores, exact.scores, atol=1e-3 * np.ptp(exact.scores))


def test_skills_move_only_where_they_are_played():
    """Numerics section 4: every battle widened the beliefs about all models, the hundred that it was not about too."""
    battles = jr.Comparisons(["a", "b", "a"] * 4, ["b", "a", "b"] * 4, [1, 1, 0.5] * 4)
    beside = jr.Comparisons(["a", "b", "a"] * 4 + ["c"], ["b", "a", "b"] * 4 + ["d"], [1, 1, 0.5] * 4 + [1])
    two, four = (jr.fit(d, "trueskill", tau=1.0, ties="draw", dtype="float64") for d in (battles, beside))
    np.testing.assert_allclose(four.params["sigma"][:2], two.params["sigma"], rtol=1e-12)
    alone = jr.fit(jr.Comparisons(["c"], ["d"], [1]), "trueskill", tau=1.0, dtype="float64")
    np.testing.assert_allclose(four.params["sigma"][2:], alone.params["sigma"], rtol=1e-12)
    np.testing.assert_allclose(four.scores, np.r_[two.scores, alone.scores], rtol=1e-12)


def test_orders_and_replicates_are_lanes_of_one_batch():
    """Shuffled orders within a mapped replicate: the same as one by one."""
    R = np.random.default_rng(1).integers(0, 2, (3, 4, 5))
    stats = [Sequence(jnp.asarray(np.moveaxis(r, 2, 0).swapaxes(1, 2))) for r in (R, 1 - R)]
    ranker = Elo(order="shuffled", n_orders=7, initial=[1.0, 2.0, 4.0])
    both = jax.tree.map(lambda *x: jnp.stack(x), *stats)
    keys = jax.random.split(jax.random.key(0), 2)
    scores = jax.jit(lambda s, k: ranker(s, key=k).scores)
    mapped = jax.jit(jax.vmap(scores))(both, keys)
    alone = jnp.stack([scores(s, k) for s, k in zip(stats, keys, strict=True)])
    np.testing.assert_allclose(mapped, alone, rtol=1e-6)
