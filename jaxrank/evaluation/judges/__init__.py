"""Candidates scored by judges of unknown quality on ordered levels: the simplex model, what it tells, baselines.

J judges give K candidates scores on Q questions: levels 0..M-1, the higher the better, -1 or NaN where there is none.
`infer` draws from the posterior of candidates and judges together, `sensitivity` under every degree of trust,
`identifiability` says what the scores cannot tell whatever their number, and the rest is what is usually done instead.
Sources: [simplex2025] the model; [dawid1979]; [angelopoulos2023].
"""

from jaxrank.evaluation.judges.baselines import (
    DawidSkene,
    dawid_skene,
    dawid_skene_draws,
    each_judge,
    majority_scores,
    plug_in_scores,
    prediction_powered,
)
from jaxrank.evaluation.judges.draws import CandidateDraws
from jaxrank.evaluation.judges.identification import Identifiability, identifiability, relative_volumes
from jaxrank.evaluation.judges.inference import JudgePosterior, infer, sensitivity
from jaxrank.evaluation.judges.perfect import label_share, prediction_powered_draws
from jaxrank.evaluation.judges.priors import FAMILY, PRIORS, JudgePrior
from jaxrank.evaluation.judges.scores import level_counts, split_own

__all__ = [
    "FAMILY",
    "PRIORS",
    "CandidateDraws",
    "DawidSkene",
    "Identifiability",
    "JudgePosterior",
    "JudgePrior",
    "dawid_skene",
    "dawid_skene_draws",
    "each_judge",
    "identifiability",
    "infer",
    "label_share",
    "level_counts",
    "majority_scores",
    "plug_in_scores",
    "prediction_powered",
    "prediction_powered_draws",
    "relative_volumes",
    "sensitivity",
    "split_own",
]
