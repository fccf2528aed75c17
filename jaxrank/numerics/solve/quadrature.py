"""Gauss-Hermite quadrature against the standard normal density, with nodes fixed or moved to where an integrand
lies."""

from __future__ import annotations

import equinox as eqx
import numpy as np

from jaxrank.errors import OptionError


class Quadrature(eqx.Module):
    """A rule with ``n`` nodes, 3 or more: ``nodes`` x and ``weights`` w with sum w f(x) = the mean of f(X), X ~ N(0,
    1)."""

    n: eqx.AbstractVar[int]

    def __check_init__(self) -> None:
        if not isinstance(self.n, int) or not 3 <= self.n <= 200:
            raise OptionError(f"n={self.n!r} nodes; quadrature needs a whole number from 3 to 200")

    @property
    def nodes(self) -> np.ndarray:
        return np.polynomial.hermite_e.hermegauss(self.n)[0]

    @property
    def weights(self) -> np.ndarray:
        return np.polynomial.hermite_e.hermegauss(self.n)[1] / np.sqrt(2 * np.pi)


class GaussHermite(Quadrature):
    """The same nodes for every model. Where a posterior is narrower than the gap between nodes (0.68 in the middle for
    21), it collapses onto one of them, and different models get the same ability."""

    n: int = eqx.field(default=21, static=True)


class AdaptiveGaussHermite(Quadrature):
    """Nodes at each model's posterior mode, in units of the standard deviation that the curvature there gives."""

    n: int = eqx.field(default=11, static=True)


QUADRATURES = {"adaptive": AdaptiveGaussHermite, "fixed": GaussHermite}
"""The words for them: "adaptive:11", "fixed:21"."""
