"""Test-time scaling: ARISE and the scaling metric, their uncertainty, and sampling that adapts to the noise.

A model answers I samples (questions) at J + 1 levels of effort, N times each; correctness lies in [0, 1], tokens are
above 0. `arise` and `scaling_metric` read means over trials, (..., I, J + 1); `evaluate_scaling` reads the trials and
adds intervals; `adaptive_sampling`, `replay` and `allocate` say where more trials are worth their price.
Source: [arise2025].
"""

from jaxrank.evaluation.scaling.adaptive import adaptive_sampling, allocate, noise, replay
from jaxrank.evaluation.scaling.arise_score import arise, arise_samples, falling_share, scaling_metric
from jaxrank.evaluation.scaling.bootstrap import ScalingResult, evaluate_scaling

__all__ = [
    "ScalingResult",
    "adaptive_sampling",
    "allocate",
    "arise",
    "arise_samples",
    "evaluate_scaling",
    "falling_share",
    "noise",
    "replay",
    "scaling_metric",
]
