"""``Credits``: what x successes among k tries are worth, u_0..u_k, and its mean over tries in three forms.

Pass@k, Pass^k, G-Pass@k, mG-Pass@k, the area under Pass@1..k, a majority of right verdicts and any mix of thresholds
are each one vector of credits. Its mean is wanted over tries drawn from recorded trials (`Credits.expected`), over
fresh tries of a known success rate (`Credits.curve`), and over a posterior of that rate (`moments`).
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.numerics import hypergeometric
from jaxrank.numerics.beta_moments import Cells, Polynomial, all_moments, any_moments, weighted_moments


class Credits(eqx.Module):
    """u_0..u_k, 0 or more and never falling in x. **k**: tries, a whole number, which may be traced."""

    if TYPE_CHECKING:

        @property
        def k(self) -> Any: ...  # a field, or what follows from one

    @abc.abstractmethod
    def credit(self, x: Any, xp: Any = jnp) -> Any:
        """u_x, elementwise, for x = 0..k in a float type. **xp**: ``jax.numpy``, or NumPy on the host."""

    @abc.abstractmethod
    def expected(self, c: Float[Array, "*cells"], n: Float[Array, "*cells"]) -> Float[Array, "*cells"]:
        """E[u_X] for X ~ Hypergeometric(n, c, k): k of n recorded trials of which c succeeded, n >= k."""

    @abc.abstractmethod
    def curve(self, p: np.ndarray) -> np.ndarray:
        """E[u_X] for X ~ Binomial(k, p), on the host."""

    def vector(self) -> Float[np.ndarray, " successes"]:
        """(k + 1,), on the host."""
        return np.asarray(self.credit(np.arange(int(self.k) + 1.0), np), float)

    @property
    def top(self) -> float:
        """u_k, the credit of success in all tries: the largest, on the host."""
        return float(self.credit(np.asarray(float(self.k)), np))


class AnySuccess(Credits):
    """1 for a success among k tries: Pass@k."""

    k: Any

    def credit(self, x: Any, xp: Any = jnp) -> Any:
        return xp.where(x >= 1, 1.0, 0.0)

    def expected(self, c: Array, n: Array) -> Array:
        return hypergeometric.any_success(c, n, self.k)

    def curve(self, p: np.ndarray) -> np.ndarray:
        return -np.expm1(float(self.k) * np.log1p(-np.minimum(p, 1 - 1e-16)))


class AllSuccesses(Credits):
    """1 where all k tries succeed: Pass^k."""

    k: Any

    def credit(self, x: Any, xp: Any = jnp) -> Any:
        return xp.where(x >= self.k, 1.0, 0.0)

    def expected(self, c: Array, n: Array) -> Array:
        return hypergeometric.all_successes(c, n, self.k)

    def curve(self, p: np.ndarray) -> np.ndarray:
        return p ** float(self.k)


class AtLeast(Credits):
    """1 for ``needed`` successes or more: G-Pass@k, a majority."""

    k: Any
    needed: Any

    def credit(self, x: Any, xp: Any = jnp) -> Any:
        return xp.where(x >= self.needed, 1.0, 0.0)

    def expected(self, c: Array, n: Array) -> Array:
        return hypergeometric.at_least(c, n, self.k, self.needed)

    def curve(self, p: np.ndarray) -> np.ndarray:
        from scipy.special import bdtrc

        return bdtrc(float(self.needed) - 1, int(self.k), p)


class Excess(Credits):
    """2/k for every success beyond ceil(k/2): mG-Pass@k."""

    k: Any

    def credit(self, x: Any, xp: Any = jnp) -> Any:
        return 2 / self.k * xp.maximum(x - xp.ceil(self.k / 2), 0.0)

    def expected(self, c: Array, n: Array) -> Array:
        k = jnp.asarray(self.k, n.dtype)
        return 2 / k * hypergeometric.mean_excess(c, n, k, jnp.ceil(k / 2))

    def curve(self, p: np.ndarray) -> np.ndarray:
        """k p Pr(X' >= h) - h Pr(X >= h + 1) times 2/k, h = ceil(k/2), X' of k - 1 trials."""
        from scipy.special import bdtrc

        k = int(self.k)
        h = -(-k // 2)
        if h >= k:
            return np.zeros_like(p)
        return np.maximum(2 / k * (k * p * bdtrc(h - 1, k - 1, p) - h * bdtrc(h, k, p)), 0)


class AreaUnderPass(Credits):
    """The area under Pass@1..Pass@k by trapezoids, over k - 1; of k = 1 Pass@1.

    sum_j Pass@j over j = 1..k of x successes is (k + 1) x / (x + 1); half of the first and the last go off.
    """

    k: Any

    def credit(self, x: Any, xp: Any = jnp) -> Any:
        k = self.k
        area = ((k + 1) * x / (x + 1) - x / (2 * k) - 0.5) / xp.maximum(k - 1, 1)
        return xp.where(x < 1, 0.0, xp.where(xp.asarray(k) == 1, 1.0, area))

    def expected(self, c: Array, n: Array) -> Array:
        return hypergeometric.mean_of(self.credit, c, n, self.k)

    def curve(self, p: np.ndarray) -> np.ndarray:
        k = float(self.k)
        if k == 1:
            return p
        safe = np.where(p > 0, p, 1)
        missed = -np.expm1((k + 1) * np.log1p(-np.minimum(p, 1 - 1e-16))) / safe  # (k + 1) E[1 / (X + 1)]
        area = (k + 1 - missed - p / 2 - AnySuccess(k).curve(p) / 2) / (k - 1)
        return np.where(p > 0, np.maximum(area, 0), 0)


class Thresholds(Credits):
    """sum_{r <= x} w_r: **w** (k,), the weight of each threshold, 0 or more."""

    w: Any

    @property
    def k(self) -> Any:
        return float(np.shape(self.w)[-1])

    def credit(self, x: Any, xp: Any = jnp) -> Any:
        sums = xp.concatenate([xp.zeros(1), xp.cumsum(xp.asarray(self.w))])
        return sums[xp.asarray(x).astype(int)]

    def expected(self, c: Array, n: Array) -> Array:
        sums = jnp.concatenate([jnp.zeros(1, n.dtype), jnp.cumsum(jnp.asarray(self.w, n.dtype))])
        return hypergeometric.mean_of(lambda x: sums[x.astype(jnp.int32)], c, n, self.k)

    def curve(self, p: np.ndarray) -> np.ndarray:
        from scipy.special import bdtrc

        out = np.zeros_like(p)
        for r, weight in enumerate(np.asarray(self.w, float), 1):
            out += weight * bdtrc(r - 1, int(self.k), p) if weight else 0
        return out


def majority(k: Any) -> AtLeast:
    """More than half of k tries."""
    return AtLeast(k, k // 2 + 1)


def upper_half(k: int) -> Thresholds:
    """2/k for the thresholds ceil(k/2) + 1..k: those of mG-Pass@k."""
    return Thresholds(np.where(np.arange(1, k + 1) > -(-k // 2), 2 / k, 0.0))


def polynomial_of(credits: Credits) -> Polynomial | None:
    """What `moments` needs beside the credits, made on the host; None where the moments are closed."""
    return None if isinstance(credits, AnySuccess | AllSuccesses) else Polynomial.of(credits.vector())


def moments(credits: Credits, a: Cells, b: Cells, polynomial: Polynomial | None) -> tuple[Cells, Cells]:
    """Mean and variance of E[u_X], X ~ Binomial(k, p), over p ~ Beta(a, b), a, b >= 1."""
    if isinstance(credits, AnySuccess):
        return any_moments(a, b, credits.k)
    if isinstance(credits, AllSuccesses):
        return all_moments(a, b, credits.k)
    assert polynomial is not None
    return weighted_moments(a, b, polynomial)
