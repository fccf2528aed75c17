"""Checks of method options: words from a list, numbers in a range."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxrank.errors import OptionError


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """`OptionError` where an option is not one of the allowed words."""
    if value not in allowed:
        raise OptionError(f"{name}={value!r}; it must be one of {', '.join(map(repr, allowed))}")


def check_number(
    name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False, open_high: bool = False
) -> None:
    """`OptionError` where a number, if its value is known, lies outside the interval from low to high."""
    if isinstance(value, Tracer) or not isinstance(value, int | float | np.ndarray | np.number | jax.Array):
        return
    v = np.asarray(value)
    inside = np.isfinite(v) & ((v > low) if open_low else (v >= low)) & ((v < high) if open_high else (v <= high))
    if not np.all(inside):
        lower = f"{'above' if open_low else 'at least'} {low:g}"
        upper = f" and {'below' if open_high else 'at most'} {high:g}" if np.isfinite(high) else ""
        raise OptionError(f"{name}={v.tolist()}; it must be finite, {lower}{upper}")
