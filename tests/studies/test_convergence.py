"""Convergence studies against brute force: every prefix of every replicate ranked on its own."""

from __future__ import annotations

import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxrank as jr
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.evaluation import sequential
from jaxrank.methods.pass_family import GPassAtKTau, MGPassAtK, PassAtK
from jaxrank.methods.pointwise import Average
from jaxrank.numerics.ranks import tau_with
from jaxrank.resampling import as_scheme, draws
from jaxrank.resampling.prefixes import FittedPrefixes, TablePrefixes, TotalPrefixes, cell_table
from jaxrank.results.convergence import same_ranking
from jaxrank.studies import convergence as studies
from jaxrank.studies.convergence import convergence
from tests.resampling.drawn import drawn_within_cells

N_REPLICATES = 12
SHAPE = (4, 6, 7)


def tensor(categories: int = 2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rates = np.linspace(0.2, 0.8, SHAPE[0])[:, None, None]
    return np.sum([rng.random(SHAPE) < rates for _ in range(categories - 1)], axis=0).astype(int)


def drawn(R: np.ndarray, scheme: str, seed: int, b: int) -> np.ndarray:
    i = np.asarray(as_scheme(scheme).draw(draws.replicate_key(jax.random.key(seed), b), b, R.shape, jnp.float32))
    if i.ndim == 1:
        return R[:, :, i]
    return np.take_along_axis(R, np.broadcast_to(i, R.shape), axis=2)


def brute_force(R: np.ndarray, method: object, scheme: str, seed: int, least: int) -> np.ndarray:
    """Ranks (B, N, L); zeros for prefixes shorter than ``least``, where the method is undefined."""
    out = np.zeros((N_REPLICATES, R.shape[2], R.shape[0]), int)
    for b in range(N_REPLICATES):
        data = drawn(R, scheme, seed, b)
        for n in range(least, R.shape[2] + 1):
            out[b, n - 1] = jr.fit(data[:, :, :n], method, dtype="float64", on_failure="return").ranks
    return out


def convergence_of(ranks: np.ndarray, reference: np.ndarray) -> np.ndarray:
    agrees = (ranks == reference).all(axis=2)
    found = []
    for row in agrees:
        settled = [n for n in range(1, len(row)) if row[n - 1 :].all()]
        found.append(min(settled, default=0))
    return np.array(found)


CASES = {
    "avg": (Average(), TotalPrefixes, 1),
    "pass_at_k": (PassAtK(k=3), TablePrefixes, 3),
    "g_pass": (GPassAtKTau(k=3, tau=0.5), TablePrefixes, 3),
    "mg_pass": (MGPassAtK(k=3), TablePrefixes, 3),
    "bradley_terry_map": ("bradley_terry_map", FittedPrefixes, 1),
}


# One method of each kind suffices for the schemes other than trials.
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "trials") for name in CASES),
        *((n, s) for n in ("avg", "pass_at_k") for s in ("trials_per_question", "independent", "subsample(7)")),
    ],
)
def test_convergence_is_what_single_fits_say(name: str, scheme: str) -> None:
    method, kind, least = CASES[name]
    R = tensor()
    con = convergence(
        R, {name: method}, n_replicates=N_REPLICATES, reference="self", seed=3, scheme=scheme, dtype="float64"
    )
    assert isinstance(con.works[name].prefixes, kind)
    reference = jr.fit(R, method, dtype="float64").ranks
    ranks = brute_force(R, method, scheme, 3, least)
    np.testing.assert_array_equal(con.trajectory(name, 5)[least - 1 :], ranks[5, least - 1 :])
    np.testing.assert_array_equal(con.converged_at(name), convergence_of(ranks, reference))
    np.testing.assert_allclose(con.agreement(name), (ranks == reference).all(axis=2).mean(axis=0))
    taus = np.array([[scipy.stats.kendalltau(-row, -reference).statistic for row in b] for b in ranks])
    taus[:, : least - 1] = np.nan
    defined = np.isfinite(taus).any(axis=0)
    np.testing.assert_allclose(con.tau(name)[defined], np.nanmean(taus[:, defined], axis=0), atol=2e-6)
    np.testing.assert_allclose(con.tau_sd(name)[defined], np.nanstd(taus[:, defined], axis=0), atol=2e-5)
    np.testing.assert_allclose(con.tau_undefined(name), np.isnan(taus).mean(axis=0))


def test_categories_and_weights_go_through_totals() -> None:
    R = tensor(3)
    methods = {"avg": Average(), "rubric": jr.methods.bayes.Bayes(w=[0.0, 0.3, 1.0])}
    con = convergence(R, methods, n_replicates=N_REPLICATES, reference="self", seed=1)
    for name, method in methods.items():
        assert isinstance(con.works[name].prefixes, TotalPrefixes)
        ranks = brute_force(R, method, "trials", 1, 1)
        reference = jr.fit(R, method, dtype="float64").ranks
        np.testing.assert_array_equal(con.converged_at(name), convergence_of(ranks, reference))


def test_missing_cells_are_fitted() -> None:
    R = tensor()
    R[0, 0, 1] = R[2, 3, 4] = -1
    con = convergence(R, {"avg": Average()}, n_replicates=N_REPLICATES, reference="self", seed=1, dtype="float64")
    assert isinstance(con.works["avg"].prefixes, FittedPrefixes)
    reference = jr.fit(R, Average(), dtype="float64").ranks
    data = drawn_within_cells(R, "trials", 1, 4)
    first = lambda n: np.where(np.cumsum(data >= 0, axis=2) <= n, data, -1)  # of every cell
    wanted = [jr.fit(first(n), Average(), dtype="float64").ranks for n in range(3, 8)]
    np.testing.assert_array_equal(con.trajectory("avg", 4)[2:], wanted)
    assert con.curves["avg"].reference.tolist() == reference.tolist()


def test_table_is_the_methods_own_formula() -> None:
    with jax.enable_x64(True):
        table = np.asarray(cell_table(PassAtK(k=2), 5))
    assert table[4, 2] == pytest.approx(1 - 3 / 10)
    assert table[1, 1] == pytest.approx(1)
    assert np.isnan(table[0]).all()  # one trial is fewer than k
    assert np.isnan(table[2, 4:]).all()  # more successes than trials


def test_pmf_cdf_and_means_add_up() -> None:
    R = tensor(seed=2)
    con = convergence(R, ["bayes", "pass_at_k"], n_replicates=400, seed=0)
    for m in con.methods:
        n = con.converged_at(m)
        pmf = con.pmf(m)
        assert pmf.shape == (SHAPE[2],)
        assert pmf.sum() == pytest.approx(1)
        assert pmf[0] == con.not_converged(m) == np.mean(n == 0)
        np.testing.assert_allclose(con.cdf(m)[-1], 1 - pmf[0])
        assert con.mean(m) == pytest.approx(np.where(n == 0, SHAPE[2], n).mean())
        assert con.mean(m, "drop") == pytest.approx(n[n > 0].mean())
        worst = con.worst(m, 3)
        assert np.where(n == 0, SHAPE[2], n)[worst[0]] == np.where(n == 0, SHAPE[2], n).max()
        low, high = con.tau_band(m)
        known = np.isfinite(con.tau(m))
        assert np.all(low[known] <= con.tau(m)[known] + 1e-3)
        assert np.all(con.tau(m)[known] <= high[known] + 2e-3)
    assert len(con.to_frame()) == 2 * SHAPE[2]
    assert list(con.summary_frame().method) == ["bayes", "pass_at_k"]


def test_bands_are_quantiles() -> None:
    R = tensor(seed=2)
    con = convergence(R, {"avg": Average()}, n_replicates=2000, seed=0)
    with jax.enable_x64(True):
        keys = jax.vmap(lambda b: draws.replicate_key(jax.random.key(0), b))(jnp.arange(2000))
        scores = jax.vmap(lambda k: con.works["avg"].prefixes(k, 0)[0])(keys)
    reference = con.curves["avg"].reference
    tau = np.array([scipy.stats.kendalltau(row, -reference).statistic for row in np.asarray(scores)[:, 3]])
    low, high = con.tau_band("avg", 0.9)
    assert low[3] == pytest.approx(np.nanquantile(tau, 0.05, method="inverted_cdf"), abs=2e-3)
    assert high[3] == pytest.approx(np.nanquantile(tau, 0.95, method="inverted_cdf"), abs=2e-3)


def test_grid_of_a_few_prefixes() -> None:
    R = tensor()
    con = convergence(R, {"avg": Average()}, n_replicates=100, grid=[2, 5])
    whole = convergence(R, {"avg": Average()}, n_replicates=100)
    assert con.grid.tolist() == [2, 5, 7]
    np.testing.assert_array_equal(con.tau("avg"), whole.tau("avg")[[1, 4, 6]])
    np.testing.assert_array_equal(con.agreement("avg"), whole.agreement("avg")[[1, 4, 6]])
    n, coarse = whole.converged_at("avg"), con.converged_at("avg")
    assert set(coarse) <= {0, 2, 5}
    assert np.all(coarse[(n > 0) & (n <= 2)] == 2)  # what settles early settles on any grid
    assert np.all(coarse[(n > 0) & (n <= 5)] > 0)


def test_references() -> None:
    R = tensor()
    gold = convergence(R, "pass_at_k", n_replicates=50, reference="gold")
    assert gold.curves["pass_at_k"].reference.tolist() == jr.fit(R, "bayes").ranks.tolist()
    given = convergence(R, "pass_at_k", n_replicates=50, reference=jr.fit(R, "bayes").scores)
    np.testing.assert_array_equal(given.converged_at("pass_at_k"), gold.converged_at("pass_at_k"))
    with pytest.raises(OptionError, match='"gold", "self"'):
        convergence(R, "avg", n_replicates=10, reference="silver")
    with pytest.raises(OptionError, match="4 numbers"):
        convergence(R, "avg", n_replicates=10, reference=[1.0, 2.0])


def test_same_bits_for_any_chunk_and_resumed(tmp_path: Path) -> None:
    R = tensor()
    whole = convergence(R, ["bayes", "pass_at_k"], n_replicates=600, chunk_size=10**6)
    part = convergence(R, ["bayes", "pass_at_k"], n_replicates=600, chunk_size=64, checkpoint=tmp_path)
    files = sorted(tmp_path.glob("*/*.npz"))
    files[0].unlink()
    files[-1].unlink()
    again = convergence(R, ["bayes", "pass_at_k"], n_replicates=600, chunk_size=64, checkpoint=tmp_path)
    for m in whole.methods:
        for other in (part, again):
            np.testing.assert_array_equal(other.curves[m].start, whole.curves[m].start)
            np.testing.assert_array_equal(other.curves[m].tau_sum, whole.curves[m].tau_sum)
            np.testing.assert_array_equal(other.curves[m].tau_histogram, whole.curves[m].tau_histogram)


def test_study_shares_replicates_with_the_bootstrap() -> None:
    from jaxrank.studies.replicates import bootstrap

    R = tensor()
    con = convergence(R, "avg", n_replicates=20, seed=4)
    rep = bootstrap(R, "avg", n_replicates=20, seed=4, scheme="trials")
    for b in range(20):
        np.testing.assert_array_equal(con.trajectory("avg", b)[-1], rep.replicate_ranks[b])


def test_comparison_of_rankings_with_ties() -> None:
    reference = jnp.array([1, 2, 2, 4], jnp.float32)
    scores = jnp.array([[9.0, 5, 5, 1], [9, 5, 5.1, 1], [9, 9, 5, 1], [9, 5, 5 + 1e-7, 1], [jnp.nan, 5, 5, 1]])
    got = same_ranking(scores, jnp.full(5, 1e-6), reference)
    assert got.tolist() == [True, False, False, True, False]
    taus = np.asarray(tau_with(scores, jnp.full(5, 1e-6), reference))
    wanted = [
        scipy.stats.kendalltau(row, [4, 2, 2, 1]).statistic
        for row in ([4, 2, 2, 1], [9, 5, 5.1, 1], [9, 9, 5, 1], [4, 2, 2, 1])
    ]
    np.testing.assert_allclose(taus[:4], wanted, atol=1e-6)
    assert np.isnan(taus[4])


def test_refusals() -> None:
    R = tensor()
    with pytest.raises(OptionError, match="does not draw one trial after the other"):
        convergence(R, "avg", n_replicates=10, scheme="questions")
    with pytest.raises(OptionError, match=r"use subsample\(7\)"):
        convergence(R, "avg", n_replicates=10, scheme="subsample(3)")
    with pytest.raises(UnsupportedDataError, match="counts only"):
        convergence(Responses.from_counts(R.sum(2), 7), "avg", n_replicates=10)
    with pytest.raises(OptionError, match=r"of battles; use \"trials\""):
        convergence(jr.Comparisons([0, 1], [1, 0], [1, 1]), "bradley_terry_map", n_replicates=10, scheme="independent")
    with pytest.raises(OptionError, match="grid"):
        convergence(R, "avg", n_replicates=10, grid=[0, 3])
    con = convergence(R, "avg", n_replicates=10, tau=False)
    with pytest.raises(OptionError, match="tau=False"):
        con.tau("avg")
    with pytest.raises(OptionError, match="is no method here"):
        con.pmf("bayes")
    with pytest.raises(OptionError, match=r"replicate=10.*at most 9"):
        con.trajectory("avg", 10)


def test_case_K04_prefixes_share_one_compilation(caplog: pytest.LogCaptureFixture) -> None:
    """Rankings of R[:, :m, :n] for all m and n: prefixes are a mapped axis, questions are weights."""
    R = np.random.default_rng(0).integers(0, 2, (5, 6, 8))
    convergence(R, ["avg", "bradley_terry_map"], n_replicates=40, chunk_size=64)
    with jax.log_compiles(), caplog.at_level("WARNING", logger="jax._src.interpreters.pxla"):
        convergence(1 - R, ["avg", "bradley_terry_map"], n_replicates=90, seed=1, chunk_size=64)
    compiled = [r.message for r in caplog.records if "Compiling" in r.message and "_blocks" in r.message]
    assert not compiled, compiled


def test_model_pools_are_what_single_fits_say() -> None:
    from jaxrank.studies.pools import model_pools

    R = np.random.default_rng(1).integers(0, 2, (6, 8, 5))
    greedy = np.random.default_rng(2).integers(0, 2, (6, 8, 1))
    pools = model_pools(
        R,
        ["avg", "bradley_terry_map", "bradley_terry_luce_map", "bayes_greedy"],
        size=4,
        n_replicates=10,
        R0=greedy,
        dtype="float64",
    )
    assert pools.members.shape == (10, 4)
    for b in (0, 9):
        i = pools.members[b]
        assert len(set(i.tolist())) == 4
        gold = jr.fit(R[i], "bayes", dtype="float64").ranks
        for m in pools.methods:
            extra = {"R0": greedy[i]} if m == "bayes_greedy" else {}
            own = jr.fit(R[i], m, dtype="float64", **extra).ranks
            ranks = [jr.fit(R[i][:, :, n], m, dtype="float64", **extra).ranks for n in range(5)]
            with np.errstate(all="ignore"):
                against_gold = np.nanmean([scipy.stats.kendalltau(-r, -gold).statistic for r in ranks])
                against_own = np.nanmean([scipy.stats.kendalltau(-r, -own).statistic for r in ranks])
            assert pools.gold[m][b] == pytest.approx(against_gold, abs=1e-6)
            assert pools.own[m][b] == pytest.approx(against_own, abs=1e-6)
    frame = pools.to_frame()
    assert list(frame.method) == list(pools.methods)
    assert max(pools.best().values()) <= 1
    with pytest.raises(OptionError, match="between 2 and the number of models"):
        model_pools(R, "avg", size=7)


def test_pools_in_which_a_method_has_no_tau(recwarn: pytest.WarningsRecorder) -> None:
    """pass^2 of one trial ranks nothing: its means are NaN, without a warning of NumPy's."""
    pools = jr.model_pools(np.random.default_rng(1).integers(0, 2, (6, 8, 5)), ["avg", "pass_hat_k_2"], n_replicates=4)
    frame = pools.to_frame().set_index("method")
    assert np.isnan(frame.loc["pass_hat_k_2", ["gold", "gold_sd", "own", "own_sd"]].astype(float)).all()
    assert frame.loc["pass_hat_k_2", "undefined"] == 5 and 0 < frame.loc["avg", "gold"] <= 1
    assert pools.best()["pass_hat_k_2"] == 0
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


@pytest.mark.parametrize("reference", ["self", "gold"])
def test_whole_data_are_fitted_once(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each method with reference="self", where it was twice; the gold standard once for all methods."""
    fits = []
    original = studies.whole_fit
    monkeypatch.setattr(studies, "whole_fit", lambda *a: fits.append(a[2]) or original(*a))
    convergence(tensor(), ["avg", "bayes", "borda"], n_replicates=4, reference=reference, grid=[3])
    assert sorted(fits) == {"self": ["avg", "bayes", "borda"], "gold": ["bayes", "borda"]}[reference]


def test_a_study_in_which_nothing_converges_says_so():
    """front-door A11: neither a mean of N nor a worst of 0, which read as good news."""
    R = np.random.default_rng(0).integers(0, 2, (30, 5, 3))
    study = jr.convergence(R, ["avg", "bayes"], n_replicates=40, seed=0)
    assert study.not_converged("avg") == 1
    row = study["avg"]
    assert np.isnan(row.mean) and row.worst is None
    assert "avg, bayes: not one of 40 replicates" in study.notes[0] and study.notes[0] in study.summary()


def stopped_by_hand(x: np.ndarray, top: int | None, alpha: float, population: int | None) -> int:
    """After how many trials (N, L) sequences of all pairs tell the order that the means have by then; 0 for never."""
    n_trials, n_models = x.shape
    goal = np.log(n_models * (n_models - 1) / alpha)
    told = np.zeros((n_trials, n_models, n_models), bool)
    for i in range(n_models):
        for j in range(n_models):
            d = x[:, i] - x[:, j]
            process = sequential.betting_process(d, 0.0, -1.0, 1.0, 2 * np.exp(-goal), population=population)
            reached = np.asarray(process) + np.log(2) >= goal  # it has half of what either side won
            told[:, i, j] = np.maximum.accumulate(reached & (np.cumsum(d) > 0))
    for n in range(1, n_trials):
        order = np.argsort(-x[:n].sum(axis=0), kind="stable")
        pairs = list(itertools.pairwise(order))
        if top is not None:
            pairs = [(i, j) for i in order[:top] for j in order[top:]]
        if all(told[n - 1, i, j] for i, j in pairs):
            return n
    return 0


STOPPING = np.random.default_rng(4).random((3, 20, 60)) < np.array([0.85, 0.6, 0.35])[:, None, None]


@pytest.mark.parametrize(
    ("scheme", "top"),
    [("trials", None), ("subsample(60)", 1), pytest.param("independent", 1, marks=pytest.mark.slow)],
)
def test_an_order_of_trials_stops_where_its_sequences_say(scheme: str, top: int | None) -> None:
    R = STOPPING.astype(int)
    con = convergence(R, "avg", n_replicates=N_REPLICATES, seed=3, scheme=scheme, stop="sequence", top=top, tau=False)
    stops = con.stops
    assert stops is not None and stops.stopped > 0.5 and stops.error == 0
    with jax.enable_x64(True):
        for b in range(4):
            x = drawn(R, scheme, 3, b).mean(axis=1).T
            assert stops.at[b] == stopped_by_hand(x, top, 0.05, 60 if scheme.startswith("sub") else None)
    assert con.stops.sentence in con.summary() and np.all(stops.asked[stops.at == 0] == 60)


@pytest.mark.slow
def test_orders_of_equal_models_seldom_stop(tmp_path: Path) -> None:
    """Every stop is false; the scale of the scores does not matter."""
    R = (np.random.default_rng(5).random((2, 12, 40)) < 0.6).astype(float)
    R[1] = np.roll(R[0], 11, axis=1)
    found = [
        convergence(
            data, "avg", n_replicates=1000, scheme="trials_per_question", stop="sequence", tau=False, chunk_size=c
        )
        for data, c in ((R, None), (Responses(3 * R - 50, kind="real"), 128))
    ]
    first, second = (con.stops for con in found)
    assert first is not None and second is not None
    assert first.error == first.stopped <= 0.05
    np.testing.assert_array_equal(first.at, second.at)
    again = jr.load(found[0].save(tmp_path / "con.npz"))
    np.testing.assert_array_equal(again.stops.at, first.at)


def test_what_stops_cannot_read() -> None:
    R = STOPPING[:, :4, :5].astype(float)
    few = R.copy()
    few[0, 0, 0] = np.nan
    for data, more, said in (
        (few, {}, "needs all trials of all questions"),
        (R[:, :, :1], {}, "needs two trials"),
        (R, {"top": 3}, "top"),
        (R, {"level": 2}, "level"),
        (jr.Comparisons([0, 1], [1, 2], [1, 1]), {}, "have none: leave stop out"),
    ):
        with pytest.raises((OptionError, UnsupportedDataError), match=said):
            convergence(data, "avg" if not isinstance(data, jr.Comparisons) else None, stop="sequence", **more)
    with pytest.raises(OptionError, match='give stop="sequence" with it'):
        convergence(R, "avg", top=1)
    with pytest.raises(OptionError, match="stop="):
        convergence(R, "avg", stop="soon")  # pyright: ignore[reportArgumentType]
