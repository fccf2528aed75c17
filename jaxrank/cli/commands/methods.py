"""``jaxrank methods FILE``: several methods on one data set, and how far they agree."""

from __future__ import annotations

import sys
import time
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
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Table
from jaxrank.results.bars import Bars

Methods = Annotated[
    list[str],
    typer.Option(
        "--method", "-m", help="Compare only this method; may be repeated. Some of different families by default."
    ),
]
NAMED = 3
"""Methods of one order that are named."""
QUIET = 2.0
"""Seconds after which each result is told as it comes."""


@with_data
def methods(
    data: Any,
    method: Methods = [],  # noqa: B006  (typer reads the default and never changes it)
    every: Annotated[
        bool, typer.Option("--all", help="Compare all methods of the catalogue (a minute or two).")
    ] = False,
    gold: Annotated[
        str | None, typer.Option(help="The method that the others are measured against; the data's kind has a default.")
    ] = None,
    prior_file: PriorFile = None,
    seed: Seed = 0,
    output: Output = None,
    save: Annotated[Path | None, save_option("the ranks of every model by every method", TABLES)] = None,
    plot: Plots = [],  # noqa: B006
) -> None:
    """Rank by several methods: Kendall's tau-b with the gold standard, groups of one order, and a consensus."""
    from jaxrank.cli.prior import read_prior
    from jaxrank.errors import OptionError
    from jaxrank.results.agreement import Agreement
    from jaxrank.studies.agreement import fit_each
    from jaxrank.studies.preparation import USUAL, gold_method

    check_output("--output", output)
    check_output("--save", save, TABLES)
    plots = check_plots(plot, Agreement)
    if method and every:
        raise OptionError("--all and --method exclude each other; leave one out")
    gold = gold or gold_method(data)
    for name in (*method, gold):
        parse_method(name)
    R0 = None if prior_file is None else read_prior(prior_file, data)
    chosen = None if every else list(dict.fromkeys([*(method or USUAL[data.form]), gold]))
    table = fit_each(data, chosen, R0=R0, seed=seed, dtype="float64", tell=_telling())
    agreement = table.agreement(gold)
    if output is not None:
        _each(agreement).save(output)
    say(_headline(agreement))
    (_orders if sys.stdout.isatty() else _each)(agreement).show()
    print(flush=True)
    _consensus(table, agreement).emit()
    draw_plots(agreement, plots)
    if save is not None:
        ranks = {name: table[name].ranks for name in agreement.methods}
        Table({"model": list(table.models), "consensus": agreement.consensus, **ranks}).save(save)
    for name, result in table.results.items():
        if name not in agreement.methods:
            say(f"note: {name} left out: {result.explain()}")
    for name, reason in table.skipped.items():
        say(f"note: {name} not run: {reason}")
    if not method and not every:
        say("these are some methods of different families; --all compares the whole catalogue")


def _telling() -> Any:
    """Says who is first by a method once this has taken a while."""
    began = time.monotonic()

    def tell(result: Any) -> None:
        if time.monotonic() - began > QUIET:
            first = [result.models[i] for i in result.order[:3] if result.ranks[i] > 0]
            say(f"{result.method}: {', '.join(first) or result.status}{', ...' if len(result.models) > 3 else ''}")

    return tell


def _headline(agreement: Any) -> str:
    """In a sentence, how many orders there are, and who is first in how many of them."""
    best = agreement.ranks == agreement.ranks.min(axis=1, keepdims=True)
    times = {agreement.models[i]: int(n) for i, n in enumerate(best.sum(axis=0)) if n}
    ordered = sorted(times, key=lambda name: -times[name])
    n_methods, n_orders = len(agreement.methods), len(agreement.groups)
    if len(ordered) == 1:
        first = f"{ordered[0]} is first by all of them"
    else:
        told = [f"{name} by {times[name]}" for name in ordered[:4]]
        first = f"first is {', '.join(told)}{' and others' if len(ordered) > 4 else ''}"
    return f"{n_methods} methods give {n_orders} order{'s' if n_orders > 1 else ''} of the models; {first}"


def _each(agreement: Any) -> Table:
    """A row a method: tau-b with the gold standard, the number of its order, and how many methods have it."""
    group = {name: i for i, names in enumerate(agreement.groups, start=1) for name in names}
    tau = agreement.tau_with_gold
    return Table(
        {
            "method": list(tau),
            "tau_b": list(tau.values()),
            "group": [group[name] for name in tau],
            "same_order": [len(agreement.groups[group[name] - 1]) for name in tau],
        },
        spare=("group",),
    )


def _orders(agreement: Any) -> Table:
    """A row an order of the models: the methods that give it, and its tau-b with the gold standard."""
    tau = agreement.tau_with_gold
    groups = sorted(agreement.groups, key=lambda names: -np.nan_to_num(tau[names[0]], nan=-2))
    named = [
        ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "") for names in groups
    ]
    columns = {
        "method": named,
        "tau_b": [tau[names[0]] for names in groups],
        "same_order": [len(names) for names in groups],
    }
    orders = "distinct orders" if len(groups) > 1 else "order"
    title = f"{len(tau)} methods in {len(groups)} {orders}: tau-b with {agreement.gold}"
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
