"""Metrics of one model or many, with posterior means, deviations and intervals, and decisions made from them."""

from jaxrank.evaluation import rubrics, sequential
from jaxrank.evaluation.alignment import greedy_alignment
from jaxrank.evaluation.allocation import next_trials
from jaxrank.evaluation.decisions import (
    rank_with_intervals,
    ranking_confidence,
    separation,
    stopping_rule,
    trials_needed,
)
from jaxrank.evaluation.estimates import Estimate
from jaxrank.evaluation.metrics import avg, bayes, clustered_error, g_pass_at_k_tau, mg_pass_at_k, pass_at_k, pass_hat_k
from jaxrank.evaluation.paired_tests import mcnemar, probability_better, sign_flip, signed_rank
from jaxrank.evaluation.table_tests import probability_of_improvement

__all__ = [
    "Estimate",
    "avg",
    "bayes",
    "clustered_error",
    "g_pass_at_k_tau",
    "greedy_alignment",
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
    "trials_needed",
]
