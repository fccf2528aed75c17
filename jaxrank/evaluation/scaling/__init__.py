"""Test-time scaling: ARISE and the scaling metric, their uncertainty, and sampling that adapts to the noise.

A model answers I samples (questions) at J + 1 levels of effort, N times each; correctness lies in [0, 1], tokens are
above 0. `arise`, `scaling_metric` and `transitions` read means over trials, (..., I, J + 1); `evaluate_scaling` reads
the trials, says what of the score is noise, and ranks models; `run` goes from an evaluator to the score, and
`adaptive_sampling`, `replay` and `allocate` say where more trials are worth their price.
Source: [arise2025].
"""

from jaxrank.evaluation.scaling.adaptive import adaptive_sampling, allocate, noise, replay
from jaxrank.evaluation.scaling.algorithm import ScalingRun, from_trials, run
from jaxrank.evaluation.scaling.arise_score import arise, arise_samples, falling_share, scaling_metric
from jaxrank.evaluation.scaling.bootstrap import evaluate_scaling
from jaxrank.evaluation.scaling.efforts import LADDERS, order_levels
from jaxrank.evaluation.scaling.noise_free import cross_fit_samples
from jaxrank.evaluation.scaling.result import GroupScores, ScalingResult
from jaxrank.evaluation.scaling.steps import Transitions, noise_parts, transitions

__all__ = [
    "LADDERS",
    "GroupScores",
    "ScalingResult",
    "ScalingRun",
    "Transitions",
    "adaptive_sampling",
    "allocate",
    "arise",
    "arise_samples",
    "cross_fit_samples",
    "evaluate_scaling",
    "falling_share",
    "from_trials",
    "noise",
    "noise_parts",
    "order_levels",
    "replay",
    "run",
    "scaling_metric",
    "transitions",
]
