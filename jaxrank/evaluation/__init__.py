"""Metrics of one model or many, with posterior means, deviations and intervals, and decisions made from them."""

from jaxrank.evaluation import rubrics, sequential
from jaxrank.evaluation.alignment import greedy_alignment
from jaxrank.evaluation.allocation import next_trials
from jaxrank.evaluation.answer_style import style
from jaxrank.evaluation.decisions import (
    rank_with_intervals,
    ranking_confidence,
    separation,
    stopping_rule,
    trials_needed,
)
from jaxrank.evaluation.estimates import Estimate
from jaxrank.evaluation.geometric import geo_spectrum_at_k, geo_spectrum_star_at_k, geom_at_k, geom_ds_at_k
from jaxrank.evaluation.graded import max_at_k
from jaxrank.evaluation.metrics import avg, bayes, clustered_error
from jaxrank.evaluation.paired_tests import mcnemar, probability_better, sign_flip, signed_rank
from jaxrank.evaluation.profile import TailPassProfile
from jaxrank.evaluation.profile_draws import TailPassDraws, tail_weights
from jaxrank.evaluation.table_tests import probability_of_improvement
from jaxrank.evaluation.tails import tail_pass, tail_pass_profile
from jaxrank.evaluation.tries import (
    auc_at_k,
    g_pass_at_k_tau,
    maj_at_k,
    mg_pass_at_k,
    pass_at_k,
    pass_hat_k,
    threshold_spectrum_at_k,
    unanimous_at_k,
)

__all__ = [
    "Estimate",
    "TailPassDraws",
    "TailPassProfile",
    "auc_at_k",
    "avg",
    "bayes",
    "clustered_error",
    "g_pass_at_k_tau",
    "geo_spectrum_at_k",
    "geo_spectrum_star_at_k",
    "geom_at_k",
    "geom_ds_at_k",
    "greedy_alignment",
    "maj_at_k",
    "max_at_k",
    "mcnemar",
    "mg_pass_at_k",
    "next_trials",
    "pass_at_k",
    "pass_hat_k",
    "probability_better",
    "probability_of_improvement",
    "rank_with_intervals",
    "ranking_confidence",
    "rubrics",
    "separation",
    "sequential",
    "sign_flip",
    "signed_rank",
    "stopping_rule",
    "style",
    "tail_pass",
    "tail_pass_profile",
    "tail_weights",
    "threshold_spectrum_at_k",
    "trials_needed",
    "unanimous_at_k",
]
