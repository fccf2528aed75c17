"""The public studies with replicates: check, draw, run, collect."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal, overload

import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, PathLike, Seed, as_data
from jaxrank.data.ballots import Ballots
from jaxrank.data.clusters import clustering
from jaxrank.data.kind import Data
from jaxrank.data.moments import Moments, Samples
from jaxrank.errors import JaxrankWarning, OptionError
from jaxrank.models.options import check_choice, check_count, check_flag
from jaxrank.models.ranker import ByQuestion, Method, NeedsPrior, Ranker, StartsNear, statistic_of
from jaxrank.numerics.precision import precision
from jaxrank.resampling.clusters import Clusters
from jaxrank.resampling.configuration import check_running, open_checkpoint
from jaxrank.resampling.engine import gather_hosts, replicate, sum_hosts
from jaxrank.resampling.schemes import Models, Scheme, Subsample, as_scheme
from jaxrank.resampling.sharing import Share
from jaxrank.resampling.sources import make_source
from jaxrank.resampling.tabulated import tabulated_replication
from jaxrank.resampling.tally import Tally
from jaxrank.resampling.work import Kept, Replication, concatenate
from jaxrank.results.fit import Result
from jaxrank.results.replicates import Replicates
from jaxrank.results.study import Summary, centre_of
from jaxrank.studies.fit import as_key, digits, read_statistic, run
from jaxrank.studies.preparation import check_pairing, default_method, method_name, of_answers, prepare

if TYPE_CHECKING:
    from jaxrank.evaluation.answers.rules import Rule
    from jaxrank.evaluation.answers.table import Answers

KEEP = ("scores", "summary")
_FEW_TRIALS = 6  # of which there are 462 distinct draws


@overload
def bootstrap(
    data: DataLike | Answers,
    method: Method | Rule | None = None,
    *,
    n_replicates: int = 10_000,
    scheme: str | Scheme | None = None,
    seed: Seed = 0,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    keep: Literal["scores"] = "scores",
    chunk_size: int | None = None,
    checkpoint: PathLike | None = None,
    shard: str | Share | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Replicates: ...


@overload
def bootstrap(
    data: DataLike | Answers,
    method: Method | Rule = ...,
    *,
    keep: Literal["summary"],
    n_replicates: int = ...,
    **options: Any,
) -> Summary: ...


def bootstrap(
    data: DataLike | Answers,
    method: Method | Rule | None = None,
    *,
    n_replicates: int = 10_000,
    scheme: str | Scheme | None = None,
    seed: Seed = 0,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    keep: Literal["scores", "summary"] = "scores",
    chunk_size: int | None = None,
    checkpoint: PathLike | None = None,
    shard: str | Share | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Replicates | Summary:
    """Rank ``n_replicates`` replicates of the data by one method.

    **data, method, R0, pairing, dtype, options**: as in `jaxrank.fit`.
    **scheme**: how replicates are drawn, and so what the statements are about. By default "questions": such questions,
    of which these are a sample (it holds for these questions too, where it is conservative). "independent": these very
    questions, whose trials could have come out otherwise; it needs two trials in a cell. Of one question trials are
    drawn, of battles and ordered lists these. The schemes: "trials", "trials_per_question", "independent", "questions",
    "questions_and_trials", "bayesian", "bayesian(questions)", "subsample(n)", `jaxrank.clusters` of questions, or a
    `jaxrank.resampling.Scheme`.
    **seed**: integer or JAX key. Replicate b depends on the seed and b alone: it is the same for every method, chunk
    size, and number of devices and hosts.
    **keep**: "scores" keeps all scores; "summary" keeps counts only, so that memory does not grow with B.
    **chunk_size**: replicates between two checkpoints; by default from memory.
    **checkpoint**: a directory for finished chunks, of this study alone. A study that was stopped goes on where it
    stood; another study in that directory is an error. An address of fsspec (gs://, s3://) does as well.
    **shard**: share the study with other processes that make the same call with the same checkpoint: "K/N" does every
    N-th chunk (K from 1 to N) and raises `UnfinishedError` until all shards are done; "auto" takes K and N from SLURM
    or Kubernetes; "steal" does any chunk that nobody has in hand, those of processes that died too, and returns when
    all are done; "merge" only puts together. The result has the bits of one run.
    **progress**: a progress bar; by default on a terminal only.

    Replicates in which the method fails are kept with their status and never raise. Point estimates come from the whole
    data. Returns `Replicates` (`Summary` for keep="summary"). Raises subclasses of `JaxrankError`.

    >>> import jaxrank as jr
    >>> R = [[[1, 1, 1], [1, 0, 1]], [[1, 0, 0], [0, 1, 0]]]
    >>> rep = jr.bootstrap(R, "avg", n_replicates=1000, scheme="questions_and_trials", seed=0)
    >>> rep
    Replicates(avg, 1000 replicates by questions_and_trials, 2 models)
    >>> rep.replicate_scores.shape
    (1000, 2)
    """
    check_choice("keep", keep, KEEP)
    check_flag("progress", progress, optional=True)
    given, method, options = of_answers(data, method, options)
    data = as_data(given)
    scheme = as_scheme(default_scheme(data) if scheme is None else scheme)
    scheme = scheme.bound(data)
    if isinstance(scheme, Clusters):
        _warn_of_clusters(scheme, data)
    if isinstance(scheme, Models):
        raise OptionError("models(size) draws other models in every replicate; use jaxrank.model_pools")
    method = default_method(data, R0) if method is None else method
    ranker, name = prepare(method, data, R0, options), method_name(method)
    check_pairing({name: ranker}, data, pairing)
    check_prior(ranker, R0, scheme, name)
    check_trials(data, scheme)
    n = number_of_replicates(data, scheme, n_replicates)
    share = check_running(checkpoint, chunk_size, shard)
    with precision(_digits(ranker, data, dtype)):
        key = as_key(seed)
        estimate = whole_fit(data, ranker, name, pairing, key)
        work = tabulated_replication(data, ranker, scheme, key)
        if work is None:
            ranker = near(ranker, estimate)
            work = Replication.make(ranker, make_source(data, ranker, scheme, pairing, name), key)
        labels = {"method": name, "scheme": str(scheme), "seed": str(seed), "pairing": pairing}
        disk, size = open_checkpoint(checkpoint, work, data, labels, n, chunk_size, share)
        common = {"method": name, "models": data.models, "scheme": str(scheme), "seed": seed, "estimate": estimate}
        common["unit"] = unit_of(data, scheme)
        run_all = lambda collect: replicate(
            work, n, chunk=size, checkpoint=disk, progress=progress, title=name, collect=collect, share=share
        )
        if keep == "summary":
            centre = centre_of(estimate)
            total: list[Tally] = []
            run_all(lambda batch: _accumulate(total, Tally.of(Kept(**batch), centre)))
            return Summary(**common, tally=Tally(**sum_hosts(total[0].arrays())))
        kept = Kept(**gather_hosts(concatenate(run_all(None)), n, size))
        return Replicates(**common, kept=kept)


@overload
def subsample(
    data: DataLike,
    method: Method | None = None,
    *,
    n: int = 1,
    n_replicates: int = 10_000,
    seed: Seed = 0,
    keep: Literal["scores"] = "scores",
    **options: Any,
) -> Replicates: ...


@overload
def subsample(
    data: DataLike, method: Method = ..., *, keep: Literal["summary"], n: int = ..., **options: Any
) -> Summary: ...


def subsample(
    data: DataLike,
    method: Method | None = None,
    *,
    n: int = 1,
    n_replicates: int = 10_000,
    seed: Seed = 0,
    keep: Literal["scores", "summary"] = "scores",
    **options: Any,
) -> Replicates | Summary:
    """Rank from ``n`` of the N trials, drawn without replacement.

    n = 1 takes each of the N trials once, N replicates in all; larger n draws ``n_replicates`` subsets, and so does
    n = 1 where cells have unequal trials. A cell with n trials or fewer keeps all of them. Of
    battles and ordered lists ``n`` of these are drawn, ``n_replicates`` times. Further arguments as in `bootstrap`;
    ``rep.tau()`` then says how well few trials agree with all of them.
    """
    common: dict[str, Any] = {"n_replicates": n_replicates, "scheme": Subsample(n), "seed": seed, "keep": keep}
    return bootstrap(data, method, **common, **options)


def whole_fit(data: Data, ranker: Ranker, name: str, pairing: str, key: jax.Array) -> Result:
    """The fit of the whole data, whatever its status."""
    stat = read_statistic(ranker, data, pairing)
    raw = run(ranker, stat, key if ranker.stochastic else None)
    return Result(jax.tree.map(np.asarray, raw), ranker, name, data, stat, key)


def _warn_of_clusters(scheme: Clusters, data: Data) -> None:
    """A warning where clusters are few, and where some have no value in their column."""
    for note in filter(None, (clustering(data, column).note for column in scheme.columns)):
        warnings.warn(f"scheme {scheme}: {note}", JaxrankWarning, stacklevel=3)


def _digits(ranker: Ranker, data: Data, dtype: str | None) -> str | None:
    """The precision of replicates: as asked; for means of real scores float64 on a CPU, since they may differ by less
    than float32 tells apart. Comparisons of real scores are made on the host."""
    reads = statistic_of(ranker, data) in (Moments, Samples, Ballots)
    return digits(data, dtype) if data.kind == "real" and reads else dtype


def near(ranker: Ranker, whole: Result) -> Ranker:
    """The ranker for replicates of data whose fit is known."""
    return ranker.near(whole.stat, whole.fit) if isinstance(ranker, StartsNear) else ranker


def number_of_replicates(data: Data, scheme: Scheme, n_replicates: int) -> int:
    check_count("n_replicates", n_replicates)
    every = scheme.exhaustive(data.shape) if data.aligned else None
    return every or int(n_replicates)


def default_scheme(data: Data) -> str:
    """The scheme whose statements hold for these data: questions, where there are several."""
    return "questions" if len(data.questions) > 1 else "trials"


def check_trials(data: Data, scheme: Scheme) -> None:
    """`OptionError` where trials are to be drawn and no cell has two; a warning where all models share few draws."""
    if not data.questions or scheme.unit != "trials" or isinstance(scheme, Subsample):
        return
    most = data.shape[2]
    if most < 2:
        raise OptionError(
            f"scheme {scheme} draws trials again, and every cell has one, so that all replicates would be the same; "
            'use scheme="questions"'
        )
    if scheme.shares_trials and most < _FEW_TRIALS:
        distinct = math.comb(2 * most - 1, most)
        warnings.warn(
            f"scheme {scheme} draws the same {most} trials for all models and questions: there are {distinct} distinct "
            'replicates, too few for intervals; use scheme="independent" or "questions"',
            JaxrankWarning,
            stacklevel=3,
        )


def unit_of(data: Data, scheme: Scheme) -> str:
    """What a replicate draws again, in a word; a "trial" of battles is a battle, and of ordered lists an order."""
    return f"{data.unit}s" if scheme.unit == "trials" else scheme.unit


def check_prior(ranker: Ranker, R0: npt.ArrayLike | None, scheme: Scheme, name: str) -> None:
    if isinstance(ranker, ByQuestion) and ranker.fixed_questions and not scheme.keeps_questions:
        raise OptionError(
            f'{name} has references for each question, which scheme {scheme} shuffles; use scheme="questions"'
        )
    if R0 is None or not isinstance(ranker, NeedsPrior):
        return
    if not scheme.keeps_questions:
        raise OptionError(
            f'{name} with R0 has a prior for each model and question, which scheme {scheme} shuffles; use "trials"'
        )


def _accumulate(total: list[Tally], part: Tally) -> None:
    total[:] = [total[0] + part if total else part]
