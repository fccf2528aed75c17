"""From N completions of a question to one answer, and what that is worth."""

from jaxrank.evaluation.answers.curves import AnswerCurves
from jaxrank.evaluation.answers.expectation import best_of_n_curve, majority_curve
from jaxrank.evaluation.answers.reading import read_answers
from jaxrank.evaluation.answers.rules import (
    RULES,
    BestOfMajority,
    BestOfN,
    Cges,
    Filtered,
    KdeWeighted,
    LogitWeighted,
    Majority,
    MajorityOfTheBests,
    RankWeighted,
    Rule,
    Softmax,
    Weighted,
)
from jaxrank.evaluation.answers.stops import (
    STOPS,
    AdaptiveConsistency,
    CgesStop,
    DirichletLeader,
    Esc,
    Stop,
    Stopped,
)
from jaxrank.evaluation.answers.table import Answers

__all__ = [
    "RULES",
    "STOPS",
    "AdaptiveConsistency",
    "AnswerCurves",
    "Answers",
    "BestOfMajority",
    "BestOfN",
    "Cges",
    "CgesStop",
    "DirichletLeader",
    "Esc",
    "Filtered",
    "KdeWeighted",
    "LogitWeighted",
    "Majority",
    "MajorityOfTheBests",
    "RankWeighted",
    "Rule",
    "Softmax",
    "Stop",
    "Stopped",
    "Weighted",
    "best_of_n_curve",
    "majority_curve",
    "read_answers",
]
