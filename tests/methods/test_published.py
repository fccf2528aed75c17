"""The 72 identifiers of arXiv 2603.10960, appendix I.2, and its hyper-parameters: entries of these names have them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.models.options import in_words
from jaxrank.models.priors import PRIORS
from jaxrank.numerics.solve.quadrature import QUADRATURES

# As printed, one identifier a line, without the switches of what a call returns (return_...) and of when it stops
# (max_iter, tol, n_iter, em_iter): iterations here run until they have converged, or say that they have not.
PRINTED = """
avg
pass_at_k_2 k=2
pass_hat_k_2 k=2
mg_pass_at_k_2 k=2
bayes quantile=None
bayes_greedy R0=R0 quantile=None
bayes_ci quantile=0.05
inverse_difficulty clip_range=[0.01,0.99]
elo_tie_skip K=0.05 initial_rating=1500 tie_handling=skip
elo_tie_draw K=0.05 initial_rating=1500 tie_handling=draw
elo_tie_correct_draw_only K=0.05 initial_rating=1500 tie_handling=correct_draw_only
glicko_tie_skip initial_rating=1500 initial_rd=350 c=0 rd_max=350 tie_handling=skip
glicko_tie_draw initial_rating=1500 initial_rd=350 c=0 rd_max=350 tie_handling=draw
glicko_tie_correct_draw_only initial_rating=1500 initial_rd=350 c=0 rd_max=350 tie_handling=correct_draw_only
trueskill mu_initial=25.0 sigma_initial=8.333333333333334 beta=4.166666666666667 tau=0.00333333333
bradley_terry
bradley_terry_map prior=1.0
bradley_terry_davidson
bradley_terry_davidson_map prior=1.0
rao_kupper tie_strength=1.1
rao_kupper_map tie_strength=1.1 prior=1.0
thompson n_samples=10000 prior_alpha=1.0 prior_beta=1.0
bayesian_mcmc n_samples=5000 burnin=1000 prior_var=1.0
plackett_luce
plackett_luce_map prior=1.0
bradley_terry_luce
bradley_terry_luce_map prior=1.0
borda
copeland
win_rate
minimax_variant_margin_tie_ignore variant=margin tie_policy=ignore
minimax_variant_margin_tie_half variant=margin tie_policy=half
minimax_variant_winning_votes_tie_ignore variant=winning_votes tie_policy=ignore
minimax_variant_winning_votes_tie_half variant=winning_votes tie_policy=half
schulze_tie_ignore tie_policy=ignore
schulze_tie_half tie_policy=half
ranked_pairs_strength_margin_tie_ignore strength=margin tie_policy=ignore
ranked_pairs_strength_margin_tie_half strength=margin tie_policy=half
ranked_pairs_strength_winning_votes_tie_ignore strength=winning_votes tie_policy=ignore
ranked_pairs_strength_winning_votes_tie_half strength=winning_votes tie_policy=half
kemeny_young_tie_ignore tie_policy=ignore time_limit=None
kemeny_young_tie_half tie_policy=half time_limit=None
nanson_rank_ties_average rank_ties=average
nanson_rank_ties_max rank_ties=max
baldwin_rank_ties_average rank_ties=average
baldwin_rank_ties_max rank_ties=max
majority_judgment
rasch
rasch_map prior=1.0
rasch_2pl
rasch_2pl_map prior=1.0
rasch_3pl fix_guessing=None
rasch_3pl_map prior=1.0 fix_guessing=None
rasch_mml n_quadrature=21
rasch_mml_credible quantile=0.05 n_quadrature=21
dynamic_irt_linear variant=linear
dynamic_irt_growth variant=growth
pagerank damping=0.85
spectral
alpharank alpha=1.0 population_size=50
nash_vs_equilibrium score_type=vs_equilibrium
nash_advantage_vs_equilibrium score_type=advantage_vs_equilibrium
rank_centrality_tie_ignore tie_handling=ignore smoothing=0.0 teleport=0.0
rank_centrality_tie_half tie_handling=half smoothing=0.0 teleport=0.0
serial_rank_prob_diff comparison=prob_diff
serial_rank_sign comparison=sign
hodge_rank_binary_total pairwise_stat=binary weight_method=total
hodge_rank_binary_decisive pairwise_stat=binary weight_method=decisive
hodge_rank_binary_uniform pairwise_stat=binary weight_method=uniform
hodge_rank_log_odds_total pairwise_stat=log_odds weight_method=total epsilon=0.5
hodge_rank_log_odds_decisive pairwise_stat=log_odds weight_method=decisive epsilon=0.5
hodge_rank_log_odds_uniform pairwise_stat=log_odds weight_method=uniform epsilon=0.5
"""
LISTED = {words[0]: words[1:] for line in PRINTED.strip().splitlines() if (words := line.split())}
NAMES = {  # printed names of options and ours, where they differ
    "clip_range": "clip",
    "tie_handling": "ties",
    "initial_rating": "initial",
    "initial_rd": "rd",
    "mu_initial": "mu",
    "sigma_initial": "sigma",
    "prior_alpha": "a",
    "prior_beta": "b",
    "R0": "needs_R0",
    "fix_guessing": "guessing",
    "n_quadrature": "quadrature",
    "population_size": "population",
    "score_type": "score",
    "pairwise_stat": "stat",
    "weight_method": "weights",
}
MEANS = {"n_quadrature=21": "fixed:n=21", "R0=R0": "True"}
FAMILIES = {  # what the printed text fixes for a family beside its list of options
    "elo": "per_event=sum",  # all matches of a question and trial move a rating at once: eq. 44 sums them
    "bradley_terry": "prior=flat",
    "rasch": "prior=flat",
    "plackett_luce": "prior=flat",
    "rao_kupper": "prior=flat",
}


def test_there_are_72_and_they_are_the_published() -> None:
    assert len(LISTED) == 72
    assert {name for name, entry in jr.entries().items() if entry.published} == set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_settings_are_those_of_the_paper(name: str) -> None:
    ranker = jr.entries()[name].ranker()
    settings = {**_family(name), **dict(setting.split("=", 1) for setting in LISTED[name])}
    for option, value in settings.items():
        wanted = MEANS.get(f"{option}={value}", value)
        if option == "variant" and name.startswith("dynamic_irt"):
            assert type(ranker).__name__ == {"linear": "Rasch", "growth": "GrowthIRT"}[value]
        else:
            _same(ranker, NAMES.get(option, option), wanted)
    # what the paper leaves unset is at the class's own default, so that no third setting hides behind the name
    for field in dataclasses.fields(type(ranker)):
        named = {NAMES.get(option, option) for option in settings}
        if field.name not in named:
            assert _plain(getattr(ranker, field.name)) == _plain(getattr(type(ranker)(), field.name)), field.name


def _family(name: str) -> dict[str, str]:
    said = {}
    for family, setting in FAMILIES.items():
        option, value = setting.split("=")
        if name.startswith(family) and hasattr(jr.entries()[name].ranker(), option):
            said[option] = value
    return said


def _same(ranker: Any, option: str, wanted: str) -> None:
    value = getattr(ranker, option)
    if option == "quadrature":
        assert in_words(value, QUADRATURES) == wanted
    elif option == "prior":
        numbers = "" if wanted == "flat" else f"gaussian:mean=0:var={float(wanted):g}"
        assert in_words(value, PRIORS) == (numbers or wanted)
    elif wanted[0] in "[0123456789":
        np.testing.assert_allclose(value, np.array(wanted.strip("[]").split(","), float).squeeze(), rtol=1e-9)
    else:
        assert str(value) == wanted


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
