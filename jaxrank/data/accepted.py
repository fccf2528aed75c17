"""Types of what public calls take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.kind import Data


class Frame(Protocol):
    """A data frame of any library."""

    @property
    def columns(self) -> Any: ...


DataLike: TypeAlias = Data | npt.ArrayLike | Frame | Mapping[str, Any] | os.PathLike[str]
"""Data, or what they are made of: an array (L, M) or (L, M, N), nested lists, a data frame, or a file of results."""

Seed: TypeAlias = int | np.integer[Any] | jax.Array
"""An integer or a JAX key."""

Pairing: TypeAlias = Literal["aligned", "all"]
Dtype: TypeAlias = Literal["float32", "float64"]
PathLike: TypeAlias = str | os.PathLike[str]
