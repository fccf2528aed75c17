"""Strengths by category, partially pooled: against quadrature, simulated truth, and as a result."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import norm

import jaxrank as jr
from jaxrank.data.statistics import Pairs
from jaxrank.errors import DataError, OptionError, UnsupportedDataError
from jaxrank.posteriors.models import build
from jaxrank.posteriors.pooled import by_category, observe, own_share
from jaxrank.posteriors.specs import MODELS
from jaxrank.results.returned import Row

# NumPyro and its distributions broadcast over ranks.
pytestmark = [
    pytest.mark.rank_promotion("allow"),
    pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning"),
]

SIZES = (1200, 1200, 400, 400, 12)
NAMES = ("de", "en", "es", "fr", "la")
N_MODELS = 5


def simulated(tau: float, seed: int) -> tuple[jr.Comparisons, np.ndarray]:
    """Votes in five languages, four of which are large, and the strengths (5, 5) in each; who meets whom is the same in
    every set, so that one compilation serves all."""
    design, rng = np.random.default_rng(0), np.random.default_rng(seed)
    code = np.repeat(np.arange(len(SIZES)), SIZES)
    a = design.integers(0, N_MODELS, len(code))
    b = (a + design.integers(1, N_MODELS, len(code))) % N_MODELS
    truth = np.linspace(1, -1, N_MODELS) + tau * rng.normal(size=(len(SIZES), N_MODELS))
    won = rng.random(len(code)) < expit(truth[code, a] - truth[code, b])
    columns = {"language": np.array(NAMES, object)[code]}
    votes = jr.Comparisons(a, b, won, models=[f"m{i}" for i in range(N_MODELS)], columns=columns)
    return votes, truth - truth.mean(axis=1, keepdims=True)


def pooled(votes: jr.Comparisons, **options) -> jr.PosteriorByCategory:
    given: dict[str, Any] = {"n_chains": 2, "n_warmup": 400, "n_samples": 1000, "by": "language", **options}
    post = jr.posterior(votes, "bradley_terry", **given)
    assert isinstance(post, jr.PosteriorByCategory)
    return post


@pytest.fixture(scope="module")
def votes() -> tuple[jr.Comparisons, np.ndarray]:
    return simulated(0.6, seed=2)


@pytest.fixture(scope="module")
def found(votes) -> jr.PosteriorByCategory:
    return pooled(votes[0])


def quadrature(wins: np.ndarray) -> dict[str, float]:
    """Posterior means and deviations of two models in two categories on a grid: with d and d_k the differences of
    strengths, d ~ N(0, 2), d_k ~ N(d, 2 tau^2), tau ~ HalfNormal(1). ``wins`` (2, 2): of each model by category."""
    d, each = np.linspace(-6, 6, 241), np.linspace(-9, 9, 1441)
    tau = (np.arange(600) + 0.5) * 0.01
    likelihood = np.exp([w[0] * log_expit(each) + w[1] * log_expit(-each) for w in wins])  # (2, each)
    mass, moments = np.zeros((len(tau), len(d))), np.zeros((2, 2, len(tau), len(d)))
    for t, width in enumerate(tau):
        near = norm.pdf(each[None, :], d[:, None], np.sqrt(2) * width)
        near /= near.sum(axis=1, keepdims=True)
        by_part = near @ likelihood.T  # (d, 2)
        mass[t] = by_part.prod(axis=1)
        for k in range(2):
            for power in (1, 2):
                moments[k, power - 1, t] = (near @ (likelihood[k] * each**power)) * by_part[:, 1 - k]
    prior = norm.pdf(tau)[:, None] * norm.pdf(d, 0, np.sqrt(2))[None, :]
    whole = (mass * prior).sum()
    mean = lambda x: float((x * mass * prior).sum() / whole)
    out = {"tau": mean(tau[:, None]), "d": mean(d[None, :])}
    out["tau sd"] = np.sqrt(mean(tau[:, None] ** 2) - out["tau"] ** 2)
    for k in range(2):
        first, second = ((moments[k, p] * prior).sum() / whole for p in range(2))
        out |= {f"d{k}": first, f"d{k} sd": np.sqrt(second - first**2)}
    return out


@pytest.mark.parametrize("wins", [((14, 4), (3, 6)), ((9, 3), (2, 0))])
def test_two_models_in_two_categories_against_quadrature(wins, record_property):
    wins = np.array(wins)
    rows = [(k, m) for k in range(2) for m in range(2) for _ in range(wins[k, m])]
    battles = jr.Comparisons(
        [f"m{m}" for _, m in rows], [f"m{1 - m}" for _, m in rows], np.ones(len(rows)),
        columns={"language": [NAMES[k] for k, _ in rows]},
    )  # fmt: skip
    post = pooled(battles, n_samples=4000, target_accept=0.95)
    expected = quadrature(wins)
    difference = lambda x: x[..., 0] - x[..., 1]
    by = post.draws["theta_by_category"]
    draws = {"tau": post.draws["tau"], "d": difference(post.draws["theta"])}
    draws |= {f"d{k}": difference(by[:, :, k]) for k in range(2)}
    worst = 0.0
    for name, x in draws.items():
        error = x.std() / np.sqrt(jr.Posterior({"theta": x[..., None]}, ("x",), "", "nuts").diagnose()["ess_mean"][0])
        worst = max(worst, abs(x.mean() - expected[name]) / error)
        if f"{name} sd" in expected:
            assert x.std() == pytest.approx(expected[f"{name} sd"], rel=0.06), name
    record_property("largest", float(worst))
    assert worst < 4


@pytest.mark.parametrize("own", [0.0, 0.3, 1.0])
def test_the_model_is_the_same_however_it_is_sampled(own):
    """The density of departures from the strengths of all is that of N(0, tau^2) for every share."""
    from numpyro import handlers

    spec = by_category(MODELS["bradley_terry"])
    parts = [Pairs(jnp.array([[0.0, 3, 1], [1, 0, 2], [2, 2, 0]]), jnp.zeros((3, 3)))] * 2
    _, evidence = observe(spec, parts)
    model = build(spec, evidence.design, {})
    rng = np.random.default_rng(3)
    theta, tau, raw = np.array([0.7, -0.2, -0.5]), 0.4, rng.normal(size=(2, 2))
    with jax.enable_x64(True):
        seeded = handlers.seed(model, 0)
        sites = {"theta": jnp.asarray(theta), "tau": jnp.asarray(tau), "departures": jnp.asarray(raw)}
        design = {**evidence.design, "own": np.full(2, own)}
        trace = handlers.trace(handlers.substitute(seeded, sites)).get_trace(design, evidence.outcomes)
        by = np.asarray(trace["theta_by_category"]["value"])
        log_p = float(trace["departures"]["fn"].log_prob(trace["departures"]["value"]).sum())
    apart = by - theta
    assert np.abs(apart.sum(axis=1)).max() < 1e-12
    moved = -(1 - own) * np.log(tau) * raw.size  # the draws in units of tau, to that share
    spread = -0.5 * (apart**2).sum() / tau**2 - raw.size * np.log(tau * np.sqrt(2 * np.pi))
    assert log_p + moved == pytest.approx(spread, abs=1e-10)


def test_the_share_of_a_category_grows_with_its_battles_and_is_none_of_equal_ones():
    votes, _ = simulated(0.6, seed=2)
    shares = {}
    for tau in (0.0, 0.6):
        battles, _ = simulated(tau, seed=5)
        parts = [Pairs.of(battles.select(range(N_MODELS), battles.columns["language"] == n)) for n in NAMES]
        whole = jax.tree.map(lambda *x: sum(x), *parts)
        shares[tau] = own_share(MODELS["bradley_terry"], whole, parts)
    assert votes.n_results == sum(SIZES)
    assert np.all(shares[0.6][:2] > 0.8) and shares[0.6][4] < 0.3 < shares[0.6][2]
    assert np.all(shares[0.0] < 0.5)


def test_strengths_of_simulated_categories_and_tau_are_found(found, votes):
    _, truth = votes
    low, high = found.tau_interval(0.98)
    assert low < 0.6 < high and found.tau_interval().kind.startswith("equal tails")
    inside = [np.mean((t >= low) & (t <= high)) for n, t in zip(NAMES, truth, strict=True)
              for low, high in [found.category(n).interval(0.98)]]  # fmt: skip
    assert np.mean(inside) > 0.85
    assert np.abs(found.draws["theta_by_category"].sum(axis=-1)).max() < 1e-10
    assert not found.divergences and not {"r_hat"} & set(found.statuses)


def test_a_small_category_is_pulled_to_the_strengths_of_all_and_a_large_one_is_not(found, votes):
    alone = jr.by(votes[0], "language", "bradley_terry_davidson_wide").results
    widths = {}
    for name in ("de", "la"):
        apart = alone[name].scores - found.scores
        left = (found.category(name).scores - found.scores) @ apart / (apart @ apart)
        widths[name] = left
    assert widths["de"] > 0.8 and 0 <= widths["la"] < 0.5
    reach = [np.diff(found.category(n).interval(), axis=0).mean() for n in ("de", "la")]
    assert reach[1] > 1.5 * reach[0]
    assert reach[1] < np.diff(alone["la"].interval(), axis=0).mean()


def test_tau_is_near_zero_where_categories_are_equal():
    equal = pooled(simulated(0.0, seed=3)[0])
    assert equal.tau.mean() < 0.2 and equal.tau_interval().upper < 0.35
    apart = equal.draws["theta_by_category"].mean(axis=(0, 1)) - equal.scores
    assert np.abs(apart).max() < 0.15


def test_tables_files_and_rows(found, tmp_path):
    frame = found.to_frame()
    assert (
        list(frame.columns[-5:]) == list(NAMES)
        and frame["la"].tolist() == found.ranks_by_category()[4, found.order].tolist()
    )
    long = found.scores_frame(level=0.9)
    assert len(long) == 25 and long.loc[long["language"] == "la", "battles"].sum() == 2 * SIZES[4]
    part = found.category("la")
    assert part.rank_probabilities().sum(axis=0) == pytest.approx(np.ones(5)) and part.scores.shape == (5,)
    said = found.summary()
    assert "tau, of strengths of a language" in said and "in 5 categories of language" in said
    assert isinstance(found["m0"], Row) and found["m0"].la == found.ranks_by_category()[4, 0]
    again = jr.load(found.save(tmp_path / "post.npz"))
    assert isinstance(again, jr.PosteriorByCategory) and again.categories == NAMES and again.by == "language"
    np.testing.assert_array_equal(again.draws["theta_by_category"], found.draws["theta_by_category"])
    np.testing.assert_array_equal(again.battles_by_category(), found.battles_by_category())
    with pytest.raises(OptionError, match="'la'"):
        found.category("it")


def test_units_and_replicated_data_are_those_of_the_categories(found, votes):
    battles, _ = votes
    values = found.log_likelihood()
    design, outcomes = found.evidence
    by = found.draws["theta_by_category"]
    k, a, b = design["category"], design["a"], design["b"]
    gap = by[..., k, a] - by[..., k, b]
    np.testing.assert_allclose(
        values, outcomes[:, 0] * log_expit(gap) + outcomes[:, 1] * log_expit(-gap), rtol=1e-10, atol=1e-12
    )
    assert outcomes.sum() == battles.n_results
    checked = found.predict(n_draws=100).to_frame()
    assert checked["observed"].between(checked["lower"], checked["upper"]).all()


def test_netcdf_keeps_categories(found, tmp_path):
    pytest.importorskip("arviz_base")
    pytest.importorskip("h5netcdf")
    again = jr.load_posterior(found.save(tmp_path / "post.nc"))
    assert isinstance(again, jr.PosteriorByCategory) and again.categories == NAMES
    assert again.summary() == found.summary()
    tree = found.to_arviz(checks=False)
    assert tree["posterior"]["theta_by_category"].dims == ("chain", "draw", "category", "model")
    assert str(tree["observed_data"]["pair"].values[-1]).endswith("(la)")


def test_battles_without_a_category_are_left_out_by_name_and_ties_share_a_parameter():
    battles = jr.Comparisons(
        ["x", "y", "z"] * 6, ["y", "z", "x"] * 6, [1, 0.5, 0, 0, 1, 1, 0.5, 0, 0] * 2,
        columns={"language": ["en", "fr", None] * 6},
    )  # fmt: skip
    short: dict[str, Any] = {"n_warmup": 60, "n_samples": 40, "n_chains": 1, "by": "language"}
    post = jr.posterior(battles, **short)
    assert isinstance(post, jr.PosteriorByCategory)
    assert post.cautions == ("6 battles have no language and are left out",) and post.categories == ("en", "fr")
    assert post.draws["log_nu"].shape == (1, 40) and post.evidence.outcomes.sum() == 12
    assert "hierarchical" in repr(jr.posterior(battles, "hierarchical_bradley_terry", **short))
    svi = pooled(battles, sampler="svi", n_steps=50, **{**short, "n_warmup": 1})
    assert svi.tau.shape == (40,) and "approximate" in svi.statuses


def test_what_cannot_be_pooled_is_refused_by_name(votes):
    battles, _ = votes
    one = battles.select(battles=battles.columns["language"] == "de")
    for data, model, options, error, says in (
        (one, "bradley_terry", {}, OptionError, "one category"),
        (battles, "bradley_terry", {"by": "tongue"}, OptionError, "by='tongue': the battles have no such column"),
        (battles, "bradley_terry", {"sampler": "laplace"}, OptionError, "without by"),
        (battles, "bradley_terry", {"priors": {"tau": 2.0}}, OptionError, "NumPyro distribution"),
        (np.ones((2, 3, 2), int), "bradley_terry", {}, (DataError, UnsupportedDataError), "posterior"),
        (battles, "plackett_luce_rankings", {}, OptionError, "models of pairs"),
    ):
        with pytest.raises(error, match=says):
            jr.posterior(data, model, **{"by": "language", **options})
