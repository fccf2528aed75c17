"""Public study of pools of models."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, PathLike, Seed
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.names import name_list
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Events
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.models.ranker import Methods, Ranker, options_by_model
from jaxrank.numerics.precision import precision
from jaxrank.resampling.checkpoint import check_folder, folder_of
from jaxrank.resampling.configuration import open_checkpoint
from jaxrank.resampling.engine import gather_hosts, replicate
from jaxrank.resampling.schemes import Models, Subsample
from jaxrank.resampling.sources import make_source
from jaxrank.resampling.work import block_size, concatenate
from jaxrank.results.pools import Pools, PoolWork
from jaxrank.studies.convergence import named_methods
from jaxrank.studies.fit import as_data, as_key, prepare, read_statistic
from jaxrank.studies.replicates import prior_for, whole_fit


def model_pools(
    data: DataLike,
    methods: Methods = ("bayes", "avg"),
    *,
    size: int = 5,
    n_replicates: int = 1000,
    seed: Seed = 0,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    chunk_size: int | None = None,
    checkpoint: PathLike | None = None,
    progress: bool | None = None,
) -> Pools:
    """Draw ``n_replicates`` pools of ``size`` models, rank each from every single trial, and compare with all trials.

    **methods**: as in `jaxrank.convergence`. Both targets are computed inside each pool: Bayes@N on all trials, and the
    method itself on all trials. Other arguments as in `jaxrank.bootstrap`; pool b depends on the seed and b alone.

    Returns `Pools`. Raises subclasses of `JaxrankError`.
    """
    data = as_data(data)
    if isinstance(data, Comparisons) or data.outcomes is None:
        raise UnsupportedDataError("pools of models are ranked from single trials; battles and counts alone have none")
    Models(size).check(data.shape)
    untried = np.flatnonzero((data.outcomes < 0).all(axis=1).any(axis=1))
    if len(untried):
        raise UnsupportedDataError(
            f"pools of models are ranked from every single trial, and some trials have no result of "
            f"{name_list(data.models, untried)}; leave these models out, or keep the trials that all models have"
        )
    if checkpoint is not None:
        check_folder(checkpoint)
    members, gold, own, undefined = np.zeros((0, size), int), {}, {}, {}
    for label, method in named_methods(methods).items():
        ranker = prepare(method, data, prior_for(method, R0), {})
        if fixed := options_by_model(ranker):
            raise OptionError(f"{label} has {', '.join(fixed)} for each model, which pools of other models do not fit")
        if ranker.host:
            raise OptionError(f"{label} runs on the host, one fit at a time, and cannot be mapped over pools")
        with precision(dtype):
            work = _work(data, ranker, label, size, pairing, as_key(seed))
            where = None if checkpoint is None else folder_of(checkpoint, label)
            labels = {"method": label, "size": str(size), "seed": str(seed), "pairing": pairing, "study": "pools"}
            disk, step = open_checkpoint(where, work, data, labels, n_replicates, chunk_size)
            batches = replicate(work, n_replicates, chunk=step, checkpoint=disk, progress=progress, title=label)
            found = gather_hosts(concatenate(batches), n_replicates, step)
        members, gold[label], own[label] = found["members"], found["gold"], found["own"]
        undefined[label] = found["gold_undefined"]
    return Pools(tuple(gold), data.models, size, members, gold, own, undefined)


def _work(data: Responses, ranker: Ranker, name: str, size: int, pairing: str, key: Any) -> PoolWork:
    source = make_source(data, ranker, Subsample(1), pairing, name)
    n_trials = data.shape[2]
    single = jax.jit(jax.vmap(lambda b: source(key, b, None)[0]))(jnp.arange(n_trials))
    if isinstance(single, Events):
        single = _own_events(single)
    gold = np.asarray(whole_fit(data, make("bayes"), "bayes", pairing, key).scores)
    lane = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(single)) * size // data.shape[0]
    return PoolWork(
        ranker=ranker,
        single=single,
        whole=read_statistic(ranker, data, pairing),
        gold=jnp.asarray(gold),
        key=key,
        size=size,
        block=block_size(lane, low=2, high=64),
    )


def _own_events(single: Events) -> Events:
    """The statistics of single trials (N, E, L) without the events of other trials, which have weight 0 there."""
    outcomes, weights = np.asarray(single.outcomes), np.asarray(single.weights)
    first = np.argsort(weights == 0, axis=1, kind="stable")[:, : max(1, int((weights > 0).sum(1).max()))]
    weights = np.take_along_axis(weights, first, axis=1)
    outcomes = np.take_along_axis(outcomes, first[:, :, None], axis=1)
    outcomes = np.where(weights[:, :, None] > 0, outcomes, -1)
    return Events(jnp.asarray(outcomes, single.outcomes.dtype), jnp.asarray(weights))
