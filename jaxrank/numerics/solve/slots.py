"""Loops of many lanes that end at different times, a few lanes at once.

A ``vmap`` of ``jax.lax.while_loop`` runs every lane until the last is done. Here a batch is a queue: a fixed number of
lanes is at work, and those that are done make room for the next. The work is the sum of the lanes' steps instead of
their number times the most steps, and what is at work stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxrank.numerics.blocks import lanes_at_once

_CACHE_BYTES = 2**20  # lanes at work on a CPU: within the cache of one core
_FEWEST, _MOST = 16, 2**12
_FEWEST_LAST = 32  # in the last axis: with fewer, vector instructions do less than they could, cache or not
_IDLE = 8  # lanes are exchanged when one slot in so many is idle


def loop(
    begin: Callable[[Any], Any],
    searching: Callable[[Any], Bool[Array, ""]],
    iterate: Callable[[Any], Any],
    finish: Callable[[Any], Any],
    start: Any,
    work_bytes: int = 0,
    lanes_last: bool = False,
) -> Any:
    """``finish(while_loop(searching, iterate, begin(start)))``, where a batch of lanes goes through a queue.

    All four may close over arrays, traced ones also. Lanes whose ``searching(begin(start))`` is false take no part.
    ``work_bytes``: what ``iterate`` makes and drops of one lane, beside its state; the more, the fewer are at work.
    ``lanes_last``: what is at work has its lanes in the last axis, where kernels of `jaxrank.numerics.lanes` want them.
    Not differentiable in reverse.
    """
    state = eqx.filter_eval_shape(begin, start)
    dynamic, static = eqx.partition(
        (
            eqx.filter_closure_convert(begin, start),
            eqx.filter_closure_convert(searching, state),
            eqx.filter_closure_convert(iterate, state),
            eqx.filter_closure_convert(finish, state),
        ),
        eqx.is_array,
    )
    leaves, structure = jax.tree.flatten((start, dynamic))

    def alone(*leaves: Array) -> Any:
        start, functions = _restore(leaves, structure, static)
        return _run_alone(start, functions)

    def together(leaves: list[Array], batched: list[bool], size: int) -> Any:
        axis = -1 if lanes_last else 0
        return _run_queue(leaves, batched, size, lambda x: _restore(x, structure, static), work_bytes, axis)

    return _batching(alone, together, [False] * len(leaves), 0)(*leaves)


def _restore(leaves: Any, structure: Any, static: Any) -> tuple[Any, tuple]:
    start, dynamic = jax.tree.unflatten(structure, leaves)
    return start, eqx.combine(dynamic, static)


def _run_alone(start: Any, functions: tuple) -> Any:
    begin, searching, iterate, finish = functions
    return finish(jax.lax.while_loop(lambda s: searching(s), lambda s: iterate(s), begin(start)))


def _batching(alone: Callable, together: Callable, batched: list[bool], size: int) -> Callable:
    """A function of leaves of which those in ``batched`` have a first axis of ``size`` lanes; another ``vmap`` makes
    them more, where JAX would map the queue as a whole."""

    @jax.custom_batching.custom_vmap
    def run(*leaves: Array) -> Any:
        return together(list(leaves), batched, size) if any(batched) else alone(*leaves)

    @run.def_vmap
    def mapped(outer: int, mapped: Any, *leaves: Array) -> Any:
        both = [inner or new for inner, new in zip(batched, mapped, strict=True)]
        if not any(batched):
            out = _batching(alone, together, both, outer)(*leaves)
            return out, jax.tree.map(lambda _: True, out)

        def merge(x: Array, inner: bool, new: bool) -> Array:
            if not (inner or new):
                return x
            x = x if new else jnp.broadcast_to(x[None], (outer, *x.shape))
            x = x if inner else jnp.broadcast_to(x[:, None], (outer, size, *x.shape[1:]))
            return x.reshape(outer * size, *x.shape[2:])

        merged = [merge(*each) for each in zip(leaves, batched, mapped, strict=True)]
        out = _batching(alone, together, both, outer * size)(*merged)
        out = jax.tree.map(lambda x: x.reshape(outer, size, *x.shape[1:]), out)
        return out, jax.tree.map(lambda _: True, out)

    return run


def _run_queue(
    leaves: list[Array], batched: list[bool], size: int, restore: Callable[[Any], tuple], work_bytes: int, axis: int
) -> Any:
    """``leaves`` and the result have their lanes in the first axis; what is at work has them in ``axis``."""
    axes = [axis if b else None for b in batched]

    def per_lane(which: int) -> Callable:
        """The function number ``which`` of the four, of leaves and one argument, over lanes."""
        return jax.vmap(lambda leaves, x: restore(leaves)[1][which](x), in_axes=(axes, axis), out_axes=axis)

    searching, iterate, finish = per_lane(1), per_lane(2), per_lane(3)
    begin = jax.vmap(lambda leaves: restore(leaves)[1][0](restore(leaves)[0]), in_axes=(axes,), out_axes=axis)
    take = lambda at: [jnp.moveaxis(x[at], 0, axis) if b else x for x, b in zip(leaves, batched, strict=True)]
    in_order = lambda tree: jax.tree.map(lambda x: jnp.moveaxis(x, axis, 0), tree)
    everyone = take(slice(None))
    n_slots = min(size, _slots(jax.eval_shape(begin, everyone), leaves, batched, size, work_bytes, axis))

    def advance(own: list[Array], state: Any) -> tuple[Any, Array]:
        """One step of those that still search, and which still do."""
        active = searching(own, state)
        state = _where(active, iterate(own, state), state, axis)
        return state, searching(own, state)

    if n_slots == size:
        state = begin(everyone)
        state, _ = jax.lax.while_loop(
            lambda c: jnp.any(c[1]), lambda c: advance(everyone, c[0]), (state, searching(everyone, state))
        )
        return in_order(finish(everyone, state))

    first = begin(everyone)
    alive = searching(everyone, first)
    out = in_order(finish(everyone, first))
    queue = jnp.argsort(~alive)  # stable: those that search, in their order
    n_jobs = jnp.sum(alive)

    def load(job: Array) -> tuple[list[Array], Any]:
        own = take(queue[jnp.minimum(job, size - 1)])
        return own, begin(own)

    def exchange(carry: tuple) -> tuple:
        job, waiting, own, state, busy, out = carry
        ended = (job < n_jobs) & ~busy
        place = jnp.where(ended, queue[jnp.minimum(job, size - 1)], size)
        out = jax.tree.map(lambda o, new: o.at[place].set(new, mode="drop"), out, in_order(finish(own, state)))
        job = jnp.where(ended, jnp.minimum(waiting + jnp.cumsum(ended) - 1, n_jobs), job)
        waiting = jnp.minimum(waiting + jnp.sum(ended), n_jobs)
        fresh_own, fresh = load(job)
        own = [_where(ended, n, o, axis) if b else o for n, o, b in zip(fresh_own, own, batched, strict=True)]
        state = _where(ended, fresh, state, axis)
        return job, waiting, own, state, (job < n_jobs) & (ended | busy), out

    def turn(carry: tuple) -> tuple:
        job, waiting, own, state, busy, out = carry
        state, still = advance(own, state)
        busy = busy & still
        ended = jnp.sum((job < n_jobs) & ~busy)
        enough = (ended * _IDLE >= n_slots) & (waiting < n_jobs)
        return jax.lax.cond(
            (ended > 0) & (enough | ~jnp.any(busy)), exchange, lambda c: c, (job, waiting, own, state, busy, out)
        )

    job = jnp.arange(n_slots)
    own, state = load(job)
    carry = (jnp.minimum(job, n_jobs), jnp.minimum(n_slots, n_jobs), own, state, job < n_jobs, out)
    return jax.lax.while_loop(lambda c: jnp.any(c[0] < n_jobs), turn, carry)[-1]


def _slots(state: Any, leaves: list[Array], batched: list[bool], size: int, work_bytes: int, axis: int) -> int:
    """Lanes at work at once, from the bytes of one."""
    own = [x for x, b in zip(leaves, batched, strict=True) if b]
    lane = sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in [*jax.tree.leaves(state), *own]) // max(size, 1)
    return lanes_at_once(lane + work_bytes, _CACHE_BYTES, _FEWEST if axis == 0 else _FEWEST_LAST, _MOST)


def _where(mask: Array, new: Any, old: Any, axis: int) -> Any:
    return jax.tree.map(
        lambda a, b: jnp.where(jnp.moveaxis(mask.reshape(-1, *[1] * (a.ndim - 1)), 0, axis), a, b), new, old
    )
