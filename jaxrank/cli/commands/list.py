"""``jaxrank list``: the catalogue of methods."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import re
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Output,
    check_output,
)
from jaxrank.cli.tables import Table

ORDER = (
    *("pointwise", "bayes", "pass_family", "geometric", "tails", "best_of_k", "thompson"),
    *("robust_means", "standings", "reference_means", "majority"),
    *("rasch", "irt_marginal", "irt_joint", "rasch_cml", "dynamic_irt"),
    *(
        "paired",
        "ordinal",
        "margins",
        "plackett_luce",
        "mcmc",
        "elo",
        "glicko",
        "trueskill",
        "luce",
        "plackett_luce_orders",
    ),
    *("voting", "condorcet", "elimination", "kemeny"),
    *("hodge", "nash", "alpharank", "pagerank", "spectral", "centrality", "seriation"),
)
"""Families in the order in which docs/choose.md asks for them; further ones come last."""


def list_(
    family: Annotated[
        str | None, typer.Argument(metavar="[FAMILY|METHOD]", help="Only this family, or this one method in full.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="A line for every method, with its options.")] = False,
    output: Output = None,
) -> None:
    """List the methods: a line for each family, or with --all for each method; or one method in full."""
    import jaxrank as jr

    check_output("--output", output)
    entries = jr.entries()
    families = sorted({entry.family for entry in entries.values()}, key=place_of)
    if family is not None and family not in families:
        print(_in_full(_entry(family, families)))
        return
    shown = [entry for entry in entries.values() if family in (None, entry.family)]
    shown.sort(key=lambda entry: place_of(entry.family))  # stable: within a family as in its file
    table = Table(
        {
            "family": [entry.family for entry in shown],
            "method": [entry.name for entry in shown],
            "options": [", ".join(f"{k}={v.split(':')[0]}" for k, v in _options(entry).items()) for entry in shown],
            "summary": [entry.summary for entry in shown],
        }
    )
    if output is not None:
        table.save(output)
    if every or family is not None:
        table.show()
        return
    members = {name: [entry for entry in shown if entry.family == name] for name in families}
    modules = {name: importlib.import_module(f"jaxrank.methods.{name}") for name in families}
    Table(
        {
            "of the family": families,
            "there are": [", ".join(_variants(several)) for several in members.values()],
            "which are": [re.split(r"[:.]\s", f"{modules[name].__doc__} ")[0].strip() for name in families],
        },
        f"{len(shown)} methods; `jaxrank list FAMILY` or `--all` shows each, `jaxrank list METHOD` one in full",
    ).show()


def place_of(family: str) -> tuple[int, str]:
    return (ORDER.index(family) if family in ORDER else len(ORDER), family)


def _entry(name: str, families: list[str]) -> Any:
    """The entry that is meant; the families are named too where there is none."""
    from jaxrank.errors import UnknownMethodError
    from jaxrank.methods.catalogue import entry

    try:
        return entry(name)
    except UnknownMethodError as error:
        near = difflib.get_close_matches(name, families, n=1)
        if near:
            raise UnknownMethodError(f"no family or method {name!r}; did you mean {near[0]!r}?") from None
        raise UnknownMethodError(f"{error}. The families are: {', '.join(families)}") from None


def _variants(entries: list[Any]) -> list[str]:
    """The identifiers; those that set options of one before are counted behind it."""
    more: dict[str, int] = {}
    made: dict[str, Any] = {}
    for entry in entries:
        base = next((n for n, make in made.items() if make is entry.make and entry.name.startswith(f"{n}_")), None)
        if base is None:
            made[entry.name], more[entry.name] = entry.make, 0
        else:
            more[base] += 1
    return [f"{name} (+{n})" if n else name for name, n in more.items()]


def _options(entry: Any) -> dict[str, str]:
    """The fields of the method with their defaults, as they are typed after ``--set``."""
    ranker = entry.ranker()
    return {f.name: _shown(f, getattr(ranker, f.name)) for f in dataclasses.fields(ranker) if f.init}


def _shown(field: Any, value: Any) -> str:
    if "words" in field.metadata:
        from jaxrank.models.options import in_words

        return in_words(value, field.metadata["words"])
    if hasattr(value, "shape"):
        return f"{value.item():g}" if value.shape == () else str(value.tolist())
    return str(value)


def _in_full(entry: Any) -> str:
    head = f"{entry.name}  (family {entry.family}, source {entry.source})"
    options = "\n".join(f"  --set {name}={value}" for name, value in _options(entry).items()) or "  none"
    return f"{head}\n\n{inspect.cleandoc(entry.make.__doc__)}\n\nOptions with their defaults:\n{options}"


COMMANDS = (list_,)
