"""Answers as labels: when two are the same, and their codes by question."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from jaxrank.errors import DataError, OptionError, one_line

Normalizer = Callable[[Any], Hashable | None]

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_FRACTION = re.compile(r"\s*([+-]?\d+)\s*/\s*(\d+)\s*|\s*([+-]?)\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}\s*")
_LETTER = re.compile(r"[\s(\[*$]*([A-Za-z])(?:[\s)\].:*$]*|[).:]\s.*)", re.DOTALL)
_SAID = re.compile(r"answer(?:\s+is)?\s*:?\s*[(\[*]*([A-Z])\b", re.IGNORECASE)
_LARGEST_EXPONENT = 400


def plain(label: Any) -> Hashable | None:
    """The label as it is; None for None, "" and NaN, which are no answers."""
    if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
        return None
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str) and not label.strip():
        return None
    return label


def text(label: Any) -> Hashable | None:
    """Small letters, single blanks, no dollar signs and no final stop."""
    label = plain(label)
    if label is None:
        return None
    words = " ".join(str(label).replace("$", "").split()).casefold().rstrip(".").rstrip()
    return words or None


def number(label: Any) -> Hashable | None:
    """Numbers that are equal are one answer: 0.50, 1/2 and \\frac{1}{2}; 1,000 and 1e3. Other labels as `text`."""
    words = text(label)
    if words is None:
        return None
    plain_words = str(words)
    found = _FRACTION.fullmatch(plain_words)
    if found is not None:
        top, bottom = (found[1], found[2]) if found[1] else (found[3] + found[4], found[5])
        return Fraction(int(top), int(bottom)) if int(bottom) else words
    if _THOUSANDS.fullmatch(plain_words):
        plain_words = plain_words.replace(",", "")
    try:
        value = Decimal(plain_words)
    except InvalidOperation:
        return words
    if not value.is_finite():
        return words
    return Fraction(value) if abs(value.adjusted()) <= _LARGEST_EXPONENT else words


def choice(label: Any) -> Hashable | None:
    """The letter of a multiple choice: "B", "(b)", "B. Paris", "The answer is B"; other labels are no answers."""
    label = plain(label)
    if label is None:
        return None
    found = _LETTER.fullmatch(str(label)) or _SAID.search(str(label))
    return found[1].upper() if found else None


NORMALIZERS: dict[str, Normalizer] = {"none": plain, "text": text, "number": number, "choice": choice}


def normalizer(normalize: str | Normalizer) -> Normalizer:
    """The function that a word stands for; a function of the caller's own is asked for all labels but None, "" and
    NaN, and may return None where there is no answer."""
    if callable(normalize):
        own = normalize
        return lambda label: None if plain(label) is None else plain(own(label))
    if normalize not in NORMALIZERS:
        words = ", ".join(map(repr, NORMALIZERS))
        raise OptionError(f"normalize={one_line(normalize)}; it must be one of {words}, or a function of a label")
    return NORMALIZERS[normalize]


def coded(
    labels: np.ndarray, truth: Sequence[Any] | None, normalize: str | Normalizer
) -> tuple[np.ndarray, tuple[tuple[Hashable, ...], ...], np.ndarray | None]:
    """Codes int32 (L, M, N) of the answers, counted from 0 within each question in the order of appearance, -1 for
    none; the answers (M, K) that they stand for; and the code of the right one, (M,), -1 where nobody gave it."""
    same = normalizer(normalize)
    n_models, n_questions, _ = labels.shape
    codes = np.full(labels.shape, -1, np.int32)
    classes: list[tuple[Hashable, ...]] = []
    right = None if truth is None else np.full(n_questions, -1, np.int32)
    known: dict[Any, Hashable | None] = {}

    def of(label: Any) -> Hashable | None:
        try:
            if label not in known:
                known[label] = same(label)
            return known[label]
        except TypeError:
            kind = type(label).__name__
            raise DataError(f"an answer is a {kind}, which cannot be compared; give text, numbers or tuples") from None

    for m in range(n_questions):
        place: dict[Hashable, int] = {}
        for i in range(n_models):
            for t, label in enumerate(labels[i, m]):
                answer = None if label is None else of(label)
                if answer is not None:
                    codes[i, m, t] = place.setdefault(answer, len(place))
        if truth is not None and right is not None:
            answer = of(truth[m])
            if answer is None:
                raise DataError(f"truth[{m}]={one_line(truth[m])} is no answer under normalize={one_line(normalize)}")
            right[m] = place.get(answer, -1)
        classes.append(tuple(place))
    return codes, tuple(classes), right


def as_labels(labels: Any) -> np.ndarray:
    """Labels as an array of objects (L, M, N); `DataError` where they are not that, or rows are of unequal length."""
    if isinstance(labels, np.ndarray) and labels.ndim == 3:
        return labels.astype(object)
    try:
        sizes = {len(cell) for row in labels for cell in row if not isinstance(cell, str)}
        shape = (len(labels), len(labels[0]))
        flat = any(isinstance(cell, str) for row in labels for cell in row)
    except TypeError:
        raise DataError("labels must be (models, questions, completions)") from None
    if flat or not shape[1] or {len(row) for row in labels} != {shape[1]}:
        raise DataError("labels must be (models, questions, completions), with the same questions for every model")
    if len(sizes) != 1:
        raise DataError(
            f"the questions have from {min(sizes)} to {max(sizes)} completions; give the same number for each, "
            "None where a completion has no answer"
        )
    out = np.empty((*shape, sizes.pop()), object)
    for i, row in enumerate(labels):
        for m, cell in enumerate(row):
            out[i, m] = list(cell)
    return out
