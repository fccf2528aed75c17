"""NumPy archives: R, or counts k and n, or battles, with names."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import battles
from jaxrank.data.readers.assemble import check_scale
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError

MODELS = ("models", "model_names", "systems", "judges")
QUESTIONS = ("questions", "items", "tasks", "problems")
COUNTS = (("k", "n"), ("successes", "trials"))


def load(
    path: Path,
    *,
    array: str | None = None,
    levels: Sequence[float] | None = None,
    threshold: float | None = None,
    ties: str = "model",
    bothbad: str = "tie",
) -> Responses | Comparisons:
    """``R`` (L, M) or (L, M, N); else counts ``k`` and ``n``; else battles ``X`` and ``Y`` or ``left``, ``right``,
    ``winner``; with ``models`` and ``questions`` where present. ``array`` names another array ("k_cot" is read
    with "n_cot"). A .npy file is R."""
    arrays = _arrays(path)
    where = f"{path.name}: "
    known = ", ".join(f"{k} {v.shape}" for k, v in arrays.items()) or "none"
    notes = [f"read {path.name} (npz)"]
    models = next((arrays[k].tolist() for k in MODELS if k in arrays), None)
    questions = next((arrays[k].tolist() for k in QUESTIONS if k in arrays), None)
    if array is not None and array not in arrays:
        raise OptionError(f"{where}no array {array!r}; the arrays are {known}")
    name = array or ("R" if "R" in arrays else None)
    for k, n in COUNTS:
        if name is None and k in arrays and n in arrays:
            name = k
        if name is not None and (name == k or name.startswith(k + "_")) and n + name[len(k) :] in arrays:
            total = n + name[len(k) :]
            notes.append(f"counts {name} of {total}; which trial succeeded is not known")
            return Responses.from_counts(arrays[name], arrays[total], models, questions, notes=notes)
    if name is None and {"X", "Y"} <= set(arrays):
        return battles.from_pairs(
            arrays["X"], arrays["Y"], models, ties=ties, bothbad=bothbad, notes=notes, where=where
        )
    if name is None and {"left", "right", "winner"} <= set(arrays):
        return _battles(arrays, models, ties, bothbad, notes, where)
    if name is None:
        raise DataError(
            f"{where}no array R, no counts k and n, no battles X and Y or left, right, winner; the arrays are {known}. "
            "Name one with array=..."
        )
    if name == "R" and "k" in arrays and "n" in arrays:
        notes.append('the file also holds counts; array="k" reads them')
    R = arrays[name]
    check_scale(levels, threshold)
    if threshold is not None and R.dtype.kind in "biuf":
        R = np.where((R == -1) | np.isnan(R), np.nan, np.greater_equal(R, threshold))
    return Responses(R, models, questions, levels=levels, notes=notes)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"R": loaded}
            with loaded:
                return {k: loaded[k] for k in loaded.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        text = str(error)
        reason = "it holds Python objects" if "pickle" in text.lower() else text.splitlines()[0] if text else "cut off"
        raise DataError(f"{path.name} is not a readable NumPy archive: {reason}") from None


def _battles(arrays: dict[str, Any], models: Any, ties: str, bothbad: str, notes: list[str], where: str) -> Comparisons:
    """``winner`` is 0 left, 1 right, 2 tie, 3 both bad; other values are rows without a winner."""
    battles.check_options(ties, bothbad)
    left, right, winner = (arrays[k] for k in ("left", "right", "winner"))
    if winner.dtype.kind not in "iu" or not left.shape == right.shape == winner.shape or winner.ndim != 1:
        raise DataError(
            f"{where}left, right and winner need one equal length, and winner whole numbers; "
            f"they are {left.shape}, {right.shape} and {winner.dtype} {winner.shape}"
        )
    outcome = np.where((winner >= 0) & (winner <= 3), winner, -1)
    if (outcome < 0).any():
        notes.append(f"{int((outcome < 0).sum())} rows have no winner and were dropped")
    a, b, outcome, count = battles.apply(left, right, outcome, np.ones(len(left)), ties, bothbad, notes)
    return Comparisons(a, b, battles.CODE_VALUES[outcome], count, models, notes=notes)
