"""Predictions compared with right answers."""

from __future__ import annotations

import numpy as np

from jaxrank.data.readers.columns import Column, coded
from jaxrank.data.readers.votes import text_of_name


def compared(
    prediction: Column | np.ndarray, answer: Column | np.ndarray, errors: str | None, notes: list[str]
) -> np.ndarray:
    """1 where a prediction is the answer (as text, capitals and outer blanks aside), else 0.

    Rows without a prediction are wrong, or missing with ``errors="missing"``; rows without an answer are missing.
    """
    left, right = coded(prediction), coded(answer)
    place: dict[str, int] = {}
    codes = []
    for column in (left, right):
        new = [place.setdefault(text_of_name(v).casefold(), len(place)) for v in column.values]
        codes.append(np.array([*new, -1])[column.codes])
    empty = place.get("", -1)
    silent = (codes[0] < 0) | (codes[0] == empty)
    unknown = (codes[1] < 0) | (codes[1] == empty)
    scores = (codes[0] == codes[1]).astype(float)
    scores[silent] = np.nan if errors == "missing" else 0.0
    scores[unknown] = np.nan
    if silent.any():
        what = "missing" if errors == "missing" else "wrong; errors='missing' leaves them out"
        notes.append(f"{int(silent.sum())} rows have no prediction and are {what}")
    return scores
