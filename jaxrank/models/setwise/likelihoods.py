"""Likelihoods of setwise choice: the composite Luce likelihood and Davidson-Luce, with closed-form curvature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxrank.data.statistics import Events
from jaxrank.models.likelihood import Likelihood
from jaxrank.models.options import count
from jaxrank.models.setwise.choices import Choices, SetTotals, rejected_together
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.symmetric import joint_inclusion, log_symmetric, n_nodes

_EVENTS = 256  # events whose terms are held at once
_IN_MEMORY = 2**21  # orders x nodes x models that are held at once


class LuceLikelihood(Likelihood):
    """Each chosen model against the rejected ones: prod over events, i in U, of pi_i / (pi_i + sum_V pi) [luce1959].

    With one chosen model an event is a stage of a Plackett-Luce ranking, and this is its exact likelihood; with several
    it is a composite likelihood. Reads `Choices`.
    """

    statistic: ClassVar[type] = Events

    @property
    def n_extra(self) -> int:
        return 0

    def log_prob(self, params: Array, stat: Choices) -> Array:
        return jnp.sum(self.pointwise(params, stat))

    def pointwise(self, params: Array, stat: Choices) -> Float[Array, " events"]:
        """Log probability of each event, times its weight."""
        total, mass, top = _odds(params, stat)
        return jnp.sum(mass * ((params - top)[:, None] - jnp.log(total)), axis=0)

    def parts(self, params: Array, stat: Choices) -> tuple[Array, Array, Array]:
        top, pi = _scaled(params)

        def add(sums: _Flows, events: tuple[Array, Array, Array]) -> tuple[_Flows, Array]:
            chosen, rejected, weights = events
            total = pi[:, None] + matmul(rejected, pi)[None, :]
            mass = chosen.T * weights[None, :]
            # Held in memory once: fused into each of their four sums they would be divided anew every time.
            share = jax.lax.optimization_barrier(mass / total)
            square = jax.lax.optimization_barrier(share / total)
            new = _Flows(
                jnp.sum(mass * jnp.log(total)),
                jnp.sum(mass, axis=1),
                jnp.sum(share, axis=1),
                matmul(share, rejected),
                jnp.sum(square, axis=1),
                matmul(square, rejected),
            )
            return jax.tree.map(jnp.add, sums, new), jnp.sum(square, axis=0)

        s, of_events = in_turns(add, _Flows.none(pi), (stat.chosen, stat.rejected, stat.weights))
        value = s.logs - matmul(s.mass, params - top)
        # What i takes from j wherever both could be chosen. As a difference of two such flows the gradient of a model
        # that met few others is not lost in the rounding of those that met millions, if what one loses the other gains:
        # of a product that is fused into a difference compilers keep more digits than of its mirror image.
        flow = s.taken * pi[None, :]
        upper = jnp.triu(flow.T - flow, 1)
        expected = jnp.sum(flow, axis=0) + pi * s.share
        among = rejected_together(stat, of_events)
        pairs = s.crossed + s.crossed.T + among + jnp.diag(s.square)
        return value, jnp.sum(upper - upper.T, axis=1), jnp.diag(expected) - pi[:, None] * pi[None, :] * pairs

    def start(self, stat: Choices) -> Array:
        """Centred log-odds of each model's share of choices, half a choice added to both sides."""
        won = matmul(stat.weights, stat.chosen)
        lost = matmul(stat.weights, stat.rejected)
        odds = jnp.log(won + 0.5) - jnp.log(lost + 0.5)
        return odds - jnp.mean(odds)


class _Flows(NamedTuple):
    """Sums over events of the terms of the chosen models: logarithms of the totals, weights (L,), shares (L,) and what
    they take from each other (L, L), the same of squares."""

    logs: Array
    mass: Array
    share: Array
    taken: Array
    square: Array
    crossed: Array

    @classmethod
    def none(cls, pi: Array) -> _Flows:
        n = pi.shape[0]
        one, pair = jnp.zeros(n, pi.dtype), jnp.zeros((n, n), pi.dtype)
        return cls(jnp.zeros((), pi.dtype), one, one, pair, one, pair)


def in_turns(add: Callable, start: Any, events: tuple[Array, ...]) -> tuple[Any, Array]:
    """Sums over all events, a few at a time: a lane of a batch then holds (L, `_EVENTS`) numbers, not (L, E). ``add``
    gives the sums with those of some events, and a number for each of these."""
    n_events = events[0].shape[0]
    n_turns = max(1, -(-n_events // _EVENTS))
    if n_turns == 1:
        return add(start, events)
    size = -(-n_events // n_turns)

    def cut(x: Array) -> Array:
        # An event of nobody, with weight 0, adds nothing.
        padded = jnp.pad(x, ((0, n_turns * size - n_events), *((0, 0),) * (x.ndim - 1)))
        return padded.reshape(n_turns, size, *x.shape[1:])

    sums, rest = jax.lax.scan(add, start, tuple(map(cut, events)))
    return sums, rest.reshape(-1)[:n_events]


def _scaled(theta: Array) -> tuple[Array, Array]:
    """The largest log-strength, and the strengths on a scale where it has 1."""
    top = jax.lax.stop_gradient(jnp.max(theta))
    # exp(-80) instead of an underflow to zero, so that a slate of very weak models still has a positive total.
    return top, jnp.exp(jnp.maximum(theta - top, -80))


def _odds(theta: Array, c: Choices) -> tuple[Array, Array, Array]:
    """pi_i + sum_V pi for every model and event, (L, E), so that products over events read memory in order; the weight
    of these terms; the log scale."""
    top, pi = _scaled(theta)
    total = pi[:, None] + matmul(c.rejected, pi)[None, :]
    return total, c.chosen.T * c.weights[None, :], top


class DavidsonLuceLikelihood(Likelihood):
    """The chosen set as a whole: Pr(U | S) = delta_t g_t(U) / sum_t' delta_t' e_t'(pi_S^(1/t')), t = |U|,
    g_t(U) = prod_U pi^(1/t) [firth2019].

    An exponential family: the data enter through the mean choices and the numbers of choices of each size. Reads
    `SetTotals`. The parameters are the L log-strengths and the D log tie parameters; the tie parameters of orders that
    are not `SetTotals.free` are read as 0 and have gradient 0 and curvature 1.
    """

    statistic: ClassVar[type] = Events
    n_orders: int = count(1)

    @property
    def n_extra(self) -> int:
        return self.n_orders

    def log_prob(self, params: Array, stat: SetTotals) -> Array:
        """Needs a static number of slates: every row of ``stat.slates`` is visited (those of weight 0 for nothing)."""
        theta, eta = _split(params, stat)
        observed = matmul(stat.mean_choice, theta) + matmul(stat.orders, eta)
        log_z = jax.vmap(log_normaliser, (None, None, 0, 0))(theta, eta, stat.slates, allowed_orders(stat))
        return observed - jnp.sum(jnp.where(stat.slate_weights > 0, stat.slate_weights * log_z, 0))

    def pointwise(
        self, params: Array, stat: SetTotals, chosen: Float[Array, "events models"], slate: Int[Array, " events"]
    ) -> Float[Array, " events"]:
        """Log probability of each chosen set, from the row ``slate`` of ``stat.slates``; sizes are 1 to D."""
        theta, eta = _split(params, stat)
        size = jnp.sum(chosen, axis=1)
        observed = matmul(chosen, theta) / size + eta[size.astype(int) - 1]
        log_z = jax.vmap(log_normaliser, (None, None, 0, 0))(theta, eta, stat.slates, allowed_orders(stat))
        return observed - log_z[slate]

    def parts(self, params: Array, stat: SetTotals) -> tuple[Array, Array, Array]:
        theta, eta = _split(params, stat)
        n_models = theta.shape[0]
        value = -matmul(stat.mean_choice, theta) - matmul(stat.orders, eta)
        linear = -jnp.concatenate([stat.mean_choice, stat.orders])
        order = jnp.arange(1, self.n_orders + 1)

        def add(s: Array, sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            moments = slate_moments(theta, eta, stat.slates[s], stat.active & (order <= stat.top[s]))
            weight = stat.slate_weights[s]
            return sums[0] + weight * moments[0], sums[1] + weight * moments[1], sums[2] + weight * moments[2]

        # A dynamic number of rounds: one for complete data, whatever the number of events.
        begin = (value, linear, jnp.zeros((params.shape[0],) * 2, params.dtype))
        value, gradient, curvature = jax.lax.fori_loop(0, stat.n_slates, add, begin)
        moves = jnp.concatenate([jnp.ones(n_models, bool), stat.free])
        curvature = jnp.where(moves[:, None] & moves[None, :], curvature, jnp.diag((~moves).astype(params.dtype)))
        return value, jnp.where(moves, gradient, 0), curvature

    def start(self, stat: SetTotals) -> Array:
        """Equal strengths, and the tie parameters that fit the order counts of the average slate then."""
        order = jnp.arange(1, self.n_orders + 1).astype(stat.orders.dtype)
        size = matmul(stat.slate_weights, jnp.sum(stat.slates, axis=1))
        size = jnp.maximum(size / jnp.maximum(jnp.sum(stat.slate_weights), 1e-30), order)
        log_sets = jax.lax.lgamma(size + 1) - jax.lax.lgamma(order + 1) - jax.lax.lgamma(size - order + 1)
        eta = jnp.log(jnp.maximum(stat.orders, 1e-30)) - log_sets
        eta = jnp.where(stat.free, eta - eta[jnp.argmax(stat.active)], 0)
        return jnp.concatenate([jnp.zeros_like(stat.mean_choice), eta])


def log_normaliser(
    theta: Float[Array, " models"], eta: Float[Array, " orders"], slate: Array, allowed: Array
) -> Float[Array, ""]:
    """log sum_t delta_t e_t(pi^(1/t)) over the allowed orders t = 1..D of one slate; 0 where none is allowed."""
    terms = jnp.where(allowed, _order_terms(theta, eta, slate)[0], -1e30)
    return jnp.where(jnp.any(allowed), jax.nn.logsumexp(terms), 0)


def allowed_orders(stat: SetTotals) -> Bool[Array, "events orders"]:
    """Whether a set of each size can be chosen from each slate: the size occurs in the data, and the slate holds it."""
    order = jnp.arange(1, stat.orders.shape[0] + 1)
    return stat.active[None, :] & (order[None, :] <= stat.top[:, None])


def order_terms(theta: Float[Array, " models"], eta: Float[Array, " orders"], slate: Array) -> Float[Array, " orders"]:
    """log delta_t e_t(pi^(1/t)) of one slate: log weight of the sets of each size t."""
    return _order_terms(theta, eta, slate)[0]


def _split(params: Array, t: SetTotals) -> tuple[Array, Array]:
    n_models = t.mean_choice.shape[0]
    return params[:n_models], jnp.where(t.free, params[n_models:], 0)


def _order_terms(theta: Array, eta: Array, slate: Array) -> tuple[Array, Any, Array]:
    order = jnp.arange(1, eta.shape[0] + 1).astype(theta.dtype)
    symmetric = log_symmetric(theta[None, :] / order[:, None], order, slate)
    return eta + symmetric.log_e, symmetric, order


def slate_moments(theta: Array, eta: Array, slate: Array, allowed: Array) -> tuple[Array, Array, Array]:
    """log Z of one slate, with the mean and covariance of (1{i in U} / |U|, 1{|U| = t}); 0 if no order is allowed."""
    n_models, n_orders = theta.shape[0], eta.shape[0]
    block = max(1, _IN_MEMORY // (n_nodes(n_models, theta.dtype) * n_models))
    if n_orders <= block:
        terms, symmetric, order = _order_terms(theta, eta, slate)
        log_z, chance = _order_chances(terms, allowed)
        inclusion = symmetric.inclusion / order[:, None]
        mean = matmul(chance, inclusion)
        mixed = (chance[:, None] * inclusion).T
        together = joint_inclusion(symmetric, chance / order**2)
    else:
        log_z, chance, mean, mixed, together = _moments_in_blocks(theta, eta, slate, allowed, block)
    joint_mean = jnp.block([[together, mixed], [mixed.T, jnp.diag(chance)]])
    both = jnp.concatenate([mean, chance])
    return log_z, both, joint_mean - both[:, None] * both[None, :]


def _order_chances(terms: Array, allowed: Array) -> tuple[Array, Array]:
    """log Z and the probability of each order."""
    terms = jnp.where(allowed, terms, -jnp.inf)
    log_z = jnp.where(jnp.any(allowed), jax.nn.logsumexp(terms), 0)
    return log_z, jnp.exp(terms - log_z)


def _moments_in_blocks(theta: Array, eta: Array, slate: Array, allowed: Array, block: int) -> tuple[Array, ...]:
    """log Z, chance of each order, mean, mixed and joint moments, ``block`` orders at a time, none of the forbidden."""
    n_models, n_orders = theta.shape[0], eta.shape[0]
    first = jnp.argsort(~allowed)  # stable: allowed orders first
    places = jnp.pad(first, (0, -n_orders % block), mode="edge").reshape(-1, block)
    n_blocks = (jnp.sum(allowed) + block - 1) // block

    def symmetric(i: Array) -> tuple[Array, Any, Array]:
        order = (places[i] + 1).astype(theta.dtype)
        return order, log_symmetric(theta[None, :] / order[:, None], order, slate), places[i]

    def weigh(i: Array, terms: Array) -> Array:
        _, found, place = symmetric(i)
        return terms.at[place].set(eta[place] + found.log_e)

    terms = jax.lax.fori_loop(0, n_blocks, weigh, jnp.zeros_like(eta))
    log_z, chance = _order_chances(terms, allowed)

    def add(i: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        mixed, together = sums
        order, found, place = symmetric(i)
        new = i * block + jnp.arange(block) < n_orders  # the padding repeats an order
        share = jnp.where(new, chance[place], 0)
        mixed = mixed.at[:, place].add((share[:, None] * found.inclusion / order[:, None]).T)
        return mixed, together + joint_inclusion(found, share / order**2)

    begin = (jnp.zeros((n_models, n_orders), theta.dtype), jnp.zeros((n_models, n_models), theta.dtype))
    mixed, together = jax.lax.fori_loop(0, n_blocks, add, begin)
    return log_z, chance, jnp.sum(mixed, axis=1), mixed, together
