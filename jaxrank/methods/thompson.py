"""Thompson sampling: the mean rank under independent Beta posteriors."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit, solver_resolution
from jaxrank.models.options import count, number
from jaxrank.models.ranker import Entry, HasStandardErrors, Ranker
from jaxrank.numerics.beta import log_odds, quantile_polynomial
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status

_COMPARED, _ROWS = 512, 64  # models up to which ranks come from comparing all pairs; above, samples sorted at once
_TABLE_BYTES, _STREAMS = 2**23, 16  # streams that lists of models with one key share, and how many are drawn at once
_PAIRS = 16_384  # integrals held at once
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
    list, so that the order of the models does not matter; equal models draw apart and share the mean of their ranks.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "a model is judged by all its trials together, on questions that may differ in difficulty"
    n_samples: int | None = count(10_000, high=10**8, optional=True)
    a: Any = number(1.0, above=0)
    b: Any = number(1.0, above=0)

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
            key = jax.random.key(0) if key is None else key
            mean, sd = _ranks(alpha, beta, jax.random.key_data(key), jnp.zeros(self.n_samples, bool))
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


@jax.custom_batching.custom_vmap
def _ranks(alpha: Array, beta: Array, key_data: Array, template: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each model's rank over ``template.shape[0]`` draws, (..., models).

    Members of a batch come one after the other, since the draws of one fill the cache. Those with one key share the
    streams of their models, which depend on that key and on the counts alone.
    """
    key, n_samples = jax.random.wrap_key_data(key_data), template.shape[0]
    if alpha.ndim == 1:
        return _shared_by_equals(alpha, beta, _streams(alpha, beta, _twins(alpha, beta), key, n_samples))
    lists = (-1, alpha.shape[-1])
    mean, sd = _ranks_of_many(alpha.reshape(lists), beta.reshape(lists), key, n_samples)
    return mean.reshape(alpha.shape), sd.reshape(alpha.shape)


@_ranks.def_vmap
def _ranks_of_batch(size: int, batched: Any, alpha: Array, beta: Array, *others: Array) -> tuple[Any, Any]:
    args = (alpha, beta, *others)
    one_list = alpha.shape[-1] * others[-1].shape[-1] * alpha.dtype.itemsize
    if any(batched[2:]) or one_list > _TABLE_BYTES:
        owned = [x for x, is_own in zip(args, batched, strict=True) if is_own]

        def each(owned: list[Array]) -> tuple[Array, Array]:
            rest = iter(owned)
            return _ranks(*(next(rest) if is_own else x for x, is_own in zip(args, batched, strict=True)))

        return jax.lax.map(each, owned), (True, True)
    alpha, beta = (
        x if is_own else jnp.broadcast_to(x, (size, *x.shape))
        for x, is_own in zip((alpha, beta), batched[:2], strict=True)
    )
    return _ranks(alpha, beta, *others), (True, True)


def _ranks_of_many(alpha: Array, beta: Array, key: Any, n_samples: int) -> tuple[Array, Array]:
    """Lists of models (lists, models) that share a key. If all their distinct streams fit in a table, it is filled once
    and each list reads its rows; else each list fills its first rows anew."""
    twins = jax.vmap(_twins)(alpha, beta)
    row, place, n_streams = _distinct(alpha.ravel(), beta.ravel(), twins.ravel())
    n_lists, n_models = alpha.shape
    most = min(alpha.size, _TABLE_BYTES // (n_samples * alpha.dtype.itemsize))
    common = n_streams <= most
    place = jnp.pad(jnp.where(common, place, jnp.arange(alpha.size)), (0, _STREAMS))
    row = jnp.where(common, row.reshape(alpha.shape), jnp.arange(n_models))

    def one(table: Array, at: tuple) -> tuple[Array, tuple[Array, Array]]:
        i, alphas, betas, row = at
        first = jnp.where(common, 0, i * n_models)
        fresh = jnp.where(common, jnp.where(i == 0, n_streams, 0), n_models)

        def block(j: Array, table: Array) -> Array:
            who = jax.lax.dynamic_slice_in_dim(place, first + j * _STREAMS, _STREAMS)
            a, b, twin = (x.ravel()[who] for x in (alpha, beta, twins))
            drawn = _streams(a, b, twin, key, n_samples)
            return jax.lax.dynamic_update_slice_in_dim(table, drawn, j * _STREAMS, 0)

        table = jax.lax.fori_loop(0, -(-fresh // _STREAMS), block, table)
        return table, _shared_by_equals(alphas, betas, table[row])

    table = jnp.zeros((-(-most // _STREAMS) * _STREAMS, n_samples), alpha.dtype)
    return jax.lax.scan(one, table, (jnp.arange(n_lists), alpha, beta, row))[1]


def _distinct(alpha: Array, beta: Array, twins: Array) -> tuple[Array, Array, Array]:
    """For each entry the number of its triple, for each number an entry that has it (0 beyond the last), and how many
    triples differ."""
    *triples, order = jax.lax.sort((alpha, beta, twins, jnp.arange(alpha.shape[0])), num_keys=3)
    fresh = jnp.any(jnp.stack([x[1:] != x[:-1] for x in triples]), axis=0)
    number = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(fresh, dtype=jnp.int32)])
    blank = jnp.zeros_like(order)
    return blank.at[order].set(number), blank.at[number].set(order), number[-1] + 1


def _shared_by_equals(alpha: Array, beta: Array, draws: Float[Array, "models samples"]) -> tuple[Array, Array]:
    """Equal models are exchangeable: each has the mean of the moments of their ranks."""
    mean, sd = _rank_moments(draws)
    equal = _equal(alpha, beta).astype(mean.dtype)
    average = lambda v: matmul(equal, v) / jnp.sum(equal, axis=1)
    common = average(mean)
    return common, jnp.sqrt(average(sd**2 + (mean - common) ** 2))


def _twins(alpha: Array, beta: Array) -> Array:
    """How many equal models stand before each in its list: what sets their streams apart."""
    return jnp.sum(jnp.tril(_equal(alpha, beta), -1), axis=1, dtype=jnp.uint32)


def _streams(alpha: Array, beta: Array, twins: Array, key: Any, n_samples: int) -> Float[Array, "models samples"]:
    """Log-odds of Beta variables, the stream of each model chosen by its own counts and its number among equal ones.

    A normal deviate becomes the Beta quantile of the same level (see `quantile_polynomial` for the error).
    """

    def own(a: Array, b: Array, twin: Array, coefficients: Array) -> Array:
        bits = [jax.lax.bitcast_convert_type(v.astype(jnp.float32), jnp.uint32) for v in (a, b)]
        stream = jax.random.fold_in(jax.random.fold_in(key, bits[0]), bits[1])
        data, apart = (jax.random.key_data(k) for k in (stream, jax.random.fold_in(stream, twin)))
        stream = jax.random.wrap_key_data(jnp.where(twin > 0, apart, data))
        return log_odds(coefficients, jax.random.normal(stream, (n_samples,), a.dtype))

    return jax.vmap(own)(alpha, beta, twins, quantile_polynomial(alpha, beta))


def _equal(alpha: Array, beta: Array) -> Bool[Array, "models models"]:
    return (alpha[:, None] == alpha[None, :]) & (beta[:, None] == beta[None, :])


def _rank_moments(draws: Float[Array, "models samples"]) -> tuple[Float[Array, " models"], Float[Array, " models"]]:
    """Mean and standard deviation over the samples of each model's rank; equal draws share their ranks."""
    if draws.shape[0] > _COMPARED:
        ranks = jax.lax.map(_sorted_ranks, draws.T, batch_size=_ROWS)
        return jnp.mean(ranks, axis=0), jnp.std(ranks, axis=0)

    def twice(own: Array) -> Array:
        """Twice the rank less 1, in whole numbers: those above, and those above or equal."""
        return jnp.sum((draws > own[None, :]).astype(jnp.int32) + (draws >= own[None, :]).astype(jnp.int32), axis=0)

    ranks = (jax.lax.map(twice, draws).astype(draws.dtype) + 1) / 2
    return jnp.mean(ranks, axis=1), jnp.std(ranks, axis=1)


def _sorted_ranks(row: Float[Array, " models"]) -> Float[Array, " models"]:
    """Ranks, 1 the largest, equal values sharing their mean rank."""
    ordered = jnp.sort(row)
    below, upto = (jnp.searchsorted(ordered, row, side=side) for side in ("left", "right"))
    return row.shape[0] - (below + upto) / 2 + jnp.asarray(0.5, row.dtype)


def _expected_above(alpha: Float[Array, " models"], beta: Float[Array, " models"]) -> Float[Array, " models"]:
    """sum_{j != l} Pr(p_j > p_l), from one integral for each pair."""
    n = alpha.shape[0]
    i, j = np.triu_indices(n, 1)
    # Which of the two is integrated over depends on their data, not on their labels; equal ones get exactly one half.
    a, b = (alpha[i], beta[i]), (alpha[j], beta[j])
    swap = (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    own = [jnp.where(swap, y, x) for x, y in zip(a, b, strict=True)]
    other = [jnp.where(swap, x, y) for x, y in zip(a, b, strict=True)]
    chance = _chance_above(*own, *other)
    chance = jnp.where(swap, 1 - chance, chance)  # that j lies above i
    chance = jnp.where((a[0] == b[0]) & (a[1] == b[1]), 0.5, chance).astype(alpha.dtype)
    table = jnp.zeros((n, n), alpha.dtype).at[i, j].set(chance).at[j, i].set(1 - chance)
    return jnp.sum(table, axis=1)


@jax.custom_batching.sequential_vmap
def _chance_above(alpha: Array, beta: Array, other_alpha: Array, other_beta: Array) -> Array:
    """Pr(other > p) for each pair: trapezoidal rule in the log-odds of p, stretched by a sinh towards the tails.

    Members of a batch one after the other, so that the iterations of the incomplete beta function stay in the cache.
    """
    pairs = (alpha, beta, other_alpha, other_beta)
    if alpha.shape[0] > _PAIRS:
        return jax.lax.map(lambda x: _integrals(*(v[None] for v in x))[0], pairs, batch_size=_PAIRS)
    return _integrals(*pairs)


def _integrals(alpha: Array, beta: Array, other_alpha: Array, other_beta: Array) -> Array:
    t = jnp.asarray(np.linspace(-_REACH, _REACH, _NODES), alpha.dtype)
    centre = jnp.log(alpha) - jnp.log(beta)
    width = jnp.sqrt(1 / alpha + 1 / beta)
    x = centre[:, None] + width[:, None] * jnp.sinh(t)[None, :]
    log_p, log_q = -jax.nn.softplus(-x), -jax.nn.softplus(x)
    log_weight = alpha[:, None] * log_p + beta[:, None] * log_q + jnp.log(jnp.cosh(t))[None, :]
    weight = jax.nn.softmax(log_weight, axis=1)
    below = jax.scipy.special.betainc(other_alpha[:, None], other_beta[:, None], jnp.exp(log_p))
    return jnp.sum(weight * (1 - below), axis=1)


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
