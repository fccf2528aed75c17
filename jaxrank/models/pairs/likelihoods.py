"""Likelihoods of pairwise comparisons: Bradley-Terry, Davidson, Rao-Kupper, with closed-form curvature."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.data.statistics import Pairs
from jaxrank.models.likelihood import Likelihood, identity
from jaxrank.models.options import number
from jaxrank.models.pairs.outcomes import Limit, OutcomeModel
from jaxrank.numerics.lanes import lanes

_NEVER = -1e30  # log nu = log 0 where no tie occurred


@jax.custom_jvp
def softplus(x: Array) -> Array:
    """log(1 + exp(x)); with its derivatives a quarter of the time of `jax.nn.softplus` on a CPU, for many millions."""
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


softplus.defjvp(lambda at, along: (softplus(at[0]), jax.nn.sigmoid(at[0]) * along[0]))


class PairLikelihood(Likelihood, OutcomeModel):
    """A likelihood in which a pair of models enters through the difference of their strengths alone."""

    statistic: ClassVar[type] = Pairs
    laned: ClassVar[bool] = True

    def behind(self, extra: Array) -> Array:
        return extra

    def of_counts(self, d: Array, extra: Array, counts: Sequence[Any] | Array) -> Array:
        return self.pair(d, extra, *counts)

    def begin(self, stat: Any) -> Array:
        return self.start(stat.pairs())

    def limits(self) -> tuple[Limit, ...]:
        free = self.n_extra
        return (0, 1, -free), (1, -1, -free), (2, 1, free), (2, -1, free)

    @abc.abstractmethod
    def pair(self, d: Array, extra: Array, won: Any, lost: Any, ties: Any) -> Array:
        """Log probability of the outcomes of pairs (i, j), elementwise: ``d`` = theta_i - theta_j, counts of wins of i,
        of wins of j and of ties; ``extra`` (n_extra,) the parameters behind the strengths."""


class BradleyTerryLikelihood(PairLikelihood):
    """Pr(i > j) = sigmoid(theta_i - theta_j); ties are not read [bradleyterry1952]."""

    tied: ClassVar[bool] = False

    @property
    def n_extra(self) -> int:
        return 0

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        return jnp.sum(self.pair(_differences(params), params[:0], stat.wins, 0, 0))

    def pair(self, d: Array, extra: Array, won: Any, lost: Any, ties: Any) -> Array:
        return won * d - (won + lost) * softplus(d)

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        if params.ndim == 1:
            return _by_distance(_logistic_parts_alone, params, stat.wins)
        d, won, lost = _differences(params), stat.wins, jnp.swapaxes(stat.wins, 0, 1)
        ahead = d >= 0
        small = jnp.exp(-jnp.abs(d))  # softplus and sigmoid from one exponential; stable on both sides
        share = 1 / (1 + small)
        value = _total(won * (jnp.maximum(-d, 0) + jnp.log1p(small)))
        # The pull of each pair on one member is minus that on the other to the last bit: a rounded pull of two models
        # with millions of comparisons then moves these two and nobody else.
        pull = share * (jnp.where(ahead, lost, won) - small * jnp.where(ahead, won, lost))
        gradient = jnp.sum(jnp.where(ahead, pull, -pull), axis=1)
        return value, gradient, _laplacian((won + lost) * small * share**2)

    def slope(self, params: Array, stat: Pairs) -> Array:
        if params.ndim > 1:
            return self.parts(params, stat)[1]
        return _by_distance(_logistic_slope, params, stat.wins)

    def start(self, stat: Pairs) -> Array:
        return log_odds(stat.wins)


class ConstantTiesLikelihood(PairLikelihood):
    """Bradley-Terry where a comparison is tied with one probability, sigmoid of the last parameter, whoever meets.

    The strengths are those of Bradley-Terry with ties dropped; the tie rate makes it a model of all three outcomes, the
    one to hold Davidson and Rao-Kupper against.
    """

    @property
    def n_extra(self) -> int:
        return 1

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        return jnp.sum(self.pair(_differences(params[:-1]), params[-1:], stat.wins, 0, stat.ties / 2))

    def pair(self, d: Array, extra: Array, won: Any, lost: Any, ties: Any) -> Array:
        rate = ties * jax.nn.log_sigmoid(extra[0]) + (won + lost) * jax.nn.log_sigmoid(-extra[0])
        return BradleyTerryLikelihood().pair(d, extra, won, lost, 0) + rate

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        value, gradient, curvature = BradleyTerryLikelihood().parts(params[:-1], stat)
        x, n_ties, n_wins = params[-1], _total(stat.ties) / 2, _total(stat.wins)
        rate = jax.nn.sigmoid(x)
        some = n_ties > 0
        by_x = jnp.where(some, (n_ties + n_wins) * rate - n_ties, 0)
        twice = jnp.where(some, (n_ties + n_wins) * rate * (1 - rate), 1)
        value = value + n_ties * jax.nn.softplus(-x) + n_wins * jax.nn.softplus(x)
        border = jnp.zeros_like(params[:-1])
        return value, jnp.concatenate([gradient, by_x[None]]), _bordered(curvature, border, twice)

    def start(self, stat: Pairs) -> Array:
        x = jnp.log(_total(stat.ties) / 2 + 0.5) - jnp.log(_total(stat.wins) + 0.5)
        return jnp.concatenate([log_odds(stat.wins), x[None]])


class RaoKupperLikelihood(PairLikelihood):
    """Pr(i > j) = sigmoid(theta_i - theta_j - tau), a tie when neither holds; tau = log kappa >= 0 [raokupper1967].

    A tie has probability (kappa^2 - 1) Pr(i > j) Pr(j > i), so it counts as a win of both beside a term in kappa.
    **kappa**: fixed tie parameter, >= 1; None estimates it as the last parameter, tau.
    """

    kappa: Any = number(None)

    @property
    def n_extra(self) -> int:
        return 0 if self.kappa is not None else 1

    def behind(self, extra: Array) -> Array:
        return extra if self.kappa is None else jnp.log(jnp.asarray(self.kappa, extra.dtype))[None]

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        theta, tau = self._split(params)
        return jnp.sum(self.pair(_differences(theta), tau[None], stat.wins, 0, stat.ties / 2))

    def pair(self, d: Array, extra: Array, won: Any, lost: Any, ties: Any) -> Array:
        tau = extra[0]
        bonus = jnp.where(ties > 0, ties * _log_or_infinity(jnp.expm1(2 * tau)), 0)  # kappa = 1 forbids ties
        return (won + ties) * jax.nn.log_sigmoid(d - tau) + (lost + ties) * jax.nn.log_sigmoid(-d - tau) + bonus

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        theta, tau = self._split(params)
        value, gradient, curvature, q, bent = _one_sided(theta, stat.wins + stat.ties, tau)
        n_ties = _total(stat.ties) / 2
        growth = jnp.expm1(2 * tau)
        value = value - jnp.where(n_ties > 0, n_ties * _log_or_infinity(growth), 0)
        if self.n_extra == 0:
            return value, gradient, curvature
        by_tau = _total(q) - n_ties * 2 * (1 + 1 / growth)
        twice = _total(bent) + n_ties * 4 * (1 + growth) / growth**2
        cross = jnp.sum(bent, axis=0) - jnp.sum(bent, axis=1)
        # No ties: the likelihood is highest at kappa = 1, the border; tau is held there.
        none = n_ties <= 0
        return (
            jnp.where(none, _one_sided(theta, stat.wins, jnp.zeros_like(tau))[0], value),
            jnp.concatenate([gradient, jnp.where(none, 0, by_tau)[None]]),
            _bordered(curvature, jnp.where(none[None], 0, cross), jnp.where(none, 1, twice)),
        )

    def start(self, stat: Pairs) -> Array:
        theta = log_odds(stat.wins + stat.ties / 2)
        if self.n_extra == 0:
            return theta
        n_ties, n_wins = _total(stat.ties) / 2, _total(stat.wins)
        share = n_ties / jnp.maximum(n_ties + n_wins, 1)
        tau = jnp.log((1 + share) / jnp.maximum(1 - share, 0.01))  # exact for equal strengths
        return jnp.concatenate([theta, jnp.where(n_ties > 0, tau, 0)[None]])

    def _split(self, params: Array) -> tuple[Array, Array]:
        if self.kappa is not None:
            return params, jnp.broadcast_to(jnp.log(jnp.asarray(self.kappa, params.dtype)), params.shape[1:])
        return params[:-1], params[-1]


class DavidsonLikelihood(PairLikelihood):
    """Pr(i > j) and Pr(tie) in the ratio pi_i : nu sqrt(pi_i pi_j), nu estimated; last parameter log nu
    [davidson1970]."""

    untied: ClassVar[float] = _NEVER

    @property
    def n_extra(self) -> int:
        return 1

    def log_prob(self, params: Array, stat: Pairs) -> Array:
        eta = jnp.where(jnp.any(stat.ties > 0), params[-1], _NEVER)
        return jnp.sum(self.pair(_differences(params[:-1]), eta[None], stat.wins, 0, stat.ties / 2))

    def pair(self, d: Array, extra: Array, won: Any, lost: Any, ties: Any) -> Array:
        half, eta = d / 2, extra[0]
        top, ahead, behind, level = _davidson_weights(half, eta)
        log_whole = jnp.log(ahead + behind + level)
        rest = (won + lost + ties) * log_whole
        return won * (half - top) - lost * (half + top) + ties * (eta - top) - rest

    def parts(self, params: Array, stat: Pairs) -> tuple[Array, Array, Array]:
        # The value in terms of one sign: between models far apart float32 lost so many digits that steps never ended.
        half, wins, total = _differences(params[:-1]) / 2, stat.wins, stat.total
        n_ties = _total(stat.ties) / 2
        some = n_ties > 0
        eta = jnp.where(some, params[-1], _NEVER)[None, None]
        top, ahead, behind, level = _davidson_weights(half, eta)
        whole = ahead + behind + level
        log_whole = jnp.log(whole)
        missed = jnp.where(some, stat.ties / 2 * (top - eta + log_whole), 0)
        value = _total(wins * (top - half + log_whole) + missed)
        lead, level, decided = (ahead - behind) / whole, level / whole, (ahead + behind) / whole
        gradient = jnp.sum(total * lead - (wins - jnp.swapaxes(wins, 0, 1)), axis=1) / 2
        by_eta = jnp.where(some, _total(total * level) / 2 - n_ties, 0)
        bent = total * (decided - lead**2) / 4
        cross = -jnp.sum(total * lead * level, axis=1) / 2
        twice = jnp.where(some, _total(total * level * decided) / 2, 1)
        curvature = _bordered(_laplacian(bent), cross, twice)
        return value, jnp.concatenate([gradient, by_eta[None]]), curvature

    def start(self, stat: Pairs) -> Array:
        n_ties, n_wins = _total(stat.ties) / 2, _total(stat.wins)
        eta = jnp.log(2 * jnp.maximum(n_ties, 0.5) / jnp.maximum(n_wins, 0.5))  # exact for equal strengths
        return jnp.concatenate([log_odds(stat.wins + stat.ties / 2), jnp.where(n_ties > 0, eta, 0)[None]])


def _davidson_weights(half: Array, eta: Array) -> tuple[Array, Array, Array, Array]:
    """Of half a difference the log of the largest weight, and the weights of i ahead, i behind and a tie over it,
    (anti)symmetric to the last bit."""
    top = jax.lax.stop_gradient(jnp.maximum(jnp.abs(half), eta))  # cancels; derivatives of |half| at 0 would be lost
    return top, jnp.exp(half - top), jnp.exp(-half - top), jnp.exp(eta - top)


def log_odds(wins: Float[Array, "models models *lanes"]) -> Float[Array, "models *lanes"]:
    """Start: centred log of wins over losses, each with half a win added."""
    theta = jnp.log((jnp.sum(wins, axis=1) + 0.5) / (jnp.sum(wins, axis=0) + 0.5))
    return theta - jnp.mean(theta, axis=0, keepdims=True)


def recession_exists(stat: Pairs) -> Bool[Array, ""]:
    """True where a free tie parameter can run off: potentials with theta_i - theta_j >= 1 for every observed win and
    |theta_i - theta_j| <= 1 for every observed tie.

    A system of difference constraints: it has a solution iff its graph has no negative cycle (Floyd-Warshall).
    """
    return _recession(stat.wins > 0, stat.ties > 0)


def _recession_lanes(wins: Bool[Array, "models models lanes"], ties: Bool[Array, "models models lanes"]) -> Array:
    # Two models that beat each other cannot both stand at least 1 above: no potentials, and no need to search.
    mutual = jnp.any(wins & jnp.swapaxes(wins, 0, 1), axis=(0, 1))
    return jax.lax.cond(jnp.all(mutual), lambda w, t: jnp.zeros(w.shape[2:], bool), _no_negative_cycle, wins, ties)


_recession = lanes(_recession_lanes)


def _no_negative_cycle(wins: Array, ties: Array) -> Array:
    n = wins.shape[0]
    # cost[i, j] = c states theta_j <= theta_i + c.
    cost = jnp.where(wins, -1.0, jnp.where(ties, 1.0, jnp.inf))
    cost = jnp.where(identity(n, 3), 0.0, cost)

    def through(k: Array, dist: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(dist, k, 1, axis=0)
        column = jax.lax.dynamic_slice_in_dim(dist, k, 1, axis=1)
        # Lengths below -n prove a negative cycle already; the floor keeps them from doubling to -inf.
        return jnp.maximum(jnp.minimum(dist, column + row), -4.0 * n)

    dist = jax.lax.fori_loop(0, n, through, cost)
    return ~jnp.any(jnp.diagonal(dist) < 0, axis=-1)


def _by_distance(made: Callable[..., Any], theta: Float[Array, " models"], won: Array) -> Any:
    """``made(theta, won, ahead, behind)`` of single arrays, with the chance that i beats j and that j beats i. An
    exponential for each pair would take most of the time: models that lie close share theirs."""
    close = jnp.max(theta) - jnp.min(theta) < math.log(jnp.finfo(theta.dtype).max) / 2
    by = lambda chances: lambda theta: made(theta, won, *chances(theta))
    return jax.lax.cond(close, by(_chances_of_close), by(_chances), theta)


def _chances_of_close(theta: Float[Array, " models"]) -> tuple[Array, Array]:
    """`_chances` where no exponential of a model, and no sum of two, leaves the range of numbers."""
    weight = jnp.exp(theta - jnp.max(theta))
    share = _apart(1 / (weight[:, None] + weight[None, :]))
    return weight[:, None] * share, weight[None, :] * share


def _chances(theta: Float[Array, " models"]) -> tuple[Array, Array]:
    """Of each pair the chance that i beats j, and that j beats i."""
    d = _differences(theta)
    small = jnp.exp(-jnp.abs(d))
    more = 1 / (1 + small)
    return jnp.where(d >= 0, more, small * more), jnp.where(d >= 0, small * more, more)


def _logistic_slope(theta: Array, won: Array, ahead: Array, behind: Array) -> Array:
    missed = won * behind
    return jnp.sum(missed, axis=0) - jnp.sum(missed, axis=1)


def _logistic_parts_alone(theta: Array, won: Array, ahead: Array, behind: Array) -> tuple[Array, Array, Array]:
    """`BradleyTerryLikelihood.parts` of single arrays. Degrees are sums along both axes of one table: what reads it by
    column does not run along the lanes of a vector."""
    d, lost = _differences(theta), won.T
    value = _total(won * (jnp.maximum(-d, 0) + jnp.log1p(jnp.exp(-jnp.abs(d)))))
    bent = _apart(won * behind * ahead)
    # As with lanes, antisymmetric to the last bit: both members of a pair go through one multiplication and addition.
    front, more, less = d >= 0, jnp.maximum(ahead, behind), jnp.minimum(ahead, behind)
    pull = jnp.where(front, lost, won) * more - jnp.where(front, won, lost) * less
    gradient = jnp.sum(jnp.where(front, pull, -pull), axis=1)
    on = identity(len(won), 2)
    degree = jnp.sum(bent, axis=0) + jnp.sum(bent, axis=1)
    return value, gradient, jnp.where(on, degree[:, None], -(bent + bent.T))


# Made once and kept: not computed anew by everything that reads it.
_apart = jax.lax.optimization_barrier


def _differences(theta: Array) -> Array:
    return theta[:, None] - theta[None, :]


def _total(x: Array) -> Array:
    """Sum over all pairs."""
    return jnp.sum(x, axis=(0, 1))


def _one_sided(theta: Array, support: Array, tau: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Minus sum support_ij log sigmoid(theta_i - theta_j - tau): value, gradient, curvature, and per pair support * q
    and support * q (1 - q), where q is the probability that i does not win."""
    z = tau[None, None] - _differences(theta)
    # softplus(z) and sigmoid(z) from one exponential; stable on both sides.
    small = jnp.exp(-jnp.abs(z))
    share = 1 / (1 + small)
    value = _total(support * (jnp.maximum(z, 0) + jnp.log1p(small)))
    miss = support * share * jnp.where(z >= 0, 1, small)
    bent = support * small * share**2
    # The pull of each pair on one member is minus that on the other to the last bit: a rounded pull of two models with
    # millions of comparisons then moves these two and nobody else.
    gradient = jnp.sum(jnp.swapaxes(miss, 0, 1) - miss, axis=1)
    return value, gradient, _laplacian(bent + jnp.swapaxes(bent, 0, 1)), miss, bent


def _log_or_infinity(x: Array) -> Array:
    """log x, and -inf for x <= 0 without a NaN in its derivative."""
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), -jnp.inf)


def _laplacian(weights: Array) -> Array:
    """Graph Laplacian of symmetric weights whose diagonal is of no account."""
    on = identity(weights.shape[0], weights.ndim)
    return jnp.where(on, jnp.sum(jnp.where(on, 0, weights), axis=1, keepdims=True), -weights)


def _bordered(block: Array, cross: Array, corner: Array) -> Array:
    """The matrix [[block, cross], [cross, corner]]."""
    upper = jnp.concatenate([block, cross[:, None]], axis=1)
    lower = jnp.concatenate([cross, corner[None]])
    return jnp.concatenate([upper, lower[None]])
