"""What a report tells, computed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxrank.data.accepted import as_data
from jaxrank.data.kind import Data
from jaxrank.errors import JaxrankError, JaxrankWarning, OptionError
from jaxrank.results.convergence import Convergence
from jaxrank.results.fit import Result
from jaxrank.results.replicates import Replicates
from jaxrank.studies.agreement import FitTable, fit_all
from jaxrank.studies.convergence import convergence
from jaxrank.studies.diagnosis import Diagnosis, diagnose
from jaxrank.studies.fit import fit
from jaxrank.studies.preparation import USUAL, default_method, gold_method
from jaxrank.studies.replicates import bootstrap

STEPS = 4  # the fit, the methods, the replicates, the convergence
SLOW_HOST = 100  # replicates of methods that run on the host, one at a time


@dataclass(frozen=True)
class Found:
    """All that sections are made from; None where the data or the method do not have it, with the reason in
    ``missing``."""

    title: str
    command: str
    level: float
    seed: int
    data: Any
    diagnosis: Diagnosis
    result: Result
    replicates: Replicates | None
    table: FitTable
    gold: str
    convergence: Convergence | None
    missing: dict[str, str]
    seconds: float


def study(
    data: Any,
    method: str | None,
    methods: Sequence[str] | None,
    all_methods: bool,
    n_replicates: int,
    level: float,
    include_partial: bool,
    seed: int,
    title: str | None,
    command: str,
    advance: Callable[[], None] = lambda: None,
) -> Found:
    """Run everything; a study that these data or this method cannot bear is left out with its reason. ``advance`` is
    called after each of the `STEPS`."""
    began = time.perf_counter()
    if methods is not None and all_methods:
        raise OptionError("methods and all_methods exclude each other; leave one out")
    data = as_data(data)
    left_out = "" if include_partial else data.partial_note
    data = data.select(models=~data.partial) if left_out else data
    trials = bool(data.questions)
    method = method or default_method(data)
    gold = gold_method(data) if trials else method
    missing: dict[str, str] = {"models": f"{left_out}; left out of everything here"} if left_out else {}

    def attempt(name: str, run: Any) -> Any:
        try:
            return run()
        except JaxrankError as error:
            missing[name] = str(error)
            return None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # the notes of the result and the diagnosis say it
        found = diagnose(data)
        result = fit(data, method, seed=seed, dtype="float64")
        advance()
        chosen = None if all_methods else list(dict.fromkeys([*(methods or USUAL[data.form]), gold, method]))
        table = fit_all(data, chosen, seed=seed, dtype="float64", progress=False)
        advance()
        n = min(n_replicates, SLOW_HOST) if result.ranker.host else n_replicates
        options = {"seed": seed, "dtype": "float64", "progress": False}
        rep = attempt("bootstrap", lambda: bootstrap(data, method, n_replicates=n, **options))
        advance()
        con = None
        if not trials:
            missing["convergence"] = "convergence asks for repeated trials of questions; these data have none"
        elif data.counts_only or data.shape[2] < 3:
            missing["convergence"] = "convergence needs three trials or more, and which of them succeeded"
        else:
            con = attempt("convergence", lambda: convergence(data, _prefix_methods(data), n_replicates=n, **options))
    advance()
    name = title or f"Ranking of {len(data.models)} models"
    seconds = time.perf_counter() - began
    return Found(name, command, level, seed, data, found, result, rep, table, gold, con, missing, seconds)


def _prefix_methods(data: Data) -> list[str]:
    """Those that are ranked after every trial at once."""
    return ["bayes", "pass_at_k"] if data.n_categories == 2 else ["bayes"]
