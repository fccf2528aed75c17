"""The type checker of the import hook in conftest: shapes and dtypes of arrays, as the annotations say, at every call.

Only jaxtyping's annotations are held, arrays of NumPy beside JAX's; other types are the business of pyright, and of the
checks of public calls, whose sentences beartype would forestall.
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any

import jax
import numpy as np
from beartype import beartype
from jaxtyping import AbstractArray


def check(function: Any) -> Any:
    """``function`` with its annotations of arrays held, by beartype; classes as they are, since a statistic or a fit of
    many replicates has further axes in front of those in its annotations."""
    if function.__name__ == "__init__":
        return function
    held = {name: found for name, hint in function.__annotations__.items() if (found := _arrays(hint)) is not None}
    function.__annotations__ = held
    return beartype(function) if held else function


def _arrays(hint: Any) -> Any:
    """The hint for arrays of JAX and NumPy; None where it holds anything but arrays, None and tuples of arrays."""
    if hint is None or hint is type(None):
        return None
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return hint.dtype[jax.Array | np.ndarray, hint.dim_str]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        members = [a for a in arguments if a is not type(None)]
        found = [_arrays(a) for a in members]
        if any(f is None for f in found):
            return None
        return typing.Union[(*found, None)] if len(members) < len(arguments) else typing.Union[tuple(found)]  # noqa: UP007
    if origin is tuple and Ellipsis not in arguments:
        found = [_arrays(a) for a in arguments]
        return None if any(f is None for f in found) else tuple[tuple(found)]
    return None
