"""Names of models, questions and rows: checked, found again, and told in messages."""

from __future__ import annotations

import difflib
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxrank.errors import DataError, JaxrankWarning, OptionError


def check_names(names: Sequence[Any] | None, size: int, kind: str) -> tuple[str, ...]:
    """Names as strings in the caller's spelling and order; `DataError` for duplicates, a warning for look-alikes.

    ``kind`` is the singular noun used in messages and default names ("model", "question").
    """
    if names is None:
        return tuple(f"{kind} {i}" for i in range(size))
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise DataError(f"{kind}s must be a list of {size} names, not {names!r}")
    values = list(names)
    if len(values) != size:
        raise DataError(f"{kind}s has {len(values)} names for {size} {kind}s")
    for i, v in enumerate(values):
        if v is None or (isinstance(v, float) and np.isnan(v)) or str(v).strip() == "":
            raise DataError(f"{kind}s[{i}] is empty ({v!r}); every {kind} needs a name")
    texts = [str(v) for v in values]
    repeated = [t for t, n in Counter(texts).items() if n > 1]
    if repeated:
        raise DataError(f"{kind}s has duplicate names: {', '.join(map(repr, repeated[:10]))}")
    for first, second in look_alikes(texts):
        warnings.warn(
            f"{kind} names {first!r} and {second!r} look the same (they differ in invisible characters or "
            "Unicode form); they are kept apart",
            JaxrankWarning,
            stacklevel=4,
        )
    return tuple(texts)


def listed(names: Any, kind: str) -> list[Any]:
    """Names as a list; `DataError` for what is none."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise DataError(f"{kind}s must be a list of names, not a {type(names).__name__}")
    return list(names)


def look_alikes(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of distinct names that differ in nothing but invisible characters, outer blanks or Unicode form."""
    seen: dict[str, str] = {}
    pairs = []
    for name in names:
        plain = _plain(name)
        if plain in seen:
            pairs.append((seen[plain], name))
        seen[plain] = name
    return pairs


def _plain(text: str) -> str:
    """NFC form without format characters (zero-width spaces and the like) and outer blanks."""
    if text.isascii():
        return text.strip()
    composed = unicodedata.normalize("NFC", text)
    return "".join(ch for ch in composed if unicodedata.category(ch) != "Cf").strip()


def name_list(names: Sequence[str], indices: Any, limit: int = 8) -> str:
    """``'a', 'b' and 3 more`` for messages."""
    picked = [repr(names[i]) for i in indices]
    rest = len(picked) - limit
    return ", ".join(picked[:limit]) + (f" and {rest} more" if rest > 0 else "")


def model_index(models: Sequence[str], model: str | int, argument: str) -> int:
    """The place of a model that is given by its name or its number; ``argument`` is where it was given."""
    if isinstance(model, str):
        if model not in models:
            near = nearest(model, models)
            hint = f"did you mean {near}?" if near else f"the models are {name_list(models, range(len(models)))}"
            raise OptionError(f"{argument}: no model is named {model!r}; {hint}")
        return models.index(model)
    if isinstance(model, bool | np.bool_) or not isinstance(model, int | np.integer):
        raise OptionError(f"{argument}: a {type(model).__name__} is no name and no number of a model")
    if not 0 <= model < len(models):
        raise OptionError(f"{argument}: model {model} does not exist; models are numbered 0 to {len(models) - 1}")
    return int(model)


def nearest(name: str, names: Iterable[str], most: int = 3) -> str:
    """Names that one may have meant, quoted, the nearest first: those that hold it or are held by it in any case of
    letters, and those spelled nearly so. Empty where there is none."""
    lower = {other: other.lower() for other in names}
    plain = name.lower()
    holding = [other for other, text in lower.items() if plain and (plain in text or (text in plain and len(text) > 2))]
    spelled = difflib.get_close_matches(plain, lower.values(), n=most, cutoff=0.6)
    near = list(dict.fromkeys([*holding, *(other for text in spelled for other in lower if lower[other] == text)]))
    return " or ".join(map(repr, near[:most]))


def places(names: Sequence[str] | int, chosen: Any, what: str) -> np.ndarray:
    """Indices int (K,) of what was chosen: names, whole numbers, or a mask of one boolean for each; all for None.

    ``names`` is what there is, or how many where they have no names; ``what`` is the plural noun of messages ("models",
    "questions"). `OptionError` for an unknown name (with the nearest ones), a number out of range, or a mask of another
    length.
    """
    size = names if isinstance(names, int) else len(names)
    if chosen is None:
        return np.arange(size)
    try:
        array = np.asarray(chosen).ravel()
    except ValueError:
        raise OptionError(
            f"{what} must be one list of names or of whole numbers, not lists of several lengths"
        ) from None
    if array.dtype.kind == "i" and len(array) and -size <= array.min() and array.max() < size:
        return array.astype(int) % size  # there may be millions
    values = array.tolist()
    if values and all(isinstance(v, bool) for v in values):
        if len(values) != size:
            raise OptionError(f"{what}: the mask has {len(values)} entries; it needs one for each of {size} {what}")
        return np.flatnonzero(values)
    at = {} if isinstance(names, int) else {name: i for i, name in enumerate(names)}
    return np.array([_place(v, at, size, what) for v in values], int)


def _place(value: Any, at: dict[str, int], size: int, what: str) -> int:
    if isinstance(value, str) and at:
        if value in at:
            return at[value]
        near, names = nearest(value, at), list(at)
        hint = f"did you mean {near}?" if near else f"there are {name_list(names, range(size))}"
        raise OptionError(f"{what}: none is named {value!r}; {hint}")
    if isinstance(value, bool) or not isinstance(value, int):
        wanted = "a name or a whole number" if at else "a whole number"
        raise OptionError(f"{what}: {value!r} is not {wanted}, nor is all of {what} a mask of booleans")
    if not -size <= value < size:
        raise OptionError(f"{what}: {value} does not exist; they are numbered 0 to {size - 1}")
    return value % size


def as_notes(notes: Any) -> tuple[str, ...]:
    """Sentences about data as a tuple; `DataError` unless they are text."""
    found = [notes] if isinstance(notes, str) or not isinstance(notes, Iterable) else list(notes)
    if not all(isinstance(note, str) for note in found):
        raise DataError("notes must be a list of sentences")
    return tuple(found)
