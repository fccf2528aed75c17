"""Public studies of convergence: rankings of every prefix of the drawn trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import jax
import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, PathLike, Seed
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.responses import Responses
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.models.ranker import Method, Methods, Ranker
from jaxrank.numerics.precision import precision
from jaxrank.numerics.ranks import rank_scores
from jaxrank.resampling.checkpoint import check_folder, folder_of
from jaxrank.resampling.configuration import open_checkpoint
from jaxrank.resampling.engine import gather_hosts, replicate, sum_hosts
from jaxrank.resampling.prefixes import is_tabulated, make_prefixes
from jaxrank.resampling.schemes import Scheme, Subsample, Trials, as_scheme
from jaxrank.results.convergence import Convergence, Curve, PrefixWork
from jaxrank.studies.fit import as_data, as_key, method_name, prepare
from jaxrank.studies.replicates import near, number_of_replicates, prior_for, whole_fit


def convergence(
    data: DataLike,
    methods: Methods = ("bayes", "pass_at_k"),
    *,
    n_replicates: int = 100_000,
    reference: Literal["gold", "self"] | npt.ArrayLike = "gold",
    seed: Seed = 0,
    scheme: str | Scheme = "trials",
    tau: bool = True,
    grid: Sequence[int] | None = None,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype | None = None,
    chunk_size: int | None = None,
    checkpoint: PathLike | None = None,
    progress: bool | None = None,
) -> Convergence:
    """Draw N trials with replacement ``n_replicates`` times, rank after every trial, and see when rankings settle.

    **methods**: an identifier, a ranker, a list of them, or a dict from labels of your own to them.
    **reference**: "gold" (Bayes@N with a uniform prior on the whole data), "self" (each method on the whole data), or
    scores (L,).
    **scheme**: "trials", "trials_per_question", "independent", or "subsample(N)" (a random order of the trials).
    **tau**: keep Kendall's tau-b of every prefix as well (means, standard deviations, bands).
    **grid**: numbers of trials to look at, by default 1..N; convergence@n is then known up to the grid.
    **R0**: earlier outcomes, for rankers that read a prior and for bayes_greedy. Other arguments as in `bootstrap`.

    All methods see the same replicates, which are those of `bootstrap` with the same seed. Accuracy, Bayes@N and the
    Pass@k family are computed for all prefixes at once; other methods are fitted to each prefix.

    >>> import jaxrank as jr
    >>> R = [[[1, 1, 1]] * 4, [[1, 0, 1]] * 4, [[0, 0, 0]] * 4]
    >>> con = jr.convergence(R, "avg", n_replicates=500, seed=0)
    >>> con.pmf("avg").round(1).tolist()  # never within N - 1 = 2 trials, after 1, after 2
    [0.6, 0.0, 0.4]
    """
    data, scheme = as_data(data), as_scheme(scheme)
    named = named_methods(methods)
    _check_scheme(data, scheme)
    points = _check_grid(grid, data.shape[2])
    n = number_of_replicates(data, Trials(), n_replicates)
    if checkpoint is not None:
        check_folder(checkpoint)
    curves: dict[str, Curve] = {}
    works: dict[str, PrefixWork] = {}
    wide: dict[str, bool] = {}
    for label, method in named.items():
        ranker = prepare(method, data, prior_for(method, R0), {})
        target = reference_ranks(data, ranker, label, reference, pairing, dtype)
        exact = is_tabulated(ranker, data)
        wide[label] = exact or (jax.config.read("jax_enable_x64") if dtype is None else np.dtype(dtype) == np.float64)
        with precision("float64" if exact else dtype):
            if not exact:
                ranker = near(ranker, whole_fit(data, ranker, label, pairing, as_key(seed)))
            work = PrefixWork.make(
                make_prefixes(data, ranker, scheme, pairing, label, points), as_key(seed), target, tau
            )
            where = None if checkpoint is None else folder_of(checkpoint, label)
            labels = {
                "method": label,
                "scheme": str(scheme),
                "seed": str(seed),
                "pairing": pairing,
                "study": "convergence",
            }
            disk, size = open_checkpoint(where, work, data, labels, n, chunk_size)
            batches = replicate(work, n, chunk=size, checkpoint=disk, progress=progress, title=f"{label}, every n")
            curves[label] = _curve(batches, target, n, size)
        works[label] = work
    how = reference if isinstance(reference, str) else "given"
    return Convergence(
        methods=tuple(named),
        models=data.models,
        n_trials=data.shape[2],
        grid=np.array(points),
        n_replicates=n,
        reference=how,
        scheme=str(scheme),
        curves=curves,
        works=works,
        x64=wide,
    )


def named_methods(methods: Methods) -> dict[str, Method]:
    """Labels and methods, from one method, a sequence of them, or a mapping."""
    if isinstance(methods, Mapping):
        named = dict(methods)
    else:
        several = [methods] if isinstance(methods, str | Ranker) else list(methods)
        named = {method_name(m): m for m in several}
        if len(named) < len(several):
            raise OptionError("two methods have one name; pass a dict from labels to methods")
    if not named:
        raise OptionError("methods is empty; name at least one method")
    return named


def reference_ranks(
    data: Responses, ranker: Ranker, name: str, reference: str | npt.ArrayLike, pairing: str, dtype: str | None
) -> np.ndarray:
    """Ranks (L,) that a study compares with: "gold", "self", or given scores."""
    if isinstance(reference, str) and reference not in ("gold", "self"):
        raise OptionError(f'reference={reference!r}; it must be "gold", "self" or scores, one for each model')
    if not isinstance(reference, str):
        scores = np.asarray(reference, float)
        if scores.shape != (len(data.models),) or not np.all(np.isfinite(scores)):
            raise OptionError(f"reference must be {len(data.models)} finite scores, one for each model")
        with precision("float64"):
            return np.asarray(rank_scores(scores))
    if reference == "gold":
        ranker, name, dtype = make("bayes"), "bayes", "float64"
    with precision(dtype):
        ranks = whole_fit(data, ranker, name, pairing, as_key(0)).ranks
    if (ranks == 0).any():
        raise OptionError(f"{name} on the whole data does not rank every model; choose another reference")
    return ranks


def _check_scheme(data: Responses | Comparisons, scheme: Scheme) -> None:
    if isinstance(data, Comparisons):
        raise UnsupportedDataError("convergence studies need repeated trials; battles have none")
    if data.outcomes is None:
        raise UnsupportedDataError(
            "convergence studies need to know which trial succeeded; these results are counts only"
        )
    if not scheme.prefixes:
        raise OptionError(f'scheme {scheme} does not draw one trial after the other; use scheme="trials"')
    if isinstance(scheme, Subsample) and scheme.n != data.shape[2]:
        raise OptionError(f"a convergence study without replacement orders all trials: use subsample({data.shape[2]})")
    scheme.check(data.shape)


def _check_grid(grid: Sequence[int] | None, n_trials: int) -> tuple[int, ...]:
    if grid is None:
        return tuple(range(1, n_trials + 1))
    points = sorted({*map(int, grid), n_trials})
    if points[0] < 1 or points[-1] > n_trials:
        raise OptionError(f"grid must hold numbers of trials from 1 to {n_trials}")
    return tuple(points)


def _curve(batches: list[dict[str, np.ndarray]], reference: np.ndarray, n: int, size: int) -> Curve:
    start = gather_hosts({"start": np.concatenate([b["start"] for b in batches])}, n, size)["start"]
    sums = {name: np.sum([b[name] for b in batches], axis=0) for name in batches[0] if name != "start"}
    return Curve(start=start, reference=reference, **sum_hosts(sums))
