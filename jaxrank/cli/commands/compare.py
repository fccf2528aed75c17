"""``jaxrank compare FILE``: all methods on one data set, and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxrank.cli.arguments import Out, PriorFile, Seed, with_data
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table, check_out

Methods = Annotated[
    list[str], typer.Option("--method", "-m", help="Compare only this method; may be repeated. All by default.")
]


@with_data
def compare(
    data: Any,
    method: Methods = [],  # noqa: B006  (typer reads the default and never changes it)
    gold: Annotated[str, typer.Option(help="The method that the others are measured against.")] = "bayes",
    prior_file: PriorFile = None,
    seed: Seed = 0,
    out: Out = None,
    ranks_out: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Write the ranks of every model by every method to this file.")
    ] = None,
) -> None:
    """Rank by all methods: Kendall's tau-b with the gold standard, groups of identical order, and a consensus."""
    import jaxrank as jr
    from jaxrank.cli.prior import read_prior

    check_out(out)
    check_out(ranks_out)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    chosen = list(dict.fromkeys([*method, gold])) if method else None
    table = jr.fit_all(data, chosen, R0=R0, seed=seed, dtype="float64")
    agreement = table.agreement(gold)
    _methods(agreement).emit(out)
    print(flush=True)
    _consensus(table, agreement).emit()
    if ranks_out is not None:
        ranks = {name: table[name].ranks for name in agreement.methods}
        Table({"model": list(table.models), "consensus": agreement.consensus, **ranks}).save(ranks_out)
    for name, result in table.results.items():
        if name not in agreement.methods:
            say(f"note: {name} left out: {result.explain()}")
    for name, reason in table.skipped.items():
        say(f"note: {name} not run: {reason}")


def _methods(agreement: Any) -> Table:
    """Tau-b of every method with the gold standard; methods of one group order all models identically."""
    group = {name: i for i, names in enumerate(agreement.groups, start=1) for name in names}
    tau = agreement.tau_with_gold
    columns = {
        "method": list(tau),
        "tau_b": list(tau.values()),
        "group": [group[name] for name in tau],
        "same_order": [len(agreement.groups[group[name] - 1]) for name in tau],
    }
    title = f"{len(tau)} methods in {len(agreement.groups)} distinct orders: tau-b with {agreement.gold}"
    return Table(columns, title=title, bars=Bars("tau_b"))


def _consensus(table: Any, agreement: Any) -> Table:
    """Mean rank over the distinct orders, beside the gold standard and the best and worst rank of each model."""
    ranks = np.stack([table[name].ranks for name in agreement.methods])
    gold = table[agreement.gold].ranks
    order = np.lexsort((gold, agreement.consensus))
    columns = {
        "consensus": agreement.consensus[order],
        "model": [agreement.models[i] for i in order],
        agreement.gold: gold[order],
        "best": ranks.min(axis=0)[order],
        "worst": ranks.max(axis=0)[order],
    }
    title = "consensus: mean rank over the distinct orders; best and worst rank by any method"
    return Table(columns, title=title, bars=Bars("consensus", "best", "worst"))


COMMANDS = (compare,)
