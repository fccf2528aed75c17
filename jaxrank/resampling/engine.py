"""``replicate``: one piece of work on any number of replicates.

The unit of work is a *block*: a fixed number of consecutive replicates, drawn, reduced to statistics by one matrix
product and ranked under one ``vmap``. Blocks are always the same replicates in the same places of the same compiled
loop body; chunks, devices and hosts only decide who runs which blocks. That is why results are the same to the last
bit for any chunk size and any number of devices and hosts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jaxtyping import Array

from jaxrank.errors import OptionError, StoppedError, UnfinishedError
from jaxrank.models.options import check_count
from jaxrank.numerics.programs import make_room
from jaxrank.resampling import draws
from jaxrank.resampling.checkpoint import Checkpoint
from jaxrank.resampling.progress import progress_bar
from jaxrank.resampling.sharing import Claims, Share, is_stopped, sweep_claims, wait_for_others
from jaxrank.resampling.traces import traced
from jaxrank.resampling.work import Replication, Work, kept_of

_AXIS = "replicates"
_CHUNK_BYTES = 2**27  # results and host draws of a chunk
_CHUNK_REPLICATES = 2**16  # so that progress and checkpoints come every few seconds
_SHARES = 16  # chunks for each core: the last ones then leave no core idle for long
_HOST_REPLICATES = 2**8  # the same for methods that run on the host, one fit at a time


def replicate(
    work: Work,
    n_replicates: int,
    *,
    chunk: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool | None = None,
    title: str = "",
    collect: Callable[[dict[str, np.ndarray]], Any] | None = None,
    share: Share | None = None,
) -> list[Any]:
    """Do ``work`` on replicates 0 .. n_replicates - 1.

    **chunk**: replicates between two looks at the clock; rounded up to whole blocks, no influence on the results.
    **collect**: called with each chunk's arrays as it is finished, in order; the list of what it returned is the
    result. By default the chunks themselves.
    **share**: with other processes, through the checkpoint (see `contribute`). `UnfinishedError` where others still
    have chunks to do; a process that takes any chunk waits for them, and does those of others that died.

    With several local devices each runs a share of the blocks of a chunk; with several hosts (`jax.distributed`)
    each runs every n-th chunk, and all of them return the chunks of this host only (see `gather_hosts`).
    """
    check_count("n_replicates", n_replicates)
    size = checkpoint.chunk if checkpoint else chunk_size(work, n_replicates, chunk)
    bounds = _bounds(n_replicates, size)
    if share is not None and checkpoint is not None:
        while missing := contribute(work, n_replicates, checkpoint, share, progress=progress, title=title):
            if not share.steals:
                raise UnfinishedError(_unfinished(checkpoint, share, bounds, missing))
            wait_for_others(share.claim_timeout)
        sweep_claims(checkpoint, n_replicates)
    if len(bounds) < jax.process_count():
        raise OptionError(
            f"{n_replicates} replicates in chunks of {size} leave some of {jax.process_count()} hosts without work; "
            "use more replicates or a smaller chunk_size"
        )
    mine = bounds[jax.process_index() :: jax.process_count()]
    out = []
    with progress_bar(title, sum(b - a for a, b in mine), progress, "replicates") as advance:
        for (start, stop), batch in zip(mine, _in_order(work, mine, size, checkpoint), strict=True):
            out.append(batch if collect is None else collect(batch))
            advance(stop - start)
    return out


def contribute(
    work: Work,
    n_replicates: int,
    checkpoint: Checkpoint,
    share: Share,
    *,
    progress: bool | None = None,
    title: str = "",
) -> list[tuple[int, int]]:
    """Do this process's part of a study that several share; returns the chunks that nobody has finished since."""
    bounds = _bounds(n_replicates, checkpoint.chunk)
    if share.count > len(bounds):
        raise OptionError(
            f"{n_replicates} replicates in chunks of {checkpoint.chunk} are {len(bounds)} in all, which leave some of "
            f"{share.count} shards without work; use fewer shards, or a smaller chunk_size in a new directory"
        )
    done = checkpoint.finished(bounds)
    todo = [b for b in share.order(bounds) if b not in done]
    if todo:
        claims = Claims(checkpoint.store, share.claim_timeout, n_replicates) if share.steals else None
        with (
            contextlib.nullcontext() if claims is None else claims.kept_fresh(),
            progress_bar(title, sum(b - a for a, b in todo), progress, "replicates") as advance,
        ):
            parts = _in_order(work, todo, checkpoint.chunk, checkpoint, claims)
            for (start, stop), _ in zip(todo, parts, strict=True):
                advance(stop - start)
        done = checkpoint.finished(bounds)
    return [b for b in bounds if b not in done]


def chunk_size(work: Work, n_replicates: int, chunk: int | None = None, processes: int = 1) -> int:
    """Replicates in a chunk: whole blocks, as many as the memory budget allows, and enough chunks for all cores of all
    processes that share the study."""
    if chunk is not None:
        check_count("chunk_size", chunk)
    n_parts = len(_devices(work))
    if chunk is None:
        most = _HOST_REPLICATES if work.on_host else _CHUNK_REPLICATES
        chunk = min(max(_CHUNK_BYTES // traced(work).host_bytes, 1), most)
        chunk = min(chunk, -(-n_replicates // (_SHARES * _workers(work) * jax.process_count() * processes)))
    unit = work.block * n_parts
    n_units = -(-chunk // unit)
    if n_units > 1:
        n_units = 1 << (n_units - 1).bit_length()  # few distinct sizes: few compilations
    return unit * n_units


def gather_hosts(arrays: dict[str, np.ndarray], n_replicates: int, size: int) -> dict[str, np.ndarray]:
    """All replicates in order on every host, from the arrays of each host's own chunks."""
    if jax.process_count() == 1:
        return arrays
    from jax.experimental import multihost_utils

    bounds = _bounds(n_replicates, size)
    order = [
        np.concatenate([np.arange(*b) for b in bounds[p :: jax.process_count()]] or [np.zeros(0, int)])
        for p in range(jax.process_count())
    ]
    longest = max(map(len, order))
    whole = {}
    for name, value in arrays.items():
        pad = np.zeros((longest, *value.shape[1:]), value.dtype)
        pad[: len(value)] = value
        # sent as bytes: a collective must not change 64-bit values to 32 bits
        table = multihost_utils.process_allgather(np.frombuffer(pad.tobytes(), np.uint8))
        parts = [np.frombuffer(np.asarray(t).tobytes(), value.dtype).reshape(pad.shape) for t in table]
        out = np.zeros((n_replicates, *value.shape[1:]), value.dtype)
        for index, part in zip(order, parts, strict=True):
            out[index] = part[: len(index)]
        whole[name] = out
    return whole


def sum_hosts(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Sums over the hosts of arrays of one shape."""
    if jax.process_count() == 1:
        return arrays
    parts = gather_hosts({name: np.asarray(x)[None] for name, x in arrays.items()}, jax.process_count(), 1)
    return {name: x.sum(axis=0) for name, x in parts.items()}


def _bounds(n_replicates: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, n_replicates)) for a in range(0, n_replicates, size)]


def _unfinished(checkpoint: Checkpoint, share: Share, bounds: list[Any], missing: list[Any]) -> str:
    done = f"{len(bounds) - len(missing)} of {len(bounds)} chunks in {checkpoint.store} are finished"
    if share.merges:
        first, last = missing[0][0], missing[0][1] - 1
        return f"{done}, and the first without a file is that of replicates {first} to {last}; run the shards again"
    return f"{share} is done, {done}; when all shards are, merge them"


def _in_order(
    work: Work,
    bounds: list[tuple[int, int]],
    size: int,
    checkpoint: Checkpoint | None,
    claims: Claims | None = None,
) -> Iterator[dict[str, np.ndarray]]:
    """Chunks in order, a few in flight on the cores at a time; with ``claims`` an empty one for a chunk that another
    process has in hand or has done."""
    make_room()
    devices = _devices(work)
    x64 = jax.config.read("jax_enable_x64")  # a thread-local setting

    def job(start: int, stop: int) -> dict[str, np.ndarray]:
        with jax.enable_x64(x64):
            stored = checkpoint.load(start, stop, _shapes(work, stop - start)) if checkpoint else None
            if stored is None and is_stopped():
                kept = f"; what is finished lies in {checkpoint.store}, and the same call goes on" if checkpoint else ""
                raise StoppedError(f"the study was asked to stop{kept}")
            if stored is not None:
                return stored
            if isinstance(work, Replication) and work.ranker.host:
                arrays = _run_on_host(work, start, stop, size)
            else:
                arrays = _run_on_device(work, start, stop, size, devices)
            batch = work.reduce(arrays)
        if checkpoint:
            checkpoint.save(start, stop, batch)
        return batch

    def claimed(start: int, stop: int) -> dict[str, np.ndarray]:
        if claims is None:
            return job(start, stop)
        if not (claims.is_open((start, stop)) and claims.take((start, stop))):
            return {}
        batch = job(start, stop)
        claims.finish((start, stop))
        return batch

    n_workers = _workers(work)
    if n_workers == 1:
        yield from (claimed(*b) for b in bounds)
        return
    with ThreadPoolExecutor(n_workers) as pool:
        waiting: list[Future] = []
        todo = iter(bounds)
        try:
            while True:
                with contextlib.suppress(StopIteration):
                    while len(waiting) < 2 * n_workers:
                        waiting.append(pool.submit(claimed, *next(todo)))
                if not waiting:
                    return
                yield waiting.pop(0).result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _run_on_device(work: Work, start: int, stop: int, size: int, devices: list[Any]) -> dict[str, np.ndarray]:
    firsts, counts, capacity, payload, mesh = _layout(work, start, stop, size, devices)
    out = _blocks(cast(Replication, work), firsts, counts, payload, capacity, mesh)
    # devices are filled one after the other, so the replicates lie in order and padding comes last
    return {name: np.asarray(x)[: stop - start] for name, x in out.items()}


def _run_on_host(work: Replication, start: int, stop: int, size: int) -> dict[str, np.ndarray]:
    """A method on the host: once for each distinct statistic."""
    firsts, counts, capacity, payload, _ = _layout(work, start, stop, size, jax.local_devices()[:1])
    stats, members = _statistics(work, firsts, counts, payload, capacity)
    leaves, tree = jax.tree.flatten(stats)
    leaves = [np.asarray(x)[: stop - start] for x in leaves]
    members = None if members is None else np.asarray(members)[: stop - start]
    seen: dict[bytes, int] = {}
    fits: list[dict[str, Any]] = []
    place = np.zeros(stop - start, int)
    for b in range(stop - start):
        contents = b"".join(x[b].tobytes() for x in leaves)
        key = None
        if work.ranker.stochastic:
            key, contents = draws.ranker_key(draws.replicate_key(work.key, start + b)), b"%d" % b
        if contents not in seen:
            seen[contents] = len(fits)
            stat = jax.tree.unflatten(tree, [jax.device_put(x[b]) for x in leaves])
            fits.append({k: np.asarray(v) for k, v in kept_of(work.ranker(stat, key=key)).items()})
        place[b] = seen[contents]
    arrays = {name: np.stack([f[name] for f in fits])[place] for name in fits[0]}
    return arrays if members is None else {**arrays, "members": members}


def _layout(work: Work, start: int, stop: int, size: int, devices: list[Any]) -> tuple[Any, ...]:
    """First replicate and number of blocks of every device, the blocks a device can hold, payload, mesh."""
    n_parts = len(devices)
    n_blocks = -(-(stop - start) // work.block)
    capacity = -(-size // (work.block * n_parts))
    counts = np.clip(n_blocks - capacity * np.arange(n_parts), 0, capacity).astype(np.int32)
    firsts = (start + capacity * work.block * np.arange(n_parts)).astype(np.uint32)
    payload = work.payload(np.arange(start, start + n_blocks * work.block))
    if payload is not None:
        payload = jax.tree.map(lambda x: _pad(x, n_parts * capacity * work.block), payload)
    mesh = None
    if n_parts > 1:
        mesh = jax.make_mesh((n_parts,), (_AXIS,), axis_types=(AxisType.Auto,), devices=devices)
    return firsts, counts, capacity, payload, mesh


@eqx.filter_jit
def _blocks(work: Replication, firsts: Any, counts: Any, payload: Any, capacity: int, mesh: Any) -> dict[str, Array]:
    """The blocks of every device: (devices * capacity * block, ...) of each kept array."""
    dynamic, static = eqx.partition(work, eqx.is_array)

    def part(dynamic: Any, first: Array, count: Array, payload: Any) -> dict[str, Array]:
        return _loop(eqx.combine(dynamic, static).lane, work.block, capacity, first[0], count[0], payload)

    if mesh is None:
        return part(dynamic, firsts, counts, payload)
    spread, whole = PartitionSpec(_AXIS), PartitionSpec()
    sharded = jax.shard_map(
        part, mesh=mesh, in_specs=(whole, spread, spread, spread), out_specs=spread, check_vma=False
    )
    put = lambda x: jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spread))
    return sharded(dynamic, put(firsts), put(counts), jax.tree.map(put, payload))


@eqx.filter_jit
def _statistics(work: Replication, firsts: Any, counts: Any, payload: Any, capacity: int) -> Any:
    return _loop(work.statistic, work.block, capacity, firsts[0], counts[0], payload)


def _loop(lane: Callable, block: int, capacity: int, first: Array, count: Array, payload: Any) -> Any:
    """``lane`` of ``count`` blocks. The bound is traced: one compilation, and the body is compiled apart from what
    surrounds the loop, whatever the number of blocks."""

    def run(i: Array) -> Any:
        ids = first.astype(jnp.uint32) + (i * block + jnp.arange(block)).astype(jnp.uint32)
        mine = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, i * block, block), payload)
        return jax.vmap(lane)(ids, mine)

    def body(i: Array, out: Any) -> Any:
        write = lambda whole, piece: jax.lax.dynamic_update_slice_in_dim(whole, piece, i * block, 0)
        return jax.tree.map(write, out, run(i))

    shapes = jax.eval_shape(run, jnp.int32(0))
    start = jax.tree.map(lambda x: jnp.zeros((capacity * block, *x.shape[1:]), x.dtype), shapes)
    return jax.lax.fori_loop(0, count, body, start)


def _shapes(work: Work, n: int) -> dict[str, tuple[int, ...]] | None:
    """Shapes of the arrays that `Work.reduce` makes of n replicates; None where a method on the host makes them."""
    if work.on_host:
        return None
    lane = traced(work).out
    one, two = (work.reduce({name: np.zeros((k, *x.shape), x.dtype) for name, x in lane.items()}) for k in (1, 2))
    by_replicate = {name: one[name].shape != two[name].shape for name in one}
    return {name: (n, *x.shape[1:]) if by_replicate[name] else x.shape for name, x in one.items()}


def _devices(work: Work) -> list[Any]:
    """The devices that share a chunk: all of this host, but one CPU device where the work calls LAPACK.

    Such a call waits, inside XLA's pool of threads for CPU devices, for tasks of the same pool, and as many of them at
    a time as the pool has threads wait for ever.
    """
    local = jax.local_devices()
    alone = len(local) > 1 and jax.default_backend() == "cpu" and traced(work).calls_lapack
    return local[:1] if alone else local


def _workers(work: Work) -> int:
    """Chunks in flight: on one CPU device, one for each core, since a block keeps one core busy (see `_devices`)."""
    if work.on_host or jax.default_backend() != "cpu" or len(jax.local_devices()) > 1 or traced(work).calls_lapack:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pad(x: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([x, np.zeros((length - len(x), *x.shape[1:]), x.dtype)])
