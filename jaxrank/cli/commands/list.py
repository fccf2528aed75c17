"""``jaxrank list``: the catalogue of methods."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Output,
    check_output,
)
from jaxrank.cli.tables import Table


def list_(
    family: Annotated[
        str | None, typer.Argument(metavar="[FAMILY|METHOD]", help="Only this family, or this one method in full.")
    ] = None,
    output: Output = None,
) -> None:
    """List the methods by family, with a line about each and their options."""
    import jaxrank as jr
    from jaxrank.errors import OptionError

    check_output("--output", output)
    entries = jr.entries()
    if family in entries:
        print(_in_full(entries[family]))
        return
    families = sorted({entry.family for entry in entries.values()})
    if family is not None and family not in families:
        near = difflib.get_close_matches(family, [*entries, *families], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise OptionError(f"no family or method {family!r}{hint} The families are: {', '.join(families)}")
    shown = [entry for entry in entries.values() if family in (None, entry.family)]
    shown.sort(key=lambda entry: entry.family)
    Table(
        {
            "family": [entry.family for entry in shown],
            "method": [entry.name for entry in shown],
            "options": [", ".join(f"{k}={v.split(':')[0]}" for k, v in _options(entry).items()) for entry in shown],
            "summary": [entry.summary for entry in shown],
        }
    ).emit(output)


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
