"""The public calls: check the input, run the method, raise or report."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, Seed
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.kind import Data
from jaxrank.data.placement import spread
from jaxrank.data.rankings import Rankings
from jaxrank.data.readers import from_frame, is_frame, read
from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Counts, Pairs
from jaxrank.errors import (
    ConvergenceError,
    DataError,
    JaxrankError,
    JaxrankWarning,
    NoFiniteOptimumError,
    OptionError,
    UndefinedScoreError,
    UnsupportedDataError,
)
from jaxrank.methods import catalogue
from jaxrank.models.fit import Fit
from jaxrank.models.options import check_choice
from jaxrank.models.priors import Prior
from jaxrank.models.ranker import ByModel, ChecksData, Method, NeedsPrior, Ranker, Settles
from jaxrank.numerics.precision import precision
from jaxrank.numerics.status import Status
from jaxrank.results.fit import Result, coverage_note

PAIRINGS = ("aligned", "all")
_ERRORS = {
    Status.MAX_STEPS: ConvergenceError,
    Status.NO_FINITE_OPTIMUM: NoFiniteOptimumError,
    Status.DISCONNECTED: NoFiniteOptimumError,
    Status.UNDEFINED: UndefinedScoreError,
    Status.HOST_LIMIT: ConvergenceError,
}


def fit(
    data: DataLike,
    method: Method = "bayes",
    *,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    seed: Seed = 0,
    on_failure: Literal["raise", "return"] = "raise",
    **options: Any,
) -> Result:
    """Rank models by one method.

    **data**: R as an array (L, M) or (L, M, N), `Responses`, a data frame in long form, the name of a file of results,
    or `Comparisons`.
    **method**: an identifier of `catalogue` or a ranker. **options**: fields of the method, such as ``k=4``.
    **R0**: earlier outcomes as a prior, ints (M, D) or (L, M, D), for methods that read one.
    **pairing**: "aligned" compares trial n with trial n, "all" every trial with every trial of a question.
    **dtype**: "float32" or "float64"; the default follows JAX's configuration.
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
    data = as_data(data)
    ranker = prepare(method, data, R0, options)
    check_pairing(ranker, data, pairing, method_name(method))
    with precision(dtype):
        stat = read_statistic(ranker, data, pairing)
        raw = run(ranker, stat, as_key(seed) if ranker.stochastic else None)
        raw = ranker.settle(stat, raw) if isinstance(ranker, Settles) else raw
        result = Result(jax.tree.map(np.asarray, raw), ranker, method_name(method), data, stat, seed)
    if on_failure == "raise":
        raise_failure(result)
    if note := coverage_note(data, ranker):
        warnings.warn(note, JaxrankWarning, stacklevel=2)
    return result


def raise_failure(result: Result) -> None:
    """The error of a fit that failed, unless its ranker was told what to do with separated data."""
    kept = getattr(result.ranker, "separation", "raise")
    separated = result.status in (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)
    known = separated and kept != "raise"
    if kept == "extend" and result.status == Status.DISCONNECTED:
        known = bool(np.isfinite(result.scores).any())  # all that were compared are linked
    if result.status in _ERRORS and not known:
        raise _ERRORS[result.status](f"{result.method}: {result.explain()}")


def method_name(method: Method) -> str:
    return method if isinstance(method, str) else type(method).__name__


def check_pairing(ranker: Ranker, data: Data, pairing: str, name: str) -> None:
    """`OptionError` where ``pairing`` is unknown, or asks for what a method or the data do not have."""
    check_choice("pairing", pairing, PAIRINGS)
    if pairing == "aligned":
        return
    if ranker.statistic is not Pairs:
        raise OptionError(f"pairing={pairing!r} is about methods that read pairs; {name} reads {ranker.statistic.name}")
    if not isinstance(data, Responses):
        raise OptionError(f"pairing={pairing!r} is about trials of questions; battles and ordered lists have none")


def read_statistic(ranker: Ranker, data: Data, pairing: str = "aligned") -> Any:
    """The statistic that a ranker reads, from whole data."""
    check_choice("pairing", pairing, PAIRINGS)
    return ranker.statistic.of(data, pairing=pairing)


def as_data(data: DataLike) -> Responses | Comparisons | Rankings:
    """Anything that the public calls accept, as `Responses`, `Comparisons` or `Rankings`, with at least two models."""
    if not isinstance(data, Responses | Comparisons | Rankings):
        data = _read(data)
    if len(data.models) < 2:
        raise DataError(
            "R has one model; a ranking needs at least two models (for the metrics of one model use jaxrank.evaluation)"
        )
    return data


def _read(data: DataLike) -> Responses | Comparisons:
    """A file, a data frame in long form, or an array."""
    if isinstance(data, str | os.PathLike):
        return read(data)
    if not is_frame(data):
        return Responses(data)
    try:
        return from_frame(data)
    except DataError as error:
        if "=..." not in str(error):
            raise
        raise DataError(f"{error} Name columns in jr.from_frame(frame, model=...), and pass what it returns.") from None


def prepare(method: Method, data: Data, R0: npt.ArrayLike | None, options: dict[str, Any]) -> Ranker:
    """The ranker, after it was checked that it can read the data."""
    if isinstance(data, Rankings) and isinstance(method, str) and method in ("plackett_luce", "plackett_luce_map"):
        # The likelihood of lists, not of their pairs.
        method = method.replace("plackett_luce", "plackett_luce_rankings")
    ranker = catalogue.make(method, **options)
    name = method_name(method)
    if ranker.binary and isinstance(data, Responses) and not data.binary:
        raise UnsupportedDataError(
            f"{name} is defined for outcomes 0 and 1; R has {data.n_categories} categories. "
            "Use bayes or avg, or turn R into 0 and 1 (for example R >= threshold)"
        )
    if ranker.statistic is Counts and not isinstance(data, Responses):
        raise UnsupportedDataError(
            f"{name} reads counts of a response tensor; battles and ordered lists do not have them"
        )
    if isinstance(ranker, NeedsPrior):
        ranker = ranker.with_prior(R0, data) if R0 is not None else ranker
    elif R0 is not None:
        raise OptionError(f"{name} reads no prior outcomes; leave R0 out")
    if isinstance(ranker, ByModel):
        ranker = ranker.for_models(data.models)
    prior = getattr(ranker, "prior", None)
    if isinstance(prior, Prior):
        prior.check_models(len(data.models))
    if isinstance(ranker, ChecksData):
        ranker.check(data)
    return cast(Ranker, ranker)


def as_key(seed: Seed) -> jax.Array:
    """A JAX key from an integer or a key."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return seed
    if isinstance(seed, jax.Array) and seed.dtype == jnp.uint32 and seed.shape == (2,):
        return jax.random.wrap_key_data(seed)
    if isinstance(seed, int | np.integer):
        return jax.random.key(int(seed))
    raise OptionError(f"seed must be an integer or a JAX key, not {type(seed).__name__}")


def run(ranker: Ranker, stat: Any, key: Any = None) -> Fit:
    """One fit: compiled once for every shape of statistic, or on the host. Accelerators share a big statistic."""
    if ranker.host:
        return ranker(stat, key=key)
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
                _compiled.lower(ranker, _placed(stat), key).compile()

    pool = ThreadPoolExecutor(os.cpu_count())
    jobs = [pool.submit(compile_one, *job) for job in runs]
    pool.shutdown(wait=False)
    return jobs


@eqx.filter_jit
def _compiled(ranker: Ranker, stat: Any, key: Any) -> Fit:
    return ranker(stat, key=key)
