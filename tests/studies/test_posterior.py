"""Posterior sampling: against quadrature and closed forms, calibration, diagnostics, ranks, cases."""

from __future__ import annotations

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts, Pairs
from jaxrank.errors import DataError, JaxrankWarning, OptionError, UnknownMethodError
from jaxrank.numerics.chains import ess_bulk, ess_mean, ess_tail, r_hat
from jaxrank.numerics.sampling import nuts
from jaxrank.posteriors.models import build
from jaxrank.posteriors.specs import MODELS
from tests.oracles import golden

# NumPyro and its distributions broadcast over ranks.
pytestmark = pytest.mark.rank_promotion("allow")

COUNTER = [[1, 1, 1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 0, 1, 0]]


def quadrature(wins, variance=1.0):
    """Posterior mean and sd of three zero-sum Bradley-Terry strengths on a dense grid of two contrasts."""
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # orthonormal, zero sum
    u = np.linspace(-6, 6, 401)
    x, y = np.meshgrid(u, u, indexing="ij")
    theta = x[..., None] * basis[0] + y[..., None] * basis[1]
    log_p = -(theta**2).sum(-1) / (2 * variance)
    for i in range(3):
        for j in range(3):
            log_p -= wins[i][j] * np.logaddexp(0, theta[..., j] - theta[..., i])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = (p[..., None] * theta).sum((0, 1))
    sd = np.sqrt((p[..., None] * (theta - mean) ** 2).sum((0, 1)))
    better = (p[..., None, None] * (theta[..., :, None] > theta[..., None, :])).sum((0, 1))
    return mean, sd, better


@functools.cache
def bt(n_samples=1500):
    return jr.posterior(COUNTER, "bradley_terry", n_warmup=500, n_samples=n_samples, seed=1)


@pytest.mark.slow
def test_bradley_terry_against_quadrature():
    post = bt()
    mean, sd, better = quadrature(np.asarray(Pairs.of(jr.Responses(COUNTER)).wins))
    error = post.standard_error()
    assert np.all(np.abs(post.scores - mean) < 4 * error), (post.scores, mean, error)
    assert post.theta.std(axis=0) == pytest.approx(sd, rel=0.06)
    assert np.abs(post.superiority().above - better)[~np.eye(3, dtype=bool)].max() < 0.03
    assert not post.chain_problems and post.divergences == 0
    assert np.abs(post.theta.sum(axis=1)).max() < 1e-10


@pytest.mark.slow
def test_golden_posterior_mean_of_bayesian_mcmc():
    oracle = golden("11b_tensor_oracles")["tensors"]["T5_counterexample_3x8x1"]
    fit = jr.fit(np.array(oracle["R"]), "bayesian_mcmc")
    expected = oracle["methods"]["bayesian_mcmc_exact_posterior_mean"]["scores"]
    assert np.all(np.abs(fit.scores - expected) < 4 * fit.params["monte_carlo_error"])
    assert np.all(fit.params["r_hat"] < 1.01)


def test_ranks_by_hand():
    draws = np.array([[[3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 2.0, 1.0]]])
    post = jr.Posterior({"theta": draws}, ("a", "b", "c"), "test", "exact")
    assert post.rank_draws().tolist() == [[1, 2, 3], [1, 3, 2], [3, 2, 1], [1, 1, 3]]
    np.testing.assert_allclose(post.rank_probabilities()[0], [0.75, 0, 0.25])
    np.testing.assert_allclose(post.expected_ranks(), [1.5, 2.0, 2.25])
    np.testing.assert_allclose(post.superiority().above[0] + post.superiority().tied[0] / 2, [0.5, 0.625, 0.75])
    np.testing.assert_allclose(post.top_k(1), [0.75, 0.25, 0.25])
    assert np.asarray(post.rank_intervals(0.5)).T.tolist() == [[1, 1], [1, 2], [1, 3]]
    assert post.ranks.tolist() == [1, 2, 2] and post.problems == ()
    with pytest.raises(OptionError):
        post.top_k(4)
    with pytest.raises(OptionError):
        post.interval(1.0)


def test_summary_and_files(tmp_path):
    post = bt()
    frame = post.to_frame()
    assert list(frame["model"])[2] == "model 2" and frame["score"].is_monotonic_decreasing
    assert np.all((frame["lower"] < frame["score"]) & (frame["score"] < frame["upper"]))
    assert not post.chain_problems and frame.attrs["problems"] == list(post.cautions)
    post.save(tmp_path / "post.npz")
    again = jr.load_posterior(tmp_path / "post.npz")
    np.testing.assert_array_equal(again.draws["theta"], post.draws["theta"])
    assert again.models == post.models and again.divergences == post.divergences
    np.savez(tmp_path / "other.npz", x=1)
    with pytest.raises(DataError):
        jr.load_posterior(tmp_path / "other.npz")


def test_conjugate_posterior_is_bayes_at_n():
    R = np.random.default_rng(0).integers(0, 3, (3, 6, 5))
    post = jr.posterior(R, "bayes", n_samples=4000)
    fit = jr.fit(R, "bayes", dtype="float64")
    np.testing.assert_allclose(post.scores, fit.scores, atol=0.02)
    assert post.theta.std(axis=0) == pytest.approx(fit.params["sd"], rel=0.05)


def test_laplace_is_the_mode_and_its_curvature():
    post = jr.posterior(COUNTER, "bradley_terry", sampler="laplace", n_samples=4000)
    fit = jr.fit(COUNTER, "bradley_terry_map", dtype="float64")
    np.testing.assert_allclose(post.scores, fit.scores, atol=0.02)
    assert any("approximation" in problem for problem in post.problems)
    with pytest.raises(OptionError):
        jr.posterior(COUNTER, "rasch", sampler="laplace")


def test_case_K09_short_runs_are_flagged():
    rng = np.random.default_rng(7)
    R = (rng.random((6, 10, 5)) < np.linspace(0.8, 0.2, 6)[:, None, None]).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        short = jr.posterior(R, "bradley_terry", n_warmup=20, n_samples=20)
    said = [str(w.message) for w in caught if issubclass(w.category, JaxrankWarning)]
    assert any("effective sample size" in text for text in said)
    assert any("n_samples" in problem for problem in short.problems)
    assert short.problems[0] in repr(short)
    long = jr.posterior(R, "bradley_terry")
    assert not long.chain_problems
    assert len(long.cautions) == 1 and "(the design effect); use rasch" in long.cautions[0]
    assert set(long.diagnose()) >= {"r_hat", "ess_bulk", "ess_tail"} and len(long.diagnose()["r_hat"]) == 6
    assert np.abs(long.scores - jr.fit(R, "bradley_terry_map", dtype="float64").scores).max() < 0.15


def test_case_G03_seeds():
    state = np.random.get_state()  # noqa: NPY002
    runs = [jr.posterior(COUNTER, "bradley_terry", n_warmup=500, n_samples=1500, seed=s).theta for s in (1, 2)]
    np.testing.assert_array_equal(bt().theta, runs[0])
    assert not np.array_equal(runs[0], runs[1])
    for before, after in zip(state, np.random.get_state(), strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(before, after)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_case_E02_two_parameter_model_does_not_flip(seed):
    rng = np.random.default_rng(11)
    R = rng.integers(0, 2, (8, 12))
    R[0], R[7] = 1, 0
    post = jr.posterior(R, "rasch_2pl", seed=seed)
    assert post.ranks[0] == 1 and post.ranks[7] == 8
    assert np.all(post.draws["a"] > 0)


@pytest.mark.slow
def test_case_K08_hierarchical_model():
    """Ten models, 4 chains of 1,000 draws, all chains in one call; the learnt scale follows the spread."""
    R = np.random.default_rng(3).random((10, 20, 10)) < np.linspace(0.1, 0.9, 10)[:, None, None]
    post = jr.posterior(R, "hierarchical_bradley_terry")
    assert post.draws["scale"].shape == (4, 1000) and not post.chain_problems
    assert post.draws["scale"].mean() == pytest.approx(post.scores.std(), rel=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in MODELS if "rankings" not in name])
def test_every_model_has_a_posterior(model):
    R = np.random.default_rng(4).random((4, 10, 4)) < np.array([0.8, 0.6, 0.5, 0.3])[:, None, None]
    accept = 0.99 if model == "rasch_3pl" else None  # so little data leave its posterior with narrow corners
    post = jr.posterior(R, model, n_warmup=500, n_samples=2000, target_accept=accept)
    assert not post.chain_problems
    assert post.ranks[0] == 1 and post.ranks[3] == 4
    assert np.abs(post.theta.sum(axis=1)).max() < 1e-8


@pytest.mark.slow
def test_rankings_have_posteriors():
    orders = [[0, 1, 2, 3], [1, 0, 3, 2], [0, 2, 1, 3], [0, 1, 3, 2], [3, 0, 1, 2]] * 3
    strict = jr.posterior(jr.Rankings(orders), "plackett_luce_rankings", n_warmup=500, n_samples=1500)
    mode = jr.fit(jr.Rankings(orders), "plackett_luce_rankings_map", max_tied=1, dtype="float64")
    assert np.abs(strict.scores - mode.scores).max() < 0.15
    tied = jr.posterior(jr.Rankings([*orders, [0, [1, 2], 3]]), "plackett_luce_rankings", n_warmup=500, n_samples=1500)
    assert tied.ranks[0] == 1
    assert "log_delta" in tied.draws and "log_delta" not in strict.draws


@pytest.mark.slow
def test_own_priors():
    from numpyro.distributions import Normal

    post = jr.posterior(COUNTER, "bradley_terry", priors={"theta": Normal(0, 0.01)}, n_warmup=300, n_samples=300)
    assert np.abs(post.scores).max() < 0.02
    for priors in ({"nu": 1.0}, {"theta": "wide"}, -1.0):
        with pytest.raises(OptionError):
            jr.posterior(COUNTER, "bradley_terry", priors=priors)


@pytest.mark.parametrize("prior", [jr.priors.Laplace(0.2, 0.5), jr.priors.Cauchy(0.0, 0.3)], ids=["laplace", "cauchy"])
def test_priors_that_are_not_normal_are_those_of_independent_strengths(prior):
    """numerics section 4: and are centred afterwards, as is said, where fits penalise the centred ones."""
    import numpyro
    from numpyro.infer.util import log_density

    battles = jr.Comparisons.from_matrix([[0, 3, 1], [1, 0, 2], [2, 1, 0]])
    model, design, outcomes = jr.numpyro_model(battles, "bradley_terry", priors=prior)
    raw = np.array([0.7, -0.4, 0.1])
    with jax.enable_x64(True):
        value = lambda x: float(log_density(model, (design, outcomes), {}, {"raw_theta": jnp.asarray(x)})[0])
        drawn = numpyro.handlers.trace(numpyro.handlers.seed(model, 0)).get_trace(design)
        shift = value(raw + 0.3) - value(raw)  # the likelihood does not see it
        expected = float(prior.penalty(jnp.asarray(raw)) - prior.penalty(jnp.asarray(raw + 0.3)))
    np.testing.assert_allclose(shift, expected, rtol=1e-9)
    sites = {name: np.asarray(site["value"]) for name, site in drawn.items()}
    np.testing.assert_allclose(sites["theta"], sites["raw_theta"] - sites["raw_theta"].mean(), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"model": "bradley"}, UnknownMethodError),
        ({"sampler": "gibbs"}, OptionError),
        ({"n_chains": 0}, OptionError),
        ({"n_samples": 1.5}, OptionError),
        ({"target_accept": 1.0}, OptionError),
        ({"model": "bayes", "priors": 1.0}, OptionError),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error):
        jr.posterior(COUNTER, **options)


def test_diagnostics_of_known_chains():
    rng = np.random.default_rng(5)
    white = rng.normal(size=(4, 2000, 2))
    assert np.all(np.abs(ess_bulk(white) / 8000 - 1) < 0.1) and np.all(r_hat(white) < 1.003)
    assert np.all(np.abs(ess_tail(white) / 8000 - 1) < 0.15)
    rho = 0.9
    chain = np.zeros((4, 20000))
    for n in range(1, 20000):
        chain[:, n] = rho * chain[:, n - 1] + rng.normal(size=4)
    assert ess_mean(chain) == pytest.approx(80000 * (1 - rho) / (1 + rho), rel=0.1)
    apart = white + np.arange(4)[:, None, None]
    assert np.all(r_hat(apart) > 1.5) and np.all(ess_bulk(apart) < 20)
    scaled = white * np.array([1, 1, 1, 5.0])[:, None, None]
    assert np.all(r_hat(scaled) > 1.05)  # the folded draws see a difference of spread
    assert np.all(np.isnan(r_hat(np.ones((2, 10)))))
    assert all(np.isnan(f(np.zeros((2, n, 3)))).all() for f in (r_hat, ess_bulk, ess_tail, ess_mean) for n in (1, 3))


@functools.cache
def _calibration(name, n_sets, n_models=3, n_questions=4):
    """Rank of the true contrast among the draws, for data simulated from the prior, all sets in one mapped call."""
    spec = MODELS[name]
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(n_sets, n_models))
    theta -= theta.mean(axis=1, keepdims=True)
    n = 6.0
    if spec.item_depth:
        from scipy.special import expit

        b_scale, level = np.abs(2 * rng.normal(size=n_sets)), 3 * rng.normal(size=n_sets)
        b = level[:, None] + b_scale[:, None] * rng.normal(size=(n_sets, n_questions))
        a = np.exp(0.5 * rng.normal(size=(n_sets, n_questions)) * (spec.item_depth > 1))
        p = expit(a[:, None, :] * (theta[:, :, None] - b[:, None, :]))
        right = rng.binomial(int(n), p).astype(float)
        data = Counts(np.stack([n - right, right], axis=-1), np.ones((n_sets, n_questions)), np.zeros((n_sets, 2)))
    else:
        pi = np.exp(theta)
        nu = np.exp(1.5 * rng.normal(size=n_sets)) if "davidson" in name else np.zeros(n_sets)
        wins, ties = np.zeros((2, n_sets, n_models, n_models))
        for i in range(n_models):
            for j in range(i):
                weight = np.stack([pi[:, i], pi[:, j], nu * np.sqrt(pi[:, i] * pi[:, j])], axis=1)
                got = rng.multinomial(int(n), weight / weight.sum(1, keepdims=True))
                wins[:, i, j], wins[:, j, i] = got[:, 0], got[:, 1]
                ties[:, i, j] = ties[:, j, i] = got[:, 2]
        data = Pairs(wins, ties)
    with jax.enable_x64(True):
        sets = [spec.family.observe(spec.read(jax.tree.map(lambda x, i=i: x[i], data))) for i in range(n_sets)]
        evidence = jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *sets)
        run = nuts(build(spec, sets[0].design, {}), 300, 396, 0.9)
        keys = jax.random.split(jax.random.key(1), (n_sets, 1))
        draws, extras = jax.jit(jax.vmap(run))(keys, *evidence)
    draws = np.asarray(draws["theta"])[:, 0, ::4]  # (sets, 99, models), thinned to near independence
    contrast = draws[:, :, 0] - draws[:, :, 1]
    return (contrast < (theta[:, 0] - theta[:, 1])[:, None]).sum(axis=1), int(np.asarray(extras["diverging"]).sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bradley_terry", "bradley_terry_davidson", "rasch", "rasch_2pl"])
def test_simulation_based_calibration(name):
    """The rank of the truth among 99 draws is uniform on 0..99 when sampler and model are right."""
    from scipy.stats import chisquare

    rank, _ = _calibration(name, 500)
    counts = np.bincount(rank // 10, minlength=10)
    p_value = chisquare(counts).pvalue
    inside = np.mean((rank >= 5) & (rank < 95))
    print(f"{name}: uniformity p = {p_value:.3f}, coverage of 90 % intervals {inside:.3f}")
    assert p_value > 0.001, counts
    assert abs(inside - 0.9) < 0.05


def metropolis(right, tried, n_steps, seed):
    """An independent sampler of the Rasch posterior: one coordinate at a time, normal steps, NumPy alone.

    Abilities ~ N(0, 1) centred, difficulties = level + b_scale * spread; returns centred abilities (draws, models).
    """
    from scipy.special import expit

    rng = np.random.default_rng(seed)
    n_models, n_questions = right.shape
    raw, spread, level, log_scale = np.zeros(n_models), np.zeros(n_questions), 0.0, 0.0

    def log_p(raw, spread, level, log_scale):
        theta, scale = raw - raw.mean(), np.exp(log_scale)
        eta = theta[:, None] - level - scale * spread[None, :]
        prior = -(raw @ raw) / 2 - (spread @ spread) / 2 - level**2 / 18 - scale**2 / 8 + log_scale
        return prior + np.sum(right * np.log(expit(eta)) + (tried - right) * np.log(expit(-eta)))

    x = np.concatenate([raw, spread, [level, log_scale]])
    parts = lambda x: (x[:n_models], x[n_models:-2], x[-2], x[-1])
    step, accepted, now = np.full(len(x), 0.5), np.zeros(len(x)), log_p(*parts(x))
    kept = []
    for t in range(n_steps):
        for k in range(len(x)):
            new = x.copy()
            new[k] += step[k] * rng.normal()
            there = log_p(*parts(new))
            if np.log(rng.random()) < there - now:
                x, now = new, there
                accepted[k] += 1
        if t < n_steps // 5:
            if t % 50 == 49:
                step *= np.exp(accepted / 50 - 0.44)
                accepted[:] = 0
        else:
            kept.append(x[:n_models] - x[:n_models].mean())
    return np.array(kept)


@pytest.mark.slow
def test_rasch_against_an_independent_sampler():
    R = (np.random.default_rng(8).random((4, 6, 3)) < np.array([0.8, 0.6, 0.5, 0.3])[:, None, None]).astype(int)
    chains = np.stack([metropolis(R.sum(-1), np.full((4, 6), 3), 4000, seed) for seed in range(2)])
    post = jr.posterior(R, "rasch", n_samples=2500, n_warmup=1000, target_accept=0.95)
    mean, ess = chains.mean(axis=(0, 1)), ess_mean(chains)
    sd = chains.reshape(-1, 4).std(axis=0)
    error = np.hypot(sd / np.sqrt(ess), post.standard_error())
    print("Rasch, difference of the means in Monte Carlo errors:", ((post.scores - mean) / error).round(2))
    print(
        "sd:",
        sd.round(3),
        post.theta.std(axis=0).round(3),
        "effective draws:",
        ess.round(),
        post.diagnose()["ess_mean"],
    )
    assert np.all(np.abs(post.scores - mean) < 4 * error)
    assert post.theta.std(axis=0) == pytest.approx(sd, rel=0.08)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("davidson", "did you mean 'bradley_terry_davidson'"),
        ("bradley_terry_map", "did you mean 'bradley_terry'"),
        ("bradly_terry", "did you mean 'bradley_terry"),
        ("elo", "; there are bradley_terry"),
        (3, "no posterior for 3"),
    ],
)
def test_unknown_models_name_the_nearest(model, says):
    """Interface, section 4: one catalogue of names."""
    with pytest.raises(jr.errors.UnknownMethodError, match=says):
        jr.posterior([[1, 0], [0, 1]], model)


def test_models_are_those_of_the_catalogue():
    from jaxrank.posteriors.specs import IDENTIFIERS

    assert set(IDENTIFIERS) - set(jr.catalogue()) == {"bradley_terry_ties"}


def test_lists_are_read_as_lists_under_every_name():
    """Interface 12: the posterior of plackett_luce read the pairs of ordered lists."""
    strict, tied = jr.Rankings([[0, 1, 2], [1, 2, 0]]), jr.Rankings([[0, [1, 2]], [1, 2, 0]])
    for name in ("plackett_luce", "plackett_luce_rankings"):
        assert "slates" in jr.numpyro_model(strict, name)[1]
        assert "orders" in jr.numpyro_model(tied, name)[1]
