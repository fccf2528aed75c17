"""``Solver``: what all solvers of smooth minimisation share, and ``Solution``, where one stopped."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from jaxrank.errors import OptionError

Objective = Callable[[Float[Array, "n *lanes"]], tuple[Float[Array, "*lanes"], Float[Array, "n *lanes"], Any]]
"""``objective(x) -> (value, gradient, curvature)``."""


class Solution(NamedTuple):
    """Where a solver stopped. **params** (n,), **status** a `Status`, **steps** objective evaluations; **error**: how
    far a parameter may still be off where the criterion of a solver does not say, else 0."""

    params: Float[Array, "n *lanes"]
    status: Int[Array, "*lanes"]
    steps: Int[Array, "*lanes"]
    error: Float[Array, "*lanes"]


class Solver(eqx.Module):
    """A way to the minimum of a smooth function; a failure is a status.

    **laned**: True where parameters may have lanes in their last axis (`jaxrank.numerics.lanes`).
    """

    laned: ClassVar[bool] = False

    max_steps: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(
        self, objective: Objective, start: Float[Array, "n *lanes"], alive: Any = True, solve: Callable[..., Any] = ...
    ) -> Solution:
        """Minimise ``objective(x) -> (value, gradient, curvature)`` from ``start``; ``solve(curvature, gradient)`` is
        Newton's step. Where ``alive`` is False nothing is done (``NO_FINITE_OPTIMUM``)."""

    def __check_init__(self) -> None:
        at_least_one("max_steps", self.max_steps)


def at_least_one(name: str, value: Any) -> None:
    """`OptionError` unless a field of a solver is a whole number of 1 or more."""
    if isinstance(value, Tracer):
        return
    whole = isinstance(value, int | np.integer | np.ndarray | jax.Array) and not isinstance(value, bool)
    array = np.asarray(value) if whole else np.zeros(1)
    if array.ndim or array.dtype.kind not in "iu" or array < 1:
        raise OptionError(f"{name}={value!r}; it must be a whole number of 1 or more")


def above_zero(name: str, value: Any) -> None:
    """`OptionError` unless a field of a solver is a finite number above 0."""
    if isinstance(value, Tracer):
        return
    number = isinstance(value, int | float | np.number | np.ndarray | jax.Array) and not isinstance(value, bool)
    array = np.asarray(value, float) if number else np.zeros(())
    if array.ndim or not (np.isfinite(array) and array > 0):
        raise OptionError(f"{name}={value!r}; it must be a finite number above 0")
