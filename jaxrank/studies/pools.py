"""Public study of pools of models."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, PathLike, Seed, as_data
from jaxrank.data.ballots import Ballots
from jaxrank.data.kind import Data
from jaxrank.data.names import name_list
from jaxrank.data.order_statistic import Orders
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Events
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.models.options import check_count, check_flag
from jaxrank.models.ranker import Methods, Ranker, options_by_model
from jaxrank.numerics.precision import precision
from jaxrank.resampling.checkpoint import Checkpoint, folder_of
from jaxrank.resampling.configuration import check_running, open_checkpoint
from jaxrank.resampling.engine import contribute, gather_hosts, replicate
from jaxrank.resampling.memory import within_memory
from jaxrank.resampling.schemes import Models, Subsample
from jaxrank.resampling.sharing import Share
from jaxrank.resampling.sources import make_stream
from jaxrank.resampling.work import block_size, concatenate
from jaxrank.results.pools import Pools, PoolWork
from jaxrank.studies.fit import as_key, read_statistic
from jaxrank.studies.preparation import check_pairing, default_method, gold_method, named_methods, prepare, priors_for
from jaxrank.studies.replicates import whole_fit

MOST_ORDERS = 2000
"""Ordered lists that are ranked one by one in every pool."""


def model_pools(
    data: DataLike,
    methods: Methods | None = None,
    *,
    size: int = 5,
    n_replicates: int = 1000,
    seed: Seed = 0,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    chunk_size: int | None = None,
    checkpoint: PathLike | None = None,
    shard: str | Share | None = None,
    progress: bool | None = None,
) -> Pools:
    """Draw ``n_replicates`` pools of ``size`` models, rank each from every single trial, and compare with all trials.

    Of ordered lists every single one is ranked, and compared with all of them.

    **methods**: as in `jaxrank.convergence`; by default bayes and avg, or plackett_luce_rankings_wide. Both targets are
    computed inside each pool: the order of Bayes@N on all trials (of plackett_luce_rankings_wide on all ordered lists),
    and the method itself on all of them. **R0**, **pairing**: for the methods that read them, as in `jaxrank.fit_all`.
    Other arguments as in `jaxrank.bootstrap`; pool b depends on the seed and b alone.

    Returns `Pools`. Raises subclasses of `JaxrankError`.
    """
    check_count("n_replicates", n_replicates)
    check_flag("progress", progress, optional=True)
    data = as_data(data)
    _check_data(data)
    Models(size).check((len(data.models), 1, 1))
    if methods is None:
        methods = ["bayes", "avg"] if data.questions else default_method(data)
    named = named_methods(methods)
    priors = priors_for(named, R0)
    check_pairing({label: make(method) for label, method in named.items()}, data, pairing)
    share = check_running(checkpoint, chunk_size, shard)
    prepared: dict[str, tuple[PoolWork, Checkpoint | None, int]] = {}
    members, gold, own, undefined = np.zeros((0, size), int), {}, {}, {}
    for label, method in named.items():
        ranker = prepare(method, data, priors[label], {})
        if fixed := options_by_model(ranker):
            raise OptionError(f"{label} has {', '.join(fixed)} for each model, which pools of other models do not fit")
        if ranker.host:
            raise OptionError(f"{label} runs on the host, one fit at a time, and cannot be mapped over pools")
        with precision(dtype):
            work = _work(data, ranker, label, size, pairing, as_key(seed))
            if share is None or not share.merges:  # a merge runs no block, whose program would take its time to compile
                work = within_memory(work)
            where = None if checkpoint is None else folder_of(checkpoint, label)
            labels = {"method": label, "size": str(size), "seed": str(seed), "pairing": pairing, "study": "pools"}
            disk, step = open_checkpoint(where, work, data, labels, n_replicates, chunk_size, share)
            if disk is not None and share is not None:
                contribute(work, n_replicates, disk, share, progress=progress, title=label)
            prepared[label] = work, disk, step
    for label, (work, disk, step) in prepared.items():
        with precision(dtype):
            batches = replicate(
                work, n_replicates, chunk=step, checkpoint=disk, progress=progress, title=label, share=share
            )
            found = gather_hosts(concatenate(batches), n_replicates, step)
        members, gold[label], own[label] = found["members"], found["gold"], found["own"]
        undefined[label] = found["gold_undefined"]
    return Pools(tuple(gold), data.models, size, members, gold, own, undefined)


def _check_data(data: Data) -> None:
    if data.form == "comparisons" or data.counts_only:
        what = "a battle orders two models only" if data.form == "comparisons" else "counts do not say which succeeded"
        raise UnsupportedDataError(
            f"pools of models are ranked from single trials or ordered lists, and {what}; use jaxrank.bootstrap"
        )
    missing = np.asarray(data.outcomes) < 0 if isinstance(data, Responses) else np.zeros((0, 0, 0), bool)
    untried = np.flatnonzero(np.any(np.all(missing, axis=1), axis=1))
    if len(untried):
        raise UnsupportedDataError(
            f"pools of models are ranked from every single trial, and some trials have no result of "
            f"{name_list(data.models, untried)}; leave these models out, or keep the trials that all models have"
        )


def _work(data: Data, ranker: Ranker, name: str, size: int, pairing: str, key: Any) -> PoolWork:
    target = gold_method(data)
    gold = np.asarray(whole_fit(data, make(target), target, pairing, key).scores)
    single = _single(data, ranker, name, pairing)
    lane = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(single)) * size // len(data.models)
    return PoolWork(
        ranker=ranker,
        single=single,
        whole=read_statistic(ranker, data, pairing),
        gold=jax.device_put(gold),
        key=key,
        size=size,
        block=block_size(lane, low=2, high=64),
    )


def _single(data: Data, ranker: Ranker, name: str, pairing: str) -> Any:
    """The statistics of single trials or ordered lists, stacked (N, ...)."""
    n = data.shape[2]
    if not data.questions and n > MOST_ORDERS:
        raise OptionError(
            f"every one of {n} ordered lists would be ranked in every pool, and at most {MOST_ORDERS} are; "
            "take some of them, data.select(orders=...)"
        )
    source = make_stream(data, ranker, Subsample(1), pairing, name)
    single = jax.jit(jax.vmap(lambda b: source(jax.random.key(0), b, None)[0]))(jnp.arange(n))
    if isinstance(single, Events | Orders):
        weights, outcomes = _own(single.weights, single.outcomes)
        return dataclasses.replace(single, outcomes=jnp.where(weights[:, :, None] > 0, outcomes, -1), weights=weights)
    if isinstance(single, Ballots) and not data.questions:
        by_voter: list[Any] = [
            x if x is None else jnp.swapaxes(x, 1, 2) for x in (single.grades, single.listed, single.below)
        ]
        voters, *found = _own(single.voters, *by_voter)
        found_by_model: list[Any] = [x if x is None else jnp.swapaxes(x, 1, 2) for x in found]
        grades, listed, below = found_by_model
        return Ballots(grades, single.slack, listed, below, voters)
    return single


def _own(weights: Any, *tables: Any) -> list[Any]:
    """Weights (N, E) and rows (N, E, L) without those of weight 0, but for as many as the longest trial has."""
    w = np.asarray(weights)
    first = np.argsort(w == 0, axis=1, kind="stable")[:, : max(1, int((w > 0).sum(1).max()))]
    rows = [x if x is None else np.take_along_axis(np.asarray(x), first[:, :, None], axis=1) for x in tables]
    return [x if x is None else jax.device_put(x) for x in (np.take_along_axis(w, first, axis=1), *rows)]
