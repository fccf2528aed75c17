"""``jaxrank list``: the catalogue of methods."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Output,
    check_output,
)
from jaxrank.cli.tables import Table

GROUPS = {
    "Each model by its own outcomes": (
        *("pointwise", "bayes", "pass_family", "geometric", "tails", "best_of_k", "thompson"),
    ),
    "Tables of scores": ("robust_means", "standings", "reference_means", "majority"),
    "Abilities and difficulties": ("rasch", "irt_marginal", "mirt", "irt_joint", "rasch_cml", "dynamic_irt"),
    "Strengths from pairs, votes and lists": (
        *("paired", "ordinal", "margins", "plackett_luce", "mcmc", "elo", "glicko", "trueskill"),
        *("luce", "plackett_luce_orders"),
    ),
    "Voting rules": ("voting", "condorcet", "elimination", "kemeny"),
    "Graphs of wins": ("hodge", "nash", "alpharank", "pagerank", "spectral", "centrality", "seriation"),
}
"""Families in the order in which docs/choose.md asks for them; further ones come last."""
ORDER = tuple(family for families in GROUPS.values() for family in families)
WIDEST = 100
"""Cells that a line of text takes at most on a terminal."""


def list_(
    family: Annotated[
        str | None, typer.Argument(metavar="FAMILY|METHOD", help="Only this family, or this one method in full.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="A line for every method, with its options.")] = False,
    output: Output = None,
) -> None:
    """List the methods: a line for each family, or with --all for each method; or one method in full."""
    import jaxrank as jr

    check_output("--output", output)
    entries = jr.entries()
    families = sorted({entry.family for entry in entries.values()}, key=place_of)
    width = min(shutil.get_terminal_size().columns, WIDEST) if sys.stdout.isatty() else None
    shown = [entry for entry in entries.values() if family in (None, entry.family)]
    shown.sort(key=lambda entry: place_of(entry.family))  # stable: within a family as in its file
    table = Table(
        {
            "family": [entry.family for entry in shown],
            "method": [entry.name for entry in shown],
            "options": [", ".join(f"{k}={v.split(':')[0]}" for k, v in _options(entry).items()) for entry in shown],
            "summary": _summaries(shown),
        }
    )
    if output is not None and (shown or family is None):
        table.save(output)
    if shown and (every or family is not None):
        table.show()
    if family is not None:
        if family not in families or family in entries:
            print(*[""] * bool(shown), _in_full(_entry(family, families), width), sep="\n")
        return
    if every:
        return
    members = {name: [entry for entry in shown if entry.family == name] for name in families}
    told = f"{len(shown)} methods; `jaxrank list FAMILY` or `--all` shows each, `jaxrank list METHOD` one in full"
    methods = {name: ", ".join(_variants(several)) for name, several in members.items()}
    if width is None:
        columns = {"family": families, "methods": [*methods.values()], "what they are": [*map(_about, families)]}
        Table(columns, told).show()
    else:
        print("\n".join(_by_group(methods, told, width)))


def _about(family: str) -> str:
    """The first sentence of the file of a family."""
    doc = importlib.import_module(f"jaxrank.methods.{family}").__doc__
    return re.split(r"[:.]\s", f"{doc} ")[0].strip()


def _summaries(entries: list[Any]) -> list[str]:
    """What the methods do; of one that sets options of another of them, which."""
    first: dict[Any, str] = {}
    told = []
    for entry in entries:
        base = first.setdefault(entry.make, entry.name)
        options = ", ".join(f"{name}={value}" for name, value in entry.options.items())
        told.append(entry.summary if base == entry.name or not options else f"{base} with {options}")
    return told


def _by_group(methods: dict[str, str], told: str, width: int) -> Iterator[str]:
    """The families under the headings of `GROUPS`: what each is, and below it its methods. No identifier is cut."""
    yield from _folded(told, width)
    left = max(map(len, methods)) + 4
    group = {name: title for title, names in GROUPS.items() for name in names}
    last = None
    for family, names in methods.items():
        if group.get(family, "Others") != last:
            last = group.get(family, "Others")
            yield from ("", last)
        names = names.replace(" (", "\u00a0(")  # a count stays beside its name
        lines = [line for text in (_about(family), names) for line in _folded(text, width - left)]
        lines = [line.replace("\u00a0", " ") for line in lines]
        yield f"  {family:<{left - 2}}{lines[0]}"
        yield from (" " * left + line for line in lines[1:])


def _folded(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )


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
    from jaxrank.models.options import options_in_words

    return options_in_words(entry.ranker())


def _in_full(entry: Any, width: int | None) -> str:
    """A method's description as its docstring has it, or with lines for a terminal that is so wide."""
    head = f"{entry.name}  (family {entry.family}, source {entry.source})"
    described = inspect.cleandoc(entry.make.__doc__)
    if width is not None:
        described = "\n".join(_paragraphs(described, width))
    options = "\n".join(f"  --set {name}={value}" for name, value in _options(entry).items()) or "  none"
    return f"{head}\n\n{described}\n\nOptions with their defaults:\n{options}"


def _paragraphs(text: str, width: int) -> Iterator[str]:
    """A docstring folded anew, without its marks: a field is indented below its name."""
    for block in re.split(r"\n(?=\*\*)|\n(?=\n)", text):
        words = " ".join(block.replace("``", "").replace("`", "").split())
        field = re.match(r"\*\*(.+?)\*\*\s*", words)
        words = f"{field[1]}: {words[field.end() :]}" if field else words
        yield from _folded(words, width, then="  " if field else "") or [""]


COMMANDS = (list_,)
