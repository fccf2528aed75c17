"""The public studies with replicates: check, draw, run, collect."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from jaxrank.api import as_data, as_key, method_name, precision, prepare, read_statistic, run
from jaxrank.comparisons import Comparisons
from jaxrank.errors import OptionError
from jaxrank.ranker import NeedsPrior, Ranker
from jaxrank.replicates import Replicates, Summary, centre_of
from jaxrank.resampling import engine
from jaxrank.resampling.checkpoint import Checkpoint, digest_arrays
from jaxrank.resampling.engine import Kept, Replication, gather_hosts, replicate
from jaxrank.resampling.schemes import Models, Scheme, Subsample, as_scheme
from jaxrank.resampling.sources import make_source
from jaxrank.resampling.tally import Tally
from jaxrank.responses import Responses
from jaxrank.result import Result

KEEP = ("scores", "summary")


def bootstrap(
    data: Any,
    method: str | Ranker = "bayes",
    n_replicates: int = 10_000,
    scheme: str | Scheme = "trials",
    seed: Any = 0,
    *,
    R0: Any = None,
    pairing: str = "aligned",
    dtype: str | None = None,
    keep: str = "scores",
    chunk_size: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Replicates | Summary:
    """Rank ``n_replicates`` replicates of the data by one method.

    **data, method, R0, pairing, dtype, options**: as in `jaxrank.fit`.
    **scheme**: how replicates are drawn: "trials", "trials_per_question", "independent", "questions",
    "questions_and_trials", "bayesian", "bayesian(questions)", "subsample(n)", or a `jaxrank.resampling.Scheme`. For
    battles "trials" draws battles with replacement.
    **seed**: integer or JAX key. Replicate b depends on the seed and b alone: it is the same for every method, chunk
    size, and number of devices and hosts.
    **keep**: "scores" keeps all scores; "summary" keeps counts only, so that memory does not grow with B.
    **chunk_size**: replicates between two checkpoints; by default from memory.
    **checkpoint**: a directory for finished chunks. A study that was stopped goes on where it stood.
    **progress**: a progress bar; by default on a terminal only.

    Replicates in which the method fails are kept with their status and never raise. Point estimates come from the whole
    data. Returns `Replicates` (`Summary` for keep="summary"). Raises subclasses of `JaxrankError`.
    """
    if keep not in KEEP:
        raise OptionError(f"keep={keep!r}; it must be one of {', '.join(KEEP)}")
    data, scheme = as_data(data), as_scheme(scheme)
    if isinstance(scheme, Models):
        raise OptionError("models(size) draws other models in every replicate; use jaxrank.model_pools")
    ranker = prepare(method, data, R0, options)
    name = method_name(method)
    _check_prior(ranker, R0, scheme, name)
    n = _number_of_replicates(data, scheme, n_replicates)
    with precision(dtype):
        key = as_key(seed)
        estimate = whole_fit(data, ranker, name, pairing, key)
        work = Replication.make(ranker, make_source(data, ranker, scheme, pairing, name), key)
        disk, size = _checkpoint(checkpoint, work, data, pairing, n, chunk_size)
        common = {"method": name, "models": data.models, "scheme": str(scheme), "seed": seed, "estimate": estimate}
        centre = centre_of(estimate)
        run_all = lambda collect: replicate(
            work, n, chunk=size, checkpoint=disk, progress=progress, title=name, collect=collect
        )
        if keep == "summary":
            total: list[Tally] = []
            run_all(lambda kept: _accumulate(total, Tally.of(kept, centre)))
            return Summary(**common, tally=_sum_hosts(total[0]))
        kept = Kept.concatenate(run_all(None))
        kept = Kept(**gather_hosts(kept.arrays(), n, size))
        return Replicates(**common, tally=Tally.of(kept, centre), kept=kept)


def subsample(
    data: Any, method: str | Ranker = "bayes", n: int = 1, n_replicates: int = 10_000, seed: Any = 0, **options: Any
) -> Replicates | Summary:
    """Rank from ``n`` of the N trials, drawn without replacement.

    n = 1 takes each of the N trials once, N replicates in all; larger n draws ``n_replicates`` subsets. Further
    arguments as in `bootstrap`; ``rep.tau()`` then says how well few trials agree with all of them.
    """
    return bootstrap(data, method, n_replicates, Subsample(n), seed, **options)


def whole_fit(data: Responses | Comparisons, ranker: Ranker, name: str, pairing: str, key: Any) -> Result:
    """The fit of the whole data, whatever its status."""
    stat = read_statistic(ranker, data, pairing)
    raw = run(ranker, stat, key if ranker.stochastic else None)
    return Result(jax.tree.map(np.asarray, raw), ranker, name, data, stat)


def _number_of_replicates(data: Responses | Comparisons, scheme: Scheme, n_replicates: int) -> int:
    if not isinstance(n_replicates, int | np.integer) or n_replicates < 1:
        raise OptionError(f"n_replicates={n_replicates!r} must be a whole number of 1 or more")
    if isinstance(data, Comparisons):
        return int(n_replicates)
    return scheme.exhaustive(data.shape) or int(n_replicates)


def _check_prior(ranker: Ranker, R0: Any, scheme: Scheme, name: str) -> None:
    if R0 is None or not isinstance(ranker, NeedsPrior):
        return
    if not scheme.keeps_questions:
        raise OptionError(
            f'{name} with R0 has a prior for each model and question, which scheme {scheme} shuffles; use "trials"'
        )


def _checkpoint(
    directory: Any, work: Replication, data: Responses | Comparisons, pairing: str, n: int, chunk: int | None
) -> tuple[Checkpoint | None, int]:
    size = engine.chunk_size(work, n, chunk)
    if directory is None:
        return None, size
    disk = Checkpoint(directory, configuration(work, data, pairing), size)
    return disk, disk.chunk


def configuration(work: Replication, data: Responses | Comparisons, pairing: str) -> dict[str, Any]:
    """What determines the bits of every replicate, as JSON."""
    if isinstance(data, Responses):
        arrays: Sequence[Any] = (data.counts if data.outcomes is None else data.outcomes, np.array(data.levels))
    else:
        arrays = (data.a, data.b, data.outcome, data.count)
    numbers, static = eqx.partition(work.ranker, eqx.is_array_like)
    return {
        "data": digest_arrays(*arrays, np.array(data.models)),
        "method": str(jax.tree.structure(static)) + digest_arrays(*(np.asarray(x) for x in jax.tree.leaves(numbers))),
        "ranker": type(work.ranker).__name__,
        "scheme": str(work.source.scheme),
        "pairing": pairing,
        "seed": np.asarray(jax.random.key_data(work.key)).tolist(),
        "dtype": "float64" if jax.config.jax_enable_x64 else "float32",
        "backend": jax.default_backend(),
        "block": work.block,
        "jaxrank": sys.modules["jaxrank"].__version__,
        "jax": jax.__version__,
    }


def _accumulate(total: list[Tally], part: Tally) -> None:
    total[:] = [total[0] + part if total else part]


def _sum_hosts(tally: Tally) -> Tally:
    if jax.process_count() == 1:
        return tally
    parts = gather_hosts({k: v[None] for k, v in tally.arrays().items()}, jax.process_count(), 1)
    return Tally(**{k: v.sum(axis=0) for k, v in parts.items()})
