"""What public calls take: the types, and ``as_data``, which makes one of the three kinds of data of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.kind import Data
from jaxrank.data.readers import Frame, from_frame, is_frame, read
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

DataLike: TypeAlias = Data | npt.ArrayLike | Frame | Mapping[str, Any] | os.PathLike[str]
"""Data, or what they are made of: an array (L, M) or (L, M, N), nested lists, a data frame, or a file of results."""

Seed: TypeAlias = int | np.integer[Any] | jax.Array
"""An integer or a JAX key."""

Pairing: TypeAlias = Literal["aligned", "all"]
Dtype: TypeAlias = Literal["float32", "float64"]
PathLike: TypeAlias = str | os.PathLike[str]


def as_data(data: DataLike, at_least: int = 2) -> Data:
    """What a public call was given, as `Responses`, `Comparisons` or `Rankings`.

    Arrays and nested lists are R (models, questions, trials); data frames and mappings of columns are in long form; a
    path, a pattern or a list of these is read as `jaxrank.read` does. `DataError` for what holds no results, and for
    fewer than ``at_least`` models.

    >>> import jaxrank as jr
    >>> jr.fit({"model": ["ada", "bob"], "question": ["q", "q"], "score": [1, 0]}, "avg").models
    ('ada', 'bob')
    """
    made = _made(data)
    if len(made.models) < at_least:
        raise DataError(
            f"there is one model, {made.models[0]!r}; a ranking needs at least two models "
            "(for the metrics of one model use jaxrank.evaluation)"
        )
    return made


def _made(data: DataLike) -> Data:
    if isinstance(data, Data):
        return data
    if _is_path(data) or (isinstance(data, list | tuple | set) and data and all(map(_is_path, data))):
        paths: Any = sorted(map(str, data)) if isinstance(data, set) else data
        return read(paths)
    if is_array(data):
        return Responses(data)
    frame: Any = data
    try:
        return from_frame(frame)
    except DataError as error:
        if "=..." not in str(error) and "wide=" not in str(error):
            raise
        raise DataError(
            f"{str(error).rstrip('.')}. Name columns in jr.from_frame(frame, model=...), and pass what it returns."
        ) from None


def is_array(data: object) -> bool:
    """Whether it is an array of numbers, or nested lists of them; not data, a frame or a file of results."""
    if isinstance(data, Data) or _is_path(data) or (is_frame(data) and not _has_dims(data)):
        return False
    return not (isinstance(data, list | tuple | set) and data and all(map(_is_path, data)))


def _has_dims(data: object) -> bool:
    """Whether it is an xarray.DataArray, which is an array."""
    return hasattr(data, "dims") and hasattr(data, "coords")


def _is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)
