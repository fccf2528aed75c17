"""Test-time scaling: ARISE and the scaling metric, their uncertainty, and sampling that adapts to the noise."""

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
