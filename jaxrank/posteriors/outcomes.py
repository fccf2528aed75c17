"""What posterior models say of data: NumPyro distributions whose log probability is that of the library's likelihoods.

Each can be observed and sampled, unit by unit: pairs of models, cells of model and question, or events of choice. The
probability is that of the outcomes in the order in which they came, without the number of orders of equal counts.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from numpyro.distributions import Distribution, constraints

from jaxrank.models.irt.cells import guessing_cell, plain_cell
from jaxrank.models.pairs.likelihoods import PairLikelihood
from jaxrank.models.setwise.choices import Choices, SetTotals
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, LuceLikelihood, allowed_orders, order_terms

_COUNTS = constraints.independent(constraints.nonnegative, 1)


class PairOutcomes(Distribution):
    """Wins of a, wins of b and ties of each pair: batch (P,), event (3,).

    **params**: strengths (L,) and what stands behind them. **a**, **b** (P,): the models of a pair. **total** (P,): its
    comparisons, read by ``sample`` only (rounded to whole numbers).
    """

    arg_constraints: ClassVar[dict] = {}
    pytree_data_fields = ("params", "a", "b", "total")
    pytree_aux_fields = ("likelihood",)

    def __init__(
        self,
        likelihood: PairLikelihood,
        params: Float[Array, " n"],
        a: Int[Array, " pairs"],
        b: Int[Array, " pairs"],
        total: Float[Array, " pairs"],
    ) -> None:
        self.likelihood, self.params, self.a, self.b, self.total = likelihood, params, a, b, total
        super().__init__(batch_shape=a.shape, event_shape=(3,))

    @property
    def support(self) -> Any:
        return _COUNTS

    def log_prob(self, value: Array, intermediates: Any = None) -> Array:
        """(..., P) of counts (..., P, 3)."""
        return self._pair(value[..., 0], value[..., 1], value[..., 2])

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        n = jnp.round(self.total)
        shape = (*sample_shape, *n.shape)
        win, loss = (jnp.exp(self._pair(*one)) for one in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
        tie = jnp.exp(self._pair(0.0, 0.0, 1.0)) if self.likelihood.tied else jnp.zeros_like(win)
        first, second = jax.random.split(key)
        won = jax.random.binomial(first, n, win / (win + loss + tie), shape, dtype=n.dtype)
        lost = jax.random.binomial(second, n - won, jnp.broadcast_to(loss / (loss + tie), shape), dtype=n.dtype)
        return jnp.stack([won, lost, n - won - lost], axis=-1)

    def _pair(self, won: Any, lost: Any, ties: Any) -> Array:
        n = self.params.shape[0] - self.likelihood.n_extra
        d = self.params[self.a] - self.params[self.b]
        return self.likelihood.pair(d, self.params[n:], won, lost, ties)


class CellOutcomes(Distribution):
    """Successes of each model on each question: batch (L, M).

    **eta** (L, M): logit of solving without a guess. **trials** (L, M), 0 where nothing was tried. **guessing**: logit
    of the share of ``upper`` that the chance of a right guess is, (M,), or None.
    """

    arg_constraints: ClassVar[dict] = {}
    pytree_data_fields = ("eta", "trials", "guessing")
    pytree_aux_fields = ("upper",)

    def __init__(self, eta: Array, trials: Array, guessing: Any = None, upper: float = 0.5) -> None:
        self.eta, self.trials, self.guessing, self.upper = eta, trials, guessing, upper
        super().__init__(batch_shape=eta.shape)

    @property
    def support(self) -> Any:
        return constraints.nonnegative

    def log_prob(self, value: Array, intermediates: Any = None) -> Array:
        return self._cell(value, self.trials)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        one = jnp.ones_like(self.eta)
        chance = jnp.exp(self._cell(one, one))
        n = jnp.round(self.trials)
        return jax.random.binomial(key, n, chance, (*sample_shape, *n.shape), dtype=n.dtype)

    def _cell(self, successes: Array, trials: Array) -> Array:
        if self.guessing is None:
            return plain_cell(self.eta, successes, trials).value
        g = jnp.broadcast_to(self.guessing[None, :], self.eta.shape)
        return guessing_cell(self.eta, successes, trials, g, self.upper).value


class ChoiceOutcomes(Distribution):
    """Who is chosen from each slate under the Luce likelihood: batch (E,), event (L,), 1 for a chosen model.

    **slates** (E, L): who could be chosen. **weights** (E,): how often each event came. Several chosen models make a
    composite likelihood, which has no joint distribution: ``sample`` draws one winner.
    """

    arg_constraints: ClassVar[dict] = {}
    pytree_data_fields = ("theta", "slates", "weights")

    def __init__(
        self, theta: Float[Array, " models"], slates: Bool[Array, "events models"], weights: Float[Array, " events"]
    ) -> None:
        self.theta, self.slates, self.weights = theta, slates, weights
        super().__init__(batch_shape=weights.shape, event_shape=theta.shape)

    @property
    def support(self) -> Any:
        return _COUNTS

    def log_prob(self, value: Array, intermediates: Any = None) -> Array:
        rejected = jnp.where(self.slates, 1 - value, 0)
        met = jnp.ones((self.theta.shape[0],) * 2, bool)
        stat = Choices(value, rejected, self.weights, self.weights > 0, met, None)
        return LuceLikelihood().pointwise(self.theta, stat)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        logits = jnp.where(self.slates, self.theta[None, :], -jnp.inf)
        winner = jax.random.categorical(key, logits, shape=(*sample_shape, *self.batch_shape))
        return jax.nn.one_hot(winner, self.theta.shape[0], dtype=self.theta.dtype)


class SetOutcomes(Distribution):
    """The set that is chosen from each slate under the Davidson-Luce model: batch (E,), event (L,), 1 for the chosen.

    **stat**: the distinct slates and the orders that occur. **slate** (E,): row of ``stat.slates``. **weights** (E,).
    """

    arg_constraints: ClassVar[dict] = {}
    pytree_data_fields = ("params", "stat", "slate", "weights")

    def __init__(
        self, params: Float[Array, " n"], stat: SetTotals, slate: Int[Array, " events"], weights: Array
    ) -> None:
        self.params, self.stat, self.slate, self.weights = params, stat, slate, weights
        super().__init__(batch_shape=weights.shape, event_shape=stat.mean_choice.shape)

    @property
    def support(self) -> Any:
        return _COUNTS

    def log_prob(self, value: Array, intermediates: Any = None) -> Array:
        likelihood = DavidsonLuceLikelihood(self.stat.orders.shape[0])
        return self.weights * likelihood.pointwise(self.params, self.stat, value, self.slate)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        n = self.event_shape[0]
        theta, eta = self.params[:n], jnp.where(self.stat.free, self.params[n:], 0)
        allowed, slates = jnp.asarray(allowed_orders(self.stat)), jnp.asarray(self.stat.slates)

        def draw(key: Array, row: Array) -> Array:
            slate = slates[row]
            first, second = jax.random.split(key)
            order = jax.random.categorical(first, jnp.where(allowed[row], order_terms(theta, eta, slate), -jnp.inf))
            return _subset(second, jnp.where(slate, theta / (order + 1), -jnp.inf), order + 1, eta.shape[0])

        size = (*sample_shape, *self.batch_shape)
        rows = jnp.broadcast_to(self.slate, size).reshape(-1)
        drawn = jax.vmap(draw)(jax.random.split(key, rows.shape[0]), rows)
        return drawn.reshape(*size, n).astype(theta.dtype)


def _subset(key: Array, log_x: Float[Array, " items"], size: Int[Array, ""], most: int) -> Bool[Array, " items"]:
    """A subset of ``size`` items drawn in proportion to the product of its x; ``size`` is at most ``most``.

    Log symmetric polynomials of the items from i on, by order, then one decision an item.
    """
    nothing = jnp.full(most + 1, -jnp.inf, log_x.dtype).at[0].set(0)

    def add(after: Array, x: Array) -> tuple[Array, Array]:
        with_x = jnp.concatenate([jnp.full(1, -jnp.inf, x.dtype), x + after[:-1]])
        return jnp.logaddexp(after, with_x), after

    _, rest = jax.lax.scan(add, nothing, log_x, reverse=True)

    def decide(left: Array, item: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        x, after, u = item
        take, leave = x + after[jnp.maximum(left - 1, 0)], after[left]
        taken = (left > 0) & (jnp.log(u) < take - jnp.logaddexp(take, leave))
        return left - taken, taken

    u = jax.random.uniform(key, log_x.shape, log_x.dtype, minval=jnp.finfo(log_x.dtype).tiny)
    return jax.lax.scan(decide, size, (log_x, rest, u))[1]
