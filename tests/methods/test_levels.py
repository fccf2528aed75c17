"""Grades have values: what averages them averages their levels, what orders them reads their order.

Levels 0, .1, 1 tell the two apart: the index of a category is not its value (interface 1, 2; numerics 6, 7)."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.moments import Moments, Samples
from jaxrank.data.statistics import Counts
from jaxrank.evaluation import metrics
from jaxrank.methods.catalogue import entries
from jaxrank.models.ranker import MeanOfCells
from jaxrank.studies.fit import read_statistic
from tests.problems import N_MODELS, N_QUESTIONS, N_TRIALS, graded, missing

pytestmark = pytest.mark.filterwarnings("ignore:R0 is shared by all models")

UNEVEN = np.array([0.0, 0.1, 1.0])
MAPS = {"times 100": (100.0, 0.0), "a third, moved by 7": (1 / 3, 7.0)}
ABSOLUTE = {"optimality_gap": "gamma", "performance_profile": "tau", "improvability": "high"}
"""Options on the scale of the scores, which move with it."""
RESPONSES = [e for e in entries().values() if e.ranker().statistic.name not in ("orders", "battles", "margins")]
BINARY = [e.name for e in RESPONSES if e.ranker().binary]
VALUED = [e.name for e in RESPONSES if not e.ranker().binary]
VOTES = [
    e.name
    for e in RESPONSES
    if e.ranker().statistic is Counts and not e.ranker().binary and not isinstance(e.ranker(), MeanOfCells)
]


def categories(seed: int = 0, n_trials: int = N_TRIALS) -> np.ndarray:
    """Categories 0, 1, 2 of models of falling ability."""
    rng = np.random.default_rng(seed)
    level = np.linspace(1, -1, N_MODELS)[:, None, None] + rng.normal(0, 1, (N_MODELS, N_QUESTIONS, n_trials))
    return np.digitize(level, (-0.5, 0.5))


def with_levels(index: np.ndarray, levels: np.ndarray) -> jr.Responses:
    return jr.Responses(np.asarray(levels)[index], levels=tuple(levels), mask=index < 0)


def ranks(data: jr.Responses, name: str, dtype: str = "float64", **options: float) -> list[int]:
    greedy = np.zeros((N_QUESTIONS, 1), int) if entries()[name].options.get("needs_R0") else None
    return jr.fit(data, name, R0=greedy, dtype=dtype, on_failure="return", **options).ranks.tolist()


def _slow(name: str) -> list:
    return [pytest.mark.slow] if entries()[name].family in ("irt_joint", "irt_marginal", "mirt") else []


@pytest.mark.parametrize("name", [pytest.param(n, marks=_slow(n)) for n in (*VALUED, *BINARY)])
def test_stretching_and_moving_the_levels_changes_no_rank(name):
    """Interface 2, numerics 6. Statistics without levels are equal to the last bit, and so are their fits."""
    index, levels = (graded(), np.array([0.0, 1.0])) if name in BINARY else (categories(), UNEVEN)
    plain = with_levels(index, levels)
    ranker = entries()[name].ranker()
    for a, b in MAPS.values():
        moved = with_levels(index, a * levels + b)
        if ranker.statistic in (Counts, Moments, Samples):
            option = ABSOLUTE.get(name)
            turned = {} if option is None else {option: a * float(getattr(ranker, option)) + b}
            assert ranks(moved, name, **turned) == ranks(plain, name)
        else:
            pair = [read_statistic(ranker, data) for data in (plain, moved)]
            assert all(np.array_equal(x, y) for x, y in zip(*(vars(s).values() for s in pair), strict=True))


@pytest.mark.parametrize("name", VOTES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_votes_of_single_trials_read_the_order_alone(name, dtype):
    index = categories(1, 1)
    assert ranks(with_levels(index, UNEVEN), name, dtype) == ranks(with_levels(index, np.arange(3.0)), name, dtype)


@pytest.mark.parametrize("name", ["avg", "majority_judgment", "borda", "copeland", "win_rate", "schulze_tie_half"])
def test_means_are_of_levels_and_not_of_indices(name):
    """DATA.md: two questions of .9 .9 against 1 0 and 1 1 (means .9 and .75 of levels, 1 and 1.5 of indices)."""
    data = jr.Responses([[[0.1, 0.1], [0.1, 0.1]], [[1, 0], [1, 0]]], levels=UNEVEN)
    assert jr.fit(data, name).ranks.tolist() == [2, 1]
    data = jr.Responses([[[0.9, 0.9], [0.9, 0.9]], [[1, 0], [1, 0]]], levels=(0, 0.9, 1))
    assert jr.fit(data, name).ranks.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("levels", [(0.1, 0.2, 0.3), (0.1, 0.2, 0.3, 0.77)])
def test_equal_means_tie_whatever_the_rounding(levels, dtype):
    data = jr.Responses([[[0.1, 0.2, 0.3]] * 3, [[0.2, 0.2, 0.2]] * 3, [[0.1, 0.1, 0.1]] * 3], levels=levels)
    for name in (
        "borda",
        "win_rate",
        "majority_judgment",
        "kemeny_young_small",
        "minimax_variant_winning_votes_tie_half",
    ):
        assert jr.fit(data, name, dtype=dtype).ranks.tolist() == [1, 1, 3], name


def test_a_question_weighs_as_often_as_it_occurs_among_ties():
    """Ties are what is left of the questions that compared two models, missing cells apart."""
    R = missing()
    data = jr.Responses(R)
    with pytest.warns(jr.JaxrankWarning, match="no result on some questions"):
        pref = jr.fit(data, "minimax_variant_winning_votes_tie_half").scores
    p = np.where(data.trials > 0, data.counts[..., 1] / np.maximum(data.trials, 1), np.nan)
    wins = np.nansum(p[:, None] > p[None], axis=-1)
    ties = np.nansum(p[:, None] == p[None], axis=-1)
    votes = wins + ties / 2
    np.testing.assert_array_equal(pref, np.min(np.where(wins > wins.T, -votes, 0), axis=0))


@pytest.mark.parametrize("name", ["avg", "bayes"])
@pytest.mark.parametrize("scheme", ["trials", "trials_per_question", "questions"])
@pytest.mark.parametrize("index", [graded(), categories()], ids=["two levels", "three levels"])
def test_scores_and_intervals_are_on_the_scale_of_the_levels(name, scheme, index):
    """Interface 1, numerics 7: levels times 100 give scores, replicates and intervals times 100."""
    levels = UNEVEN[: index.max() + 1] if index.max() > 1 else np.array([0.0, 1.0])
    small, large = (
        jr.bootstrap(with_levels(index, k * levels), name, n_replicates=64, scheme=scheme, seed=1, dtype="float64")
        for k in (1, 100)
    )
    np.testing.assert_allclose(large.replicate_scores, 100 * small.replicate_scores, rtol=1e-12)
    np.testing.assert_allclose(large.estimate.scores, 100 * small.estimate.scores, rtol=1e-12)
    np.testing.assert_allclose(large.estimate.interval(), 100 * np.asarray(small.estimate.interval()), rtol=1e-12)


@pytest.mark.parametrize("levels", [(1.0, 3.0), (0.0, 0.01), (0.0, 0.1, 1.0)])
@pytest.mark.parametrize("name", ["avg", "bayes"])
def test_fit_evaluation_posterior_and_bootstrap_agree(name, levels):
    """Interface 1 and 2: four calls, one number."""
    index = np.minimum(categories(2), len(levels) - 1)
    data = with_levels(index, np.array(levels))
    fit = jr.fit(data, name, dtype="float64")
    metric = getattr(metrics, name)(data, dtype="float64")
    np.testing.assert_allclose(fit.scores, metric.point, rtol=1e-12)
    by_question = np.asarray(levels)[index].mean(axis=2)  # avg: of questions; bayes: of the published posterior
    error = metric.sd if name == "bayes" else by_question.std(axis=1, ddof=1) / by_question.shape[1] ** 0.5
    np.testing.assert_allclose(fit.standard_errors, error, rtol=1e-9)
    for scheme in ("trials", "questions"):
        rep = jr.bootstrap(data, name, n_replicates=400, scheme=scheme, seed=0, dtype="float64")
        np.testing.assert_array_equal(rep.estimate.scores, fit.scores)
        spread = rep.replicate_scores.std(axis=0)
        assert np.all(np.abs(rep.replicate_scores.mean(axis=0) - fit.scores) < 5 * spread / 20 + 1e-12)
    if name == "bayes":
        post = jr.posterior(data, "bayes", n_samples=500, seed=0)
        draws = np.asarray(post.draws["theta"]).reshape(-1, N_MODELS)
        assert np.all(np.abs(draws.mean(axis=0) - fit.scores) < 5 * fit.standard_errors / np.sqrt(len(draws)))


@pytest.mark.parametrize("name", ["avg", "bayes"])
def test_prefixes_read_the_levels(name):
    """The last prefix of a replicate has the ranks of its fit, with levels that indices would order otherwise."""
    index = np.zeros((2, 3, 10), int)
    index[0], index[1, :, :3] = 1, 2  # .1 always against 1 in 3 of 10: means .1 and .3, mean indices 1 and .6
    con = jr.convergence(with_levels(index, UNEVEN), name, n_replicates=200, seed=0, reference=[0, 1])
    assert con.tau(name)[-1] > 0.9


def test_totals_of_large_weights_do_not_overflow():
    """Numerics 23: int32 totals of w = (0, 3e6) over 30 questions and 80 trials overflowed."""
    R = graded(5, (3, 30, 80))
    con = jr.convergence(R, jr.methods.Bayes(w=(0, 3e6)), n_replicates=8, seed=0, grid=[20, 40, 80])
    plain = jr.convergence(R, jr.methods.Bayes(), n_replicates=8, seed=0, grid=[20, 40, 80])
    np.testing.assert_array_equal(con.tau("Bayes"), plain.tau("Bayes"))


def test_no_method_is_named_where_cells_are_tabulated():
    """A method is one file: studies ask the ranker (interface 1)."""
    import inspect

    from jaxrank.resampling import prefixes, tabulated

    for module in (tabulated, prefixes):
        assert "jaxrank.methods" not in inspect.getsource(module)
