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
    ranks = result.rank(rule)
    frame = result.to_frame(level=level)
    frame["rank"] = ranks[result.order]
    described, bars = "", Bars("score")
    if "lower" in frame:
        described, bars = f", {100 * level:g} % intervals", Bars("score", "lower", "upper")
    return Table.of(frame, f"{result.method}{described}", bars, result._record())


def say_notes(result: Any, level: float) -> None:
    """What its intervals are about, what the fit has to say beyond the notes of the data, and where intervals come from
    if it has none."""
    if result.has_interval:
        say(f"{result.method}: intervals {result.interval(level).words}")
    for note in result.notes[len(result.data.notes) :]:
        say(f"note: {note}")
    if not result.has_interval:
        say(f"note: {result.method} has no analytic intervals; `jaxrank bootstrap -m {result.method}` draws them")
