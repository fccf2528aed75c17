"""Rating systems on a stream of events: one scan, whatever the system; order-averaged on request.

All matches of an event are computed from the state before it. Inside, the batch of replicates is the last axis of
every array, (models, batch): models are few and replicates many, so this is the axis that fills vector registers, and
the sum over opponents is a written-out loop of whole vectors.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxrank.models.fit import Fit
from jaxrank.numerics.ranks import tie_heads
from jaxrank.numerics.status import Status

TIES = ("skip", "draw", "correct_draw_only")
ORDERS = ("stream", "shuffled")
READS_ORDER = {
    "trial_order": "a rating system reads the stream: later events weigh more",
    "question_order": "a rating system reads the stream: later events weigh more",
}
ABSENT = -4  # code of a model that takes no part: low enough that no sum with another code reaches 0
_WRITTEN_OUT = 64  # up to so many opponents the sum is written out
_SHORT = 16  # with fewer models the loops over them do not vectorise by themselves


class RatingSystem(eqx.Module):
    """What a rating system is: a start, the update after one event, and what happens between trials.

    ``options`` are its numbers, each (batch,) or (1,). A state is a tuple of (models, batch) arrays, the first of
    which holds the ratings relative to the initial rating.
    """

    fewest_lanes: ClassVar[int] = 64  # of a block of replicates on a CPU: what fills a core is the lanes of one event

    order: eqx.AbstractVar[str]
    n_orders: eqx.AbstractVar[int]

    @property
    def stochastic(self) -> bool:
        """Whether it draws random stream orders and wants a key."""
        return self.order == "shuffled"

    @abc.abstractmethod
    def options(self) -> tuple[Any, ...]:
        """The numbers that it reads."""

    @abc.abstractmethod
    def start(self, shape: tuple[int, int], dtype: Any, options: tuple[Array, ...]) -> tuple[Array, ...]:
        """The state before the first event."""

    @abc.abstractmethod
    def play(self, state: tuple[Array, ...], outcome: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        """The state after one event. ``outcome`` (models, batch): 1 right, 0 wrong, `ABSENT`."""

    @abc.abstractmethod
    def after_trial(self, state: tuple[Array, ...], options: tuple[Array, ...]) -> tuple[Array, ...]:
        """The state after all questions of one trial."""


def matched(ties: str, own: Array, other: Array) -> Array:
    """Whether two outcome codes make a match under a tie rule. A model meets itself where it could draw."""
    total = own + other
    if ties == "skip":
        return total == 1
    return total >= (1 if ties == "correct_draw_only" else 0)


def sum_over_opponents(
    term: Callable[..., tuple[Array, ...]], *arrays: Array, written_out: bool = False
) -> tuple[Array, ...]:
    """Sum of ``term(own, other)`` over opponents: ``own`` arrays (models, batch), ``other`` those of one, (1, batch).

    ``written_out`` compiles a copy of a short term for every opponent, up to 64 of them: one loop over memory in all.
    """
    n = arrays[0].shape[0]
    first = term(arrays, [a[:1] for a in arrays])

    def add(j: Any, total: tuple[Array, ...]) -> tuple[Array, ...]:
        others = [jax.lax.dynamic_slice_in_dim(a, j, 1) for a in arrays]
        return tuple(x + y for x, y in zip(total, term(arrays, others), strict=True))

    if not written_out or n > _WRITTEN_OUT:
        return jax.lax.fori_loop(1, n, add, first, unroll=16 if written_out else 1)
    for j in range(1, n):
        first = tuple(x + y for x, y in zip(first, term(arrays, [a[j : j + 1] for a in arrays]), strict=True))
    return first


def rate(
    system: RatingSystem, outcomes: Int[Array, "trials questions models"], key: Any
) -> tuple[tuple[Float[Array, " models"], ...], dict[str, Array]]:
    """The final state, and in shuffled order its mean over ``n_orders`` random orders of all events with the spread.

    ``order_sd`` (models,): standard deviation of the rating over the orders.
    """
    dtype = jnp.zeros(()).dtype
    options = tuple(jnp.asarray(x, dtype) for x in system.options())
    if system.order == "stream":
        return _stream(system)(outcomes, options), {}
    key = jax.random.key(0) if key is None else key
    events = outcomes.reshape(-1, outcomes.shape[-1])

    def once(key: Array) -> tuple[Array, ...]:
        shuffled = events[jax.random.permutation(key, events.shape[0])]
        return _stream(system)(shuffled.reshape(outcomes.shape), options)

    states = jax.vmap(once)(jax.random.split(key, system.n_orders))
    spread = jnp.std(states[0], axis=0, ddof=1) if system.n_orders > 1 else jnp.zeros_like(states[0][0])
    return tuple(jnp.mean(x, axis=0) for x in states), {"order_sd": spread}


def rated(offset: Float[Array, " models"], initial: Any, **params: Array) -> Fit:
    """A `Fit` of ratings ``initial + offset``; offsets that differ by rounding only become one rating."""
    offset = jnp.asarray(offset)
    tolerance = 64 * jnp.finfo(offset.dtype).eps * jnp.max(jnp.abs(offset))
    scores = jnp.asarray(initial, offset.dtype) + tie_heads(offset, tolerance)
    return Fit(
        scores=scores,
        status=jnp.asarray(Status.CONVERGED, jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=jnp.finfo(offset.dtype).eps * jnp.max(jnp.abs(scores)),
        params={"offset": offset, **params},
    )


def _stream(system: RatingSystem) -> Callable[..., tuple[Array, ...]]:
    """The scan as a function of outcomes and options whose batch, under ``vmap``, becomes the last axis."""

    def run(outcomes: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        codes = jnp.where(outcomes < 0, jnp.asarray(ABSENT, outcomes.dtype), outcomes)
        dtype = options[0].dtype
        width = max([outcomes.shape[-1], *(x.shape[-1] for x in options)])
        table = tuple(x[None, :] for x in options)

        def event(state: tuple[Array, ...], outcome: Array) -> tuple[tuple[Array, ...], None]:
            return system.play(state, outcome.astype(dtype), table), None

        def carried(carry: tuple[tuple[Array, ...], Array], following: Array) -> tuple[Any, None]:
            state, outcome = carry
            return (system.play(state, outcome, table), following.astype(dtype)), None

        def trial(state: tuple[Array, ...], block: Array) -> tuple[tuple[Array, ...], None]:
            if block.shape[1] < _SHORT:
                # Read where it is used, an outcome would be fused into every pair, and loops as short as this would not
                # vectorise: it is carried from the pass before.
                begin = state, block[0].astype(dtype)
                (state, _), _ = jax.lax.scan(carried, begin, jnp.roll(block, -1, axis=0))
            else:
                state, _ = jax.lax.scan(event, state, block)
            return system.after_trial(state, table), None

        return jax.lax.scan(trial, system.start((outcomes.shape[-2], width), dtype, table), codes)[0]

    @jax.custom_batching.custom_vmap
    def stream(outcomes: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        state = run(outcomes[..., None], tuple(x[None] for x in options))
        return tuple(x[..., 0] for x in state)

    @stream.def_vmap
    def _batched(size: int, batched: Any, outcomes: Array, options: tuple[Array, ...]) -> Any:
        outcomes = jnp.moveaxis(outcomes, 0, -1) if batched[0] else outcomes[..., None]
        options = tuple(x if b else x[None] for x, b in zip(options, batched[1], strict=True))
        state = run(outcomes, options)
        out = tuple(jnp.moveaxis(jnp.broadcast_to(x, (*x.shape[:-1], size)), -1, 0) for x in state)
        return out, tuple(True for _ in out)

    return stream
