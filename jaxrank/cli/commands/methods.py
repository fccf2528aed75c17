"""``jaxrank methods FILE``: all methods on one data set, and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxrank.cli.arguments import (
    TABLES,
    Output,
    PriorFile,
    Seed,
    check_output,
    parse_method,
    save_option,
    with_data,
)
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Table
from jaxrank.results.bars import Bars

Methods = Annotated[
    list[str],
    typer.Option("--method", "-m", help="Compare only this method; may be repeated. All by default (minutes)."),
]


@with_data
def methods(
    data: Any,
    method: Methods = [],  # noqa: B006  (typer reads the default and never changes it)
    gold: Annotated[
        str | None, typer.Option(help="The method that the others are measured against; the data's kind has a default.")
    ] = None,
    prior_file: PriorFile = None,
    seed: Seed = 0,
    output: Output = None,
    save: Annotated[Path | None, save_option("the ranks of every model by every method", TABLES)] = None,
) -> None:
    """Rank by all methods: Kendall's tau-b with the gold standard, groups of identical order, and a consensus."""
    import jaxrank as jr
    from jaxrank.cli.prior import read_prior
    from jaxrank.studies.preparation import gold_method

    check_output("--output", output)
    check_output("--save", save, TABLES)
    gold = gold or gold_method(data)
    for name in (*method, gold):
        parse_method(name)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    chosen = list(dict.fromkeys([*method, gold])) if method else None
    table = jr.fit_all(data, chosen, R0=R0, seed=seed, dtype="float64")
    agreement = table.agreement(gold)
    _methods(agreement).emit(output)
    print(flush=True)
    _consensus(table, agreement).emit()
    if save is not None:
        ranks = {name: table[name].ranks for name in agreement.methods}
        Table({"model": list(table.models), "consensus": agreement.consensus, **ranks}).save(save)
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
    """Mean rank over families of methods, beside the gold standard and the best and worst rank of each model."""
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
    title = "consensus: mean rank over families of methods; best and worst rank by any method"
    return Table(columns, title=title, bars=Bars("consensus", "best", "worst"))


COMMANDS = (methods,)
