"""Rating systems on a stream of events: one scan, whatever the system; order-averaged on request.

All matches of an event are computed from the state before it. Inside, the batch of replicates is the last axis of
every array, (models, batch): models are few and replicates many, so this is the axis that fills vector registers, and
the sum over opponents is a written-out loop of whole vectors.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.statistics import Sequence
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit
from jaxrank.models.ranker import unread_ties
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
    which holds the ratings above the lowest initial rating.
    """

    independent: ClassVar[bool] = True
    overflows: ClassVar[bool] = False  # whether `play` may leave the range of floating-point numbers
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
    def start(self) -> tuple[Any, ...]:
        """The state before the first event, each a number for all models or (models,); ratings first, as given."""

    @abc.abstractmethod
    def play(
        self,
        state: tuple[Array, ...],
        outcome: Array,
        options: tuple[Array, ...],
        careful: bool = False,
        graded: bool = False,
    ) -> tuple[Array, ...]:
        """The state after one event. ``outcome`` (models, batch): 1 right, 0 wrong, `ABSENT`; or the grades of a
        ``graded`` `Sequence`. ``careful``: however far apart the ratings are, for systems that overflow without."""

    @abc.abstractmethod
    def after_trial(self, state: tuple[Array, ...], played: Array, options: tuple[Array, ...]) -> tuple[Array, ...]:
        """The state after all questions of one trial, in which the models ``played`` (models, batch) took part."""


def matched(ties: str, own: Array, other: Array, graded: bool = False) -> Array:
    """Whether two outcomes make a match under a tie rule. A model meets itself where it could draw.

    Of ``graded`` outcomes different ones make a match, equal ones where ties are played and they are not 0, which
    stands for the models below all others in an unknown order.
    """
    if graded:
        level = False if ties == "skip" else (own == other) & (own > 0)
        return (own >= 0) & (other >= 0) & ((own != other) | level)
    total = own + other
    if ties == "skip":
        return total == 1
    return total >= (1 if ties == "correct_draw_only" else 0)


def unread_matches(ties: str, stat: Sequence) -> str:
    """How many matches a tie rule skipped, in a sentence."""
    outcomes = np.asarray(stat.outcomes)
    if stat.graded:
        played = [np.sum(outcomes == grade, axis=-1, dtype=float) for grade in range(int(outcomes.max()) + 1)]
        level = sum(float(np.sum(n * (n - 1) / 2)) for n in played[1:])
        among = float(np.sum(sum(played) ** 2 - sum(n**2 for n in played))) / 2
        return unread_ties(0 if ties != "skip" else level, among + level, 'ties="draw" reads all of them')
    right, wrong = (np.sum(outcomes == c, axis=-1, dtype=float) for c in (1, 0))
    drawn = {"right": float(np.sum(right * (right - 1) / 2)), "wrong": float(np.sum(wrong * (wrong - 1) / 2))}
    read = {"skip": (), "correct_draw_only": ("right",), "draw": ("right", "wrong")}[ties]
    n_unread = sum(n for kind, n in drawn.items() if kind not in read)
    return unread_ties(n_unread, float(np.sum(right * wrong)) + sum(drawn.values()), 'ties="draw" reads all of them')


def ahead(own: Array, other: Array, graded: bool = False) -> Array:
    """1 for a win of the own side, 0 for a draw, -1 for a loss, of two that make a match."""
    return jnp.sign(own - other) if graded else own - other


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


class Rated(NamedTuple):
    """**origin**: the lowest initial rating.  **initial** (models,), **state**: initial and final, ratings above the
    origin first.  **spread**: ``order_sd`` (models,), in shuffled order the standard deviation over the orders."""

    origin: Float[Array, ""]
    initial: Float[Array, " models"]
    state: tuple[Float[Array, " models"], ...]
    spread: dict[str, Array]


def rate(system: RatingSystem, stat: Sequence, key: Any) -> Rated:
    """The final state, and in shuffled order its mean over ``n_orders`` random orders of all events with the spread."""
    dtype, outcomes = jnp.zeros(()).dtype, stat.outcomes
    options = tuple(jnp.asarray(x, dtype) for x in system.options())
    play = _stream(system, stat.graded)
    initial, *others = (_each_model(x, outcomes.shape[-1], dtype) for x in system.start())
    origin = jnp.min(initial)
    begin = (initial - origin, *others)
    if system.order == "stream":
        return Rated(origin, begin[0], play(outcomes, options, begin), {})
    key = jax.random.key(0) if key is None else key
    events = outcomes.reshape(-1, outcomes.shape[-1])

    def once(key: Array) -> tuple[Array, ...]:
        shuffled = events[jax.random.permutation(key, events.shape[0])]
        return play(shuffled.reshape(outcomes.shape), options, begin)

    states = jax.vmap(once)(jax.random.split(key, system.n_orders))
    spread = jnp.std(states[0], axis=0, ddof=1) if system.n_orders > 1 else jnp.zeros_like(states[0][0])
    return Rated(origin, begin[0], tuple(jnp.mean(x, axis=0) for x in states), {"order_sd": spread})


def square(value: Any) -> Any:
    """The variance of a deviation that may still be a mapping from names, for `rate` to refuse."""
    return value if isinstance(value, Mapping) else jnp.square(jnp.asarray(value, jnp.zeros(()).dtype))


def _each_model(value: Any, n_models: int, dtype: Any) -> Float[Array, " models"]:
    if isinstance(value, Mapping):
        raise OptionError("a mapping from names of models needs data with names: use jaxrank.fit")
    return jnp.broadcast_to(jnp.asarray(value, dtype), (n_models,))


def rated(found: Rated, **params: Array) -> Fit:
    """A `Fit` of ratings; those that differ by rounding only become one. `UNDEFINED` where a rating is not finite."""
    above = found.state[0]
    tolerance = 64 * jnp.finfo(above.dtype).eps * jnp.max(jnp.abs(above))
    scores = found.origin + tie_heads(above, tolerance)
    finite = jnp.all(jnp.isfinite(scores))
    return Fit(
        scores=scores,
        status=jnp.where(finite, Status.CONVERGED, Status.UNDEFINED).astype(jnp.int32),
        steps=jnp.asarray(0, jnp.int32),
        resolution=jnp.finfo(above.dtype).eps * jnp.max(jnp.abs(scores)),
        params={"offset": above - found.initial, **params, **found.spread},
    )


def _stream(system: RatingSystem, graded: bool) -> Callable[..., tuple[Array, ...]]:
    """The scan as a function of outcomes, options and the state before, whose batch, under ``vmap``, becomes the last
    axis."""

    def run(outcomes: Array, options: tuple[Array, ...], begin: tuple[Array, ...]) -> tuple[Array, ...]:
        end = scan(outcomes, options, begin, False)
        if not system.overflows:
            return end
        finite = jnp.all(jnp.isfinite(end[0]))
        return jax.lax.cond(finite, lambda: end, lambda: scan(outcomes, options, begin, True))

    def scan(outcomes: Array, options: tuple[Array, ...], begin: tuple[Array, ...], careful: bool) -> tuple[Array, ...]:
        codes = jnp.where(outcomes < 0, jnp.asarray(ABSENT, outcomes.dtype), outcomes)
        dtype = options[0].dtype
        width = max(x.shape[-1] for x in (outcomes, *options, *begin))
        table = tuple(x[None, :] for x in options)

        def event(state: tuple[Array, ...], outcome: Array) -> tuple[tuple[Array, ...], None]:
            return system.play(state, outcome.astype(dtype), table, careful, graded), None

        def carried(carry: tuple[tuple[Array, ...], Array], following: Array) -> tuple[Any, None]:
            state, outcome = carry
            return (system.play(state, outcome, table, careful, graded), following.astype(dtype)), None

        def trial(state: tuple[Array, ...], block: Array) -> tuple[tuple[Array, ...], None]:
            if block.shape[1] < _SHORT:
                # Read where it is used, an outcome would be fused into every pair, and loops as short as this would not
                # vectorise: it is carried from the pass before.
                first = state, block[0].astype(dtype)
                (state, _), _ = jax.lax.scan(carried, first, jnp.roll(block, -1, axis=0))
            else:
                state, _ = jax.lax.scan(event, state, block)
            return system.after_trial(state, jnp.any(block >= 0, axis=0), table), None

        start = tuple(jnp.broadcast_to(x, (x.shape[0], width)) for x in begin)
        return jax.lax.scan(trial, start, codes)[0]

    @jax.custom_batching.custom_vmap
    def lanes(outcomes: Array, options: tuple[Array, ...], begin: tuple[Array, ...]) -> tuple[Array, ...]:
        return run(outcomes, options, begin)

    @lanes.def_vmap
    def _batched(size: int, batched: Any, outcomes: Array, options: Any, begin: Any) -> Any:
        args = (outcomes, options, begin)
        width = max(x.shape[-1] for x in jax.tree.leaves(args))

        def joined(x: Array, is_batched: bool) -> Array:
            """The new axis beside the last one, and the two as one."""
            if not is_batched and x.shape[-1] == 1:
                return x
            x = jnp.moveaxis(x, 0, -2) if is_batched else x[..., None, :]
            return jnp.broadcast_to(x, (*x.shape[:-2], size, width)).reshape(*x.shape[:-2], size * width)

        state = lanes(*jax.tree.map(joined, args, tuple(batched)))
        split = lambda x: jnp.broadcast_to(x, (*x.shape[:-1], size * width)).reshape(*x.shape[:-1], size, width)
        out = tuple(jnp.moveaxis(split(x), -2, 0) for x in state)
        return out, tuple(True for _ in out)

    def stream(outcomes: Array, options: tuple[Array, ...], begin: tuple[Array, ...]) -> tuple[Array, ...]:
        state = lanes(outcomes[..., None], tuple(x[None] for x in options), tuple(x[:, None] for x in begin))
        return tuple(x[..., 0] for x in state)

    return stream
