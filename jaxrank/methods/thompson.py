"""Thompson sampling: the mean rank under independent Beta posteriors."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.fit import Fit, Status, solver_resolution
from jaxrank.options import check_number
from jaxrank.ranker import Entry, HasStandardErrors, Ranker, choice, number
from jaxrank.statistics import Counts

_REACH, _NODES = 4.6, 128  # sinh grid: 50 standard deviations to each side, and its number of nodes


class Thompson(Ranker, HasStandardErrors):
    """Minus the mean rank of each model when success rates are drawn from their posteriors.

    **Model** p_l ~ Beta(a + S_l, b + F_l), S_l and F_l the successes and failures of model l over all trials;
    s_l = -E[rank of p_l among all], rank 1 the largest [thompson1933; hariri2026ranking].
    **Reads** counts.
    **Scores** in [-L, -1]; their sum is -L (L + 1)/2.
    **Fields** ``n_samples``: draws, default 10,000 as published; None gives the exact expectation by quadrature.
    ``a``, ``b`` > 0: the prior, default 1 and 1.
    **Params** ``successes``, ``failures`` (models,); with draws ``monte_carlo_error`` (models,), the standard error.
    **Standard errors** the posterior standard deviation of the rank, with draws only (NaN without).
    **Status** converged; undefined where a model has no data.
    **Departs** in the random numbers: a model's draws come from the key and from its counts, not from its place in the
    list, so that the order of the models does not matter; equal models share their draws and each other's half points.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    n_samples: int | None = choice(10_000)
    a: Any = number(1.0)
    b: Any = number(1.0)

    def __check_init__(self) -> None:
        if self.n_samples is not None:
            check_number("n_samples", self.n_samples, 1)
        check_number("a", self.a, 0, open_low=True)
        check_number("b", self.b, 0, open_low=True)

    @property
    def stochastic(self) -> bool:
        """Whether it draws random numbers and wants a key."""
        return self.n_samples is not None

    def __call__(self, stat: Counts, *, key: Any = None) -> Fit:
        dtype = stat.categories.dtype
        successes = jnp.sum(stat.questions[None, :] * stat.successes, axis=1)
        failures = jnp.sum(stat.questions[None, :] * stat.trials, axis=1) - successes
        alpha = jnp.asarray(self.a, dtype) + successes
        beta = jnp.asarray(self.b, dtype) + failures
        params = {"successes": successes, "failures": failures}
        if self.n_samples is None:
            scores = -1 - _expected_above(alpha, beta)
            resolution = solver_resolution(scores)
        else:
            draws = _draws(alpha, beta, jax.random.key(0) if key is None else key, self.n_samples)
            mean, sd = _rank_moments(draws)
            scores, resolution = -mean, 4 * jnp.finfo(dtype).eps * mean.shape[0]
            params |= {"rank_sd": sd, "monte_carlo_error": sd / self.n_samples**0.5}
        known = jnp.all(successes + failures > 0)
        return Fit(
            scores=scores,
            status=jnp.where(known, Status.CONVERGED, Status.UNDEFINED).astype(jnp.int32),
            steps=jnp.asarray(0, jnp.int32),
            resolution=jnp.asarray(resolution, dtype),
            params=params,
        )

    def standard_errors(self, stat: Counts, fit: Fit) -> Float[Array, " models"]:
        return fit.params["rank_sd"] if self.n_samples is not None else jnp.full_like(fit.scores, jnp.nan)


def _draws(alpha: Array, beta: Array, key: Any, n_samples: int) -> Float[Array, "models samples"]:
    """Log-odds of Beta variables, the stream of each model chosen by its own counts."""

    def own(a: Array, b: Array) -> Array:
        bits = [jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32) for x in (a, b)]
        stream = jax.random.fold_in(jax.random.fold_in(key, bits[0]), bits[1])
        up, down = jax.random.split(stream)
        return jax.random.loggamma(up, a, (n_samples,)) - jax.random.loggamma(down, b, (n_samples,))

    return jax.vmap(own)(alpha, beta)


def _rank_moments(draws: Float[Array, "models samples"]) -> tuple[Float[Array, " models"], Float[Array, " models"]]:
    """Mean and standard deviation over the samples of each model's rank; equal draws share their ranks."""

    def rank(own: Array) -> tuple[Array, Array]:
        above = jnp.sum(draws > own[None, :], axis=0) + jnp.sum(draws == own[None, :], axis=0) / 2 + 0.5
        return jnp.mean(above), jnp.std(above)

    mean, sd = jax.lax.map(rank, draws)
    return mean.astype(draws.dtype), sd.astype(draws.dtype)


def _expected_above(alpha: Float[Array, " models"], beta: Float[Array, " models"]) -> Float[Array, " models"]:
    """sum_{j != l} Pr(p_j > p_l): trapezoidal rule in the log-odds of p_l, stretched by a sinh towards the tails."""
    t = jnp.asarray(np.linspace(-_REACH, _REACH, _NODES), alpha.dtype)
    centre = jnp.log(alpha) - jnp.log(beta)
    width = jnp.sqrt(1 / alpha + 1 / beta)
    x = centre[:, None] + width[:, None] * jnp.sinh(t)[None, :]
    log_p, log_q = -jax.nn.softplus(-x), -jax.nn.softplus(x)
    log_weight = alpha[:, None] * log_p + beta[:, None] * log_q + jnp.log(jnp.cosh(t))[None, :]
    weight = jax.nn.softmax(log_weight, axis=1)
    below = jax.scipy.special.betainc(alpha[:, None, None], beta[:, None, None], jnp.exp(log_p)[None])
    chance = jnp.sum(weight[None] * (1 - below), axis=2)  # [j, l]: that j lies above l
    # The two halves of a pair add up to 1: use both, so that equal models get exactly one half.
    chance = (chance + 1 - chance.T) / 2
    return jnp.sum(jnp.where(jnp.eye(alpha.shape[0], dtype=bool), 0, chance), axis=0)


ENTRIES = (
    Entry(
        "thompson",
        Thompson,
        source="thompson1933",
        published=True,
        exempt={"precision": "the generator draws other numbers in float32"},
    ),
    Entry("thompson_exact", Thompson, source="thompson1933", options={"n_samples": None}),
)
