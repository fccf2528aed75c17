"""Confidence sequences for means of bounded values, by betting against every candidate mean.

Source: Waudby-Smith and Ramdas (2024) [waudbysmith2024], the hedged capital process with predictable plug-in bets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_count, check_number

TRUNCATION = 0.5
_ROUNDING = 1e-12
_STEP = 1e-7


@dataclass(frozen=True)
class ConfidenceSequence:
    """**lower**, **upper**: (T,), after every value: with probability ``1 - alpha`` the mean lies between them at all
    times at once. **mean**: (T,), of the values so far. **alpha**, **low**, **high**, **population**: as asked for."""

    lower: np.ndarray
    upper: np.ndarray
    mean: np.ndarray
    alpha: float
    low: float
    high: float
    population: int | None

    def first_excluding(self, value: float) -> int | None:
        """After how many values the sequence first excludes ``value``; None where it never does."""
        out = np.flatnonzero((self.lower > value) | (self.upper < value))
        return int(out[0]) + 1 if len(out) else None


def confidence_sequence(
    x: ArrayLike, low: float = 0.0, high: float = 1.0, alpha: float = 0.05, *, population: int | None = None
) -> ConfidenceSequence:
    """The mean of values that come one after the other, with bounds that hold at every time of looking.

    **x**: (T,), in the order in which they came, each between ``low`` and ``high``: scores, or paired differences with
    ``low=-1, high=1``; independent, or at least each with the mean given the earlier ones.  **population**: the values
    are drawn without replacement from so many, whose mean is wanted (a benchmark's questions in random order): the
    bounds then close when all were seen.

    Bets lambda_t = sqrt(2 log(2 / alpha) / (v_{t-1} t log(t + 1))) on the scale of [0, 1], at most 1/2 of what may be
    lost; a mean m is excluded when max(K+(m), K-(m)) / 2 reaches 1 / alpha. Bounds are those of all earlier times too.

    >>> from jaxrank.evaluation import sequential
    >>> found = sequential.confidence_sequence([1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1])
    >>> bool(found.lower[-1] > 0.5)
    True
    """
    check_number("low", low)
    check_number("high", high, above=low)
    check_number("alpha", alpha, above=0, below=1)
    values = np.asarray(x, float)
    if values.ndim != 1 or not len(values):
        raise DataError("x must be one sequence of numbers")
    if population is not None:
        check_count("population", population)
        if len(values) > population:
            raise OptionError(f"population={population}, but {len(values)} values were drawn without replacement")
    outside = np.flatnonzero(~((values >= low) & (values <= high)))
    if len(outside):
        raise DataError(
            f"x[{outside[0]}] is {values[outside[0]]:g}, which is not between low={low:g} and high={high:g}"
        )
    running = Running(alpha, population)
    ends = np.array([running.add(v) for v in (values - low) / (high - low)])
    mean = np.cumsum(values) / np.arange(1, len(values) + 1)
    lower, upper = low + (high - low) * ends.T
    return ConfidenceSequence(lower, upper, mean, alpha, low, high, population)


class Running:
    """The bounds of a mean of values in [0, 1] as they come, one `add` a value."""

    def __init__(self, alpha: float, population: int | None) -> None:
        self.goal = np.log(2 / alpha)
        self.population = population
        self.ends = (0.0, 1.0)
        self.n = 0
        self._seen = self._squares = 0.0
        self._kept = np.empty((3, 16))  # the values, what is bet on each, and the sum of those before

    def add(self, x: float) -> tuple[float, float]:
        """The bounds after one more value."""
        if self.n == self._kept.shape[1]:
            self._kept = np.concatenate([self._kept, np.empty_like(self._kept)], axis=1)
        t = self.n + 1
        bet = np.sqrt(2 * self.goal / ((0.25 + self._squares) * np.log(t + 1)))  # t v_{t-1} = 1/4 + squares
        self._kept[:, self.n] = x, bet, self._seen
        self.n, self._seen = t, self._seen + x
        self._squares += (x - (0.5 + self._seen) / (t + 1)) ** 2
        values, bets, before = self._kept[:, :t]
        turned = 1 - values, bets, np.arange(t) - before
        a, b = self._bound((values, bets, before), self.ends[0]), 1 - self._bound(turned, 1 - self.ends[1])
        if self.population is not None:
            a = max(a, self._seen / self.population)
            b = min(b, 1 - (t - self._seen) / self.population)
        self.ends = (max(a, self.ends[0]), min(b, self.ends[1]))
        return self.ends

    def _bound(self, kept: tuple[np.ndarray, ...], known: float) -> float:
        """The smallest mean from ``known`` on that is not excluded from below."""
        from scipy.optimize import brentq

        excess = lambda m: float(np.clip(self._log_capital(kept, m) - self.goal, -1e3, 1e3))  # a root, not a height
        height = excess(known)
        if not height >= 0:
            return known
        slope = (height - excess(known + _STEP)) / _STEP  # the root is seldom far: a tangent brackets it
        end = known + 2 * height / slope if slope > 0 else 1.0
        if not (end < 1 and excess(end) < 0):
            end = 1.0
            if excess(end) >= 0:
                return end
        precise: Any = {"xtol": 1e-14, "rtol": 1e-13}
        found: Any = brentq(excess, known, end, **precise)
        return float(found)

    def _log_capital(self, kept: tuple[np.ndarray, ...], m: float) -> float:
        """log K+ of the bets that the mean is above m; infinite where m is impossible."""
        x, bets, before = kept
        own: Any = m
        if self.population is not None:  # what is left to draw before each value has this mean, if that of all is m
            own = (self.population * m - before) / (self.population - np.arange(len(x)))
            if np.any(own < -_ROUNDING):
                return np.inf
            if np.any(own > 1 + _ROUNDING):
                return -np.inf  # impossible from the other side
            own = np.clip(own, 0, 1)
        bet = np.minimum(bets, TRUNCATION / np.maximum(own, 1e-300))
        with np.errstate(divide="ignore"):
            return float(np.log1p(bet * (x - own)).sum())


def betting_process(
    x: Any,
    mean: Any,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
    *,
    population: int | None = None,
) -> Float[Array, "*batch steps"]:
    """Logarithm of the capital max(K+, K-) / 2 against one ``mean`` after every value of many streams at once.

    **x**: (..., T).  **mean**: (...), or one for all.  Other arguments as in `confidence_sequence`, which excludes the
    mean where this reaches log(1 / alpha). A pure function of JAX: one scan over the steps, all streams side by side.
    """
    check_number("alpha", alpha, above=0, below=1)
    dtype = jnp.zeros(()).dtype
    x01 = (jnp.asarray(x, dtype) - low) / (high - low)
    m01 = jnp.broadcast_to((jnp.asarray(mean, dtype) - low) / (high - low), x01.shape[:-1])
    return _process(x01, m01, float(alpha), population)


class Capital(NamedTuple):
    """Bets against candidate means of values in [0, 1]: values so far ``t``, their sum and squared deviations, and the
    logarithms of the capital of a bet that the mean is above the candidate (**up**) and that it is below (**down**)."""

    t: Array
    seen: Array
    squares: Array
    up: Array
    down: Array


def opened(like: Array) -> Capital:
    """Before the first value; arrays of the shape of ``like``."""
    zero = jnp.zeros_like(like)
    return Capital(jnp.ones((), like.dtype), zero, zero, zero, zero)


def staked(capital: Capital, x: Array, mean: Any, reach: Any, population: int | None) -> tuple[Capital, Array, Array]:
    """After one more value: the capital, and the logarithms of K+ and K-, infinite where the candidate has become
    impossible.  **reach**: 2 log(2 / alpha)."""
    t, seen, squares, up, down = capital
    bet = jnp.sqrt(reach / ((0.25 + squares) * jnp.log(t + 1)))
    own = mean if population is None else (population * mean - seen) / (population - t + 1)
    up = up + jnp.log1p(jnp.minimum(bet, TRUNCATION / jnp.maximum(own, 1e-30)) * (x - own))
    down = down + jnp.log1p(-jnp.minimum(bet, TRUNCATION / jnp.maximum(1 - own, 1e-30)) * (x - own))
    seen = seen + x
    squares = squares + (x - (0.5 + seen) / (t + 1)) ** 2
    sure_up, sure_down = own < -1e-6, own > 1 + 1e-6
    more = jnp.where(sure_up, jnp.inf, jnp.where(sure_down, -jnp.inf, up))
    less = jnp.where(sure_down, jnp.inf, jnp.where(sure_up, -jnp.inf, down))
    return Capital(t + 1, seen, squares, up, down), more, less


@partial(jax.jit, static_argnames="population")
def _process(x: Array, m: Array, alpha: Any, population: int | None) -> Array:
    reach = 2 * jnp.log(2 / alpha)

    def step(capital: Capital, x_t: Array) -> tuple[Capital, Array]:
        capital, more, less = staked(capital, x_t, m, reach, population)
        return capital, jnp.maximum(more, less) - jnp.log(2.0)

    _, out = jax.lax.scan(step, opened(m), jnp.moveaxis(x, -1, 0))
    return jnp.moveaxis(out, 0, -1)
