"""The public calls: check the input, run the method, raise or report."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

import equinox as eqx
import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, Seed, as_data
from jaxrank.data.kind import Data
from jaxrank.data.placement import spread
from jaxrank.errors import (
    ConvergenceError,
    JaxrankError,
    JaxrankWarning,
    NoFiniteOptimumError,
    UndefinedScoreError,
)
from jaxrank.models.fit import Fit
from jaxrank.models.options import check_choice
from jaxrank.models.ranker import Method, Ranker, Settles, statistic_of
from jaxrank.numerics.precision import precision
from jaxrank.numerics.programs import make_room
from jaxrank.numerics.seeds import as_key, check_seed
from jaxrank.numerics.status import Status
from jaxrank.results.fit import Result, reading_notes
from jaxrank.studies.preparation import check_pairing, default_method, method_name, of_answers, prepare

if TYPE_CHECKING:
    from jaxrank.evaluation.answers.rules import Rule
    from jaxrank.evaluation.answers.table import Answers

# Means over so many results differ by 64 ulp of float32, the rounding that scores are allowed (`rounding_resolution`).
_SINGLE = 2**16

_ERRORS = {
    Status.MAX_STEPS: ConvergenceError,
    Status.NO_FINITE_OPTIMUM: NoFiniteOptimumError,
    Status.DISCONNECTED: NoFiniteOptimumError,
    Status.UNDEFINED: UndefinedScoreError,
    Status.HOST_LIMIT: ConvergenceError,
}


def fit(
    data: DataLike | Answers,
    method: Method | Rule | None = None,
    *,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    seed: Seed = 0,
    on_failure: Literal["raise", "return"] = "raise",
    **options: Any,
) -> Result:
    """Rank models by one method.

    **data**: R as an array (L, M) or (L, M, N), `Responses`, `Comparisons`, `Rankings`, a data frame in long form, or
    the path of a file as `jaxrank.read` takes it. Of `Answers` the method is a rule ("majority", with ``n=8``): models
    are ranked by its accuracy on each n completions (`Answers.responses`).
    **method**: an identifier of `catalogue` or a ranker; by default avg for trials (bayes with ``R0``),
    bradley_terry_davidson_wide for battles, plackett_luce_rankings_wide for ordered lists.
    **options**: fields of the method, such as ``k=4``.
    **R0**: earlier outcomes as a prior, ints (M, D) or (L, M, D), for methods that read one.
    **pairing**: "aligned" compares trial n with trial n, "all" every trial with every trial of a question.
    **dtype**: "float32" or "float64"; the default follows JAX's configuration, and on a CPU is float64 for more than
    65,536 results, whose means can differ by less than float32 tells apart, for real scores and for marginal item
    response models.
    **seed**: integer or JAX key, for methods that draw random numbers.
    **on_failure**: "raise" an error where the method did not converge or has no finite optimum, or "return" the
    result with its status.

    Returns a `Result`. Raises subclasses of `JaxrankError`.

    >>> import jaxrank as jr
    >>> R = [[[1, 1], [1, 0], [1, 1]], [[1, 0], [0, 0], [0, 1]]]  # 2 models x 3 questions x 2 trials
    >>> fit = jr.fit(jr.Responses(R, models=["ada", "bob"]), "pass_hat_k", k=2)
    >>> fit
    Result(pass_hat_k, 2 models, best: ada, bob; converged)
    >>> fit.ranks.tolist()
    [1, 2]
    """
    check_choice("on_failure", on_failure, ("raise", "return"))
    given, method, options = of_answers(data, method, options)
    data = as_data(given)
    method = default_method(data, R0) if method is None else method
    ranker = prepare(method, data, R0, options)
    check_pairing({method_name(method): ranker}, data, pairing)
    with precision(digits(data, dtype, double=ranker.double)):
        stat = read_statistic(ranker, data, pairing)
        key = None
        if ranker.stochastic or isinstance(seed, jax.Array):
            key = as_key(seed)
        else:
            check_seed(seed)
        raw = run(ranker, stat, key if ranker.stochastic else None)
        raw = ranker.settle(stat, raw) if isinstance(ranker, Settles) else raw
        result = Result(jax.tree.map(np.asarray, raw), ranker, method_name(method), data, stat, seed)
    if on_failure == "raise":
        raise_failure(result)
    for note in reading_notes(data, ranker):
        warnings.warn(note, JaxrankWarning, stacklevel=2)
    return result


def digits(data: Data, dtype: str | None, double: bool = False) -> str | None:
    """The precision of a single fit: as asked, else float64 on a CPU for more results than float32 can tell apart, and
    for methods that need it (``double``)."""
    if dtype is not None or jax.default_backend() != "cpu":
        return dtype
    return "float64" if double or data.kind == "real" or data.n_results > _SINGLE else None


def raise_failure(result: Result) -> None:
    """The error of a fit that failed, unless its ranker was told what to do with separated data."""
    kept = getattr(result.ranker, "separation", "raise")
    separated = result.status in (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)
    known = separated and kept != "raise"
    if kept == "extend" and result.status == Status.DISCONNECTED:
        known = bool(np.isfinite(result.scores).any())  # all that were compared are linked
    if result.status in _ERRORS and not known:
        raise _ERRORS[result.status](f"{result.method}: {result.explain()}")


def read_statistic(ranker: Ranker, data: Data, pairing: str = "aligned") -> Any:
    """The statistic that a ranker reads, from whole data."""
    return data.statistic(statistic_of(ranker, data), pairing)


def run(ranker: Ranker, stat: Any, key: Any = None) -> Fit:
    """One fit: compiled once for every shape of statistic, or on the host. Accelerators share a big statistic."""
    if ranker.host:
        return ranker(stat, key=key)
    make_room(every=8)
    return _compiled(ranker, _placed(stat), key)


def _placed(stat: Any) -> Any:
    if jax.default_backend() == "cpu":
        return stat  # CPU devices share memory and cores already
    return spread(stat, jax.local_devices())


def compile_together(runs: Sequence[tuple[Ranker, Any, Any]]) -> list[Future[None]]:
    """Compile on all cores what `run` will need, nearly all the time of a first call; a future for each run."""
    x64 = jax.config.read("jax_enable_x64")  # a thread-local setting

    def compile_one(ranker: Ranker, stat: Any, key: Any) -> None:
        with jax.enable_x64(x64), contextlib.suppress(JaxrankError):  # `run` raises it again
            if not ranker.host:
                make_room()
                _compiled.lower(ranker, _placed(stat), key).compile()

    pool = ThreadPoolExecutor(os.cpu_count())
    jobs = [pool.submit(compile_one, *job) for job in runs]
    pool.shutdown(wait=False)
    return jobs


@eqx.filter_jit
def _compiled(ranker: Ranker, stat: Any, key: Any) -> Fit:
    return ranker(stat, key=key)
