"""Pages of the documentation that are written from the library itself, so that they cannot go stale."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import jaxrank
from jaxrank.data.readers.formats import FORMATS
from jaxrank.data.readers.shapes import SHAPES
from jaxrank.methods.catalogue import entries
from jaxrank.models.ranker import Entry

BIB = Path(jaxrank.__file__).parent / "methods" / "references.bib"
READS = {
    "Counts": "counts of outcomes",
    "Ballots": "orders of the models by every question or list",
    "Pairs": "pairwise wins and ties",
    "Events": "winners and losers of every trial",
    "Sequence": "outcomes in order",
    "Orders": "ordered lists",
}


def write(folder: Path) -> None:
    """All pages, into ``folder``; a page that has not changed is left alone, so that Sphinx does not read it again."""
    folder.mkdir(exist_ok=True)
    for name, text in (("catalogue", catalogue()), ("parity", parity()), ("references", references())):
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


FORMATS_BEGIN, FORMATS_END = "<!-- formats: written by docs/pages.py -->", "<!-- end of formats -->"


def formats() -> str:
    """The tables of docs/tools/formats.md: what `read` understands, and the formats of tools by name."""
    rows = ["| table | its first lines | read as | said with |", "| --- | --- | --- | --- |"]
    for shape in SHAPES:
        lines = "<br>".join(f"`{line}`" for line in shape.text.splitlines()[:2])
        rows.append(f"| {shape.what} | {lines} | {shape.reads} | {f'`{shape.options}`' if shape.options else ''} |")
    tools = ["| `--file-format` | files | trials | options |", "| --- | --- | --- | --- |"]
    tools += [f"| `{f.name}` | {f.files} | {f.trials} | {f.options} |" for f in FORMATS]
    return "\n".join([*rows, "", *tools])


def refresh_formats(page: Path) -> bool:
    """Write the tables between the marks of the page; whether anything changed."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(FORMATS_BEGIN)
    after = rest.split(FORMATS_END)[1]
    new = f"{before}{FORMATS_BEGIN}\n\n{formats()}\n\n{FORMATS_END}{after}"
    if new != text:
        page.write_text(new, encoding="utf-8")
    return new != text


def catalogue() -> str:
    """The methods by family: a table of identifiers, then the docstring of every class."""
    families: dict[str, list[Entry]] = {}
    for entry in entries().values():
        families.setdefault(entry.family, []).append(entry)
    out = [
        "# All methods",
        f"{len(entries())} identifiers in {len(families)} families, as `jaxrank.catalogue()` and `jaxrank list` give "
        "them. *Reads* says what part of the data a method sees; identifiers with a star are configurations of the "
        "source papers. [Which one to take](../choose.md) is another page.",
    ]
    for family, members in families.items():
        module = importlib.import_module(f"jaxrank.methods.{family}")
        out += [f"## {family.replace('_', ' ').capitalize()}", (module.__doc__ or "").strip()]
        out.append(_table(members))
        classes = dict.fromkeys(entry.make.__name__ for entry in members)
        directives = "\n\n".join(f".. autoclass:: jaxrank.methods.{family}.{name}" for name in classes)
        out.append(f"```{{eval-rst}}\n{directives}\n```")
    return "\n\n".join(out) + "\n"


def _table(members: list[Entry]) -> str:
    rows = ["| identifier | what it is | reads | options set | source |", "| --- | --- | --- | --- | --- |"]
    for entry in members:
        statistic = entry.ranker().statistic.__name__
        options = ", ".join(f"`{name}={value}`" for name, value in entry.options.items())
        star = " *" if entry.published else ""
        cells = [
            f"`{entry.name}`{star}",
            entry.summary.replace("|", "\\|"),
            READS.get(statistic, statistic),
            options,
            cite(entry.source),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


# Functions of scorio.rank whose name is not the identifier itself, or a part of it that ends before its options.
_SCORIO = {"bayes_greedy": "bayes", "bayes_ci": "bayes"}
_SCORIO_FAMILIES = (
    *("dynamic_irt", "rank_centrality", "schulze", "ranked_pairs", "nanson", "baldwin", "elo", "glicko", "hodge_rank"),
    *("kemeny_young", "nash", "pass_at_k", "pass_hat_k", "mg_pass_at_k", "serial_rank", "minimax"),
)
_SCORIO_OPTIONS = {"ties": "tie_handling", "stat": "pairwise_stat", "weights": "weight_method", "score": "score_type"}
_SCORIO_DEFAULTS = ("prior", "per_event")  # options of ours whose value here is scorio's only behaviour


def scorio_call(entry: Entry) -> tuple[str, dict[str, Any]]:
    """The function of scorio.rank for a published identifier, and its options beside R."""
    name = next((f for f in _SCORIO_FAMILIES if entry.name.startswith(f"{f}_")), entry.name)
    options = {_SCORIO_OPTIONS.get(k, k): v for k, v in entry.options.items() if k not in _SCORIO_DEFAULTS}
    if options.pop("needs_R0", False):
        options["R0"] = "R0"
    if "quadrature" in options:
        options["n_quadrature"] = int(options.pop("quadrature").removeprefix("fixed:"))
    if entry.name == "dynamic_irt_growth":
        options |= {"variant": "growth", "assume_time_axis": True, "score_target": "initial"}
    return _SCORIO.get(entry.name, name), options


def parity() -> str:
    """Every published identifier beside scorio's call, with the **Departs** paragraph of its docstring."""
    out = [
        "# Parity with scorio",
        "[scorio](https://pypi.org/project/scorio/) 0.2.3 is the program of the papers that jaxrank's identifiers come "
        "from [](#ref-hariri2026ranking) [](#ref-hariri2026dont). Each published identifier is one of its calls, "
        "below with `rank` for `scorio.rank`; *departs* says where jaxrank differs from that code or from the source "
        "of the method, on purpose. The tests run scorio's own test data: every ranking is the same at the defaults, "
        "or stands in a table with its reason.",
        "The metrics of `scorio.eval` are `jaxrank.evaluation`: `avg`, `bayes`, `pass_at_k`, `pass_hat_k`, "
        "`g_pass_at_k_tau`, `mg_pass_at_k` and their later relatives, each with the interval that scorio's `..._ci` "
        'returns as `method="normal"`. Missing cells, '
        "which scorio refuses, are read by nearly all methods.",
        "| identifier | scorio | departs |\n| --- | --- | --- |",
    ]
    for entry in entries().values():
        if entry.published:
            function, options = scorio_call(entry)
            text = ", ".join(["R", *(f"{k}={v if k == 'R0' else repr(v)}" for k, v in options.items())])
            out[-1] += f"\n| `{entry.name}` | `rank.{function}({text})` | {_departs(entry)} |"
    return "\n\n".join(out) + "\n"


def _departs(entry: Entry) -> str:
    doc = inspect.getdoc(entry.make) or ""
    found = re.search(r"\*\*Departs\*\*(.*?)(?=\n\*\*|\Z)", doc, flags=re.DOTALL)
    text = " ".join(found[1].split()) if found else ""
    return "" if text == "in nothing." else text.replace("``", "`").replace("|", "\\|")


def references() -> str:
    """The bibliography; every entry is a target that pages link to as ``[...](#ref-key)``."""
    out = ["# References", "The sources that docstrings and pages name, from `jaxrank/methods/references.bib`."]
    for key, fields in sorted(bibliography().items(), key=lambda item: (item[1].get("author", ""), item[0])):
        journal = (
            fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or fields.get("institution")
        )
        volume = " ".join(filter(None, (journal, fields.get("volume"))))
        pages = f", {fields['pages'].replace('--', '-')}" if "pages" in fields else ""
        authors = fields["author"].replace(" and others", " et al.").replace(" and ", "; ")
        out.append(f"(ref-{key})=\n**{key}**: {authors} ({fields['year']}). *{fields['title']}*. {volume}{pages}.")
    return "\n\n".join(out) + "\n"


@functools.cache
def bibliography() -> dict[str, dict[str, str]]:
    """The fields of every entry of ``references.bib`` by its key, in plain text."""
    found: dict[str, dict[str, str]] = {}
    text = BIB.read_text(encoding="utf-8")
    for body in re.split(r"^@\w+\s*", text, flags=re.MULTILINE)[1:]:
        key, _, rest = body.strip().removeprefix("{").partition(",")
        fields = re.findall(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", rest)
        found[key.strip()] = {name.lower(): _plain(value) for name, value in fields}
    return found


_ACCENTS = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}


def _plain(text: str) -> str:
    """Without TeX: accents as letters, no braces."""
    text = re.sub(r"\\(['\"`^~])\{?([A-Za-z])\}?", lambda m: m[2] + _ACCENTS[m[1]], text)
    return " ".join(text.replace("{", "").replace("}", "").replace("\\&", "&").split())


def cite(key: str, *, brackets: bool = False) -> str:
    """A link to a reference, as "Bradley and Terry 1952"."""
    fields = bibliography()[key]
    names = [name.split(",")[0].strip() for name in fields["author"].split(" and ") if name != "others"]
    more = len(names) > 2 or "others" in fields["author"]
    who = f"{names[0]} et al." if more else " and ".join(names)
    label = f"{who} {fields['year']}"
    return f"[{f'({label})' if brackets else label}](#ref-{key})"


_CODE = re.compile(r"(``.+?``|`[^`]+`)")


def docstring_lines(lines: list[str]) -> list[str]:
    """A docstring of the library, whose markup is a few bold words and code in backticks, as reStructuredText."""
    out: list[str] = []
    literal = False
    for line in lines:
        indented = line.startswith(" ")
        if line.startswith(">>>") or (literal and line.strip() and (indented or out[-1].startswith((">>>", "...")))):
            literal = True
            out.append(line)
            continue
        literal = literal and not line.strip() and out and out[-1].endswith("::")
        if line.startswith("**") and out and out[-1]:
            out.append("")  # each field is a paragraph of its own
        out.append(_escape(line.strip()))
        literal = literal or line.rstrip().endswith("::")
    return out


_KEY = re.compile(r"\b[a-z]+\d{4}[a-z]*\b")


def _reference(found: re.Match[str]) -> str:
    key = found[0]
    return f":ref:`{key} <ref-{key}>`" if key in bibliography() else key


def _escape(line: str) -> str:
    parts = _CODE.split(line)
    for i in range(0, len(parts), 2):
        bold = [re.sub(r"([|*\\]|(?<=\w)_(?!\w))", r"\\\1", piece) for piece in parts[i].split("**")]
        parts[i] = _KEY.sub(_reference, "**".join(bold))
    for i in range(1, len(parts), 2):
        # "\\ " keeps markup apart from a letter that it touches
        before = "\\ " if re.search(r"[^\s(\[{]$", parts[i - 1]) else ""
        after = "\\ " if re.match(r"\w", parts[i + 1]) else ""
        parts[i] = before + _code(parts[i]) + after
    return "".join(parts)


def _code(text: str) -> str:
    """Code in backticks; names of the public interface as links."""
    name = text.strip("`")
    public = name.removeprefix("jaxrank.")
    if not text.startswith("``") and public.split(".")[0] in jaxrank.__all__:
        return f":py:obj:`{name} <jaxrank.{public}>`"
    return f"``{name}``"
