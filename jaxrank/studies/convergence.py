"""Public studies of convergence: rankings of every prefix of the drawn trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from jaxrank.data.accepted import DataLike, Dtype, Pairing, PathLike, Seed, as_data
from jaxrank.data.device import real
from jaxrank.data.kind import Data
from jaxrank.data.responses import responses_of
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.models.options import check_choice, check_count, check_flag, check_number, shown
from jaxrank.models.ranker import Methods
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.precision import precision
from jaxrank.numerics.ranks import rank_scores
from jaxrank.resampling.checkpoint import Checkpoint, folder_of
from jaxrank.resampling.configuration import check_running, open_checkpoint
from jaxrank.resampling.engine import contribute, gather_hosts, replicate, sum_hosts
from jaxrank.resampling.prefixes import is_tabulated, make_prefixes
from jaxrank.resampling.schemes import Scheme, Subsample, Trials, as_scheme
from jaxrank.resampling.sharing import Share
from jaxrank.resampling.work import concatenate
from jaxrank.results.convergence import Convergence, Curve, PrefixWork
from jaxrank.results.fit import Result
from jaxrank.results.stops import Stops, StopWork, make_stops
from jaxrank.studies.fit import as_key
from jaxrank.studies.preparation import check_pairing, gold_method, named_methods, prepare, priors_for
from jaxrank.studies.replicates import near, number_of_replicates, whole_fit

GRID = 64
"""Most prefixes of battles or ordered lists that are looked at where no grid is given."""
LOOKS = "when to stop"
"""What the work on stops is called while it goes on."""


def convergence(
    data: DataLike,
    methods: Methods | None = None,
    *,
    n_replicates: int = 100_000,
    reference: Literal["gold", "self"] | npt.ArrayLike = "gold",
    seed: Seed = 0,
    scheme: str | Scheme = "trials",
    tau: bool = True,
    grid: Sequence[int] | None = None,
    R0: npt.ArrayLike | None = None,
    pairing: Pairing = "aligned",
    stop: Literal["sequence"] | None = None,
    level: float = 0.95,
    top: int | None = None,
    dtype: Dtype | None = None,
    chunk_size: int | None = None,
    checkpoint: PathLike | None = None,
    shard: str | Share | None = None,
    progress: bool | None = None,
) -> Convergence:
    """Draw N trials with replacement ``n_replicates`` times, rank after every trial, and see when rankings settle.

    Of battles and ordered lists these are drawn one after the other, and ranked after the first n.

    **methods**: an identifier, a ranker, a list of them, or a dict from labels of your own to them; by default bayes
    and, of outcomes 0 and 1, pass_at_k, or the method that `fit` takes for battles and ordered lists.
    **reference**: "gold" (Bayes@N with a uniform prior on the whole data, or the default method for battles and
    ordered lists), "self" (each method on the whole data), or scores (L,).
    **scheme**: "trials", "trials_per_question", "independent", or "subsample(N)" (a random order of the trials).
    **tau**: keep Kendall's tau-b of every prefix as well (means, standard deviations, bands).
    **grid**: numbers of trials to look at, by default 1..N (of battles and ordered lists, 64 of them at most);
    convergence@n is then known up to the grid.
    **R0**, **pairing**: for the methods that read them, as in `fit_all`. Other arguments as in `bootstrap`.
    **stop**: "sequence" also asks of every order of the trials after how many of them a study that looks after each
    would have stopped: when the mean scores of neighbours in the order (of the best **top** and the others, where that
    is given) are told apart by bets on their differences (`jaxrank.evaluation.sequential`). At most 1 - **level** of
    the orders stop at what is not so by all trials. ``con.stops`` has what was found. It needs trials of questions,
    without gaps; real scores are taken to lie between the lowest and the highest of their question.

    All methods see the same replicates, which of trials are those of `bootstrap` with the same seed. Accuracy, Bayes@N
    and the Pass@k family are computed for all prefixes at once; other methods are fitted to each prefix.

    >>> import jaxrank as jr
    >>> R = [[[1, 1, 1]] * 4, [[1, 0, 1]] * 4, [[0, 0, 0]] * 4]
    >>> con = jr.convergence(R, "avg", n_replicates=500, seed=0)
    >>> con.pmf("avg").round(1).tolist()  # never within N - 1 = 2 trials, after 1, after 2
    [0.6, 0.0, 0.4]
    """
    check_flag("tau", tau)
    level = check_level(level)
    if stop is not None:
        check_choice("stop", stop, ("sequence",))
    elif top is not None:
        raise OptionError(f'top={shown(top)} says when to stop; give stop="sequence" with it')
    check_flag("progress", progress, optional=True)
    with precision(dtype):  # refused here where it is wrong, also for methods that run in float64 anyway
        data, scheme = as_data(data), as_scheme(scheme)
    named = named_methods(_usual(data) if methods is None else methods)
    priors, n_trials = priors_for(named, R0), data.shape[2]
    check_pairing({label: make(method) for label, method in named.items()}, data, pairing)
    _check_scheme(data, scheme, n_trials)
    points = _check_grid(grid, n_trials, bool(data.questions))
    n = number_of_replicates(data, Trials(), n_replicates)
    share = check_running(checkpoint, chunk_size, shard)
    looks = None if stop is None else _looks(data, scheme, seed, level, top)
    prepared: dict[str, tuple[Checkpoint | None, int, np.ndarray]] = {}
    curves: dict[str, Curve] = {}
    works: dict[str, PrefixWork] = {}
    wide: dict[str, bool] = {}
    own = isinstance(reference, str) and reference == "self"
    target = np.zeros(0) if own else _reference_ranks(data, reference, pairing)
    for label, method in named.items():
        ranker = prepare(method, data, priors[label], {})
        exact = is_tabulated(ranker, data)
        with precision("float64" if exact else dtype):
            wide[label] = real() == np.float64
            if own or not exact:
                whole = whole_fit(data, ranker, label, pairing, as_key(seed))
                target = _ranks_of_all(whole) if own else target
                ranker = ranker if exact else near(ranker, whole)
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
            disk, size = open_checkpoint(where, work, data, labels, n, chunk_size, share)
            if disk is not None and share is not None:
                contribute(work, n, disk, share, progress=progress, title=f"{label}, every n")
        works[label], prepared[label] = work, (disk, size, target)
    watched: tuple[Checkpoint | None, int] = (None, 0)
    if looks is not None:
        where = None if checkpoint is None else folder_of(checkpoint, "stop")
        labels = {"stop": str(stop), "scheme": str(scheme), "seed": str(seed), "study": "convergence"}
        with precision("float64"):
            watched = open_checkpoint(where, looks, data, labels, n, chunk_size, share)
            if watched[0] is not None and share is not None:
                contribute(looks, n, watched[0], share, progress=progress, title=LOOKS)
    for label, (disk, size, aim) in prepared.items():
        with precision("float64" if wide[label] else dtype):
            title = f"{label}, every n"
            batches = replicate(
                works[label], n, chunk=size, checkpoint=disk, progress=progress, title=title, share=share
            )
            curves[label] = _curve(batches, aim, n, size)
    stops = None
    if looks is not None:
        disk, size = watched
        with precision("float64"):
            batches = replicate(looks, n, chunk=size, checkpoint=disk, progress=progress, title=LOOKS, share=share)
            found = gather_hosts(concatenate(batches), n, size)
        stops = Stops(found["at"], found["wrong"], n_trials, level, top)
    how = reference if isinstance(reference, str) else "given"
    return Convergence(
        methods=tuple(named),
        models=data.models,
        n_trials=n_trials,
        grid=np.array(points),
        n_replicates=n,
        reference=how,
        scheme=str(scheme),
        curves=curves,
        works=works,
        x64=wide,
        stops=stops,
    )


def _looks(data: Data, scheme: Scheme, seed: Seed, level: float, top: int | None) -> StopWork:
    if not data.questions:
        raise UnsupportedDataError(
            f'stop="sequence" looks at trials of questions; {data.content} have none: leave stop out, or use '
            "jaxrank.evaluation.sequential.sign_process"
        )
    with precision("float64"):
        return make_stops(responses_of(data, 'stop="sequence"'), scheme, as_key(seed), level, top)


def _usual(data: Data) -> list[str]:
    """Methods that are ranked after every trial at once, or the default of the kind."""
    usual = [gold_method(data)]
    return [*usual, "pass_at_k"] if data.questions and data.n_categories == 2 else usual


def _reference_ranks(data: Data, reference: str | npt.ArrayLike, pairing: str) -> np.ndarray:
    """Ranks (L,) that all methods of a study are compared with: "gold", or given scores."""
    with precision("float64"):
        if isinstance(reference, str):
            if reference != "gold":
                raise OptionError(f'reference={reference!r}; it must be "gold", "self" or scores, one for each model')
            name = gold_method(data)
            return _ranks_of_all(whole_fit(data, make(name), name, pairing, as_key(0)))
        check_number("reference", reference, ndim=1, length=len(data.models))
        return np.asarray(rank_scores(np.asarray(reference, float)))


def _ranks_of_all(whole: Result) -> np.ndarray:
    if (whole.ranks == 0).any():
        raise OptionError(f"{whole.method} on the whole data does not rank every model; choose another reference")
    return whole.ranks


def _check_scheme(data: Data, scheme: Scheme, n_trials: int) -> None:
    if data.counts_only:
        raise UnsupportedDataError(
            "convergence studies need to know which trial succeeded; these results are counts only: use "
            'jaxrank.bootstrap with scheme="independent" or "questions"'
        )
    fits = data.questions or isinstance(scheme, Trials | Subsample)
    if not scheme.prefixes or not fits:
        raise OptionError(f'scheme {scheme} does not draw one trial after the other of {data.content}; use "trials"')
    if isinstance(scheme, Subsample) and scheme.n != n_trials:
        raise OptionError(f"a convergence study without replacement orders all trials: use subsample({n_trials})")
    scheme.check(data.shape)


def _check_grid(grid: Any, n_trials: int, every: bool) -> tuple[int, ...]:
    if grid is None:
        if every or n_trials <= GRID:
            return tuple(range(1, n_trials + 1))
        return tuple(np.unique(np.rint(np.geomspace(1, n_trials, GRID)).astype(int)).tolist())
    if isinstance(grid, str | bytes) or not isinstance(grid, Iterable):
        raise OptionError(f"grid={shown(grid)}; it must be a list of numbers of trials from 1 to {n_trials}")
    points = list(cast("Iterable[Any]", grid))
    if not points:
        raise OptionError(f"grid=[]; name numbers of trials from 1 to {n_trials}, or leave grid out for all of them")
    for n in points:
        check_count("grid: a number of trials", n, 1, n_trials)
    return tuple(sorted({*map(int, points), n_trials}))


def _curve(batches: list[dict[str, np.ndarray]], reference: np.ndarray, n: int, size: int) -> Curve:
    start = gather_hosts({"start": np.concatenate([b["start"] for b in batches])}, n, size)["start"]
    sums = {name: np.sum([b[name] for b in batches], axis=0) for name in batches[0] if name != "start"}
    return Curve(start=start, reference=reference, **sum_hosts(sums))
