"""Replicates: every one is the fit of the data it was drawn from, and what is said about them adds up."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxrank as jr
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError, UndefinedScoreError, UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.numerics.status import Status
from jaxrank.resampling import SCHEMES, as_scheme, draws
from jaxrank.resampling.engine import chunk_size, replicate
from jaxrank.resampling.schemes import Trials
from jaxrank.resampling.sources import make_source
from jaxrank.resampling.work import Replication, concatenate
from jaxrank.results.replicates import Replicates
from jaxrank.results.study import Summary
from jaxrank.studies.replicates import bootstrap, near, subsample, whole_fit
from tests.resampling.drawn import drawn_within_cells

SHAPE = (5, 9, 7)
GATHERED = ["trials", "trials_per_question", "independent", "questions", "questions_and_trials", "subsample(4)"]


def random_tensor(seed: int = 0, shape: tuple[int, int, int] = SHAPE) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rates = np.linspace(0.3, 0.7, shape[0])[:, None, None]
    return (rng.random(shape) < rates).astype(int)


def drawn_data(R: np.ndarray, scheme: str, seed: int, b: int) -> np.ndarray:
    """The data of replicate b, gathered with NumPy from the scheme's own draw."""
    key = draws.replicate_key(jax.random.key(seed), b)
    i = np.asarray(as_scheme(scheme).draw(key, b, R.shape, jnp.float32))
    if scheme in ("trials", "subsample(4)"):
        return R[:, :, i]
    if scheme == "trials_per_question":
        return np.stack([R[:, m, i[m]] for m in range(R.shape[1])], axis=1)
    if scheme == "independent":
        return np.take_along_axis(R, i, axis=2)
    if scheme == "questions":
        return R[:, i]
    return np.stack([R[:, q[0], q[1:]] for q in i], axis=1)


@pytest.mark.parametrize("scheme", GATHERED)
@pytest.mark.parametrize("method", ["avg", "bradley_terry_map"])
def test_replicate_is_the_fit_of_the_data_it_drew(method: str, scheme: str) -> None:
    R = random_tensor()
    rep = bootstrap(R, method, n_replicates=20, scheme=scheme, seed=5, dtype="float64")
    for b in (0, 7, 19):
        alone = jr.fit(drawn_data(R, scheme, 5, b), method, dtype="float64")
        np.testing.assert_allclose(rep.replicate_scores[b], alone.scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(rep.replicate_ranks[b], alone.ranks)


@pytest.mark.filterwarnings("ignore:.*no result on some questions")
def test_missing_cells_and_categories_replicate_as_fits() -> None:
    rng = np.random.default_rng(3)
    R = rng.integers(-1, 3, SHAPE)
    for scheme in ("trials", "independent", "questions"):
        rep = bootstrap(R, "avg", n_replicates=12, scheme=scheme, seed=2, dtype="float64")
        for b in (3, 11):
            drawn = drawn_data(R, scheme, 2, b) if scheme == "questions" else drawn_within_cells(R, scheme, 2, b)
            alone = jr.fit(Responses(drawn), "avg", dtype="float64")
            np.testing.assert_allclose(rep.replicate_scores[b], alone.scores, atol=1e-12)


@pytest.mark.parametrize(
    "method", ["bradley_terry", "bradley_terry_map", "bradley_terry_davidson", "rao_kupper", "bradley_terry_luce"]
)
def test_a_start_near_the_whole_data_changes_steps_only(method: str) -> None:
    data = Responses(random_tensor(4))
    other = Responses(1 - random_tensor(5))  # an optimum far away: the solver must notice
    with jax.enable_x64(True):
        source = make_source(data, make(method), Trials(), "aligned", method)
        ranker, key = make(method), jax.random.key(0)
        whole, far = (whole_fit(d, ranker, method, "aligned", key) for d in (data, other))
        starts = [ranker, near(ranker, whole), near(ranker, far)]
        assert starts[1].solver.near is not None and starts[2].solver.near is not None
        works = [Replication.make(r, source, key, block=16) for r in starts]
        plain, warm, astray = (concatenate(replicate(work, 64)) for work in works)
    for found in (warm, astray):
        np.testing.assert_array_equal(found["status"], plain["status"])
        np.testing.assert_allclose(found["scores"], plain["scores"], atol=1e-9)
    solved = plain["status"] == Status.CONVERGED
    assert solved.any() and (plain["steps"] > 0).any()


def test_priors_with_several_optima_begin_anew() -> None:
    """numerics section 4: begun at the whole data's optimum, a Cauchy prior could end in another than documented."""
    ranker = make("bradley_terry", prior=jr.priors.Cauchy(0.0, 0.2))
    assert ranker.prior.convex is False
    assert near(ranker, whole_fit(Responses(random_tensor(4)), ranker, "x", "aligned", jax.random.key(0))) is ranker


@pytest.mark.parametrize("pairing", ["aligned", pytest.param("all", marks=pytest.mark.slow)])
def test_pairing_is_the_fits(pairing: str) -> None:
    R = random_tensor(1)
    for scheme in ("trials", "trials_per_question", "independent", "questions"):
        rep = bootstrap(R, "bradley_terry_map", n_replicates=8, scheme=scheme, seed=2, pairing=pairing, dtype="float64")
        alone = jr.fit(drawn_data(R, scheme, 2, 6), "bradley_terry_map", pairing=pairing, dtype="float64")
        np.testing.assert_allclose(rep.replicate_scores[6], alone.scores, atol=1e-9)


def test_every_method_sees_the_same_replicate() -> None:
    R = random_tensor()
    a = bootstrap(R, "avg", n_replicates=50, seed=1, dtype="float64").replicate_scores
    b = bootstrap(R, "bayes", n_replicates=50, seed=1, dtype="float64").replicate_scores
    n = R.shape[2]
    np.testing.assert_allclose(b, (a * n + 1) / (n + 2), atol=1e-12)


def test_weights_are_the_counts_of_the_draws() -> None:
    for name in ("trials", "questions", "subsample(4)"):
        scheme = as_scheme(name)
        draw = scheme.draw(jax.random.key(3), 3, SHAPE, jnp.float32)
        weights = scheme.weights(draw, SHAPE, jnp.float32)
        got = weights.questions if name == "questions" else weights.trials
        np.testing.assert_array_equal(got, np.bincount(np.asarray(draw), minlength=len(got)))
        assert float(jnp.sum(got)) == len(draw)


def test_draws_are_uniform_and_independent() -> None:
    ids = jnp.arange(20_000)
    index = np.asarray(jax.vmap(lambda b: draws.integers(draws.replicate_key(jax.random.key(0), b), (7,), 7))(ids))
    counts = np.bincount(index.ravel(), minlength=7)
    assert scipy.stats.chisquare(counts).pvalue > 1e-4
    table = np.zeros((7, 7))
    np.add.at(table, (index[:, 0], index[:, 1]), 1)
    assert scipy.stats.chi2_contingency(table).pvalue > 1e-4
    assert index.min() == 0
    assert index.max() == 6


def test_bayesian_bootstrap_has_dirichlet_moments() -> None:
    ids = jnp.arange(20_000)
    w = np.asarray(
        jax.vmap(lambda b: draws.dirichlet_weights(draws.replicate_key(jax.random.key(0), b), 6, jnp.float32))(ids)
    )
    np.testing.assert_allclose(w.sum(axis=1), 6, rtol=1e-5)
    np.testing.assert_allclose(w.mean(axis=0), 1, atol=0.03)
    # variance of 6 x Dirichlet(1^6): 36 x (1/6 x 5/6) / 7
    np.testing.assert_allclose(w.var(axis=0), 36 * 5 / 36 / 7, rtol=0.05)
    rep = bootstrap(random_tensor(), "avg", n_replicates=4000, scheme="bayesian")
    np.testing.assert_allclose(rep.mean, rep.scores, atol=0.01)


def test_trials_bootstrap_has_the_variance_of_the_trials() -> None:
    R = random_tensor(shape=(4, 6, 20))
    rep = bootstrap(R, "avg", n_replicates=20_000, scheme="trials")
    by_trial = R.mean(axis=1)
    np.testing.assert_allclose(rep.sd, by_trial.std(axis=1) / np.sqrt(R.shape[2]), rtol=0.03)
    cells = bootstrap(R, "avg", n_replicates=20_000, scheme="independent")
    within = np.sqrt((R.var(axis=2) / R.shape[2]).sum(axis=1)) / R.shape[1]
    np.testing.assert_allclose(cells.sd, within, rtol=0.03)


def test_results_do_not_depend_on_chunks() -> None:
    R = random_tensor()
    whole = bootstrap(R, "bradley_terry", n_replicates=700, scheme="bayesian", chunk_size=10**6)
    for chunk in (1, 200, None):
        part = bootstrap(R, "bradley_terry", n_replicates=700, scheme="bayesian", chunk_size=chunk)
        np.testing.assert_array_equal(part.replicate_scores, whole.replicate_scores)
        np.testing.assert_array_equal(part.steps, whole.steps)


def test_a_longer_study_begins_with_the_shorter_one() -> None:
    R = random_tensor()
    short, long = bootstrap(R, "bradley_terry", n_replicates=100), bootstrap(R, "bradley_terry", n_replicates=300)
    np.testing.assert_array_equal(long.replicate_scores[:100], short.replicate_scores)


def test_summary_keeps_counts_of_the_same_replicates() -> None:
    R = random_tensor()
    full, light = (
        bootstrap(R, "avg", n_replicates=900),
        bootstrap(R, "avg", n_replicates=900, keep="summary", chunk_size=100),
    )
    assert isinstance(full, Replicates)
    assert type(light) is Summary
    np.testing.assert_array_equal(light.tally.ranks, full.tally.ranks)
    np.testing.assert_array_equal(light.tally.above, full.tally.above)
    np.testing.assert_allclose(light.mean, full.replicate_scores.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(light.sd, full.replicate_scores.std(axis=0, ddof=1), rtol=1e-3)
    assert list(light.to_frame().model) == [light.models[i] for i in light.estimate.order]


def test_memory_of_a_summary_is_flat_in_the_number_of_replicates() -> None:
    R = random_tensor()
    bootstrap(R, "avg", n_replicates=2000, keep="summary", chunk_size=512)
    peaks = []
    for n in (2_000, 40_000):
        tracemalloc.start()
        bootstrap(R, "avg", n_replicates=n, keep="summary", chunk_size=512)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 300_000, peaks


def test_compiles_once_for_any_number_of_replicates_and_new_data(caplog: pytest.LogCaptureFixture) -> None:
    def study(seed: int, n: int) -> None:
        bootstrap(random_tensor(seed, (4, 6, 5)), "bradley_terry", n_replicates=n, seed=seed, chunk_size=64)

    study(0, 300)
    with jax.log_compiles(), caplog.at_level("WARNING", logger="jax._src.interpreters.pxla"):
        study(1, 300)
        study(2, 777)
    assert not [r.message for r in caplog.records if "Compiling" in r.message and "_blocks" in r.message]


def test_checkpoint_is_used_and_refuses_another_study(tmp_path: Path) -> None:
    R = random_tensor()
    plain = bootstrap(R, "avg", n_replicates=500, scheme="questions", seed=4)
    first = bootstrap(R, "avg", n_replicates=500, scheme="questions", seed=4, checkpoint=tmp_path, chunk_size=128)
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.npz")}
    assert len(stamps) == 2  # blocks of 256
    longer = bootstrap(R, "avg", n_replicates=700, scheme="questions", seed=4, checkpoint=tmp_path)
    assert all(p.stat().st_mtime_ns == stamps[p] for p in sorted(stamps)[:1])
    np.testing.assert_array_equal(first.replicate_scores, plain.replicate_scores)
    np.testing.assert_array_equal(longer.replicate_scores[:500], plain.replicate_scores)
    with pytest.raises(OptionError, match=r"another study.*seed: '4' there, '5' here"):
        bootstrap(R, "avg", n_replicates=500, scheme="questions", seed=5, checkpoint=tmp_path)
    with pytest.raises(OptionError, match="method"):
        bootstrap(R, "bayes", n_replicates=500, scheme="questions", seed=4, checkpoint=tmp_path)
    with pytest.raises(OptionError, match="data"):
        bootstrap(1 - R, "avg", n_replicates=500, scheme="questions", seed=4, checkpoint=tmp_path)


def test_truncated_checkpoint_is_reported(tmp_path: Path) -> None:
    bootstrap(random_tensor(), "avg", n_replicates=300, checkpoint=tmp_path)
    path = sorted(tmp_path.glob("*.npz"))[0]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(OptionError, match="delete it"):
        bootstrap(random_tensor(), "avg", n_replicates=300, checkpoint=tmp_path)


def test_save_and_frames(tmp_path: Path) -> None:
    import pandas as pd

    rep = bootstrap(random_tensor(), "avg", n_replicates=40)
    with np.load(rep.save(tmp_path / "rep.npz")) as stored:
        np.testing.assert_array_equal(stored["scores"], rep.replicate_scores)
        np.testing.assert_array_equal(stored["ranks"], rep.replicate_ranks)
    frame = pd.read_parquet(rep.save(tmp_path / "rep.parquet"))
    assert len(frame) == 40 * 5
    np.testing.assert_array_equal(
        frame.pivot(index="replicate", columns="model", values="rank")[list(rep.models)], rep.replicate_ranks
    )
    assert {"score", "sd", "lower", "upper", "rank_lower", "rank_upper", "p_best"} <= set(rep.to_frame().columns)
    with pytest.raises(OptionError, match=r"\.npz, \.csv"):
        rep.save(tmp_path / "rep.txt")


def test_tau_is_scipys() -> None:
    R = random_tensor(shape=(6, 4, 5))
    rep = bootstrap(R, "avg", n_replicates=60)
    wanted = [scipy.stats.kendalltau(-row, -rep.ranks).statistic for row in rep.replicate_ranks]
    np.testing.assert_allclose(rep.tau(), wanted, atol=1e-6)
    np.testing.assert_allclose(rep.tau(rep.scores[::-1]), rep.tau(-scipy.stats.rankdata(-rep.scores[::-1])), atol=1e-6)


def test_a_reference_that_does_not_rank_every_model_has_no_tau() -> None:
    """numerics, section 3: NaN in the reference; agreement with a part of a ranking is no number."""
    rep = bootstrap(random_tensor(shape=(4, 4, 5)), "avg", n_replicates=5)
    assert np.isnan(rep.tau([1.0, np.nan, 2.0, 3.0])).all() and np.isnan(rep.tau([np.nan] * 4)).all()
    assert np.isfinite(rep.tau([1.0, np.inf, 2.0, 3.0])).all()  # an infinite score is first


def test_constant_replicates_have_no_tau() -> None:
    rep = bootstrap(np.ones((3, 4, 2), int), "avg", n_replicates=5)
    assert np.isnan(rep.tau([3.0, 2, 1])).all()
    assert (rep.replicate_ranks == 1).all()


def test_subsample_of_one_takes_every_trial_once() -> None:
    R = random_tensor()
    rep = subsample(R, "avg")
    assert rep.replicate_scores.shape == (R.shape[2], R.shape[0])
    np.testing.assert_allclose(rep.replicate_scores, R.mean(axis=1).T, atol=1e-6)
    assert subsample(R, "avg", n=3, n_replicates=11).replicate_scores.shape == (11, R.shape[0])
    with pytest.raises(OptionError, match="between 1 and the number of trials, 7"):
        subsample(R, "avg", n=8)


def test_methods_refuse_schemes_that_they_cannot_read() -> None:
    R = random_tensor()
    with pytest.raises(OptionError, match=r"pass_at_k .*fractional weights of scheme bayesian"):
        bootstrap(R, "pass_at_k", n_replicates=5, scheme="bayesian")
    with pytest.raises(OptionError, match=r"scheme='jackknife' is unknown; the schemes are: trials"):
        bootstrap(R, "avg", n_replicates=5, scheme="jackknife")
    with pytest.raises(OptionError, match="model_pools"):
        bootstrap(R, "avg", n_replicates=5, scheme="models(3)")
    with pytest.raises(OptionError, match="prior for each model and question"):
        bootstrap(R, "bayes_greedy", n_replicates=5, scheme="questions_and_trials", R0=R[:, :, :1])
    with pytest.raises(OptionError, match="whole number of 1 or more"):
        bootstrap(R, "avg", n_replicates=0)
    assert set(SCHEMES) == {s.partition("(")[0] for s in (*GATHERED, "bayesian", "models", "clusters")}


def test_counts_only_data_draw_exact_equivalents() -> None:
    R = random_tensor(shape=(4, 6, 20))
    counts = Responses.from_counts(R.sum(axis=2), R.shape[2])
    rep, cells = (
        bootstrap(counts, "avg", n_replicates=6000, scheme="independent"),
        bootstrap(R, "avg", n_replicates=6000, scheme="independent"),
    )
    np.testing.assert_allclose(rep.sd, cells.sd, rtol=0.05)
    np.testing.assert_allclose(rep.mean, rep.scores, atol=0.004)
    same, as_tensor = (
        bootstrap(counts, "avg", n_replicates=50, scheme="questions"),
        bootstrap(R, "avg", n_replicates=50, scheme="questions"),
    )
    np.testing.assert_array_equal(same.replicate_scores, as_tensor.replicate_scores)
    pairs = bootstrap(counts, "bradley_terry_map", n_replicates=20, scheme="independent", pairing="all")
    assert pairs.status_counts() == {Status.CONVERGED: 20}
    with pytest.raises(UnsupportedDataError, match=r'counts only.*"independent" or "questions"'):
        bootstrap(counts, "avg", n_replicates=5, scheme="trials")


def battles(n: int = 4000) -> Comparisons:
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(5, 1)
    pick = rng.integers(0, len(a), n)
    outcome = rng.choice([1, 0, 0.5], n, p=[0.5, 0.3, 0.2])
    return Comparisons(a[pick], b[pick], outcome)


def test_battles_are_drawn_as_multinomial_counts() -> None:
    data = battles()
    rep = bootstrap(data, "bradley_terry", n_replicates=1500)
    # drawing the 4,000 battles one by one
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(60):
        i = rng.integers(0, len(data.a), len(data.a))
        drawn = Comparisons(data.a[i], data.b[i], np.array([1, 0, 0.5])[data.outcome[i]])
        scores.append(jr.fit(drawn, "bradley_terry").scores)
    np.testing.assert_allclose(rep.sd, np.std(scores, axis=0), rtol=0.35)
    np.testing.assert_allclose(rep.mean, rep.scores, atol=0.02)
    grouped = Comparisons.from_matrix(data.wins, data.ties)
    np.testing.assert_array_equal(
        bootstrap(grouped, "bradley_terry", n_replicates=50).replicate_scores,
        bootstrap(data, "bradley_terry", n_replicates=50).replicate_scores,
    )
    gamma = bootstrap(grouped, "bradley_terry", n_replicates=1500, scheme="bayesian")
    np.testing.assert_allclose(gamma.sd, rep.sd, rtol=0.15)
    assert (
        bootstrap(grouped, "bradley_terry", n_replicates=20, scheme="subsample(500)").status_counts()[Status.CONVERGED]
        == 20
    )
    with pytest.raises(OptionError, match="battles have no questions"):
        bootstrap(data, "bradley_terry", n_replicates=5, scheme="questions")


def test_battle_counts_sum_to_the_number_of_battles() -> None:
    data = battles(300)
    ranker = make("bradley_terry_davidson")
    work = Replication.make(
        ranker, make_source(data, ranker, as_scheme("trials"), "aligned", "davidson"), jax.random.key(0)
    )
    payload = work.payload(np.arange(6))
    stat = jax.vmap(work.statistic)(jnp.arange(6), payload)[0]
    total = np.asarray(stat.wins.sum((1, 2)) + stat.ties.sum((1, 2)) / 2)
    np.testing.assert_array_equal(total, 300)
    np.testing.assert_array_equal(stat.ties, jnp.swapaxes(stat.ties, 1, 2))


def test_chunk_size_is_whole_blocks() -> None:
    ranker = make("avg")
    data = Responses(random_tensor())
    work = Replication.make(
        ranker, make_source(data, ranker, as_scheme("trials"), "aligned", "avg"), jax.random.key(0), block=16
    )
    assert chunk_size(work, 10_000, 1) == 16
    assert chunk_size(work, 10_000, 33) == 64
    sizes = [len(batch["status"]) for batch in replicate(work, 100, chunk=33)]
    assert sizes == [64, 36]
    with pytest.raises(OptionError, match="chunk_size=0"):
        chunk_size(work, 10, 0)


# Cases -------------------------------------------------------------------------------------------------------------


def test_case_G01_replicates_without_a_finite_optimum() -> None:
    R = [[1, 1, 1, 1, 0, 1], [1, 1, 0, 1, 0, 1], [0, 1, 1, 0, 1, 0]]
    rep = bootstrap(R, "bradley_terry", n_replicates=500, scheme="questions", dtype="float64")
    counts = rep.status_counts()
    lost = sum(n for status, n in counts.items() if status != Status.CONVERGED)
    assert lost > 0
    assert sum(counts.values()) == 500
    finite = np.isfinite(rep.replicate_scores).all(axis=1)
    assert finite.sum() == counts[Status.CONVERGED]
    ends = rep.interval(least=finite.mean())
    assert (ends.used, ends.left_out) == (finite.sum(), lost)
    with pytest.raises(UndefinedScoreError, match=rf"only {finite.sum()} of 500 replicates .*_map"):
        rep.interval(least=1.0)
    # the regularised fit has an interval for all replicates, on the scale of its prior
    regular = bootstrap(R, "bradley_terry_map", n_replicates=500, scheme="questions", dtype="float64")
    ends = regular.interval()
    assert ends.left_out == 0
    assert np.all(regular.scores - ends.lower < 4)
    # and ranks need no finite scores
    extended = bootstrap(
        R, make("bradley_terry", separation="extend"), n_replicates=500, scheme="questions", dtype="float64"
    )
    assert extended.rank_intervals().left_out <= lost


def test_case_G02_the_estimate_does_not_depend_on_the_replicates() -> None:
    R = random_tensor()
    whole = jr.fit(R, "bradley_terry")
    for seed in (0, 1):
        for n in (10, 1000):
            rep = bootstrap(R, "bradley_terry", n_replicates=n, seed=seed)
            np.testing.assert_array_equal(rep.scores, whole.scores)
            np.testing.assert_array_equal(rep.ranks, whole.ranks)
            np.testing.assert_array_equal(rep.to_frame().model, whole.to_frame().model)


def test_case_G03_seeds() -> None:
    R = random_tensor()
    first = bootstrap(R, "bradley_terry", n_replicates=200, seed=3)
    np.random.seed(0)  # noqa: NPY002  (the global state is what must not matter, and must not change)
    before = np.random.get_state()  # noqa: NPY002
    again = bootstrap(R, "bradley_terry", n_replicates=200, seed=3)
    votes = bootstrap(battles(200), "bradley_terry_map", n_replicates=50, seed=3)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(first.replicate_scores, again.replicate_scores)
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    np.testing.assert_array_equal(
        votes.replicate_scores, bootstrap(battles(200), "bradley_terry_map", n_replicates=50, seed=3).replicate_scores
    )
    assert not np.array_equal(
        bootstrap(R, "bradley_terry", n_replicates=200, seed=4).replicate_scores, first.replicate_scores
    )
    np.testing.assert_array_equal(
        bootstrap(R, "bradley_terry", n_replicates=200, seed=jax.random.key(3)).replicate_scores, first.replicate_scores
    )


def test_case_G04_anchors() -> None:
    W = [[0, 4, 3], [2, 0, 5], [1, 3, 0]]
    rep = bootstrap(Comparisons.from_matrix(W), "bradley_terry_map", n_replicates=400, dtype="float64")
    ml = jr.fit(Comparisons.from_matrix(W), "bradley_terry", dtype="float64")
    np.testing.assert_allclose(ml.scores[0] - ml.scores[1:], [0.663248, 1.152764], atol=1e-6)
    for anchor in (0, 2):
        ends = rep.interval(anchor=anchor)
        assert ends.lower[anchor] == ends.upper[anchor] == 0
    differences = rep.difference_intervals()
    np.testing.assert_allclose(rep.interval(anchor=0).lower, differences.lower[:, 0], atol=1e-12)
    np.testing.assert_allclose(rep.interval(anchor="model 2").upper, differences.upper[:, 2], atol=1e-12)
    np.testing.assert_allclose(differences.lower, -differences.upper.T, atol=1e-12)
    with pytest.raises(OptionError, match="anchor"):
        rep.interval(anchor=3)


def test_case_G07_models_far_apart_are_not_tied_by_uncertainty() -> None:
    """Scores 10..1 with standard error 1: rank sets separate the ends although every neighbour overlaps."""
    rng = np.random.default_rng(0)
    point = np.arange(10.0, 0, -1)
    rep = bootstrap(random_tensor(shape=(10, 4, 3)), "avg", n_replicates=2000)
    import dataclasses

    from jaxrank.resampling.work import Kept

    scores = point + rng.normal(size=(2000, 10))
    kept = Kept(scores, np.zeros(2000, np.int8), np.zeros(2000, np.int32), np.zeros(2000))
    fit = dataclasses.replace(
        rep.estimate, fit=dataclasses.replace(rep.estimate.fit, scores=point, resolution=np.array(0.0))
    )
    study = dataclasses.replace(rep, estimate=fit, kept=kept)
    sets = study.rank_sets(0.9)
    assert sets.upper[0] < sets.lower[9]
    assert sets.lower[0] == 1
    assert sets.upper[9] == 10
    assert study.top_set(0.9) == [f"model {i}" for i in range(len(study.top_set(0.9)))]
    assert len(study.top_set(0.9)) < 10


def test_case_G08_rank_uncertainty() -> None:
    rng = np.random.default_rng(0)
    R = (rng.random((6, 10, 5)) < np.linspace(0.35, 0.75, 6)[:, None, None]).astype(int)
    rep = bootstrap(R, "avg", n_replicates=2000, scheme="questions")
    ends = rep.rank_intervals()
    assert np.all((ends.lower >= 1) & (ends.lower <= rep.ranks) & (rep.ranks <= ends.upper) & (ends.upper <= 6))
    pair = rep.superiority()
    np.testing.assert_allclose(pair.above + pair.above.T + pair.tied, 1, atol=1e-12)
    np.testing.assert_allclose(np.diag(pair.tied), 1)
    # resamples are shared by all models: the pairwise shares come from the replicates themselves
    np.testing.assert_allclose(pair.above[5, 0], np.mean(rep.replicate_ranks[:, 5] < rep.replicate_ranks[:, 0]))
    np.testing.assert_allclose(rep.rank_probabilities().sum(axis=1), 1)
    top = rep.top_set()
    assert rep.models[int(np.argmin(rep.ranks))] in top
    sets = rep.rank_sets()
    assert np.all((sets.lower <= rep.ranks) & (rep.ranks <= sets.upper))


def test_case_K02_float32_replicates_agree_with_float64() -> None:
    R = random_tensor(shape=(6, 10, 8))
    for method in ("bradley_terry", "bradley_terry_davidson"):
        narrow = bootstrap(R, method, n_replicates=64, dtype="float32")
        wide = bootstrap(R, method, n_replicates=64, dtype="float64")
        assert narrow.replicate_scores.dtype == np.float32
        assert wide.replicate_scores.dtype == np.float64
        np.testing.assert_array_equal(narrow.status, wide.status)
        ok = np.isfinite(wide.replicate_scores).all(axis=1)
        np.testing.assert_allclose(narrow.replicate_scores[ok], wide.replicate_scores[ok], atol=1e-3)


def test_case_K06_scale_of_the_counts() -> None:
    W = np.array([[0, 6, 4], [3, 0, 5], [2, 2, 0.0]])
    wanted = jr.fit(Comparisons.from_matrix(W), "bradley_terry", dtype="float64").scores
    for scale in (1e3, 1e6):
        rep = bootstrap(Comparisons.from_matrix(W * scale), "bradley_terry", n_replicates=20, dtype="float64")
        assert rep.status_counts() == {Status.CONVERGED: 20}
        np.testing.assert_allclose(rep.scores, wanted, atol=1e-7)
        np.testing.assert_allclose(rep.mean, wanted, atol=5 / np.sqrt(scale))


def test_case_H08_totals_beyond_32_bits_are_exact() -> None:
    """Counts whose total passes 2^31 and 2^32: drawn and summed in 64 bits on the host."""
    W = np.array([[0, 3e9, 2e9], [1e9, 0, 3e9], [2e9, 1e9, 0]])
    rep = bootstrap(Comparisons.from_matrix(W), "bradley_terry", n_replicates=10, dtype="float64")
    assert rep.status_counts() == {Status.CONVERGED: 10}
    np.testing.assert_allclose(rep.replicate_scores, np.broadcast_to(rep.scores, rep.replicate_scores.shape), atol=1e-3)
    ranker = make("bradley_terry")
    data = Comparisons.from_matrix(W)
    with jax.enable_x64(True):
        source = make_source(data, ranker, as_scheme("trials"), "aligned", "bradley_terry")
        payload = source.payload(jax.random.key(0), np.arange(4))
    np.testing.assert_array_equal(payload.sum(axis=1), W.sum())


def test_manifest_says_what_the_study_is(tmp_path: Path) -> None:
    bootstrap(random_tensor(), "avg", n_replicates=64, scheme="questions", seed=9, checkpoint=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    told = manifest["configuration"]
    assert (told["method"], told["scheme"], told["seed"], told["dtype"]) == ("avg", "questions", "9", "float32")
    assert len(manifest["hash"]) == 64
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("method", ["avg", "bayes", "pass_at_k", "pass_hat_k", "mg_pass_at_k"])
@pytest.mark.parametrize("scheme", ["trials", "subsample(4)"])
def test_tabulated_replicates_are_the_fits(method: str, scheme: str) -> None:
    """The short way (a table of the method's own values) gives what the method gives on the drawn data."""
    from jaxrank.resampling.tabulated import tabulated_replication

    R = random_tensor(4)
    assert tabulated_replication(Responses(R), make(method), as_scheme(scheme), jax.random.key(0)) is not None
    for dtype, tolerance in (("float64", 1e-14), ("float32", 2e-6)):
        rep = bootstrap(R, method, n_replicates=9, scheme=scheme, seed=6, dtype=dtype)
        for b in (0, 8):
            alone = jr.fit(drawn_data(R, scheme, 6, b), method, dtype=dtype)
            np.testing.assert_allclose(rep.replicate_scores[b], alone.scores, rtol=0, atol=tolerance)
            np.testing.assert_array_equal(rep.replicate_ranks[b], alone.ranks)
    short = bootstrap(R, "pass_at_k", n_replicates=5, scheme="subsample(1)")
    assert short.status_counts() == {Status.UNDEFINED: 7}
    assert tabulated_replication(Responses(R), make(method), as_scheme("questions"), jax.random.key(0)) is None
    R[0, 0, 0] = -1
    assert tabulated_replication(Responses(R), make(method), as_scheme(scheme), jax.random.key(0)) is None
