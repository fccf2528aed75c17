"""Inference that holds however often one looks: e-values, confidence sequences, races."""

from jaxrank.evaluation.sequential.betting import ConfidenceSequence, betting_process, confidence_sequence
from jaxrank.evaluation.sequential.racing import Race, race
from jaxrank.evaluation.sequential.signs import SignProcess, sign_process, sign_sequence
from jaxrank.evaluation.sequential.together import e_benjamini_hochberg

__all__ = [
    "ConfidenceSequence",
    "Race",
    "SignProcess",
    "betting_process",
    "confidence_sequence",
    "e_benjamini_hochberg",
    "race",
    "sign_process",
    "sign_sequence",
]
