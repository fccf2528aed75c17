"""Rankings of scorio, another program for the same methods, on its own test data.

Every case must give scorio's ranking, or stand in a table below with the reason; a reason is a phrase of the method's
**Departs** line, which is looked up, and is itself tested. A row of a table that no longer differs fails.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.methods.catalogue import entry as catalogue_entry
from jaxrank.numerics.solve.quadrature import GaussHermite
from jaxrank.numerics.status import Status
from tests.oracles import golden

RENAMED = {"dynamic_irt": "dynamic_irt_linear"}

# Cases whose ranking differs with our defaults, and the options with which both give the same: entry, options, phrase.
SETTINGS = {
    "elo@D2": ("elo", {"K": 32.0, "per_event": "sum", "ties": "correct_draw_only"}, 'the defaults "mean" and K = 4'),
    "elo@D3": ("elo", {"K": 32.0, "per_event": "sum", "ties": "correct_draw_only"}, 'the defaults "mean" and K = 4'),
    "rasch_mml_credible@D3": ("rasch_mml_credible", {"quadrature": GaussHermite(9)}, "fixed nodes"),
}

# Cases in which scorio separates models that tie exactly, by the noise of its optimiser: phrase.
NOISE = {
    "bradley_terry_davidson@D2": "tie exactly",
    "bradley_terry_davidson@D3": "tie exactly",
    "bradley_terry_davidson_map@D2": "tie exactly",
    "bradley_terry_davidson_map@D3": "tie exactly",
    "bradley_terry_luce@D2": "tie exactly",
    "bradley_terry_luce_map@D2": "tie exactly",
    "davidson_luce@D3": "tie exactly",
    "davidson_luce_map@D3": "tie exactly",
}

# Cases in which ours ties what lies within its Monte Carlo error: phrase.
DRAWN = {"bayesian_mcmc@D3": "other neighbours tie within three Monte"}

# Cases in which scorio raises; what ours ends with. Where that is a ranking or another failure: phrase.
REFUSED = {
    "bradley_terry@D1": (Status.NO_FINITE_OPTIMUM, None),
    "plackett_luce@D1": (Status.NO_FINITE_OPTIMUM, None),
    "davidson_luce@D1": (Status.NO_FINITE_OPTIMUM, None),
    "bradley_terry_luce@D1": (Status.NO_FINITE_OPTIMUM, None),
    "dynamic_irt@D1": (Status.NO_FINITE_OPTIMUM, None),
    "dynamic_irt@D3": (Status.NO_FINITE_OPTIMUM, None),
    "rasch_2pl@D3": (Status.CONVERGED, "raises at its step limit"),
    "rasch_2pl_map@D1": (Status.CONVERGED, "raises at its step limit"),
    "rasch_2pl_map@D3": (Status.CONVERGED, "raises at its step limit"),
    "rasch_3pl@D1": (Status.NO_FINITE_OPTIMUM, "raises at its step limit"),
    "rasch_3pl@D3": (Status.CONVERGED, "raises at its step limit"),
    "rasch_3pl_map@D1": (Status.CONVERGED, "raises at its step limit"),
    "rasch_3pl_map@D3": (Status.MAX_STEPS, "raises at its step limit"),
}

# Scores that agree to 1e-9 with the options of scorio's defaults: method -> entry, options.
SAME_SCORES = {
    "avg": ("avg", {}),
    "bayes": ("bayes", {}),
    "pass_at_k": ("pass_at_k", {}),
    "pass_hat_k": ("pass_hat_k", {}),
    "inverse_difficulty": ("inverse_difficulty", {}),
    "elo": ("elo", {"K": 32.0, "per_event": "sum", "ties": "correct_draw_only"}),
    "glicko": ("glicko", {"ties": "correct_draw_only"}),
    "trueskill": ("trueskill", {"tau": 25 / 300}),
    "borda": ("borda", {}),
    "pagerank": ("pagerank_self_loops", {}),
    "spectral": ("spectral_keener", {}),
    "rank_centrality": ("rank_centrality", {}),
    "hodge_rank": ("hodge_rank", {}),
    "nash": ("nash", {}),
}

# scorio's calls with other options, all on distinct_R: name -> entry, options, way to rank ties.
OPTIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "borda_dense": ("borda", {}, "dense"),
    "minimax_wv": ("minimax", {"variant": "winning_votes"}, "competition"),
    "schulze_ignore": ("schulze", {"tie_policy": "ignore"}, "competition"),
    "nash_adv": ("nash_advantage_vs_equilibrium", {}, "competition"),
    "glicko_c30": ("glicko", {"c": 30.0, "ties": "correct_draw_only"}, "competition"),
    "elo_draw_k16": ("elo", {"K": 16.0, "per_event": "sum", "ties": "draw"}, "competition"),
    "trueskill_draw": ("trueskill", {"ties": "draw", "tau": 25 / 300}, "competition"),
    "hodge_decisive": ("hodge_rank_binary_decisive", {}, "competition"),
    "hodge_logodds": ("hodge_rank_log_odds_total", {}, "competition"),
    "rc_teleport": ("rank_centrality", {"teleport": 0.1}, "competition"),
    "rc_ignore_smooth": ("rank_centrality", {"ties": "ignore", "smoothing": 1.0}, "competition"),
    "serial_sign": ("serial_rank_sign", {}, "competition"),
    "bayes_q05_dense": ("bayes", {"quantile": 0.05}, "dense"),
    "kemeny_not_tieaware": ("kemeny_young", {}, "competition"),
    "rp_wv": ("ranked_pairs", {"strength": "winning_votes"}, "competition"),
    "bt_dense": ("bradley_terry", {}, "dense"),
    "pl_avg": ("plackett_luce", {}, "average"),
}
# Options that ours do not have.
NO_OPTION = {
    "nash_eq": "scores by the equilibrium's own weights tie all models outside it",
    "nanson_min": "ranks of ties by the best place; the published identifiers have average and max",
    "pagerank_damp": "its damping is not stored",
}

METHODS = """
avg pass_at_k pass_hat_k g_pass_at_k_tau mg_pass_at_k inverse_difficulty elo glicko trueskill bradley_terry
bradley_terry_map bradley_terry_davidson bradley_terry_davidson_map rao_kupper rao_kupper_map thompson bayesian_mcmc
borda copeland win_rate minimax schulze ranked_pairs kemeny_young nanson baldwin majority_judgment rasch rasch_map
rasch_2pl rasch_2pl_map rasch_3pl rasch_3pl_map rasch_mml rasch_mml_credible pagerank spectral alpharank nash
rank_centrality serial_rank hodge_rank plackett_luce plackett_luce_map davidson_luce davidson_luce_map
bradley_terry_luce bradley_terry_luce_map dynamic_irt
"""
CASES = [*(f"{method}@D{d}" for d in (1, 2, 3) for method in METHODS.split()), "bayes@multi"]
SLOW = ("bayesian_mcmc", "davidson_luce", "rasch_2pl", "rasch_3pl")


class Case(NamedTuple):
    R: np.ndarray
    ranking: np.ndarray | None
    scores: np.ndarray | None


def case(name: str) -> Case:
    found = next(c for c in golden("scorio_rank")["cases"] if c["name"] == name)
    raised = found["kind"] == "error"
    return Case(
        np.array(golden("scorio_rank")["inputs"][found["input"]]),
        None if raised else np.array(found["ranking"]),
        None if raised else np.array(found["scores"]),
    )


def ours(R: np.ndarray, entry: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.JaxrankWarning)
        return jr.fit(R, entry, dtype="float64", on_failure="return", **options)


def departs(entry: str) -> str:
    """The **Departs** paragraphs of a method's docstring, on one line."""
    doc = " ".join((catalogue_entry(entry).make.__doc__ or "").split())
    return doc.split("**Departs**", 1)[1]


def test_every_case_of_the_file_is_here():
    assert sorted(c["name"] for c in golden("scorio_rank")["cases"]) == sorted(CASES)
    assert sorted(c["name"] for c in golden("scorio_rank")["option_cases"]) == sorted([*OPTIONS, *NO_OPTION])
    assert {*SETTINGS, *NOISE, *DRAWN, *REFUSED} <= set(CASES)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n.split("@")[0].startswith(SLOW) else ()) for n in CASES]
)
def test_ranking(name):
    method = name.split("@")[0]
    entry = RENAMED.get(method, method)
    R, ranking, scores = case(name)
    result = ours(R, entry)
    if name in REFUSED:
        assert ranking is None
        status, phrase = REFUSED[name]
        assert result.status == status
        assert phrase is None or phrase in departs(entry)
        return
    assert ranking is not None and scores is not None
    same = np.array_equal(result.ranks, ranking)
    if name in SETTINGS:
        other, options, phrase = SETTINGS[name]
        assert not same
        assert phrase in departs(entry)
        assert np.array_equal(ours(R, other, **options).ranks, ranking)
    elif name in NOISE:
        assert not same
        assert NOISE[name] in departs(entry)
        assert_differs_by_noise(result.ranks, scores)
    elif name in DRAWN:
        assert not same
        assert DRAWN[name] in departs(entry)
        below = np.diff(scores[np.argsort(result.ranks, kind="stable")])
        gap = np.diff(np.sort(result.ranks))
        assert np.all(below[gap > 0] < 0)  # the order of scorio, but for the tie
        assert np.all(np.abs(below[gap == 0]) < 0.05)
    else:
        assert same, (result.ranks, ranking)
        assert result.status == Status.CONVERGED


def assert_differs_by_noise(ranks: np.ndarray, scores: np.ndarray) -> None:
    """Models that tie have scores of scorio within 1e-5 of each other, models that do not are in its order and 100
    times as far apart."""
    for i in range(len(ranks)):
        for j in range(len(ranks)):
            if ranks[i] == ranks[j]:
                assert abs(scores[i] - scores[j]) < 1e-5
            elif ranks[i] < ranks[j]:
                assert scores[i] - scores[j] > 1e-3


def test_equal_sufficient_statistics_are_the_reason_for_the_ties():
    """Wins plus half ties (Davidson), shares of the winning set (Davidson-Luce): equal where ours tie, else not."""
    for name in ("D2", "D3"):
        R = case(f"avg@{name}").R
        right = R.sum(axis=0)
        told = (right > 0) & (right < len(R))
        shares = (R * told / np.maximum(right, 1)).sum(axis=(1, 2))
        for entry, statistic in (("bradley_terry_davidson", R.sum(axis=(1, 2))), ("davidson_luce", shares)):
            equal = np.isclose(statistic[:, None], statistic)
            tied = (ranks := ours(R, entry).ranks)[:, None] == ranks
            assert np.array_equal(tied, equal)


@pytest.mark.parametrize("name", ["D1", "D2", "D3"])
@pytest.mark.parametrize("method", [m for m in SAME_SCORES if m != "bayes"])
def test_scores_with_the_same_options(method, name):
    entry, options = SAME_SCORES[method]
    R, _, scores = case(f"{method}@{name}")
    # the file's PageRank was iterated a few dozen times; ours is solved by elimination
    tolerance = 1e-6 if method == "pagerank" else 1e-9
    np.testing.assert_allclose(ours(R, entry, **options).scores, scores, rtol=tolerance, atol=1e-9)


@pytest.mark.parametrize("name", ["D1", "D2", "D3"])
def test_marginal_rasch_with_the_same_nodes(name):
    """Nine fixed nodes and a few EM steps: the 5 % quantile is a node, the same in both."""
    R, ranking, scores = case(f"rasch_mml_credible@{name}")
    result = ours(R, "rasch_mml_credible", quadrature=GaussHermite(9))
    np.testing.assert_allclose(result.scores, scores, atol=1e-9)
    assert np.array_equal(result.ranks, ranking)


@pytest.mark.parametrize("name", OPTIONS)
def test_other_options(name):
    entry, options, ties = OPTIONS[name]
    R = np.array(golden("scorio_rank")["distinct_R"])
    wanted = next(c for c in golden("scorio_rank")["option_cases"] if c["name"] == name)["ranking"]
    assert np.array_equal(ours(R, entry, **options).rank(ties), wanted)
