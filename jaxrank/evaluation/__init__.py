"""Metrics of one model or many, with posterior means, deviations and intervals, and decisions made from them."""

from jaxrank.evaluation import rubrics
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
from jaxrank.evaluation.table_tests import probability_of_improvement

__all__ = [
    "Estimate",
    "avg",
    "bayes",
    "clustered_error",
    "g_pass_at_k_tau",
    "greedy_alignment",
    "mg_pass_at_k",
    "next_trials",
    "pass_at_k",
    "pass_hat_k",
    "probability_of_improvement",
    "rank_with_intervals",
    "ranking_confidence",
    "rubrics",
    "separation",
    "stopping_rule",
    "trials_needed",
]
