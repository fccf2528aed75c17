"""Likelihoods of pairwise comparisons: Bradley-Terry, Davidson, Rao-Kupper, with closed-form curvature."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.graph import reachability
from jaxrank.likelihood import Likelihood
from jaxrank.ranker import number
from jaxrank.statistics import Pairs


class BradleyTerryLikelihood(Likelihood):
    """Pr(i > j) = sigmoid(theta_i - theta_j); ties are not read [bradleyterry1952]."""

    statistic: ClassVar[type] = Pairs

    @property
    def n_extra(self) -> int:
        return 0

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        return jnp.sum(stat.wins * jax.nn.log_sigmoid(_differences(params)))

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        return _one_sided(params, stat.wins, 0.0)[:3]

    def start(self, stat: Pairs) -> Array:
        return log_odds(stat.wins)


class RaoKupperLikelihood(Likelihood):
    """Pr(i > j) = sigmoid(theta_i - theta_j - tau), a tie when neither holds; tau = log kappa >= 0 [raokupper1967].

    A tie has probability (kappa^2 - 1) Pr(i > j) Pr(j > i), so it counts as a win of both beside a term in kappa.
    **kappa**: fixed tie parameter, >= 1; None estimates it as the last parameter, tau.
    """

    statistic: ClassVar[type] = Pairs
    kappa: Any = number(None)

    @property
    def n_extra(self) -> int:
        return 0 if self.kappa is not None else 1

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        theta, tau = self._split(params)
        support = stat.wins + stat.ties
        n_ties = jnp.sum(stat.ties) / 2
        bonus = jnp.where(n_ties > 0, n_ties * _log_or_infinity(jnp.expm1(2 * tau)), 0)  # kappa = 1 forbids ties
        return jnp.sum(support * jax.nn.log_sigmoid(_differences(theta) - tau)) + bonus

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        theta, tau = self._split(params)
        value, gradient, curvature, q, bent = _one_sided(theta, stat.wins + stat.ties, tau)
        n_ties = jnp.sum(stat.ties) / 2
        growth = jnp.expm1(2 * tau)
        value = value - jnp.where(n_ties > 0, n_ties * _log_or_infinity(growth), 0)
        if self.n_extra == 0:
            return value, gradient, curvature
        by_tau = jnp.sum(q) - n_ties * 2 * (1 + 1 / growth)
        twice = jnp.sum(bent) + n_ties * 4 * (1 + growth) / growth**2
        cross = jnp.sum(bent, axis=0) - jnp.sum(bent, axis=1)
        # No ties: the likelihood is highest at kappa = 1, the border; tau is held there.
        none = n_ties <= 0
        return (
            jnp.where(none, _one_sided(theta, stat.wins, tau)[0], value),
            jnp.append(gradient, jnp.where(none, 0, by_tau)),
            _bordered(curvature, jnp.where(none, 0, cross), jnp.where(none, 1, twice)),
        )

    def start(self, stat: Pairs) -> Array:
        theta = log_odds(stat.wins + stat.ties / 2)
        if self.n_extra == 0:
            return theta
        n_ties, n_wins = jnp.sum(stat.ties) / 2, jnp.sum(stat.wins)
        share = n_ties / jnp.maximum(n_ties + n_wins, 1)
        tau = jnp.log((1 + share) / jnp.maximum(1 - share, 0.01))  # exact for equal strengths
        return jnp.append(theta, jnp.where(n_ties > 0, tau, 0))

    def _split(self, params: Array) -> tuple[Array, Array]:
        if self.kappa is not None:
            return params, jnp.log(jnp.asarray(self.kappa, params.dtype))
        return params[:-1], params[-1]


class DavidsonLikelihood(Likelihood):
    """Pr(i > j) and Pr(tie) in the ratio pi_i : nu sqrt(pi_i pi_j), nu estimated; last parameter log nu [davidson1970]."""

    statistic: ClassVar[type] = Pairs

    @property
    def n_extra(self) -> int:
        return 1

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        d, eta = _differences(params[:-1]), params[-1]
        log_z = self._log_z(d, eta, stat)
        n_ties = jnp.sum(stat.ties) / 2
        return jnp.sum(stat.wins * d) / 2 + jnp.where(n_ties > 0, n_ties * eta, 0) - jnp.sum(stat.total * log_z) / 2

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        d, eta = _differences(params[:-1]), params[-1]
        total = stat.total
        n_ties = jnp.sum(stat.ties) / 2
        some = n_ties > 0
        log_z = self._log_z(d, eta, stat)
        win = jnp.exp(d / 2 - log_z)
        tie = jnp.where(some, jnp.exp(eta - log_z), 0)
        lead = 2 * win - 1 + tie  # Pr(i > j) - Pr(j > i)
        value = jnp.sum(total * log_z) / 2 - jnp.sum(stat.wins * d) / 2 - jnp.where(some, n_ties * eta, 0)
        gradient = jnp.sum(total * lead - (stat.wins - stat.wins.T), axis=1) / 2
        by_eta = jnp.where(some, jnp.sum(total * tie) / 2 - n_ties, 0)
        bent = total * ((1 - tie) - lead**2) / 4
        cross = -jnp.sum(total * lead * tie, axis=1) / 2
        twice = jnp.where(some, jnp.sum(total * tie * (1 - tie)) / 2, 1)
        curvature = _bordered(_laplacian(bent), cross, twice)
        return value, jnp.append(gradient, by_eta), curvature

    def start(self, stat: Pairs) -> Array:
        n_ties, n_wins = jnp.sum(stat.ties) / 2, jnp.sum(stat.wins)
        eta = jnp.log(2 * jnp.maximum(n_ties, 0.5) / jnp.maximum(n_wins, 0.5))  # exact for equal strengths
        return jnp.append(log_odds(stat.wins + stat.ties / 2), jnp.where(n_ties > 0, eta, 0))

    def _log_z(self, d: Array, eta: Array, stat: Pairs) -> Array:
        # Symmetric in +-d to the last bit, so that mirrored pairs and twins get equal numbers.
        size = jnp.abs(d) / 2
        tied = jnp.where(jnp.any(stat.ties > 0), eta, -1e30)  # nu = 0 where no tie occurred
        top = jnp.maximum(size, tied)
        return top + jnp.log(jnp.exp(size - top) + jnp.exp(-size - top) + jnp.exp(tied - top))


def log_odds(wins: Float[Array, "models models"]) -> Float[Array, " models"]:
    """Start: centred log of wins over losses, each with half a win added."""
    theta = jnp.log((jnp.sum(wins, axis=1) + 0.5) / (jnp.sum(wins, axis=0) + 0.5))
    return theta - jnp.mean(theta)


def recession_exists(stat: Pairs) -> Bool[Array, ""]:
    """True where a free tie parameter can run off: potentials with theta_i - theta_j >= 1 for every observed win and
    |theta_i - theta_j| <= 1 for every observed tie.

    A system of difference constraints: it has a solution iff its graph has no negative cycle (Bellman-Ford, all pairs by
    Floyd-Warshall). Edge j -> i of length c states theta_i <= theta_j + c.
    """
    n = stat.wins.shape[0]
    cost = jnp.where(stat.ties > 0, 1.0, jnp.inf)
    cost = jnp.where(stat.wins > 0, jnp.minimum(cost, -1.0), cost)  # i beat j: theta_j <= theta_i - 1
    cost = jnp.where((stat.wins > 0).T & (stat.wins > 0), -1.0, cost)
    cost = jnp.where(jnp.eye(n, dtype=bool), 0.0, cost)

    def through(k: Array, dist: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(dist, k, 1, axis=0)
        column = jax.lax.dynamic_slice_in_dim(dist, k, 1, axis=1)
        # Lengths below -n prove a negative cycle already; the floor keeps them from doubling to -inf.
        return jnp.maximum(jnp.minimum(dist, column + row), -4.0 * n)

    dist = jax.lax.fori_loop(0, n, through, cost)
    return ~jnp.any(jnp.diagonal(dist) < 0)


def support_reach(support: Bool[Array, "models models"]) -> Bool[Array, "models models"]:
    """Who stands above whom through a chain of observed results [ford1957]."""
    return reachability(support)


def _differences(theta: Array) -> Array:
    return theta[:, None] - theta[None, :]


def _one_sided(theta: Array, support: Array, tau: Any) -> tuple[Array, Array, Array, Array, Array]:
    """Minus sum support_ij log sigmoid(theta_i - theta_j - tau): value, gradient, curvature, and per pair support * q and
    support * q (1 - q), where q is the probability that i does not win."""
    z = tau - _differences(theta)
    # softplus(z) and sigmoid(z) from one exponential; stable on both sides.
    small = jnp.exp(-jnp.abs(z))
    value = jnp.sum(support * (jnp.maximum(z, 0) + jnp.log1p(small)))
    q = jnp.where(z >= 0, 1, small) / (1 + small)
    miss = support * q
    bent = support * small / (1 + small) ** 2
    gradient = jnp.sum(miss, axis=0) - jnp.sum(miss, axis=1)
    return value, gradient, _laplacian(bent + bent.T), miss, bent


def _log_or_infinity(x: Array) -> Array:
    """log x, and -inf for x <= 0 without a NaN in its derivative."""
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), -jnp.inf)


def _laplacian(weights: Array) -> Array:
    """Graph Laplacian of symmetric weights whose diagonal is of no account."""
    off = jnp.where(jnp.eye(weights.shape[0], dtype=bool), 0, weights)
    return jnp.diag(jnp.sum(off, axis=1)) - off


def _bordered(block: Array, cross: Array, corner: Array) -> Array:
    return jnp.block([[block, cross[:, None]], [cross[None, :], corner[None, None]]])
