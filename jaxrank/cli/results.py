"""One result as the subcommands show it."""

from __future__ import annotations

import warnings
from typing import Any

import jaxrank as jr
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Bars, Table


def fit_quietly(data: Any, method: str, **options: Any) -> Any:
    """``jaxrank.fit`` in float64, without the warnings that the notes of the result repeat."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.JaxrankWarning)
        return jr.fit(data, method, dtype="float64", **options)


def result_table(result: Any, level: float, rule: str = "competition") -> Table:
    """A ranking as a table, best model first, with intervals at ``level`` where the method has them."""
    columns: dict[str, Any] = {"rank": result.rank(rule), "model": list(result.models), "score": result.scores}
    described, bars = "", Bars("score")
    if result.has_interval:
        columns["lower"], columns["upper"] = result.interval(level)
        described, bars = f", {100 * level:g} % intervals", Bars("score", "lower", "upper")
    in_order = {name: [values[i] for i in result.order] for name, values in columns.items()}
    return Table(in_order, title=f"{result.method}{described}", bars=bars)


def say_notes(result: Any) -> None:
    """What the fit has to say beyond the notes of the data, and where intervals come from if it has none."""
    for note in result.notes[len(result.data.notes) :]:
        say(f"note: {note}")
    if not result.has_interval:
        say(f"note: {result.method} has no analytic intervals")
