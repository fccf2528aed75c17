"""Observed sites of posterior models, predictive checks, leave-one-out comparison, files, chains over devices."""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, JaxrankWarning, OptionError, StoppedError, UnfinishedError
from jaxrank.models.likelihood import Likelihood
from jaxrank.posteriors import checks, files
from jaxrank.posteriors.models import likelihood_argument
from jaxrank.posteriors.specs import MODELS
from jaxrank.resampling.sharing import allow_work, request_stop

pytestmark = pytest.mark.rank_promotion("allow")

ROOT = Path(__file__).resolve().parents[2]
STRENGTHS = [name for name, spec in MODELS.items() if not spec.item_depth and "rankings" not in name]


@functools.cache
def tensor() -> np.ndarray:
    return (np.random.default_rng(4).random((4, 6, 5)) < np.array([0.8, 0.6, 0.5, 0.3])[:, None, None]).astype(int)


def drawn(model: str, sampler: str = "laplace", data=None, **options) -> jr.Posterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)
        return jr.posterior(tensor() if data is None else data, model, sampler=sampler, n_samples=50, **options)


def evidence(name: str):
    data = jr.Responses(tensor())
    spec = MODELS[name]
    argument = spec.read(spec.statistic.of(data))
    return spec, argument, spec.family.observe(argument)


def slow_but(names, *quick):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", slow_but(STRENGTHS, "bradley_terry", "bradley_terry_ties", "rao_kupper"))
def test_observed_site_is_the_likelihood_of_the_fits(name):
    with jax.enable_x64(True):
        spec, argument, (design, outcomes) = evidence(name)
        stat = likelihood_argument(argument)
        likelihood: Likelihood = spec.likelihood_of(stat)
        n = spec.n_models(design)
        observed = lambda p: spec.outcomes({"theta": p[:n], **spec.unpack(p[n:])}, design).log_prob(outcomes)
        both = jax.jit(lambda p: (likelihood.log_prob(p, stat), observed(p)))
        rng = np.random.default_rng(1)
        for _ in range(3):
            theta, extra = rng.normal(size=n), rng.normal(size=likelihood.n_extra) ** 2 + 0.1
            wanted, got = both(np.concatenate([theta, extra]))
            assert got.shape == np.shape(outcomes)[:1]
            assert float(jnp.sum(got)) == pytest.approx(float(wanted), rel=1e-12)


SAMPLED = [name for name in STRENGTHS if name != "bradley_terry_luce"]


@pytest.mark.parametrize("name", slow_but(SAMPLED, "bradley_terry_davidson"))
def test_samples_follow_the_log_probability(name):
    """Every outcome of one unit, its probability from ``log_prob``: they sum to one, and draws have their frequency."""
    with jax.enable_x64(True):
        spec, argument, (design, outcomes) = evidence(name)
        n = spec.n_models(design)
        extra = jnp.full(spec.likelihood_of(likelihood_argument(argument)).n_extra, 0.7)
        values = {"theta": jnp.array([0.9, 0.2, -0.3, -0.8]), **spec.unpack(extra)}
        if spec.family.unit == "pair":
            design = {**design, "total": np.ones(len(outcomes))}
            kinds = np.eye(3)[: 2 if name in ("bradley_terry", "plackett_luce") else 3]
            unit = 0
        else:
            unit = int(np.argmax(np.sum(design["slates"][design["slate"]], axis=1)))
            kinds = np.array([k for k in itertools.product([0, 1], repeat=n) if 0 < sum(k) < n], float)
            design = {**design, "weights": np.ones(len(outcomes))}
        distribution = spec.outcomes(values, jax.tree.map(jnp.asarray, design))
        if spec.family.unit == "event":
            active = np.asarray(design["orders"]) > 0
            kinds = kinds[active[kinds.sum(axis=1).astype(int) - 1]]
        rows = [np.where(np.arange(len(outcomes))[:, None] == unit, kind, outcomes) for kind in kinds]
        chance = jax.jit(lambda row: distribution.log_prob(row)[unit])
        p = np.exp([float(chance(row)) for row in rows])
        assert p.sum() == pytest.approx(1, abs=1e-12)
        n_draws = 4000
        draws = np.asarray(distribution.sample(jax.random.key(0), (n_draws,)))[:, unit]
        seen = Counter(map(tuple, draws.astype(int).tolist()))
        share = np.array([seen[tuple(kind.astype(int).tolist())] for kind in kinds]) / n_draws
        assert np.all(np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / n_draws) + 1e-12)


def test_numpyro_predictive_and_log_likelihood():
    from numpyro.distributions import LogNormal, Normal
    from numpyro.infer import Predictive, log_likelihood

    priors = {"theta": Normal(0, 0.7), "a": LogNormal(0, 0.2), "level": Normal(0, 1)}
    with jax.enable_x64(True):
        model, design, outcomes = jr.numpyro_model(tensor(), "rasch_2pl", priors=priors)
        prior = Predictive(model, num_samples=20)(jax.random.key(0), design)
        assert prior["outcomes"].shape == (20, 4, 6) and np.all(prior["a"] > 0)
        assert float(prior["outcomes"].max()) <= 5
        sites = {k: v for k, v in prior.items() if k != "outcomes"}
        pointwise = log_likelihood(model, sites, design, outcomes)["outcomes"]
        spec = MODELS["rasch_2pl"]
        own = jax.jit(jax.vmap(lambda v: spec.outcomes(v, design).log_prob(outcomes)))(sites)
        np.testing.assert_allclose(pointwise, own, rtol=1e-12)
        again = Predictive(model, posterior_samples=sites)(jax.random.key(1), design)
        assert again["outcomes"].shape == (20, 4, 6)


@pytest.mark.parametrize("model", slow_but(["bradley_terry_davidson", "davidson_luce"], "bradley_terry_davidson"))
def test_log_likelihood_by_question_adds_up(model):
    post = drawn(model)
    whole, by_question = post.log_likelihood(), post.log_likelihood(by="question")
    assert by_question.shape == (4, 50, 6)
    np.testing.assert_allclose(by_question.sum(-1), whole.sum(-1), rtol=1e-10)
    with pytest.raises(OptionError, match="units"):
        post.log_likelihood(by="judge")


def test_predictive_checks():
    post = drawn("bradley_terry_davidson")
    check = post.predict(n_draws=200, seed=3)
    frame = check.to_frame()
    assert list(frame["quantity"].unique()) == ["win rate", "tie rate", "tie rate of all"] and len(frame) == 9
    pairs = MODELS["bradley_terry_davidson"].statistic.of(jr.Responses(tensor()))
    rate = np.asarray(pairs.ties).sum(1) / np.asarray(pairs.total).sum(1)
    np.testing.assert_allclose(check.observed["tie rate"], rate, rtol=1e-6)
    assert np.all((frame["p"] > 0.02) & (frame["p"] < 0.98))
    np.testing.assert_array_equal(check.replicated["win rate"], post.predict(200, 3).replicated["win rate"])
    assert "tie rate" not in drawn("bradley_terry").predict(20).observed


@pytest.mark.slow
def test_predictive_checks_of_sets():
    sets = drawn("davidson_luce").predict(50)
    assert set(sets.observed) == {"choice rate", "tie rate of all"}
    with pytest.raises(OptionError, match="composite"):
        drawn("bradley_terry_luce").predict()
    with pytest.raises(OptionError, match="closed form"):
        jr.posterior(tensor(), "bayes", n_samples=10).predict()


def test_predictive_check_sees_a_wrong_model():
    """One tie rate for all pairs, where half of the pairs always tie and the others never."""
    wins, ties = np.zeros((2, 4, 4))
    wins[0, 1], wins[1, 0], wins[2, 3], wins[3, 2] = 50, 50, 50, 50
    for i, j in ((0, 2), (1, 3), (0, 3), (1, 2)):
        ties[i, j] = ties[j, i] = 100
    ties[2, 3] = ties[3, 2] = 300
    check = drawn("bradley_terry_ties", data=jr.Comparisons.from_matrix(wins, ties)).predict(300)
    assert np.all(check.p_values()["tie rate"][:2] > 0.975) and np.all(check.p_values()["tie rate"][2:] < 0.025)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ's use of pandas
def test_comparison_by_leave_one_out():
    """Davidson's model predicts data simulated from it better than one tie rate for all does."""
    pytest.importorskip("arviz_stats.loo")
    rng = np.random.default_rng(0)
    theta, nu, n = np.linspace(2.5, -2.5, 8), 1.0, 2000  # densities of pairs underflow
    wins, ties = np.zeros((2, 8, 8))
    for i, j in itertools.combinations(range(8), 2):
        p = np.exp([theta[i], theta[j], np.log(nu) + (theta[i] + theta[j]) / 2])
        wins[i, j], wins[j, i], ties[i, j] = rng.multinomial(n, p / p.sum())
        ties[j, i] = ties[i, j]
    data = jr.Comparisons.from_matrix(wins, ties)
    davidson, flat = drawn("bradley_terry_davidson", data=data), drawn("bradley_terry_ties", data=data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JaxrankWarning)
        frame = davidson.compare({"one rate": flat})
    assert (
        list(frame.index) == ["bradley_terry_davidson", "one rate"]
        and frame["rank"].tolist() == [1, 2]
        and frame["weight"].iloc[0] > 0.9
    )
    assert frame["elpd_diff"].iloc[1] > 3 * frame["dse"].iloc[1] > 0
    assert frame["elpd"].iloc[0] == pytest.approx(davidson.log_likelihood().mean(axis=(0, 1)).sum(), rel=0.01)
    assert frame["elpd_diff"].iloc[1] == pytest.approx(frame["elpd"].iloc[0] - frame["elpd"].iloc[1], rel=1e-6)
    high = int(frame["high_pareto_k"].sum())
    assert any("Pareto k" in str(w.message) for w in caught) == (high > 0)
    with pytest.raises(OptionError, match="drop ties"):
        davidson.compare(drawn("bradley_terry", data=data))
    with pytest.raises(OptionError, match="names"):
        davidson.compare(davidson)


def test_missing_arviz_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    post = drawn("bradley_terry")
    for action in (post.loo, post.to_arviz, lambda: post.save("x.nc")):
        with pytest.raises(OptionError, match=r"jaxrank\[arviz\]"):
            action()


def test_files_of_every_format(tmp_path):
    pytest.importorskip("arviz_base")
    pytest.importorskip("h5netcdf")
    post = drawn("bradley_terry_davidson", data=jr.Responses(tensor(), models=list("wxyz")))
    for name in ("post.nc", "post.npz"):
        post.save(tmp_path / name)
        again = jr.load_posterior(tmp_path / name)
        assert (again.models, again.model, again.sampler) == (post.models, post.model, post.sampler)
        np.testing.assert_array_equal(again.draws["log_nu"], post.draws["log_nu"])
        np.testing.assert_array_equal(again.log_likelihood(), post.log_likelihood())
        with pytest.raises(OptionError, match="loaded file"):
            again.log_likelihood(by="question")
    tree = post.to_arviz()
    assert tree["log_likelihood"]["outcomes"].dims == ("chain", "draw", "pair")
    assert tree["observed_data"]["outcomes"].dims == ("pair", "outcome")
    assert tree["posterior_predictive"]["outcomes"].dims == ("chain", "draw", "pair", "outcome")
    assert list(tree["posterior"]["theta"]["model"].values) == list("wxyz")
    (tmp_path / "broken.nc").write_bytes(b"not a file")
    with pytest.raises(DataError, match="cannot be read"):
        jr.load_posterior(tmp_path / "broken.nc")
    with pytest.raises(FileNotFoundError):
        jr.load_posterior(tmp_path / "absent.nc")


def test_statuses_have_remedies_and_summary_says_them():
    rng = np.random.default_rng(0)
    draws = {"theta": rng.normal(size=(2, 30, 2)), "log_nu": rng.normal(size=(2, 30)) + np.arange(2)[:, None] * 5}
    post = jr.Posterior(draws, ("a", "b"), "bradley_terry_davidson", "nuts", {"diverging": np.ones((2, 30), bool)})
    assert list(post.statuses) == ["divergent", "r_hat", "low_ess"]
    for status, word in {"divergent": "target_accept", "r_hat": "n_warmup", "low_ess": "n_samples"}.items():
        assert word in post.statuses[status]
    assert "of log_nu" in post.statuses["r_hat"]
    frame, text = post.to_frame(), post.summary()
    assert frame.attrs["problems"] == list(post.problems) and len(post.problems) == 3
    assert all(f"caution: {problem}" in text for problem in post.problems)
    assert all("low_ess" in text for text in frame["status"])
    assert "r_hat:" in repr(post)


@pytest.mark.slow
def test_chains_are_shared_through_a_folder(tmp_path):
    """Every chain is a unit: two shards, a third that steals, the merge, and who is refused."""
    how = {"sampler": "nuts", "n_warmup": 20, "n_chains": 3, "seed": 2, "priors": 2.0}
    alone = drawn("bradley_terry", **how)
    part = lambda folder, **more: drawn("bradley_terry", checkpoint=tmp_path / folder, **{**how, **more})
    with pytest.raises(UnfinishedError, match="shard 1/2 is done, 2 of 3 chains"):
        part("halves", shard="1/2")
    with pytest.raises(UnfinishedError, match="chain 1 has no file"):
        part("halves", shard="merge")
    found = [part("halves", shard="2/2"), part("halves", shard="merge"), part("stolen", shard="steal"), part("own")]
    for other in found:
        assert {*other.draws, *other.extras} == {*alone.draws, *alone.extras}
        for name, x in (alone.draws | alone.extras).items():
            np.testing.assert_array_equal((other.draws | other.extras)[name], x, err_msg=name)
    assert not list((tmp_path / "stolen").glob("*.claim"))
    for refused, message in (
        (lambda: part("own", seed=3), "another study"),
        (lambda: part("own", priors=1.0), "another study"),
        (lambda: part("many", shard="1/4"), "3 chains leave some of 4 shards"),
        (lambda: drawn("bradley_terry", shard="1/2"), "name a folder"),
        (lambda: part("other", sampler="laplace"), "checkpoint and shard are for the chains"),
    ):
        with pytest.raises(OptionError, match=message):
            refused()
    request_stop()
    try:
        with pytest.raises(StoppedError, match="the same call goes on"):
            part("stopped")
        np.testing.assert_array_equal(part("own").theta, alone.theta)  # nothing is left to do
    finally:
        allow_work()


def test_the_study_of_a_posterior_has_the_same_name_in_every_process():
    """What is written of priors says nothing of where they lie in memory."""
    from numpyro.distributions import Normal

    from jaxrank.studies.posterior import _prepare

    job = _prepare(jr.Responses(tensor()), "bradley_terry", {"theta": Normal(0.0, 2.0)}, False, "aligned")
    words = str(jax.tree.structure(job.priors))
    assert " at 0x" not in words and "Normal" in words


WORKER = """
import contextlib, sys, jax, numpy as np, warnings
import jaxrank as jr
import jaxrank.studies.posterior as studies
warnings.simplefilter("ignore")
R = (np.random.default_rng(4).random((4, 6, 5)) < np.array([.8, .6, .5, .3])[:, None, None]).astype(int)
out, seen = {}, []
studies.progress_bar = lambda *_: contextlib.nullcontext(seen.append)
for model in sys.argv[2:]:
    seen.clear()
    if model == "judges":
        scores = np.random.default_rng(5).integers(0, 3, (3, 4, 20))
        judged = jr.judges.infer(scores, n_chains=8, n_warmup=30, n_samples=30, seed=3)
        out |= {"judges/draws": judged.draws, "judges/theta": judged.theta}
        continue
    post = jr.posterior(R, model, n_warmup=60, n_samples=60, seed=7, progress=True)
    assert sum(seen) == 120 and len(seen) > 5, seen
    out |= {f"{model}/{k}": v for k, v in post.draws.items()}
np.savez(sys.argv[1], devices=jax.device_count(), **out)
"""


def chains_on(devices: int, out: Path, *models: str) -> dict[str, np.ndarray]:
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", WORKER, str(out), *models], env=env, check=True, timeout=300)
    with np.load(out) as stored:
        assert stored["devices"] == devices
        return {k: stored[k] for k in stored.files if k != "devices"}


@pytest.mark.slow
@pytest.mark.parametrize("models", [("bradley_terry_davidson",), ("rasch_2pl",), ("judges",)], ids="-".join)
def test_same_draws_on_one_and_eight_devices(models, tmp_path):
    """Posteriors of four chains, which take four of the devices, and judges of eight."""
    one, eight = (chains_on(d, tmp_path / f"{d}.npz", *models) for d in (1, 8))
    assert one.keys() == eight.keys()
    for name, draws in one.items():
        np.testing.assert_array_equal(draws, eight[name], err_msg=name)


@pytest.mark.slow
def test_progress_changes_nothing():
    kept = [drawn("bradley_terry", "nuts", n_warmup=30, progress=p).theta for p in (False, True)]
    np.testing.assert_array_equal(*kept)


@pytest.mark.slow
def test_command_line_writes_netcdf(tmp_path):
    pytest.importorskip("arviz_base")
    pytest.importorskip("h5netcdf")
    data, out = tmp_path / "results.csv", tmp_path / "post.nc"
    rows = ["model,question,trial,score"]
    rows += [f"m{m},q{q},{t},{s}" for (m, q, t), s in np.ndenumerate(tensor())]
    data.write_text("\n".join(rows) + "\n")
    command = [sys.executable, "-m", "jaxrank", "posterior", str(data), "-m", "rasch", "--warmup", "30"]
    ran = subprocess.run(
        [*command, "--samples", "40", "--save", str(out)], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    assert "caution:" in ran.stderr and "status" in ran.stdout.splitlines()[0]
    post = jr.load_posterior(out)
    assert post.model == "rasch" and post.draws["theta"].shape == (4, 40, 4) and post.models[0] == "m0"


@pytest.mark.slow
def test_joint_priors_of_all_models():
    from numpyro.distributions import MultivariateNormal, Normal

    near = drawn("bradley_terry", "nuts", priors={"theta": Normal(jnp.array([3.0, 0, 0, -3.0]), 0.01)}, n_warmup=100)
    np.testing.assert_allclose(near.scores, [3, 0, 0, -3], atol=0.02)
    with pytest.raises(OptionError, match="shape"):
        jr.posterior(tensor(), "bradley_terry", priors=MultivariateNormal(jnp.zeros(3), jnp.eye(3)))
    with pytest.raises(OptionError, match="scale"):
        jr.posterior(tensor(), "hierarchical_bradley_terry", priors=2.0)
    with pytest.raises(OptionError, match="NumPyro distribution"):
        jr.posterior(tensor(), "rasch", priors={"level": 3.0})


def test_units_and_dimensions_are_those_of_the_files():
    assert {spec.family.unit for spec in MODELS.values()} == set(files.DIMS)
    assert checks.Prediction({}, {}, {}).p_values() == {}
