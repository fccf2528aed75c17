"""docs/coming_from.md: the other library's call and ours on the same data, where the other one is installed or what it
gives is stored."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.numerics.interval import normal_quantile
from tests.oracles import golden

pytestmark = pytest.mark.filterwarnings("ignore")  # of the others, which are not ours to mend
WINS = np.array([[0, 7, 4, 5], [3, 0, 6, 2], [2, 5, 0, 6], [4, 3, 2, 0]])
BATTLES = jr.Comparisons.from_matrix(WINS, models=["ada", "bob", "cyd", "dee"])
PAIRS = [(int(i), int(j)) for i, j in np.argwhere(WINS) for _ in range(WINS[i, j])]


def test_choix() -> None:
    choix = pytest.importorskip("choix")
    ours = jr.fit(BATTLES, "bradley_terry", dtype="float64").scores
    np.testing.assert_allclose(choix.ilsr_pairwise(4, PAIRS), ours, atol=1e-6)
    np.testing.assert_allclose(choix.mm_pairwise(4, PAIRS, tol=1e-12), ours, atol=1e-6)
    np.testing.assert_allclose(choix.ilsr_pairwise_dense(WINS), ours, atol=1e-6)
    orders = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 0, 1], [3, 1], [0, 3, 2, 1], [2, 3, 0]]
    lists = jr.Rankings([["abcd"[i] for i in order] for order in orders], models=list("abcd"))
    ours = jr.fit(lists, "plackett_luce_rankings", dtype="float64").scores
    np.testing.assert_allclose(choix.ilsr_rankings(4, orders), ours, atol=1e-6)


def test_evalica() -> None:
    evalica = pytest.importorskip("evalica")
    rng = np.random.default_rng(0)
    sides = np.array([rng.permutation(4)[:2] for _ in range(200)])
    outcome = rng.choice([1.0, 0.5, 0.0], 200, p=[0.45, 0.2, 0.35])
    words = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    names = [f"m{i}" for i in range(4)]
    first, second = ([names[i] for i in column] for column in sides.T)
    winners = [words[o] for o in outcome]
    battles = jr.Comparisons(first, second, outcome, models=names)
    found = evalica.bradley_terry(first, second, winners, tolerance=1e-12, limit=10_000).scores
    theirs = np.log(np.array([found[name] for name in names]))
    ours = jr.fit(battles, "bradley_terry", ties="half", dtype="float64").scores
    np.testing.assert_allclose(theirs - theirs.mean(), ours, atol=1e-5)
    found = evalica.elo(first, second, winners, initial=1000, k=4).scores
    ours = jr.fit(battles, "elo", ties="draw", initial=1000, K=4, dtype="float64").scores
    np.testing.assert_allclose([found[name] for name in names], ours, atol=1e-8)


def test_arena_rank() -> None:
    """What it gives for the votes of LLMFAO is stored: it wants a JAX of its own. Ratings, and half the width of its
    sandwich intervals of independent votes, without and with the control for style."""
    votes, theirs = golden("llmfao"), golden("arena_rank")
    rows = [
        (i, j, outcome)
        for i, j, *counts in votes["pairs_i_j_wins_i_wins_j_ties"]
        for outcome, n in zip((1.0, 0.0, 0.5), counts, strict=True)
        for _ in range(n)
    ]
    first, second, outcome = map(np.array, zip(*rows, strict=True))
    k = np.arange(len(rows))
    normal = lambda x: (x - x.mean()) / x.std()
    columns = {"vote": k.astype(str), "length": normal(np.sin(k)), "markdown": normal(np.cos(1.7 * k))}
    battles = jr.Comparisons(first, second, outcome, models=votes["models"], columns=columns)
    style = {"covariates": ("length", "markdown"), "relative": False}
    fits = {
        "plain": ({}, 1e-6, 1e-4),
        "plain_default": ({}, 0.02, 4e-3),
        "style": ({**style, "covariate_var": 1 / len(rows)}, 1e-6, 1e-3),
        "style_unshrunk": (style, 1e-6, 1e-3),
    }
    for name, (options, points, width) in fits.items():
        fit = jr.fit(battles, "bradley_terry", ties="half", dtype="float64", **options)
        ratings = jr.ratings(fit).to_frame().set_index("model").loc[list(votes["models"]), "rating"]
        np.testing.assert_allclose(ratings, theirs[name]["ratings"], atol=points, err_msg=name)
        independent = fit.covariance("sandwich", cluster="vote") * (len(rows) - 1) / len(rows)
        half = 400 / np.log(10) * normal_quantile(0.95) * np.sqrt(np.diag(independent))
        np.testing.assert_allclose(half, theirs[name]["half_widths"], rtol=width, err_msg=name)
        if options:
            np.testing.assert_allclose(fit.params["beta"], theirs[name]["coeffs"], atol=1e-8)


def test_rliable() -> None:
    pytest.importorskip("rliable")
    metrics = pytest.importorskip("rliable.metrics")
    scores = np.random.default_rng(1).random((3, 5, 8)) * 1.3  # algorithms, runs, tasks
    ours = jr.Responses(scores.transpose(0, 2, 1))
    calls = {
        "avg": (metrics.aggregate_mean, {}),
        "iqm": (metrics.aggregate_iqm, {}),
        "median_score": (metrics.aggregate_median, {}),
        "optimality_gap": (metrics.aggregate_optimality_gap, {"gamma": 1.0}),
    }
    for method, (aggregate, options) in calls.items():
        shown = jr.fit(ours, method, dtype="float64", **options).to_frame().sort_values("model")
        values = shown[shown.columns[2]].to_numpy()
        np.testing.assert_allclose(values, [aggregate(x) for x in scores], atol=1e-12, err_msg=method)


def test_statsmodels() -> None:
    """A binomial GLM of who won, with a covariate and the side: coefficients, errors, and the sandwich by voter."""
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 300)
    b, length, voter = (a + rng.integers(1, 4, 300)) % 4, rng.normal(size=300), rng.integers(0, 30, 300)
    won = (rng.random(300) < 1 / (1 + np.exp(-(0.5 * (b - a) + 0.4 * length + 0.2)))).astype(int)
    columns = {"length": length, "voter": [f"v{v}" for v in voter]}
    battles = jr.Comparisons(a, b, won, models=list("abcd"), columns=columns)
    fit = jr.fit(battles, "bradley_terry", covariates="length", side=True, dtype="float64")
    design = np.column_stack([np.eye(4)[a][:, :3] - np.eye(4)[b][:, :3], length, np.ones(300)])
    glm = api.GLM(won, design, family=api.families.Binomial())
    centre = np.eye(4)[:, :3] - 1 / 4
    plain, options = glm.fit(tol=1e-12), {"groups": voter, "use_correction": False}
    by_voter = glm.fit(tol=1e-12, cov_type="cluster", cov_kwds=options).cov_params() * 30 / 29
    np.testing.assert_allclose(fit.scores, centre @ plain.params[:3], atol=1e-8)
    np.testing.assert_allclose([*fit.params["beta"], fit.params["delta"]], plain.params[3:], atol=1e-8)
    np.testing.assert_allclose(fit.covariance(), centre @ plain.cov_params()[:3, :3] @ centre.T, atol=1e-8)
    np.testing.assert_allclose(jr.coefficients(fit).standard_errors, plain.bse[3:], atol=1e-8)
    np.testing.assert_allclose(
        fit.covariance("sandwich", cluster="voter"), centre @ by_voter[:3, :3] @ centre.T, atol=1e-8
    )
