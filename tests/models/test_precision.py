"""What float32 says holds: scores lie within the stated resolution of those in float64, or the status says more."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts, Pairs
from jaxrank.evaluation import judges
from jaxrank.methods.catalogue import make
from jaxrank.numerics.ranks import rank_scores
from jaxrank.numerics.status import Status

PAIRED = (
    "bradley_terry", "bradley_terry_map", "bradley_terry_davidson", "bradley_terry_davidson_map", "rao_kupper",
    "rao_kupper_map", "plackett_luce", "bradley_terry_luce", "bradley_terry_luce_map", "davidson_luce",
    "hodge_rank_log_odds_total",
)  # fmt: skip
EXACT = PAIRED[:9]
COUNTED = (
    "avg", "bayes", "rasch", "rasch_map", "rasch_cml", "rasch_2pl",
    *(pytest.param(m, marks=pytest.mark.slow) for m in ("rasch_3pl", "mml_rasch", "mml_2pl", "mml_3pl")),
)  # fmt: skip


def unequal(n: float) -> jr.Comparisons:
    """Two models that met each other n times, and one that met one of them four times."""
    wins = np.array([[0, n, 0], [n, 0, 2], [0, 1, 0]])
    ties = np.array([[0, n / 2, 0], [n / 2, 0, 1], [0, 1, 0]])
    return jr.Comparisons.from_matrix(wins, ties)


def honest(single: jr.Result, double: jr.Result) -> None:
    assert double.status == Status.CONVERGED
    error = np.max(np.abs(single.scores - double.scores))
    assert single.status != Status.CONVERGED or error <= single.fit.resolution


def both(data, method: str) -> list[jr.Result]:
    return [jr.fit(data, method, dtype=dtype, on_failure="return") for dtype in ("float32", "float64")]


@pytest.mark.parametrize("method", PAIRED)
def test_battles_by_the_million(method):
    """numerics 19: errors of 0.05 to 0.17 at a stated resolution of 3e-5."""
    for n in (1e6, 1e7, 1e8):
        single, double = both(unequal(n), method)
        honest(single, double)
        if method in EXACT:  # gradients that are flows and elimination by sums lose nothing
            np.testing.assert_allclose(single.scores, double.scores, atol=2e-6)
            np.testing.assert_allclose(single.standard_errors, double.standard_errors, rtol=1e-4)


@pytest.mark.parametrize("method", ["bradley_terry_davidson_wide", "rao_kupper_map", "bradley_terry_map"])
def test_models_that_only_win_settle_in_float32(method):
    """A ladder where the higher always wins: the value of Davidson's model lost its digits and steps had no end."""
    wins = np.array([[0, 2, 2, 2, 0], [0, 0, 6, 5, 7], [0, 0, 0, 2, 3], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], float)
    data = jr.Comparisons.from_matrix(wins, np.zeros_like(wins))
    single, double = (jr.fit(data, method, prior=25.0, dtype=dtype) for dtype in ("float32", "float64"))
    np.testing.assert_allclose(single.scores, double.scores, atol=5e-5)


@pytest.mark.parametrize("method", COUNTED)
def test_trials_by_the_million(method):
    """numerics 24: the 3PL model claimed scores that were off by 0.5. Without a prior it may have no optimum here, or a
    valley too long for its steps: float32 then claims none either. So may the marginal one (618 steps of its 300).
    numerics 24, for scores that only their prior N(0, 1) holds: mml_2pl claimed some that were off by 0.33."""
    chance = 1 / (1 + np.exp(np.linspace(-1, 1, 5)[None, :] - np.linspace(1.5, -1.5, 4)[:, None]))
    for n in (10**4, 10**6, 10**7):
        successes = np.random.default_rng(n).binomial(n, chance)
        single, double = both(jr.Responses.from_counts(successes, np.full(chance.shape, n)), method)
        if method in ("rasch_3pl", "mml_3pl") and double.status != Status.CONVERGED:
            assert single.status != Status.CONVERGED
        else:
            honest(single, double)


@pytest.mark.parametrize(
    "method", ["rasch_3pl_map", "rasch_2pl_map", pytest.param("rasch_3pl", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("n", [100, 10**5, 10**7])
def test_valleys_of_guessing_are_no_optimum_in_float32(method, n):
    """Along a valley long steps and short ones alternate, and its value is flat within rounding: of 100 tables a size,
    0, 11 and 71 fits of the 3PL model with a prior stated less than they were off, without one 0, 50 and 98 (some of
    which have no optimum)."""
    chance = 1 / (1 + np.exp(np.linspace(-1, 1, 5)[None, :] - np.linspace(1.5, -1.5, 4)[:, None]))
    right = np.random.default_rng(n + 1).binomial(n, chance, (24, 4, 5)).astype(float)
    found = []
    for dtype in ("float32", "float64"):
        with jax.enable_x64(dtype == "float64"):
            counts = jnp.asarray(np.stack([n - right, right], axis=-1), dtype)
            beside = jnp.ones(5, dtype), jnp.broadcast_to(jnp.arange(2.0, dtype=dtype), (5, 2))
            ranker = make(method, max_steps=300 if dtype == "float32" else 3000)
            found.append(
                jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda c, r=ranker, b=beside: r(Counts(c, *b))))(counts))
            )
    single, double = found
    claimed = single.status == Status.CONVERGED
    if method != "rasch_3pl":
        assert np.all(double.status == Status.CONVERGED)
    if "2pl" in method or (n == 100 and method != "rasch_3pl"):
        assert claimed.all()
    both = claimed & (double.status == Status.CONVERGED)
    off = np.abs(single.scores - double.scores).max(1)
    assert np.all(off[both] <= single.resolution[both])
    assert np.all((single.resolution > 0.1)[claimed & ~both])


SHARED = {
    "alpharank": {}, "serial_rank_prob_diff": {}, "rank_centrality": {}, "rank_centrality smoothed": {"smoothing": 1.0},
    "pagerank": {}, "spectral": {}, "spectral_keener": {}, "nash": {},
}  # fmt: skip


@pytest.mark.parametrize("method", SHARED)
def test_methods_of_shares_are_as_exact_for_any_counts(method):
    """numerics section 6: resolutions picked by hand. Shares are single quotients: what float32 loses does not grow
    with the counts, stays below the resolution, and below 32 ulp of each probability of a chain."""
    rng = np.random.default_rng(1)
    ranker = make(method.split()[0], **SHARED[method])
    errors = {}
    for n in (100, 10**4, 10**7):
        strength = rng.normal(0, 1, (16, 12))
        total = np.triu(rng.integers(n // 2, n + 1, (16, 12, 12)), 1)
        wins = rng.binomial(total, 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None])))
        wins = wins + (total - wins).swapaxes(1, 2)
        found = []
        for dtype in ("float32", "float64"):
            with jax.enable_x64(dtype == "float64"):
                w = jnp.asarray(wins, dtype)
                found.append(jax.tree.map(np.asarray, jax.jit(jax.vmap(ranker))(Pairs(w, 0 * w))))
        single, double = found
        good = (single.status == Status.CONVERGED) & (double.status == Status.CONVERGED)
        assert good.mean() > 0.8
        error = np.abs(single.scores - double.scores)
        if method.startswith(("rank_centrality", "pagerank")):
            assert (error / double.scores)[good].max() < 32 * np.finfo(np.float32).eps
        else:
            assert np.all(error.max(axis=1) <= single.resolution, where=good)
        errors[n] = np.median(error.max(axis=1)[good] / np.abs(double.scores).max(axis=1)[good])
    assert errors[10**7] < 4 * errors[100] + np.finfo(np.float32).eps


@pytest.mark.parametrize("equal", [True, False])
def test_equilibria_are_as_exact_as_they_say(equal):
    """numerics section 6: `nash` measured how much could be gained against its mixture and not how far scores move for
    that: it claimed scores that were off by 4e-3 at a resolution of 4e-5. Games with and without draws, twenty
    strategies, and half of the pairs never compared."""
    rng = np.random.default_rng([1, equal])
    run = jax.jit(jax.vmap(make("nash")))
    iterated = []
    for n in (4, 100, 10**7):
        for played in (1.0, 0.5):
            total = np.triu(rng.integers(n if equal else n // 2, n + 1, (60, 20, 20)), 1)
            total = total * (rng.random(total.shape) < played)
            wins = rng.binomial(total, rng.uniform(0.2, 0.8, total.shape))
            wins = wins + (total - wins).swapaxes(1, 2)
            found = []
            for dtype in ("float32", "float64"):
                with jax.enable_x64(dtype == "float64"):
                    w = jnp.asarray(wins, dtype)
                    found.append(jax.tree.map(np.asarray, run(Pairs(w, 0 * w))))
            single, double = found
            good = (single.status == Status.CONVERGED) & (double.status == Status.CONVERGED)
            assert np.all(np.abs(single.scores - double.scores).max(axis=1) <= single.resolution, where=good)
            assert (double.status == Status.CONVERGED).mean() > 0.9
            assert np.all(double.resolution < 1e-3, where=good)  # no claim that says nothing
            iterated.append(good & (single.steps > 0))
    assert np.mean(iterated) > 0.4


@pytest.mark.parametrize("n_questions", [1, 30, 3000])
def test_batches_tell_means_apart_by_what_they_add_up(n_questions):
    """numerics 20: of replicates in float32 models one right answer of 200,000 apart tied, whatever was added up."""
    n = 200_000 // n_questions
    rng = np.random.default_rng(2)
    k = np.repeat(rng.integers(n // 2, n, (8, 1, n_questions)), 2, axis=1)
    k[:, 1, 0] -= 1
    found = []
    for dtype in ("float32", "float64"):
        with jax.enable_x64(dtype == "float64"):
            number = jnp.zeros(()).dtype
            categories = jnp.stack([n - k, k], axis=-1).astype(number)
            stat = Counts(categories, jnp.ones((8, n_questions)), jnp.tile(jnp.arange(2, dtype=number), (8, 1)))
            fits = [jax.jit(jax.vmap(make(m)))(stat) for m in ("avg", "bayes")]
            found.append(jax.tree.map(np.asarray, fits))
    for single, double in zip(*found, strict=True):
        assert np.all(np.abs(single.scores - double.scores).max(axis=1) <= single.resolution)
        if n_questions <= 30:
            ranks = rank_scores(single.scores, resolution=single.resolution)
            np.testing.assert_array_equal(ranks, [[1, 2]] * 8)


def test_replicates_of_totals_are_compared_as_whole_numbers():
    """numerics 20, for replicates: totals of complete data are whole."""
    R = np.ones((2, 2_000, 100), int)
    R[:, :, ::2] = R[1, 0, 1] = 0
    rep = jr.bootstrap(R, "avg", n_replicates=4, scheme="subsample(100)", dtype="float32", progress=False)
    assert rep.replicate_ranks.tolist() == [[1, 2]] * 4


@pytest.mark.parametrize(("k", "n"), [(160_000, 200_000), (50_000_001, 10**8)])
def test_whole_numbers_are_compared_as_such(k, n):
    """numerics 20: means that differ by one trial in so many tied."""
    data = jr.Responses.from_counts([[k], [k - 1]], [[n], [n]])
    assert jr.fit(data, "avg").ranks.tolist() == [1, 2]
    assert jr.fit(data, "bayes").ranks.tolist() == [1, 2]


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")  # NumPyro's transforms broadcast over ranks
@pytest.mark.filterwarnings("ignore:the chains under")  # so few draws are enough for R-hat below 1.2
def test_judges_with_a_million_scores_each():
    """numerics 22: R-hat of 193 in float32, which was all there was."""
    shares = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])
    counts = np.round(1e6 * np.stack([shares, 0.9 * shares + 0.1 / 3, 0.8 * shares + 0.2 / 3])).astype(int)
    found = judges.infer(counts=counts, prior="strong", n_samples=300, n_warmup=300, n_chains=2)
    assert np.nanmax(found.r_hat) < 1.2
